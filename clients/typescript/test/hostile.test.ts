/** The client against servers and connections that break: no byte is lost or doubled, no broken stream is an end. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";

import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";

import * as airlock from "../src/index.js";
import { CauseCode, OutputStream, Started } from "../src/gen/airlock/v1/common_pb.js";
import { ExecutionService, type EventSchema } from "../src/gen/airlock/v1/execution_pb.js";
import { FileFormat, FileService, type FileServiceDownloadResponseSchema } from "../src/gen/airlock/v1/file_pb.js";
import { SessionService } from "../src/gen/airlock/v1/session_pb.js";
import { Fake, broken, refused } from "./fake.js";
import { inScratch } from "./programs.js";

const { run, attach, start, cancel, wait, list } = ExecutionService.method;
const { download } = FileService.method;
const { create } = SessionService.method;

type Download = MessageInitShape<typeof FileServiceDownloadResponseSchema>;
type Answer = { readonly event: MessageInitShape<typeof EventSchema> };

const cursor = (text: string): Uint8Array => Buffer.from(text);

function opened(): Answer {
  const value = { execution: { executionId: "e" } };
  return { event: { cursor: cursor("0"), event: { case: "opened", value } } };
}

function output(offset: number, text: string): Answer {
  const value = { stream: OutputStream.STDOUT, offset: BigInt(offset), data: Buffer.from(text) };
  return { event: { cursor: cursor(String(offset + text.length)), event: { case: "output", value } } };
}

function finished(): Answer {
  const cause = { code: CauseCode.EXITED, detail: { case: "exited" as const, value: { code: 0 } } };
  const value = { execution: { executionId: "e", result: { cause, started: Started.YES } } };
  return { event: { cursor: cursor("z"), event: { case: "finished", value } } };
}

function texts(parts: readonly Uint8Array[]): string {
  return Buffer.concat(parts).toString();
}

test("a view that breaks or ends is never the end", async () => {
  const fake = new Fake();
  fake.stream(run, function* () {
    yield opened();
    yield output(0, "abc");
    throw broken();
  });
  fake.stream(attach, function* (_, number) {
    yield opened();
    if (number === 1) {
      // It repeats known bytes, and ends without a closing event.
      yield output(1, "bcde");
    } else if (number === 2) {
      throw broken();
    } else {
      yield output(5, "fg");
      yield { event: { cursor: cursor("7") } };
      yield finished();
    }
  });
  const got: Uint8Array[] = [];
  await fake.connected({}, async (client) => {
    const result = await client.run("x", { onStdout: (data) => got.push(data) });
    assert.ok(result.ok);
  });
  assert.equal(texts(got), "abcdefg");
  const from = fake.received(attach).map((request) => Buffer.from(request.from.value as Uint8Array).toString());
  assert.deepEqual(from, ["3", "5", "5"]);
});

test("a start without an answer is repeated with its request ID", async () => {
  const fake = new Fake();
  fake.stream(run, function* (_, number) {
    if (number < 3) {
      throw broken();
    }
    yield opened();
    yield finished();
  });
  await fake.connected({}, async (client) => {
    assert.ok((await client.run("x")).ok);
  });
  const ids = fake.received(run).map(({ spec }) => spec?.requestId ?? "");
  assert.equal(ids.length, 3);
  assert.equal(new Set(ids).size, 1);
  assert.notEqual(ids[0], "");
});

test("a start that is never answered is unknown", async () => {
  const fake = new Fake();
  fake.stream(run, () => {
    throw broken();
  });
  fake.unary(start, () => {
    throw broken();
  });
  await fake.connected({}, async (client) => {
    const unknown = { kind: "start_unknown", requestId: "mine" };
    await assert.rejects(client.run("x", { requestId: "mine" }), unknown);
    await assert.rejects(client.start("x"), { kind: "start_unknown" });
  });
});

test("a view that cannot be resumed is lost and names its cursor", async () => {
  const fake = new Fake();
  fake.stream(attach, function* (_, number) {
    yield opened();
    if (number === 1) {
      yield output(0, "abc");
    }
    // Bytes are skipped, again and again.
    yield output(9, "x");
  });
  const got: Uint8Array[] = [];
  await fake.connected({}, async (client) => {
    const lost = await rejected(async () => {
      for await (const event of client.attach("e").events()) {
        got.push(event.type === "output" ? event.data : new Uint8Array());
      }
    });
    assert.ok(lost instanceof airlock.ViewLostError);
    assert.equal(lost.executionId, "e");
    assert.equal(texts([lost.cursor]), "3");
    assert.match(lost.message, /skipped bytes/);
  });
  assert.equal(texts(got), "abc");
});

test("an error of the server is not retried", async () => {
  const fake = new Fake();
  fake.unary(wait, () => {
    throw refused(Code.Internal, "INTERNAL");
  });
  await fake.connected({}, async (client) => {
    await assert.rejects(client.attach("e").wait(), { kind: "rejected", code: "INTERNAL", reason: "INTERNAL" });
  });
  assert.equal(fake.received(wait).length, 1);
});

for (const [code, reason, made] of [
  [Code.Unauthenticated, "TOKEN_UNKNOWN", airlock.AuthenticationError],
  [Code.PermissionDenied, "FORBIDDEN", airlock.ForbiddenError],
  [Code.FailedPrecondition, "SESSION_LOST", airlock.SessionClosedError],
  [Code.ResourceExhausted, "LIMIT_REACHED", airlock.LimitReachedError],
  [Code.NotFound, "NOT_FOUND", airlock.NotFoundError],
  [Code.AlreadyExists, "REQUEST_ID_REUSED", airlock.RejectedError],
] as const) {
  test(`${reason} is a ${made.name}`, async () => {
    const fake = new Fake();
    fake.unary(create, () => {
      throw refused(code, reason, { limit: "sessions" });
    });
    await fake.connected({}, async (client) => {
      const error = await rejected(() => client.session());
      assert.ok(error instanceof made);
      assert.equal(error.name, made.name);
      assert.equal(error.reason, reason);
      assert.equal(error.metadata["limit"], "sessions");
    });
  });
}

const CONTENT = Buffer.from(Array.from({ length: 2560 }, (_, index) => index % 256));

function serveDownload(fake: Fake, { cut, wrongHash }: { cut: boolean; wrongHash: boolean }): void {
  fake.unary(create, () => ({ session: { sessionId: "s" } }));
  fake.stream(download, function* (request, number): Iterable<Download> {
    const begin = Number(request.offset);
    const chunk = (offset: number, end?: number): Download => ({
      part: { case: "chunk", value: { offset: BigInt(offset), data: CONTENT.subarray(offset, end) } },
    });
    yield { part: { case: "header", value: { transferId: "t", format: FileFormat.FILE } } };
    yield chunk(begin, begin + 1000);
    if (cut && number < 3) {
      throw broken();
    }
    yield chunk(begin + 500);
    const sha256 = wrongHash ? Buffer.alloc(32, "x") : createHash("sha256").update(CONTENT).digest();
    yield { part: { case: "done", value: { size: BigInt(CONTENT.length), sha256 } } };
  });
}

test("a download continues and returns each byte once", async () => {
  const fake = new Fake();
  serveDownload(fake, { cut: true, wrongHash: false });
  await fake.connected({}, async (client) => {
    const session = await client.session();
    assert.deepEqual(await session.files.read("x"), CONTENT);
  });
  const asked = fake.received(download).map(({ transferId, offset }) => [transferId, Number(offset)]);
  assert.deepEqual(asked, [
    ["", 0],
    ["t", 1000],
    ["t", 2000],
  ]);
});

test("a download with a wrong hash is an error and leaves no file", () =>
  inScratch(async (directory) => {
    const fake = new Fake();
    serveDownload(fake, { cut: false, wrongHash: true });
    await fake.connected({}, async (client) => {
      const session = await client.session();
      await assert.rejects(session.files.download("x", join(directory, "x")), { kind: "contract", message: /hash/ });
      await assert.rejects(session.files.read("x", { limit: 100 }), {
        kind: "local",
        message: /longer than the limit/,
      });
    });
    assert.deepEqual(await readdir(directory), []);
  }));

test("another server of the store is used if one fails", async () => {
  const fake = new Fake();
  fake.unary(list, () => ({}));
  await fake.connected({}, async (_, address) => {
    const both = `http://127.0.0.1:1,${address}`;
    await using client = await airlock.connect({ address: both, insecureLoopback: true, environment: {} });
    assert.deepEqual(await client.executions(), []);
    assert.equal(client.address, address);
  });
});

test("a changed token is used without a new client", () =>
  inScratch(async (directory) => {
    const fake = new Fake();
    fake.unary(list, () => ({}));
    const tokenFile = join(directory, "token");
    await writeFile(tokenFile, "first-token");
    await fake.connected({ tokenFile }, async (client) => {
      await client.executions();
      await writeFile(tokenFile, "second-token");
      await client.executions();
      // A token file that is being written is not used.
      await writeFile(tokenFile, "");
      await client.executions();
    });
    assert.deepEqual(fake.tokens, ["Bearer first-token", "Bearer second-token", "Bearer second-token"]);
  }));

test("a command whose caller is gone is killed unless it may stay", async () => {
  const fake = new Fake();
  fake.stream(run, function* () {
    yield opened();
    yield output(0, "abc");
  });
  fake.unary(cancel, () => ({}));
  const onStdout = (): void => {
    throw new RangeError("mine");
  };
  await fake.connected({}, async (client) => {
    await assert.rejects(client.run("x", { onStdout, killOnCancel: false }), RangeError);
    assert.equal(fake.received(cancel).length, 0);
    await assert.rejects(client.run("x", { onStdout }), RangeError);
  });
  assert.deepEqual(
    fake.received(cancel).map(({ executionId }) => executionId),
    ["e"],
  );
});

test("an aborted start without an answer is found by its request ID and killed", async () => {
  const fake = new Fake();
  const controller = new AbortController();
  fake.stream(run, () => {
    controller.abort(new RangeError("mine"));
    throw broken();
  });
  fake.unary(start, () => ({ execution: { executionId: "e" } }));
  fake.unary(cancel, () => ({}));
  await fake.connected({}, async (client) => {
    await assert.rejects(client.run("x", { requestId: "mine", signal: controller.signal }), RangeError);
  });
  assert.deepEqual(
    fake.received(start).map(({ spec }) => spec?.requestId),
    ["mine"],
  );
  assert.deepEqual(
    fake.received(cancel).map(({ executionId }) => executionId),
    ["e"],
  );
});

test("a command whose view is lost continues", async () => {
  const fake = new Fake();
  const skipping = (): Answer[] => [opened(), output(5, "x")];
  fake.stream(run, skipping);
  fake.stream(attach, skipping);
  fake.unary(cancel, () => ({}));
  await fake.connected({}, async (client) => {
    await assert.rejects(client.run("x"), { kind: "view_lost" });
  });
  assert.equal(fake.received(cancel).length, 0);
});

test("a closed client refuses calls", async () => {
  const fake = new Fake();
  await fake.connected({}, async (client) => {
    await client.close();
    await assert.rejects(client.sessions(), { kind: "settings", message: /connect again/ });
  });
});

async function rejected(call: () => Promise<unknown>): Promise<unknown> {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return assert.fail("it did not fail");
}
