/** The positions of readers of an output: the request for the rest, and the new part of each response. */

import type { MessageInitShape } from "@bufbuild/protobuf";

import type {
  ExecutionServiceReadOutputRequestSchema,
  ExecutionServiceReadOutputResponse,
  OutputDone as RawDone,
} from "./gen/airlock/v1/execution_pb.js";
import { ContractBroken, SKIPPED } from "./position.js";
import type { OutputDone, Piece, Search, Selection } from "./selection.js";

/** What a reader requests: the selection of a request. */
export type Selected = NonNullable<MessageInitShape<typeof ExecutionServiceReadOutputRequestSchema>["selection"]>;

/** The position of a reader. */
export interface Reading {
  /** Returns the request for the rest. */
  request(): Selected;
  /** Records that the view broke. */
  cut(): void;
  /** Reports whether the open view would deliver lines that are not wanted. */
  wantsEnd(): boolean;
  /** Returns the new part of a response. */
  admit(response: ExecutionServiceReadOutputResponse): Piece | undefined;
}

/** The number of consecutive views without new data after which line numbers are no longer returned. */
const VAIN = 2;
const MATCHES_DEFAULT = 1_000;
const NEWLINE = 0x0a;

/** The position of a reader of bytes. */
export class ByteReading implements Reading {
  private readonly first: Selected;
  /** The next offset. `undefined`: it is not known yet. */
  private at: number | undefined = 0;
  /** The number of bytes, or of lines, that remain. Neither: to the end. */
  private bytes: number | undefined;
  private lines: number | undefined;
  private moved = false;
  private onlyEnd = false;

  constructor({ offset = 0, length = 0, headBytes, headLines, tailBytes, tailLines }: Selection) {
    if (headBytes !== undefined) {
      this.bytes = headBytes;
      this.first = { case: "head", value: { amount: { case: "bytes", value: BigInt(headBytes) } } };
    } else if (headLines !== undefined) {
      this.lines = headLines;
      this.first = { case: "head", value: { amount: { case: "lines", value: BigInt(headLines) } } };
    } else if (tailBytes !== undefined) {
      this.at = undefined;
      this.first = { case: "tail", value: { amount: { case: "bytes", value: BigInt(tailBytes) } } };
    } else if (tailLines !== undefined) {
      this.at = undefined;
      this.first = { case: "tail", value: { amount: { case: "lines", value: BigInt(tailLines) } } };
    } else {
      this.at = offset;
      this.bytes = length || undefined;
      this.first = range(offset, length);
    }
  }

  request(): Selected {
    this.onlyEnd = false;
    if (!this.moved || this.at === undefined) {
      return this.first;
    }
    if (this.bytes === 0 || this.lines === 0) {
      this.onlyEnd = true;
      return range(this.at, 1);
    }
    return range(this.at, this.bytes ?? 0);
  }

  cut(): void {
    // The next request continues at the position.
  }

  wantsEnd(): boolean {
    return this.moved && this.lines === 0 && !this.onlyEnd;
  }

  admit({ part }: ExecutionServiceReadOutputResponse): Piece | undefined {
    switch (part.case) {
      case "done": {
        const done = doneOf(part.value);
        const cut = this.onlyEnd && this.at !== undefined;
        return cut ? { ...done, nextOffset: this.at ?? 0, matches: 0, more: false } : done;
      }
      case "output":
        return this.onlyEnd ? undefined : this.admitBytes(Number(part.value.offset), part.value.data);
      case "gap":
        return this.onlyEnd ? undefined : this.admitGap(Number(part.value.from), Number(part.value.to));
      case "line":
        throw new ContractBroken("it sent lines where bytes were requested");
      default:
        return undefined;
    }
  }

  private admitBytes(offset: number, received: Uint8Array): Piece | undefined {
    const start = this.start(offset);
    const data = this.wanted(received.subarray(start - offset));
    if (data.length === 0) {
      return undefined;
    }
    this.move(start + data.length);
    return { type: "bytes", offset: start, data };
  }

