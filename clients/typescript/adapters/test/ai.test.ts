/** Vercel's AI SDK: its own agent with a scripted model, in the sandbox of Airlock. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { DeniedError, connect, type Client, type Session } from "airlock-client";
import { AirlockSandbox } from "airlock-client/ai";
import { ToolLoopAgent, isStepCount, tool, type Experimental_SandboxSession } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";

import { ANSWER, STEPS, check, prepare } from "./task.ts";

// Far more than a busy host needs.
const LIMIT = { timeout: 600_000 };
const PAGE = new URL("../../../../docs/agents.md", import.meta.url);
const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

let client: Client;
let session: Session;
let sandbox: Experimental_SandboxSession;

before(async () => {
  client = await connect();
  session = await client.session();
  // The class has the types of the package.
  sandbox = new AirlockSandbox(session, { timeoutMs: 60_000 }) satisfies Experimental_SandboxSession;
});

after(async () => {
  await session.close();
  await client.close();
});

/** Returns a model that calls the tool `bash` for each command, and then answers. */
function scripted(commands: readonly string[]): MockLanguageModelV4 {
  const calls = commands.map((command, at) => ({
    content: [
      { type: "tool-call" as const, toolCallId: `call-${at}`, toolName: "bash", input: JSON.stringify({ command }) },
    ],
    finishReason: { unified: "tool-calls" as const, raw: undefined },
    usage: USAGE,
    warnings: [],
  }));
  const answer = {
    content: [{ type: "text" as const, text: ANSWER }],
    finishReason: { unified: "stop" as const, raw: undefined },
    usage: USAGE,
    warnings: [],
  };
  return new MockLanguageModelV4({ doGenerate: [...calls, answer] });
}

const bash = tool({
  description: ({ experimental_sandbox }) => `Runs a command. ${experimental_sandbox?.description}`,
  inputSchema: z.object({ command: z.string() }),
  execute: async ({ command }, { abortSignal, experimental_sandbox }) => {
    assert.ok(experimental_sandbox);
    return experimental_sandbox.run({ command, ...(abortSignal && { abortSignal }) });
  },
});

async function text(stream: ReadableStream<Uint8Array>): Promise<string> {
  return new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).text();
}

test("a scripted agent fixes a bug", LIMIT, async () => {
  await prepare(session);
  const model = scripted(STEPS.map(({ command }) => command));
  const agent = new ToolLoopAgent({ model, tools: { bash }, stopWhen: isStepCount(20) });
  const result = await agent.generate({ prompt: "Fix the mean.", experimental_sandbox: sandbox });
  assert.equal(result.text, ANSWER);
  const outputs = result.steps.flatMap(({ staticToolResults }) => staticToolResults.map(({ output }) => output));
  await check(
    session,
    outputs.map((output) => output.stdout + output.stderr),
  );
  assert.deepEqual(
    outputs.map((output) => output.exitCode),
    [0, 1, 0, 0, 0, 125, 4],
  );
  const [described] = model.doGenerateCalls[0]?.tools ?? [];
  assert.ok(described?.type === "function" && described.description?.includes("Airlock sandbox"));
});

test("a command has its directory, its variables and separate streams", LIMIT, async () => {
  const directory = "/workspace/it's here";
  await sandbox.writeTextFile({ path: `${directory}/x`, content: "" });
  const command = 'pwd; echo "$GREETING" >&2; exit 3';
  const result = await sandbox.run({ command, workingDirectory: directory, env: { GREETING: "hello" } });
  assert.deepEqual(result, { exitCode: 3, stdout: `${directory}\n`, stderr: "hello\n" });
  // A directory of one command is not that of the next.
  assert.equal((await sandbox.run({ command: "pwd" })).stdout, "/workspace\n");
  const absent = await sandbox.run({ command: "pwd", workingDirectory: "none" });
  assert.deepEqual([absent.exitCode, absent.stdout], [1, ""]);
});

