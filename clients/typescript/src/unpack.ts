/**
 * Unpacks tar archives. A received archive is checked completely before anything is written.
 *
 * Nothing outside the target directory is changed: no name leads out of it, and no link is followed. Node.js has no
 * functions that take a directory's descriptor, so a directory is named by its link in `/proc/self/fd`.
 */

import { constants } from "node:fs";
import {
  chmod,
  link,
  lstat,
  mkdir,
  mkdtemp,
  open,
  rename,
  rm,
  symlink,
  unlink,
  type FileHandle,
} from "node:fs/promises";
import { dirname, join } from "node:path";

import { decodePath, encodePath } from "./bytes.js";
import { reasonOf } from "./credential_files.js";
import { AirlockError, ArchiveError, LocalError } from "./errors.js";
import { readAt, umask, writeAll } from "./local.js";
import { entriesOf, type FoundEntry } from "./tar.js";

const ENTRIES = 1_000_000;
const CHUNK = 1024 * 1024;
const TEMPORARY = ".airlock-";
const DIRECTORY = constants.O_RDONLY | constants.O_DIRECTORY;

/** The numbers of entries that were written. */
export interface Counts {
  files: number;
  directories: number;
  links: number;
}

/** The components of a name. */
type Parts = readonly string[];

/**
 * Writes an archive's content into a directory.
 *
 * A new directory appears complete or not at all. `mode` is its permission bits.
 */
export async function unpack(archive: FileHandle, into: string, mode: number): Promise<Counts> {
  await check(archive);
  try {
    if (await found(into)) {
      await checkConflicts(archive, into);
      return await write(archive, into);
    }
    return await create(archive, into, mode);
  } catch (error) {
    if (error instanceof AirlockError) {
      throw error;
    }
    throw new LocalError(`cannot write \`${into}\`: ${reasonOf(error)}`, { cause: error });
  }
}

async function create(archive: FileHandle, into: string, mode: number): Promise<Counts> {
  const made = await mkdtemp(join(dirname(into), TEMPORARY));
  try {
    const counts = await write(archive, made);
    await chmod(made, (mode & 0o777 & ~(await umask())) | 0o700);
    await rename(made, into);
    return counts;
  } catch (error) {
    await rm(made, { recursive: true, force: true });
    throw error;
  }
}

async function* partsOf(archive: FileHandle): AsyncGenerator<readonly [FoundEntry, Parts]> {
  let count = 0;
  for await (const entry of entriesOf(archive)) {
    count += 1;
    if (count > ENTRIES) {
      throw new ArchiveError(`the archive has more than ${ENTRIES} entries`);
    }
    const parts = split(entry.name);
    if (parts.length > 0) {
      yield [entry, parts];
    }
  }
}

function split(bytes: Uint8Array): Parts {
  const name = decodePath(bytes);
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (name.startsWith("/") || parts.includes("..") || name.includes("\0")) {
    throw new ArchiveError(`the archive was refused: the name \`${name}\` leads out of the directory`);
  }
  return parts;
}

async function check(archive: FileHandle): Promise<void> {
  const files = new Set<string>();
  for await (const [entry, parts] of partsOf(archive)) {
    const name = decodePath(entry.name);
    if (entry.type === "symlink" && leaves(parts, decodePath(entry.linkName))) {
      throw new ArchiveError(`the archive was refused: the link \`${name}\` leads out of the directory`);
    }
    if (entry.type === "hardlink" && !files.has(split(entry.linkName).join("/"))) {
      throw new ArchiveError(`the archive was refused: \`${name}\` links to a file that it does not have`);
    }
    if (entry.type === "other") {
      throw new ArchiveError(`the archive was refused: \`${name}\` is not a file, directory or link`);
    }
    if (entry.type === "file" || entry.type === "hardlink") {
      files.add(parts.join("/"));
    }
  }
}

function leaves(parts: Parts, target: string): boolean {
  if (target.startsWith("/")) {
    return true;
  }
  let depth = parts.length - 1;
  for (const part of target.split("/")) {
    depth += part === ".." ? -1 : part === "" || part === "." ? 0 : 1;
    if (depth < 0) {
      return true;
    }
  }
  return false;
}

