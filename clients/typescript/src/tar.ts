/** The format of tar archives: GNU headers are written, and GNU, POSIX and old headers are read. Names are bytes. */

import type { FileHandle } from "node:fs/promises";

import { encodePath, textOf } from "./bytes.js";
import { ArchiveError } from "./errors.js";
import { readAt, writeAll } from "./local.js";

const BLOCK = 512;
/** The longest name, link target or extended header, in bytes. */
const LONGEST = 64 * 1024;

/** The type of an entry. */
export type EntryType = "file" | "directory" | "symlink" | "hardlink" | "other";

/** An entry of an archive. */
export interface Entry {
  readonly name: Uint8Array;
  readonly type: EntryType;
  /** The permission bits. */
  readonly mode: number;
  readonly size: number;
  readonly linkName: Uint8Array;
}

/** An entry that was read. Its content begins at an offset of the archive. */
export interface FoundEntry extends Entry {
  readonly offset: number;
}

const FLAGS: Readonly<Record<EntryType, string>> = {
  file: "0",
  hardlink: "1",
  symlink: "2",
  directory: "5",
  other: "?",
};
const TYPES: Readonly<Record<string, EntryType>> = {
  "\0": "file",
  "0": "file",
  "1": "hardlink",
  "2": "symlink",
  "5": "directory",
  "7": "file",
};

/** Returns the header blocks of an entry. A long name has blocks of its own. */
export function headerOf(entry: Entry, modifiedSeconds: number): Uint8Array {
  const name = entry.type === "directory" ? Buffer.concat([entry.name, Buffer.from("/")]) : entry.name;
  return Buffer.concat([
    ...long("K", entry.linkName),
    ...long("L", name),
    block(name, FLAGS[entry.type], entry.mode, entry.size, modifiedSeconds, entry.linkName),
  ]);
}

function long(flag: string, text: Uint8Array): Uint8Array[] {
  if (text.length <= 100) {
    return [];
  }
  const size = text.length + 1;
  const padded = new Uint8Array(padding(size) + size);
  padded.set(text);
  return [block(encodePath("././@LongLink"), flag, 0, size, 0, new Uint8Array()), padded];
}