test("a command that did not run, or was ended, says why", LIMIT, async () => {
  const invalid = await sandbox.run({ command: "true", env: { "no name": "" } });
  assert.equal(invalid.exitCode, 125);
  assert.match(invalid.stderr, /^airlock: .*; it did not run\n$/);
  const short = new AirlockSandbox(session, { timeoutMs: 1_000 });
  const late = await short.run({ command: "echo begin; sleep 600" });
  assert.deepEqual([late.exitCode, late.stdout], [124, "begin\n"]);
  assert.match(late.stderr, /^airlock: ended because its timeout expired/);
  assert.equal((await sandbox.run({ command: "kill -9 $$" })).exitCode, 137);
});

test("a person answers a question", LIMIT, async () => {
  const onApproval = async (id: string) => client.approvals.deny(await client.approvals.show(id), "not now");
  const patient = new AirlockSandbox(session, { onAsk: "wait", onApproval });
  const denied = await patient.run({ command: "git push --force" });
  assert.deepEqual(denied, {
    exitCode: 125,
    stdout: "",
    stderr: "airlock: denied by a person: not now; it did not run\n",
  });
});

test("a long output is shortened for the model only", LIMIT, async () => {
  const short = await sandbox.run({ command: "seq 1 50000" });
  assert.ok(short.stdout.length < 40_000 && short.stdout.endsWith("50000\n"), String(short.stdout.length));
  assert.match(short.stderr, /^airlock: \d+ bytes of the output are omitted/m);
  const whole = await new AirlockSandbox(session, { inlineLimit: 150_000 }).run({ command: "seq 1 20000" });
  assert.equal(whole.stdout.split("\n").length, 20_001);
  const process = await sandbox.spawn({ command: "seq 1 50000; echo end >&2" });
  assert.equal((await text(process.stdout)).split("\n").length, 50_001);
  assert.equal(await text(process.stderr), "end\n");
  assert.deepEqual(await process.wait(), { exitCode: 0 });
});

test("an aborted command is ended", LIMIT, async () => {
  const reason = new Error("enough");
  const stop = new AbortController();
  const running = sandbox.run({ command: "echo $$ > pid; sleep 1000", abortSignal: stop.signal });
  while ((await sandbox.readTextFile({ path: "pid" })) === null);
  stop.abort(reason);
  await assert.rejects(async () => running, reason);

  const other = new AbortController();
  const process = await sandbox.spawn({ command: "echo begin; sleep 1000", abortSignal: other.signal });
  const reader = process.stdout.getReader();
  assert.equal(Buffer.from((await reader.read()).value ?? []).toString(), "begin\n");
  const end = process.wait();
  other.abort(reason);
  await assert.rejects(async () => end, reason);
  // The stream ends because the command was ended.
  assert.equal((await reader.read()).done, true);
});

test("a process has an input, and can be ended twice", LIMIT, async () => {
  const sorter = await sandbox.spawn({ command: "sort", stdin: true });
  const writer = sorter.stdin.getWriter();
  await writer.write(Buffer.from("b\n"));
  await writer.write(Buffer.from("a\n"));
  await writer.close();
  assert.equal(await text(sorter.stdout), "a\nb\n");
  const process = await sandbox.spawn({ command: "sleep 1000" });
  await process.kill();
  assert.notEqual((await process.wait()).exitCode, 0);
  await process.kill();
  await assert.rejects(async () => sandbox.spawn({ command: "git push --force" }), DeniedError);
});

