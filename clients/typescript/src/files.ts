/** The files of a session: its workspace, HOME and `/tmp`. */

import { create } from "@bufbuild/protobuf";

import { bytesOf, pathFields, textOf } from "./bytes.js";
import { sleep, type Cancellable } from "./cancel.js";
import { SLOW_CALL_TIMEOUT_MS, type Connection } from "./connection.js";
import { copyIn, copyOut } from "./copies.js";
import { Download } from "./download.js";
import { NotFoundError } from "./errors.js";
import { FileFormat, FileInfoSchema, FileService } from "./gen/airlock/v1/file_pb.js";
import { changeOf, fileOf, type FileChange, type FileInfo, type Transferred } from "./info.js";
import { memorySource } from "./local.js";
import { upload } from "./upload.js";

const { diff, list, stat } = FileService.method;
const PAGE = 1_000;
const READ_BYTES = 64 * 1024 * 1024;
const MODE = 0o644;

/** A change of a file that `watch` found. */
export interface FileEvent {
  /** `added`, `modified` or `deleted`. */
  readonly kind: "added" | "modified" | "deleted";
  /** An absolute path inside the sandbox. */
  readonly path: string;
  /** The properties of the file. `undefined` if it was deleted. */
  readonly file: FileInfo | undefined;
}

/** The options of a read. */
export interface ReadFileOptions extends Cancellable {
  /** The largest size in bytes. Default: 64 MiB. */
  readonly limit?: number | undefined;
}

/** The options of a write. */
export interface WriteFileOptions extends Cancellable {
  /** The permission bits. Default: 0o644. */
  readonly mode?: number | undefined;
}

/** Globs of paths relative to the requested one. `*` does not match slashes, `**` does. */
export interface FilterOptions extends Cancellable {
  /** Return only files that match one of these. */
  readonly include?: readonly string[] | undefined;
  /** Leave out files and directories that match one of these. */
  readonly exclude?: readonly string[] | undefined;
}

/** The options of a list of files. */
export interface ListOptions extends FilterOptions {
  /** List all files below the directory. */
  readonly recursive?: boolean | undefined;
}

/** The options of a list of changes. */
export interface DiffOptions extends FilterOptions {
  /** Add unified diffs of text files. */
  readonly patch?: boolean | undefined;
}

/** The options of a copy of a directory. */
export interface CopyOptions extends Cancellable {
  /** Leave out files and directories that match one of these globs. */
  readonly exclude?: readonly string[] | undefined;
}

/** The options of a watch of files. */
export interface FileWatchOptions extends Cancellable {
  /** The interval between two lists, in milliseconds. Default: one second. */
  readonly intervalMs?: number | undefined;
}

/**
 * The files of a session. A path is absolute inside the sandbox, or relative to `/workspace`.
 *
 * A byte of a path that is not UTF-8 is a lone surrogate from U+DC80 to U+DCFF.
 */
export class Files {
  /** @internal */
  constructor(
    private readonly connection: Connection,
    private readonly sessionId: string,
  ) {}

  /** Returns the content of a file. Rejects with `LocalError` if it is longer than `limit`. */
  async read(path: string, { limit = READ_BYTES, signal }: ReadFileOptions = {}): Promise<Uint8Array> {
    const request = { ...this.at(path), format: FileFormat.FILE };
    const parts: Uint8Array[] = [];
    for await (const data of new Download(this.connection, request, limit, signal)) {
      parts.push(data);
    }
    return Buffer.concat(parts);
  }

  /** Returns the content of a file as text. Invalid UTF-8 is replaced by U+FFFD. */
  async readText(path: string, options: ReadFileOptions = {}): Promise<string> {
    return textOf(await this.read(path, options));
  }

  /** Writes a file. Missing directories are created, and an existing file is replaced. Text is encoded as UTF-8. */
  async write(
    path: string,
    content: string | Uint8Array,
    { mode = MODE, signal }: WriteFileOptions = {},
  ): Promise<void> {
    const header = { ...this.at(path), format: FileFormat.FILE, mode };
    await upload(this.connection, header, memorySource(bytesOf(content)), signal);
  }

  /** Returns the properties of a file. A symbolic link is described, not followed. */
  async stat(path: string, { signal }: Cancellable = {}): Promise<FileInfo> {
    const { file } = await this.connection.unary(stat, this.at(path), { signal });
    return fileOf(file ?? create(FileInfoSchema));
  }

