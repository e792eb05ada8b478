/** The settings: their order, and one clear error for each mistake. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { inspect } from "node:util";

import type { ConnectOptions } from "../src/index.js";
import { find, readCredentials, targets } from "../src/settings.js";
import { inScratch } from "./programs.js";

const CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";

/** Calls a function with the state directory of a running `airlock dev`. */
function withState(use: (state: string, scratch: string) => Promise<void>): Promise<void> {
  return inScratch(async (scratch) => {
    const state = join(scratch, "airlock");
    await mkdir(join(state, "keys"), { recursive: true });
    await writeFile(join(state, "keys/ca.pem"), CERTIFICATE);
    await writeFile(join(state, "keys/client.token"), "  the-token\n");
    const content = { address: "https://127.0.0.1:7", ca: "keys/ca.pem", token_file: "keys/client.token" };
    await writeFile(join(state, "connection.json"), JSON.stringify(content));
    await writeFile(join(state, "lock"), "");
    const holder = spawn("flock", [join(state, "lock"), "sh", "-c", "echo locked; read end"]);
    try {
      await once(holder.stdout, "data");
      await use(state, scratch);
    } finally {
      const ended = once(holder, "close");
      holder.stdin.end();
      await ended;
    }
  });
}

test("options come before the environment, and the environment before dev", () =>
  withState(async (state, scratch) => {
    const ca = join(state, "keys/ca.pem");
    const dev = { XDG_STATE_HOME: scratch };
    assert.deepEqual((await find({ environment: dev })).addresses, ["https://127.0.0.1:7"]);
    const environment = { ...dev, AIRLOCK_ADDRESS: "https://env:1", AIRLOCK_CA: ca, AIRLOCK_TOKEN_FILE: "/env" };
    assert.deepEqual((await find({ environment })).addresses, ["https://env:1"]);
    const found = await find({ environment, address: "https://arg:2,https://other:3", tokenFile: "/arg" });
    assert.deepEqual(found.addresses, ["https://arg:2", "https://other:3"]);
    assert.equal(found.tokenFile, "/arg");
    assert.deepEqual(
      targets(found).map(({ port }) => port),
      [2, 3],
    );
    const named = await find({ environment, state });
    assert.deepEqual(named.addresses, ["https://127.0.0.1:7"], "a named state directory");
  }));

for (const name of ["AIRLOCK_STATE", "XDG_STATE_HOME", "HOME"]) {
  test(`the state directory is found by ${name}, as the command line finds it`, () =>
    withState(async (state, scratch) => {
      if (name === "HOME") {
        await mkdir(join(scratch, ".local"));
        await symlink(scratch, join(scratch, ".local/state"));
      }
      const found = await find({ environment: { [name]: name === "AIRLOCK_STATE" ? state : scratch } });
      assert.equal((await readCredentials(found)).token?.reveal(), "the-token");
      assert.equal(found.patience.callMs, 5_000, "a local server is not waited for long");
    }));
}

test("files that a dead dev left are not used", async () => {
  await inScratch(async (state) => {
    await writeFile(join(state, "connection.json"), "{}");
    await writeFile(join(state, "lock"), "");
    const message = /no `airlock dev` is running.*start one with `airlock dev`/;
    await assert.rejects(find({ environment: {}, state }), { kind: "settings", message });
  });
});

test("a connection file that is missing or wrong is named", () =>
  withState(async (state) => {
    await writeFile(join(state, "connection.json"), '{"address": 7}');
    await assert.rejects(find({ environment: {}, state }), { message: /connection.json is not a connection file/ });
  }));

const WRONG: readonly (readonly [ConnectOptions, RegExp])[] = [
  [{ address: "http://127.0.0.1:1" }, /plain text; use https:/],
  [{ address: "http://example.com:1", insecureLoopback: true }, /never allowed/],
  [{ address: "http://localhost:1", insecureLoopback: true }, /never allowed/],
  [{ address: "https://example.com:1" }, /AIRLOCK_CA/],
  [{ address: "127.0.0.1:1" }, /write https:\/\/HOST:PORT/],
  [{ address: "https://h:x" }, /write https:\/\/HOST:PORT/],
  [{ address: "https://h:1,http://127.0.0.1:2", insecureLoopback: true }, /mix https/],
  [{ address: "https://h:1", ca: "/x", token: "t", cert: "/c", key: "/k" }, /use one of them/],
  [{ address: "https://h:1", ca: "/x", cert: "/c" }, /private key/],
  [{}, /there is no HOME/],
];
for (const [options, message] of WRONG) {
  test(`${JSON.stringify(options)} is refused before a request`, async () => {
    await assert.rejects(find({ environment: {}, ...options }), { kind: "settings", message });
  });
}

test("wrong files are named", () =>
  inScratch(async (scratch) => {
    const ca = join(scratch, "ca");
    const tokenFile = join(scratch, "token");
    await writeFile(ca, "no certificate");
    await writeFile(tokenFile, " \n");
    const read = async (options: ConnectOptions): Promise<unknown> =>
      readCredentials(await find({ environment: {}, address: "https://h:1", ...options }));
    await assert.rejects(read({ ca }), { message: /contains no certificate in PEM format/ });
    await assert.rejects(read({ ca: join(scratch, "none") }), {
      message: /cannot read `.*none`: no such file or directory/,
    });
    await assert.rejects(read({ ca: scratch }), { message: /is not a file/ });
    await writeFile(ca, CERTIFICATE);
    await assert.rejects(read({ ca, tokenFile }), { message: /is empty/ });
    await assert.rejects(read({ ca, token: "a\nb" }), { message: /no token can contain/ });
  }));

test("no secret is shown", async () => {
  const options = { environment: {}, address: "http://127.0.0.1:1", insecureLoopback: true, token: "hunter2" };
  const settings = await find(options);
  const shown = inspect([settings, await readCredentials(settings)], { depth: 10, showHidden: true });
  assert.ok(!shown.includes("hunter2"), shown);
});