/** Throws an error if an existing file is in the way, before anything is written. */
async function checkConflicts(archive: FileHandle, into: string): Promise<void> {
  for await (const [entry, parts] of partsOf(archive)) {
    for (let end = 1; end <= parts.length; end++) {
      const path = [into, ...parts.slice(0, end)].join("/");
      const is = await found(path);
      if (is === undefined) {
        break;
      }
      const wantsDirectory = end < parts.length || entry.type === "directory";
      if (is.isDirectory() !== wantsDirectory) {
        throw new ArchiveError(`\`${path}\` is in the way`, { remedy: "remove it, or choose another directory" });
      }
    }
  }
}

async function found(path: string): Promise<{ isDirectory(): boolean } | undefined> {
  try {
    return await lstat(Buffer.from(encodePath(path)));
  } catch (error) {
    if (codeOf(error) === "ENOENT") {
      return undefined;
    }
    throw error;
  }
}

async function write(archive: FileHandle, into: string): Promise<Counts> {
  const root = await open(into, DIRECTORY);
  try {
    return await new Writer(archive, root, await umask()).run();
  } finally {
    await root.close();
  }
}

class Writer {
  private readonly counts: Counts = { files: 0, directories: 0, links: 0 };
  /** The permission bits of directories. They are set last, because they can forbid writing. */
  private readonly modes: (readonly [Parts, number])[] = [];

  constructor(
    private readonly archive: FileHandle,
    private readonly root: FileHandle,
    private readonly mask: number,
  ) {}

  async run(): Promise<Counts> {
    for await (const [entry, parts] of partsOf(this.archive)) {
      await this.below(parts.slice(0, -1), (parent) => this.add(entry, parts, parent));
    }
    for (const [parts, mode] of this.modes.reverse()) {
      await this.below(parts, (directory) => directory.chmod(mode));
    }
    return this.counts;
  }

  private async add(entry: FoundEntry, parts: Parts, parent: FileHandle): Promise<void> {
    const path = at(parent, parts.at(-1) ?? "");
    const mode = entry.mode & 0o777 & ~this.mask;
    if (entry.type === "directory") {
      this.counts.directories += (await unless("EEXIST", mkdir(path, 0o700))) ? 1 : 0;
      this.modes.push([parts, mode | 0o700]);
      return;
    }
    await unless("ENOENT", unlink(path));
    if (entry.type === "file") {
      await this.file(entry, path, mode | 0o600);
      this.counts.files += 1;
      return;
    }
    if (entry.type === "symlink") {
      await symlink(Buffer.from(entry.linkName), path);
    } else {
      const source = split(entry.linkName);
      await this.below(source.slice(0, -1), (directory) => link(at(directory, source.at(-1) ?? ""), path));
    }
    this.counts.links += 1;
  }

  private async file(entry: FoundEntry, path: Buffer, mode: number): Promise<void> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = await open(path, flags, 0o600);
    try {
      for (let done = 0; done < entry.size;) {
        const data = await readAt(this.archive, entry.offset + done, Math.min(CHUNK, entry.size - done));
        await writeAll(file, data);
        done += data.length;
      }
      await file.chmod(mode);
    } finally {
      await file.close();
    }
  }

  /** Opens a directory below the root, without following links. Missing directories are created. */
  private async below<T>(parts: Parts, use: (directory: FileHandle) => Promise<T>): Promise<T> {
    const [first, ...rest] = parts;
    return first === undefined ? use(this.root) : this.within(this.root, first, rest, use);
  }

  private async within<T>(
    parent: FileHandle,
    name: string,
    rest: Parts,
    use: (directory: FileHandle) => Promise<T>,
  ): Promise<T> {
    const path = at(parent, name);
    await unless("EEXIST", mkdir(path, 0o755));
    const directory = await open(path, DIRECTORY | constants.O_NOFOLLOW);
    try {
      const [next, ...others] = rest;
      return next === undefined ? await use(directory) : await this.within(directory, next, others, use);
    } finally {
      await directory.close();
    }
  }
}

/** Returns the path of a name in an open directory. */
function at(directory: FileHandle, name: string): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${directory.fd}/`), encodePath(name)]);
}

/** Waits for a system call. Returns false if it failed with a code that is no error here. */
async function unless(code: string, call: Promise<unknown>): Promise<boolean> {
  try {
    await call;
    return true;
  } catch (error) {
    if (codeOf(error) === code) {
      return false;
    }
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
