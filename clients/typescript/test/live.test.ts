/** The client with a real server, beyond the conformance cases. `AIRLOCK_STATE` names its state directory. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { DeniedError, connect, type Client, type Event, type Session } from "../src/index.js";
import { inScratch } from "./programs.js";

const FOREVER = "echo on; while :; do sleep 0.1; done";
const DEADLINE = { deadlineMs: 60_000 };
let client: Client;

before(async () => {
  client = await connect({ state: process.env["AIRLOCK_STATE"] });
});

after(() => client.close());

/** Defines a test with a session. */
function withSession(name: string, use: (session: Session) => Promise<void>): void {
  test(name, { timeout: 180_000 }, async () => {
    await using session = await client.session();
    await use(session);
  });
}

withSession("callbacks are awaited", async (session) => {
  const got: string[] = [];
  let running = false;
  const slowly = async (data: Uint8Array): Promise<void> => {
    assert.ok(!running, "one at a time");
    running = true;
    await new Promise((resolve) => setTimeout(resolve, 5));
    running = false;
    got.push(Buffer.from(data).toString());
  };
  const options = { separateStderr: true, onStdout: slowly, onStderr: slowly };
  const result = await session.run("echo out; echo err >&2", options);
  assert.deepEqual(got.sort(), ["err\n", "out\n"]);
  assert.deepEqual([result.stdout, result.stderr], ["out\n", "err\n"]);
});

withSession("commands run at the same time", async (session) => {
  const all = [0, 1, 2, 3].map((i) => session.run(`echo ${i}`, { allowConcurrent: true }));
  const results = await Promise.all(all);
  assert.deepEqual(
    results.map(({ stdout }) => stdout),
    ["0\n", "1\n", "2\n", "3\n"],
  );
});

withSession("an aborted run ends its command", async (session) => {
  const controller = new AbortController();
  let id = "";
  const onEvent = (event: Event): void => {
    if (event.type === "opened") {
      id = event.execution.id;
    } else if (event.type === "output") {
      // While the run waits for the next event.
      setTimeout(() => controller.abort(), 50);
    }
  };
  await assert.rejects(session.run(FOREVER, { onEvent, signal: controller.signal }), { name: "AbortError" });
  const { cause } = await session.attach(id).wait(DEADLINE);
  assert.deepEqual([cause.code, cause.detail], ["cancelled", "client"]);
});

withSession("every wait ends with its signal", async (session) => {
  const execution = await session.start("read x", { stdin: true, background: true });
  const signal = AbortSignal.timeout(200);
  const aborted = { name: "TimeoutError" };
  const events = async (): Promise<void> => {
    for await (const _ of execution.events({ signal })) {
      // It has no more events.
    }
  };
  await assert.rejects(execution.wait({ signal }), aborted);
  await assert.rejects(events(), aborted);
  await assert.rejects(session.run("true", { signal }), aborted);
  await assert.rejects(session.files.list("", { signal }), aborted);
  await assert.rejects(session.watch({ signal }).next(), aborted);
  await assert.rejects(client.session({ signal }), aborted);
  assert.equal((await execution.info()).state, "running");
  await execution.kill();
});

withSession("a command in the background is followed to its end", async (session) => {
  const command = "echo on; until [ -e go ]; do sleep 0.1; done; echo off";
  const result = await session.run(command, { yieldAfterMs: 300 });
  assert.deepEqual([result.cause.code, result.exitCode, result.ok], ["backgrounded", undefined, false]);
  assert.ok(result.text.includes(result.executionId));
  const execution = session.attach(result.executionId);
  assert.ok((await execution.info()).background);
  await session.run("touch go");
  assert.equal((await execution.wait(DEADLINE)).stdout, "on\noff\n");
  assert.equal(Buffer.from(await execution.output()).toString(), "on\noff\n");
});

withSession("an approval is answered while the run waits", async (session) => {
  const onApproval = async (id: string): Promise<void> => {
    const approval = await client.approvals.show(id);
    assert.ok(approval.decision.reasons[0]?.span);
    await client.approvals.deny(approval, "no");
  };
  const denied = session.run("git push --force", { onAsk: "wait", onApproval });
  await assert.rejects(denied, (error: unknown) => {
    assert.ok(error instanceof DeniedError);
    assert.deepEqual([error.kind, error.reason, error.span], ["denied", "DENIED", { start: 0, end: 16 }]);
    assert.match(error.text, /denied by a person: no/);
    return true;
  });
  await assert.rejects(client.approvals.show("none"), { kind: "not_found" });
});

