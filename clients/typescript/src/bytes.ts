/**
 * Bytes, and texts that may not be UTF-8.
 *
 * A path is a string. A byte that is not UTF-8 is a lone surrogate from U+DC80 to U+DCFF, as in Python, so that every path
 * can be returned and passed back.
 */

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lossy = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();
const ESCAPED = /[\udc80-\udcff]/u;
const UNPAIRED = /\p{Surrogate}/u;

/** Returns text as UTF-8, and bytes as they are. */
export function bytesOf(content: string | Uint8Array): Uint8Array {
  return typeof content === "string" ? encoder.encode(content) : content;
}

/** Returns bytes as text. Invalid UTF-8 is replaced by U+FFFD. */
export function textOf(data: Uint8Array): string {
  return lossy.decode(data);
}

/** Returns the path of a message that has it as text, or as bytes if it is not UTF-8. */
export function pathOf(text: string, data: Uint8Array): string {
  return data.length > 0 ? decodePath(data) : text;
}

/** Returns the fields of a message for a path: `path`, or `pathBytes` if the path is not UTF-8. */
export function pathFields(path: string): { path: string } | { pathBytes: Uint8Array } {
  return UNPAIRED.test(path) ? { pathBytes: encodePath(path) } : { path };
}

/** Decodes a path. Each byte that is not UTF-8 becomes a lone surrogate. */
export function decodePath(data: Uint8Array): string {
  try {
    return strict.decode(data);
  } catch {
    return escapeInvalid(data);
  }
}

/** Encodes a path that `decodePath` returned. */
export function encodePath(path: string): Uint8Array<ArrayBuffer> {
  if (!UNPAIRED.test(path)) {
    return encoder.encode(path);
  }
  const parts = Array.from(path, (char) =>
    ESCAPED.test(char) ? Uint8Array.of(char.charCodeAt(0) - 0xdc00) : encoder.encode(char),
  );
  return new Uint8Array(Buffer.concat(parts));
}

function escapeInvalid(data: Uint8Array): string {
  let out = "";
  let at = 0;
  while (at < data.length) {
    const length = sequence(data, at);
    if (length === 0) {
      out += String.fromCharCode(0xdc00 + (data[at] ?? 0));
      at += 1;
    } else {
      out += strict.decode(data.subarray(at, at + length));
      at += length;
    }
  }
  return out;
}

/** Returns the length of the UTF-8 sequence at an offset, or 0 if there is none. */
function sequence(data: Uint8Array, at: number): number {
  for (let length = 1; length <= 4 && at + length <= data.length; length++) {
    try {
      strict.decode(data.subarray(at, at + length));
      return length;
    } catch {
      // It is longer, or invalid.
    }
  }
  return 0;
}

/** Returns the bytes as hexadecimal text. */
export function hex(data: Uint8Array): string {
  return Buffer.from(data).toString("hex");
}
