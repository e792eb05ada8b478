/** Reads the files with credentials, and names the file and the problem if that fails. */

import { open } from "node:fs/promises";

import { SettingsError } from "./errors.js";
import { textOf } from "./bytes.js";
import { Secret } from "./secret.js";

const FILE_BYTES = 1024 * 1024;

/** Reads a regular file of limited size. */
export async function readBounded(path: string): Promise<Uint8Array> {
  let content: Uint8Array;
  try {
    await using file = await open(path, "r");
    if (!(await file.stat()).isFile()) {
      throw new SettingsError(`\`${path}\` is not a file`);
    }
    const buffer = new Uint8Array(FILE_BYTES + 1);
    content = buffer.subarray(0, await readFully(file, buffer));
  } catch (error) {
    if (error instanceof SettingsError) {
      throw error;
    }
    throw new SettingsError(`cannot read \`${path}\`: ${reasonOf(error)}`, { cause: error });
  }
  if (content.length > FILE_BYTES) {
    throw new SettingsError(`\`${path}\` is over ${FILE_BYTES} bytes`);
  }
  return content;
}

interface Readable {
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ bytesRead: number }>;
}

/** Reads until the buffer is full or the file ends. Returns the number of bytes. */
async function readFully(file: Readable, buffer: Uint8Array): Promise<number> {
  let at = 0;
  while (at < buffer.length) {
    const { bytesRead } = await file.read(buffer, at, buffer.length - at, at);
    if (bytesRead === 0) {
      break;
    }
    at += bytesRead;
  }
  return at;
}

/** Reads a file with a block of PEM. */
export async function readPem(path: string, block: string): Promise<string> {
  const content = textOf(await readBounded(path));
  if (!content.includes(`${block}-----`)) {
    throw new SettingsError(`\`${path}\` contains no ${block.toLowerCase()} in PEM format`);
  }
  return content;
}

/** Reads a file with a bearer token. */
export async function readToken(path: string): Promise<Secret> {
  const token = textOf(await readBounded(path)).trim();
  if (token === "") {
    throw new SettingsError(`the token file \`${path}\` is empty`);
  }
  return new Secret(token);
}

/** Returns the reason of a failed system call, such as `no such file or directory`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return String(error);
  }
  // The message is `ENOENT: no such file or directory, open 'x'`.
  const match = /^[A-Z0-9]+: ([^,]+)/.exec(error.message);
  return match?.[1] ?? error.message;
}
