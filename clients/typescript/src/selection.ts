/** Parts of an output: how they are selected, and how they are returned. */

/** A part of an output stream: a range (the default), its head or its tail. */
export interface Selection {
  /** The first byte of a range. Default: 0. */
  readonly offset?: number | undefined;
  /** The number of bytes of a range. Default: to the end. */
  readonly length?: number | undefined;
  /** The number of bytes at the start. */
  readonly headBytes?: number | undefined;
  /** The number of lines at the start. */
  readonly headLines?: number | undefined;
  /** The number of bytes at the end. */
  readonly tailBytes?: number | undefined;
  /** The number of lines at the end. */
  readonly tailLines?: number | undefined;
}

/** The lines of an output stream that match a pattern. */
export interface Search {
  /** A regular expression without look-around and back-references. */
  readonly pattern: string;
  /** Treat the pattern as literal text. */
  readonly fixed?: boolean | undefined;
  /** Match without regard to case. */
  readonly ignoreCase?: boolean | undefined;
  /** Select the lines that do not match. */
  readonly invert?: boolean | undefined;
  /** The number of lines to show before each match. */
  readonly before?: number | undefined;
  /** The number of lines to show after each match. */
  readonly after?: number | undefined;
  /** The largest number of matches. Default: 1,000. */
  readonly maxMatches?: number | undefined;
  /** The offset to begin at. */
  readonly offset?: number | undefined;
}

/** Bytes of the output. */
export interface OutputBytes {
  /** The kind of the piece. */
  readonly type: "bytes";
  /** The offset of the first byte. */
  readonly offset: number;
  /** The bytes. */
  readonly data: Uint8Array;
}

/** A range of bytes that are no longer held. */
export interface OutputGap {
  /** The kind of the piece. */
  readonly type: "gap";
  /** The first byte. */
  readonly start: number;
  /** The byte after the last one. */
  readonly end: number;
}

/** A line that matched, or a line of its context. */
export interface OutputLine {
  /** The kind of the piece. */
  readonly type: "line";
  /** The offset of the first byte. */
  readonly offset: number;
  /** The line without its newline. */
  readonly data: Uint8Array;
  /** The number of the line, counted from 1. 0 if it is unknown. */
  readonly number: number;
  /** The line is context and did not match. */
  readonly context: boolean;
  /** The line is longer than `data`. */
  readonly truncated: boolean;
}

/** The end of a complete read. */
export interface OutputDone {
  /** The kind of the piece. */
  readonly type: "done";
  /** The offset at which the next read continues. */
  readonly nextOffset: number;
  /** The length of the stream in bytes. */
  readonly total: number;
  /** The stream no longer grows. */
  readonly complete: boolean;
  /** The number of lines that matched. */
  readonly matches: number;
  /** The search stopped at `maxMatches`. */
  readonly more: boolean;
}

/** A piece of an output. `type` tells which. */
export type Piece = OutputBytes | OutputGap | OutputLine | OutputDone;