test("files are read, written, listed and removed", LIMIT, async () => {
  const bytes = Uint8Array.of(0, 255, 10);
  await sandbox.writeBinaryFile({ path: "files/deep/bytes", content: bytes });
  assert.deepEqual([...((await sandbox.readBinaryFile({ path: "/workspace/files/deep/bytes" })) ?? [])], [0, 255, 10]);
  await sandbox.writeFile({ path: "files/stream", content: new Blob(["a\nb\n", "c\n"]).stream() });
  assert.equal(await sandbox.readTextFile({ path: "files/stream" }), "a\nb\nc\n");
  assert.equal(await sandbox.readTextFile({ path: "files/stream", startLine: 2, endLine: 2 }), "b");
  assert.equal(await sandbox.readTextFile({ path: "files/stream", startLine: 3, endLine: 9 }), "c\n");
  await sandbox.writeTextFile({ path: "files/latin", content: "é", encoding: "latin1" });
  assert.deepEqual([...((await sandbox.readBinaryFile({ path: "files/latin" })) ?? [])], [0xe9]);
  const stream = await sandbox.readFile({ path: "files/stream" });
  assert.equal(stream && (await text(stream)), "a\nb\nc\n");

  await sandbox.run({ command: "ln -s stream files/link; ln -s none files/dangling; ln -s /bin/true files/out" });
  const names = new Map((await sandbox.listDirectory({ path: "files" }))?.map(({ name, type }) => [name, type]));
  const links = [names.get("link"), names.get("dangling"), names.get("out")];
  assert.deepEqual([names.get("deep"), names.get("stream"), ...links], ["directory", "file", ...Array(3).fill("symlink")]);
  assert.deepEqual(await sandbox.stat({ path: "files/link" }), { type: "file", size: 6 });
  assert.equal((await sandbox.stat({ path: "files/deep" }))?.type, "directory");
  assert.equal((await sandbox.stat({ path: "files/out" }))?.type, "file");
  assert.equal(await sandbox.stat({ path: "files/dangling" }), null);

  assert.equal(await sandbox.deleteFile({ path: "files/link" }), true);
  assert.equal(await sandbox.deleteFile({ path: "files/link" }), false);
  assert.equal(await sandbox.deleteFile({ path: "files/dangling" }), true);
  assert.equal(await sandbox.readTextFile({ path: "files/stream" }), "a\nb\nc\n");
});

test("a file that is absent is null, and a wrong kind of file is an error", LIMIT, async () => {
  for (const path of ["none", "none/deep", "/workspace/none"]) {
    assert.equal(await sandbox.readFile({ path }), null);
    assert.equal(await sandbox.readTextFile({ path }), null);
    assert.equal(await sandbox.stat({ path }), null);
    assert.equal(await sandbox.listDirectory({ path }), null);
    assert.equal(await sandbox.deleteFile({ path }), false);
  }
  await sandbox.writeTextFile({ path: "kinds/file", content: "" });
  await assert.rejects(async () => sandbox.readBinaryFile({ path: "kinds" }));
  await assert.rejects(async () => sandbox.writeTextFile({ path: "kinds", content: "" }));
  await assert.rejects(async () => sandbox.deleteFile({ path: "kinds" }), /was not removed: .*directory/s);
  await assert.rejects(async () => sandbox.listDirectory({ path: "kinds/file" }));
  await assert.rejects(async () => sandbox.readTextFile({ path: "kinds/file", encoding: "klingon" }), TypeError);
  await assert.rejects(async () => sandbox.writeTextFile({ path: "/etc/passwd", content: "" }));
});

test("the program of the page is short and prints what the page shows", LIMIT, async () => {
  const section = readFileSync(PAGE, "utf8").split("\n### Vercel AI SDK\n")[1] ?? "";
  const [, program = "", shown] = /```ts ai\n(.*?)```\n\nIt prints `(.*?)`/s.exec(section) ?? [];
  const lines = program.split("\n").filter((line) => line.trim() !== "").length;
  // The first line of the section installs the packages.
  assert.ok(lines > 0 && lines <= 9, String(lines));
  const file = new URL("page.mts", import.meta.url);
  writeFileSync(file, program);
  try {
    await promisify(execFile)(process.execPath, ["node_modules/typescript/bin/tsc", "--project", "tsconfig.json"]);
    const { stdout } = await promisify(execFile)(process.execPath, [file.pathname]);
    assert.equal(stdout.trim(), shown);
  } finally {
    rmSync(file);
  }
});