  private admitGap(from: number, to: number): Piece | undefined {
    const start = this.start(from);
    if (to <= start) {
      return undefined;
    }
    if (this.bytes !== undefined) {
      this.bytes = Math.max(0, this.bytes - (to - start));
    }
    this.move(to);
    return { type: "gap", start, end: to };
  }

  private start(offset: number): number {
    const start = this.at ?? offset;
    if (offset > start) {
      throw new ContractBroken(SKIPPED);
    }
    return start;
  }

  private move(at: number): void {
    this.at = at;
    this.moved = true;
  }

  private wanted(data: Uint8Array): Uint8Array {
    if (this.bytes !== undefined) {
      const wanted = data.subarray(0, this.bytes);
      this.bytes -= wanted.length;
      return wanted;
    }
    if (this.lines === undefined) {
      return data;
    }
    let length = 0;
    while (this.lines > 0 && length < data.length) {
      // A carriage return does not end a line of the output.
      const newline = data.indexOf(NEWLINE, length);
      length = newline < 0 ? data.length : newline + 1;
      this.lines -= newline < 0 ? 0 : 1;
    }
    return data.subarray(0, length);
  }
}

/**
 * The position of a reader in a search.
 *
 * A search that was cut is requested again from its beginning, and known lines are skipped, so line numbers stay known. If
 * connections break too early for progress, it continues from the last match, without line numbers.
 */
export class LineReading implements Reading {
  private lastLine: number | undefined;
  private lastMatch: number | undefined;
  private matches = 0;
  private beforeView = 0;
  private gapTo = 0;
  private brought = false;
  private vain = 0;

  constructor(private readonly search: Search) {}

  request(): Selected {
    const { pattern, fixed, ignoreCase, invert, before, after, maxMatches = 0, offset = 0 } = this.search;
    this.brought = false;
    this.beforeView = 0;
    const plain = { pattern, fixed: fixed ?? false, ignoreCase: ignoreCase ?? false, invert: invert ?? false };
    const context = { before: before ?? 0, after: after ?? 0 };
    if (this.vain < VAIN || this.lastMatch === undefined) {
      return { case: "search", value: { ...plain, ...context, maxMatches, offset: BigInt(offset) } };
    }
    // It starts at the last match, which is found again, so that the context after it is shown.
    this.beforeView = Math.max(0, this.matches - 1);
    const left = Math.max(1, (maxMatches || MATCHES_DEFAULT) - this.beforeView);
    return { case: "search", value: { ...plain, ...context, maxMatches: left, offset: BigInt(this.lastMatch) } };
  }

  cut(): void {
    if (this.vain < VAIN) {
      this.vain = this.brought ? 0 : this.vain + 1;
    }
  }

  wantsEnd(): boolean {
    return false;
  }

  admit({ part }: ExecutionServiceReadOutputResponse): Piece | undefined {
    switch (part.case) {
      case "done": {
        const done = doneOf(part.value);
        return { ...done, matches: done.matches + this.beforeView };
      }
      case "gap": {
        const start = Math.max(Number(part.value.from), this.gapTo);
        const end = Number(part.value.to);
        this.gapTo = Math.max(this.gapTo, end);
        return end > start ? { type: "gap", start, end } : undefined;
      }
      case "line": {
        const { data, context, truncated } = part.value;
        const offset = Number(part.value.offset);
        if (this.lastLine !== undefined && offset <= this.lastLine) {
          return undefined;
        }
        this.brought = true;
        this.lastLine = offset;
        if (!context) {
          this.lastMatch = offset;
          this.matches += 1;
        }
        return { type: "line", offset, data, number: Number(part.value.number), context, truncated };
      }
      case "output":
        throw new ContractBroken("it sent bytes where lines were requested");
      default:
        return undefined;
    }
  }
}

function range(offset: number, length: number): Selected {
  return { case: "range", value: { offset: BigInt(offset), length: BigInt(length) } };
}

function doneOf(raw: RawDone): OutputDone {
  return {
    type: "done",
    nextOffset: Number(raw.nextOffset),
    total: Number(raw.total),
    complete: raw.complete,
    matches: Number(raw.matches),
    more: raw.more,
  };
}