withSession("changes of files are watched", async (session) => {
  await session.files.write("old", "1");
  const events = session.files.watch("", { intervalMs: 100 });
  let found = false;
  const first = events.next().finally(() => (found = true));
  // The watch may have its first list only after some of these.
  for (let count = 0; !found; count++) {
    await session.files.write(`new/${count}`, "2");
  }
  const added = (await first).value;
  assert.equal(added?.kind, "added");
  assert.match(added.path, /^\/workspace\/new\/\d+$/);
  await session.run("rm old; echo more >> new/0");
  const missing = new Set(["deleted /workspace/old", "modified /workspace/new/0"]);
  for await (const { kind, path } of events) {
    missing.delete(`${kind} ${path}`);
    if (missing.size === 0) {
      break;
    }
  }
});

withSession("a port is forwarded", async (session) => {
  const server = "import socket; s = socket.create_server(('127.0.0.1', 8000)); print(1, flush=True)";
  const loop = "\nwhile True:\n c = s.accept()[0]; d = c.recv(9); c.sendall(d.upper()); c.close()";
  const execution = await session.start(`exec python3 -c "${server}${loop}"`, { background: true });
  for await (const event of execution.events()) {
    if (event.type === "output") {
      break;
    }
  }
  const forward = await session.forward(8000);
  for (const text of ["one", "two"]) {
    const socket = connectTcp(forward.address);
    socket.write(text);
    const [data] = (await once(socket, "data")) as [Buffer];
    assert.equal(data.toString(), text.toUpperCase());
    socket.destroy();
  }
  await forward.close();
  const [error] = await once(connectTcp(forward.address), "error");
  assert.equal(error.code, "ECONNREFUSED");
});

withSession("a watch ends with its reader", async (session) => {
  const kinds: string[] = [];
  for await (const { kind } of session.watch()) {
    kinds.push(kind);
    if (kind === "unspecified") {
      await session.run("true");
    } else if (kind === "finished") {
      break;
    }
  }
  assert.deepEqual(kinds, ["unspecified", "started", "finished"]);
});

withSession("sessions and executions are listed", async (session) => {
  const result = await session.run("true", { labels: { task: "7" } });
  assert.ok((await client.sessions()).some(({ id }) => id === session.id));
  const [execution, ...others] = await client.executions({ sessionId: session.id });
  assert.deepEqual(others, []);
  assert.deepEqual(
    [execution?.id, execution?.state, execution?.labels],
    [result.executionId, "finished", { task: "7" }],
  );
  assert.equal((await session.update({ mode: "plan" })).mode, "plan");
  const again = await client.openSession(session.id);
  await assert.rejects(again.run("touch x"), DeniedError);
  assert.equal((await session.refresh()).state, "open");
});

withSession("files that are not text keep their bytes", (session) =>
  inScratch(async (scratch) => {
    const name = "\udcff name";
    const content = Buffer.from([0x00, 0xff]);
    await session.files.write(name, content);
    assert.deepEqual(await session.files.read(name), content);
    assert.deepEqual(
      (await session.files.list()).map(({ path }) => path),
      [`/workspace/${name}`],
    );
    await session.files.download(name, join(scratch, "copy"));
    assert.deepEqual(await readFile(join(scratch, "copy")), content);
    await session.files.upload(join(scratch, "copy"), "again");
    assert.ok(await session.files.exists("again"));
    assert.ok(!(await session.files.exists("none")));
    assert.equal(await session.files.readText("again"), "\0\ufffd");
  }),
);

withSession("network rules narrow a command", async (session) => {
  const result = await session.run("echo $HTTPS_PROXY | wc -c", { network: {} });
  assert.ok(result.ok);
  assert.ok(result.raw.stdoutBytes > 0n);
  const { raw } = await session.attach(result.executionId).info();
  assert.deepEqual(raw.network?.allow, []);
});

withSession("unknown options are errors", async (session) => {
  const options = { tiemoutMs: 1 } as object;
  await assert.rejects(session.run("true", options), { name: "TypeError", message: /unknown option: tiemoutMs/ });
  await assert.rejects(session.run("true", { mode: "loose" as "plan" }), { kind: "settings", message: /one of: plan/ });
});

test("an idle client does not keep the process alive, and prints nothing", { timeout: 180_000 }, async () => {
  const program = `
    import { connect } from ${JSON.stringify(new URL("../src/index.js", import.meta.url).href)};
    const client = await connect();
    const result = await client.run("echo done");
    process.stdout.write(result.text);`;
  const args = ["--input-type=module", "--eval", program];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  assert.deepEqual([stdout, stderr], ["done\n", ""]);
});