  /** Reports whether a file exists. */
  async exists(path: string, options: Cancellable = {}): Promise<boolean> {
    try {
      await this.stat(path, options);
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) {
        return false;
      }
      throw error;
    }
  }

  /** Returns the files in a directory, or all files below it, ordered by path. */
  async list(path = "", { recursive = false, include, exclude, signal }: ListOptions = {}): Promise<FileInfo[]> {
    const request = { ...this.at(path), recursive, filter: filterOf(include, exclude) };
    const found: FileInfo[] = [];
    for (let pageToken = ""; ;) {
      const page = { pageSize: PAGE, pageToken };
      const answer = await this.connection.unary(list, { ...request, page }, this.slow(signal));
      found.push(...answer.files.map(fileOf));
      pageToken = answer.nextPageToken;
      if (pageToken === "") {
        return found;
      }
    }
  }

  /** Returns the changes in the workspace since it was created, ordered by path. */
  async diff(path = "", { patch = false, include, exclude, signal }: DiffOptions = {}): Promise<FileChange[]> {
    const request = { ...this.at(path), patch, filter: filterOf(include, exclude) };
    const found: FileChange[] = [];
    for (let pageToken = ""; ;) {
      const answer = await this.connection.unary(diff, { ...request, page: { pageToken } }, this.slow(signal));
      found.push(...answer.changes.map(changeOf));
      pageToken = answer.nextPageToken;
      if (pageToken === "") {
        return found;
      }
    }
  }

  /**
   * Copies a local file, or the content of a local directory, into the session.
   *
   * Links are not followed. Owners are not transferred.
   */
  upload(source: string, path = "", { exclude = [], signal }: CopyOptions = {}): Promise<Transferred> {
    return copyIn(this.connection, source, this.at(path), exclude, signal);
  }

  /**
   * Copies the content of a directory of the session into a local directory, or a file to a local file.
   *
   * The whole archive is checked before anything is written. A new directory appears complete or not at all.
   */
  download(path: string, target: string, { exclude = [], signal }: CopyOptions = {}): Promise<Transferred> {
    return copyOut(this.connection, { ...this.at(path), exclude: [...exclude] }, target, signal);
  }

  /**
   * Returns the changes of the files below a directory as they happen.
   *
   * The server does not report changes of files, so this lists them once per interval. Several changes of a file within
   * an interval are one event.
   */
  async *watch(
    path = "",
    { intervalMs = 1_000, signal }: FileWatchOptions = {},
  ): AsyncGenerator<FileEvent, void, void> {
    let known = await this.snapshot(path, signal);
    for (;;) {
      await sleep(intervalMs, signal);
      const now = await this.snapshot(path, signal);
      for (const [name, file] of now) {
        const before = known.get(name);
        if (before === undefined) {
          yield { kind: "added", path: name, file };
        } else if (!same(before, file)) {
          yield { kind: "modified", path: name, file };
        }
      }
      for (const name of known.keys()) {
        if (!now.has(name)) {
          yield { kind: "deleted", path: name, file: undefined };
        }
      }
      known = now;
    }
  }

  private async snapshot(path: string, signal: AbortSignal | undefined): Promise<Map<string, FileInfo>> {
    const files = await this.list(path, { recursive: true, signal });
    // The time of a directory changes with its entries, which are reported themselves.
    return new Map(files.filter(({ type }) => type !== "directory").map((file) => [file.path, file]));
  }

  private at(path: string): { sessionId: string } & ({ path: string } | { pathBytes: Uint8Array }) {
    return { sessionId: this.sessionId, ...pathFields(path) };
  }

  private slow(signal: AbortSignal | undefined): { timeoutMs: number; signal: AbortSignal | undefined } {
    return { timeoutMs: SLOW_CALL_TIMEOUT_MS, signal };
  }
}

function filterOf(
  include: readonly string[] = [],
  exclude: readonly string[] = [],
): { include: string[]; exclude: string[] } {
  return { include: [...include], exclude: [...exclude] };
}

function same(one: FileInfo, other: FileInfo): boolean {
  return (
    one.type === other.type &&
    one.size === other.size &&
    one.mode === other.mode &&
    one.modified.getTime() === other.modified.getTime() &&
    one.linkTarget === other.linkTarget
  );
}
