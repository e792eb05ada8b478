/** Local files: temporary files without a name, sources of uploads, and the umask. */

import { constants } from "node:fs";
import { mkdtemp, open, readFile, rmdir, unlink, type FileHandle } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Bytes that can be read at any offset. */
export interface Source {
  readonly size: number;
  /** Returns at most `length` bytes from an offset on, and fewer only at the end. */
  read(offset: number, length: number): Promise<Uint8Array>;
}

/** Returns a source for bytes in memory. */
export function memorySource(data: Uint8Array): Source {
  return {
    size: data.length,
    async read(offset, length) {
      return data.subarray(offset, offset + length);
    },
  };
}

/** Returns a source for an open file with its present size. */
export async function fileSource(file: FileHandle): Promise<Source> {
  const { size } = await file.stat();
  return { size, read: (offset, length) => readAt(file, offset, Math.min(length, Math.max(0, size - offset))) };
}

/** Reads bytes of a file from an offset on, and fewer only at the end of the file. */
export async function readAt(file: FileHandle, offset: number, length: number): Promise<Uint8Array> {
  const buffer = new Uint8Array(length);
  let at = 0;
  while (at < length) {
    const { bytesRead } = await file.read(buffer, at, length - at, offset + at);
    if (bytesRead === 0) {
      break;
    }
    at += bytesRead;
  }
  return buffer.subarray(0, at);
}

/** Writes all bytes at the end of what was written before. */
export async function writeAll(file: FileHandle, data: Uint8Array): Promise<void> {
  for (let at = 0; at < data.length;) {
    at += (await file.write(data, at, data.length - at)).bytesWritten;
  }
}

/** Opens a temporary file that is gone when it is closed. */
export async function temporaryFile(): Promise<FileHandle> {
  const directory = await mkdtemp(join(tmpdir(), ".airlock-"));
  const path = join(directory, "file");
  try {
    const file = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
    await unlink(path);
    return file;
  } finally {
    await rmdir(directory);
  }
}

/** Returns the umask. The system call that reads it also sets it, so it is read from /proc. */
export async function umask(): Promise<number> {
  const usual = 0o022;
  try {
    const match = /^Umask:\s*([0-7]+)/m.exec(await readFile("/proc/self/status", "latin1"));
    return match?.[1] === undefined ? usual : Number.parseInt(match[1], 8);
  } catch {
    return usual;
  }
}
