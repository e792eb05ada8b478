/** The position of a reader: no event or byte is returned twice, and none is skipped silently. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { create, type MessageInitShape } from "@bufbuild/protobuf";

import { LinkState, OutputStream } from "../src/gen/airlock/v1/common_pb.js";
import {
  EventSchema,
  ExecutionServiceReadOutputResponseSchema,
  type Event,
  type ExecutionServiceReadOutputResponse,
} from "../src/gen/airlock/v1/execution_pb.js";
import { ContractBroken, ReaderPosition } from "../src/position.js";
import { ByteReading, LineReading, type Selected } from "../src/reading.js";

const stream = OutputStream.STDOUT;

function event(event: NonNullable<MessageInitShape<typeof EventSchema>["event"]>): Event {
  return create(EventSchema, { event });
}

function output(offset: number, text: string): Event {
  return event({ case: "output", value: { stream, offset: BigInt(offset), data: Buffer.from(text) } });
}

function gap(from: number, to: number): Event {
  return event({ case: "gap", value: { stream, from: BigInt(from), to: BigInt(to) } });
}

/** Returns the new part of an event: its offset, and its text or end. */
function rest(position: ReaderPosition, event: Event): [number, string | number] | undefined {
  if (!position.admit(event)) {
    return undefined;
  }
  if (event.event.case === "output") {
    return [Number(event.event.value.offset), Buffer.from(event.event.value.data).toString()];
  }
  assert.ok(event.event.case === "gap");
  return [Number(event.event.value.from), Number(event.event.value.to)];
}

test("known bytes are removed", () => {
  const position = new ReaderPosition(0, 0);
  assert.deepEqual(rest(position, output(0, "abc")), [0, "abc"]);
  assert.equal(rest(position, output(0, "abc")), undefined);
  assert.deepEqual(rest(position, output(1, "bcde")), [3, "de"]);
  assert.deepEqual(rest(position, gap(2, 9)), [5, 9]);
  assert.equal(rest(position, gap(5, 9)), undefined);
  assert.deepEqual(rest(position, output(4, "eabcd!")), [9, "!"]);
});

test("skipped bytes are a violation", () => {
  for (const skipping of [output(1, "x"), gap(1, 2)]) {
    assert.throws(() => new ReaderPosition(0, 0).admit(skipping), /without reporting a gap/);
  }
  const unknown = event({ case: "output", value: { stream: 7 as OutputStream, data: Buffer.from("x") } });
  assert.throws(() => new ReaderPosition(0, 0).admit(unknown), /unknown stream/);
  assert.ok(new ReaderPosition().admit(output(7, "x")), "after a cursor, the first offset is not known");
});

test("states and headers are returned once", () => {
  const position = new ReaderPosition(0, 0);
  const opened = event({ case: "opened", value: {} });
  assert.ok(position.admit(opened));
  assert.ok(!position.admit(opened));
  const { CONNECTED, UNREACHABLE } = LinkState;
  for (const [version, link, isNew] of [
    [2, CONNECTED, true],
    [2, CONNECTED, false],
    [1, CONNECTED, false],
    [2, UNREACHABLE, true],
    [3, CONNECTED, true],
  ] as const) {
    const change = event({ case: "stateChanged", value: { version: BigInt(version), link } });
    assert.equal(position.admit(change), isNew, `version ${version}`);
  }
  assert.ok(!position.admit(create(EventSchema)), "an event of a later version is ignored");
  assert.ok(position.admit(event({ case: "finished", value: {} })));
});

test("any cuts return the stream once", () => {
  const content = Array.from({ length: 1024 }, (_, index) => String.fromCharCode(32 + (index % 90))).join("");
  for (let seed = 1; seed <= 50; seed++) {
    const random = generator(seed);
    const position = new ReaderPosition(0, 0);
    let got = "";
    while (got.length < content.length) {
      // A new view may begin at any known byte.
      const start = random(got.length);
      const end = start + random(content.length - start);
      got += rest(position, output(start, content.slice(start, end)))?.[1] ?? "";
    }
    assert.equal(got, content, `seed ${seed}`);
  }
});

/** Returns a generator of numbers from 0 to its argument. */
function generator(seed: number): (most: number) => number {
  let state = seed;
  return (most) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return (state >> 8) % (most + 1);
  };
}

type Part = NonNullable<MessageInitShape<typeof ExecutionServiceReadOutputResponseSchema>["part"]>;

function response(part: Part): ExecutionServiceReadOutputResponse {
  return create(ExecutionServiceReadOutputResponseSchema, { part });
}

function part(offset: number, text: string): ExecutionServiceReadOutputResponse {
  return response({ case: "output", value: { stream, offset: BigInt(offset), data: Buffer.from(text) } });
}

function bytes(offset: number, text: string): object {
  return { type: "bytes", offset, data: Buffer.from(text) };
}

/** Compares pieces. A Buffer and a Uint8Array with the same bytes are equal. */
function assertPiece(piece: object | undefined, expected: object | undefined): void {
  const plain = (value: object | undefined): unknown =>
    value && "data" in value ? { ...value, data: Buffer.from(value.data as Uint8Array).toString() } : value;
  assert.deepEqual(plain(piece), plain(expected));
}

function rangeOf(selected: Selected): [number, number] {
  assert.ok(selected.case === "range");
  return [Number(selected.value.offset), Number(selected.value.length)];
}

test("a head of lines that is cut continues with the lines that are left", () => {
  const position = new ByteReading({ headLines: 2 });
  assert.equal(position.request().case, "head");
  assertPiece(position.admit(part(0, "one\ntw")), bytes(0, "one\ntw"));
  assert.deepEqual(rangeOf(position.request()), [6, 0]);
  assertPiece(position.admit(part(6, "o\r\nthree\n")), bytes(6, "o\r\n"));
  assert.ok(position.wantsEnd());
  assert.deepEqual(rangeOf(position.request()), [9, 1]);
  assert.equal(position.admit(part(9, "t")), undefined);
  const done = response({ case: "done", value: { nextOffset: 10n, total: 20n } });
  const expected = { type: "done", nextOffset: 9, total: 20, complete: false, matches: 0, more: false };
  assertPiece(position.admit(done), expected);
});

test("a range counts gaps", () => {
  const position = new ByteReading({ offset: 10, length: 10 });
  const missing = response({ case: "gap", value: { stream, from: 10n, to: 15n } });
  assertPiece(position.admit(missing), { type: "gap", start: 10, end: 15 });
  assert.deepEqual(rangeOf(position.request()), [15, 5]);
  assertPiece(position.admit(part(12, "abcdefghijk")), bytes(15, "defgh"));
  assert.throws(() => position.admit(part(30, "x")), ContractBroken);
});

test("a search that is cut returns each line once", () => {
  const position = new LineReading({ pattern: "x", maxMatches: 10 });
  const line = response({ case: "line", value: { offset: 5n, data: Buffer.from("x"), number: 2n } });
  position.request();
  assert.equal(position.admit(line)?.type, "line");
  position.cut();
  const again = position.request();
  assert.ok(again.case === "search");
  assert.equal(again.value.offset, 0n, "from its beginning, so that line numbers stay known");
  assert.equal(position.admit(line), undefined);
  position.cut();
  position.request();
  position.cut();
  const last = position.request();
  assert.ok(last.case === "search");
  const from = [last.value.offset, last.value.maxMatches];
  assert.deepEqual(from, [5n, 10], "from the last match, which is found again");
});