function block(
  name: Uint8Array,
  flag: string,
  mode: number,
  size: number,
  modifiedSeconds: number,
  linkName: Uint8Array,
): Uint8Array {
  const header = Buffer.alloc(BLOCK);
  header.set(name.subarray(0, 100), 0);
  writeNumber(header, 100, 8, mode & 0o7777);
  writeNumber(header, 108, 8, 0);
  writeNumber(header, 116, 8, 0);
  writeNumber(header, 124, 12, size);
  writeNumber(header, 136, 12, Math.max(0, Math.floor(modifiedSeconds)));
  header.write(flag, 156, "latin1");
  header.set(linkName.subarray(0, 100), 157);
  header.write("ustar  \0", 257, "latin1");
  header.write(`${checksum(header).toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return header;
}

function writeNumber(header: Buffer, at: number, length: number, value: number): void {
  const octal = value.toString(8).padStart(length - 1, "0");
  if (octal.length < length) {
    header.write(`${octal}\0`, at, "latin1");
    return;
  }
  // Base 256, with the highest bit as its mark.
  header.writeBigUInt64BE(BigInt(value), at + length - 8);
  header[at] = 0x80;
}

function checksum(header: Uint8Array): number {
  let sum = 0;
  header.forEach((byte, at) => {
    sum += at >= 148 && at < 156 ? 0x20 : byte;
  });
  return sum;
}

/** Returns the number of bytes that follow content of a size, up to the next block. */
export function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}

/** Writes the end of an archive. */
export async function writeEnd(archive: FileHandle): Promise<void> {
  await writeAll(archive, new Uint8Array(2 * BLOCK));
}

/** Returns the entries of an archive. Throws `ArchiveError` if it is invalid. */
export async function* entriesOf(archive: FileHandle): AsyncGenerator<FoundEntry> {
  const { size: end } = await archive.stat();
  let extended: Extended = {};
  for (let at = 0; ;) {
    const header = await readAt(archive, at, BLOCK);
    if (header.every((byte) => byte === 0) && (at > 0 || header.length === BLOCK)) {
      return;
    }
    const found = parsed(header, at + BLOCK);
    const size = found.type === "file" || found.type === "other" ? (extended.size ?? found.size) : 0;
    at = found.offset + size + padding(size);
    if (found.offset + size > end) {
      throw invalid("it is truncated");
    }
    if ("LKxg".includes(found.flag)) {
      extended = { ...extended, ...(await extendedOf(archive, found)) };
      continue;
    }
    yield {
      ...found,
      size,
      name: extended.name ?? found.name,
      linkName: extended.linkName ?? found.linkName,
    };
    extended = {};
  }
}

/** Fields that a preceding entry contains, because they do not fit into a header. */
interface Extended {
  readonly name?: Uint8Array;
  readonly linkName?: Uint8Array;
  readonly size?: number;
}

function parsed(header: Uint8Array, offset: number): FoundEntry & { readonly flag: string } {
  if (header.length < BLOCK) {
    throw invalid("it is truncated");
  }
  if (readNumber(header, 148, 8) !== checksum(header)) {
    throw invalid("a header has a wrong checksum");
  }
  const flag = String.fromCharCode(header[156] ?? 0);
  const name = nameOf(header);
  const old = flag === "\0" && name.at(-1) === 0x2f;
  return {
    name,
    flag,
    type: old ? "directory" : (TYPES[flag] ?? "other"),
    mode: readNumber(header, 100, 8),
    size: readNumber(header, 124, 12),
    linkName: untilZero(header.subarray(157, 257)),
    offset,
  };
}

function nameOf(header: Uint8Array): Uint8Array {
  const name = untilZero(header.subarray(0, 100));
  const prefix = untilZero(header.subarray(345, 500));
  const isPosix = textOf(header.subarray(257, 263)) === "ustar\0";
  return isPosix && prefix.length > 0 ? Buffer.concat([prefix, Buffer.from("/"), name]) : name;
}

function readNumber(header: Uint8Array, at: number, length: number): number {
  const field = header.subarray(at, at + length);
  if (((field[0] ?? 0) & 0x80) !== 0) {
    const value = field.slice(1).reduce((sum, byte) => sum * 256 + byte, (field[0] ?? 0) & 0x7f);
    if (!Number.isSafeInteger(value)) {
      throw invalid("a number in a header is too large");
    }
    return value;
  }
  const text = textOf(untilZero(field)).trim();
  if (!/^[0-7]*$/.test(text)) {
    throw invalid("a header has an invalid number");
  }
  return text === "" ? 0 : Number.parseInt(text, 8);
}

async function extendedOf(archive: FileHandle, found: FoundEntry & { readonly flag: string }): Promise<Extended> {
  if (found.size > LONGEST) {
    throw invalid("a name is too long");
  }
  const content = await readAt(archive, found.offset, found.size);
  switch (found.flag) {
    case "L":
      return { name: untilZero(content) };
    case "K":
      return { linkName: untilZero(content) };
    case "x":
      return posixOf(content);
    default:
      // Defaults for all entries have no field that is used here.
      return {};
  }
}

/** Returns the fields of an extended header of POSIX: records `LENGTH KEY=VALUE\n`. */
function posixOf(content: Uint8Array): Extended {
  let found: Extended = {};
  for (let at = 0; at < content.length && content[at] !== 0;) {
    const space = content.indexOf(0x20, at);
    const length = Number(textOf(content.subarray(at, space)));
    const equals = content.indexOf(0x3d, space);
    const end = at + length;
    if (space < 0 || !Number.isInteger(length) || equals < 0 || equals >= end || end > content.length) {
      throw invalid("it has an invalid extended header");
    }
    found = {
      ...found,
      ...posixField(textOf(content.subarray(space + 1, equals)), content.subarray(equals + 1, end - 1)),
    };
    at = end;
  }
  return found;
}

function posixField(key: string, value: Uint8Array): Extended {
  switch (key) {
    case "path":
      return { name: value };
    case "linkpath":
      return { linkName: value };
    case "size": {
      const size = Number(textOf(value));
      if (!Number.isSafeInteger(size) || size < 0) {
        throw invalid("a number in a header is too large");
      }
      return { size };
    }
    default:
      return {};
  }
}

function untilZero(field: Uint8Array): Uint8Array {
  const end = field.indexOf(0);
  return end < 0 ? field : field.subarray(0, end);
}

function invalid(why: string): ArchiveError {
  return new ArchiveError(`the archive is invalid: ${why}`);
}
