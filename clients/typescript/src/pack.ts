/** Local directories as tar archives. Links are not followed. */

import { constants, type BigIntStats } from "node:fs";
import { lstat, open, readdir, readlink, type FileHandle } from "node:fs/promises";

import { decodePath, encodePath } from "./bytes.js";
import { reasonOf } from "./credential_files.js";
import { AirlockError, LocalError } from "./errors.js";
import { globPattern } from "./glob.js";
import { readAt, writeAll } from "./local.js";
import { headerOf, padding, writeEnd, type Entry } from "./tar.js";

const CHUNK = 1024 * 1024;
const SLASH = Buffer.from("/");
const EMPTY = new Uint8Array();

/** Writes the content of a directory as an archive. Returns the skipped files with the reasons. */
export async function pack(
  directory: string,
  into: FileHandle,
  exclude: readonly string[],
): Promise<readonly string[]> {
  const root = Buffer.from(encodePath(directory));
  try {
    if (!(await isDirectory(root))) {
      throw new LocalError(`\`${directory}\` is not a local directory`);
    }
    const packer = new Packer(into, exclude.map(globPattern));
    await packer.addAll(root, EMPTY);
    await writeEnd(into);
    return packer.skipped;
  } catch (error) {
    if (error instanceof AirlockError) {
      throw error;
    }
    throw new LocalError(`cannot read \`${directory}\`: ${reasonOf(error)}`, { cause: error });
  }
}

async function isDirectory(path: Buffer): Promise<boolean> {
  try {
    await (await open(path, constants.O_RDONLY | constants.O_DIRECTORY)).close();
    return true;
  } catch {
    return false;
  }
}

class Packer {
  readonly skipped: string[] = [];
  /** The names of files with several links, by device and inode. */
  private readonly linked = new Map<string, Uint8Array>();

  constructor(
    private readonly into: FileHandle,
    private readonly exclude: readonly RegExp[],
  ) {}

  /** Adds the entries below a directory, whose names begin with `below`. */
  async addAll(directory: Buffer, below: Uint8Array): Promise<void> {
    const names = await readdir(directory, { encoding: "buffer" });
    for (const own of names.sort((one, other) => Buffer.compare(one, other))) {
      const name = Buffer.concat([below, own]);
      const text = decodePath(name);
      if (this.exclude.some((pattern) => pattern.test(text))) {
        continue;
      }
      const path = Buffer.concat([directory, SLASH, own]);
      const found = await lstat(path, { bigint: true });
      await this.add(path, name, found);
      if (found.isDirectory()) {
        await this.addAll(path, Buffer.concat([name, SLASH]));
      }
    }
  }

  private async add(path: Buffer, name: Buffer, found: BigIntStats): Promise<void> {
    const plain = { name, mode: Number(found.mode & 0o777n), size: 0, linkName: EMPTY };
    const modified = Number(found.mtimeMs) / 1000;
    if (found.isDirectory()) {
      await this.write({ ...plain, type: "directory" }, modified);
    } else if (found.isSymbolicLink()) {
      const linkName = await readlink(path, { encoding: "buffer" });
      await this.write({ ...plain, type: "symlink", linkName }, modified);
    } else if (found.isFile()) {
      await this.addFile(path, plain, found, modified);
    } else {
      this.skipped.push(`${decodePath(name)}: not a file, directory or link`);
    }
  }

  private async addFile(path: Buffer, plain: Omit<Entry, "type">, found: BigIntStats, modified: number): Promise<void> {
    const key = `${found.dev}:${found.ino}`;
    const first = found.nlink > 1n ? this.linked.get(key) : undefined;
    if (first !== undefined) {
      await this.write({ ...plain, type: "hardlink", linkName: first }, modified);
      return;
    }
    this.linked.set(key, plain.name);
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const size = Number(found.size);
      await this.write({ ...plain, type: "file", size }, modified);
      await this.copy(file, size, path);
    } finally {
      await file.close();
    }
  }

  private async copy(file: FileHandle, size: number, path: Buffer): Promise<void> {
    for (let at = 0; at < size;) {
      const data = await readAt(file, at, Math.min(CHUNK, size - at));
      if (data.length === 0) {
        throw new LocalError(`cannot read \`${decodePath(path)}\`: it became shorter while it was read`);
      }
      await writeAll(this.into, data);
      at += data.length;
    }
    await writeAll(this.into, new Uint8Array(padding(size)));
  }

  private async write(entry: Entry, modified: number): Promise<void> {
    await writeAll(this.into, headerOf(entry, modified));
  }
}
