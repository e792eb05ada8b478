/** The conformance cases of all clients, run with this one. `AIRLOCK_STATE` names the state directory of a server. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { connect } from "../src/index.js";
import { cases, check } from "./cases.js";
import { Program, inScratch, server } from "./programs.js";

let proxy: Program;
let old: Program;
let scratch: string;
let otherCa: string;

before(async () => {
  scratch = await mkdtemp(join(tmpdir(), "airlock-client-test-"));
  otherCa = makeCa(scratch);
  proxy = await Program.start("proxy.py", server().address.replace("https://", ""));
  old = await Program.start("old_server.py");
});

after(async () => {
  await proxy[Symbol.asyncDispose]();
  await old[Symbol.asyncDispose]();
  await rm(scratch, { recursive: true });
});

test("there are cases", () => {
  assert.ok(cases(false).length > 40, "without cuts");
});

for (const one of cases(false)) {
  test(one.name, { timeout: 180_000 }, () =>
    inScratch(async (tmp) => {
      const { ca, tokenFile } = server();
      const known = { address: `https://${proxy.address}`, ca, tokenFile };
      const isOld = one.server === "old";
      const options = isOld ? { address: old.address, insecureLoopback: true } : known;
      await using client = await connect({ ...options, environment: {} });
      const named = { address: known.address, ca, token_file: tokenFile };
      await check(one, client, proxy, { server: named, other_ca: otherCa, tmp });
      assert.equal(await proxy.tell("left"), "none", "the cut of the case has happened");
    }),
  );
}

/** Returns the file of a CA that did not sign the server's certificate. */
function makeCa(directory: string): string {
  const path = join(directory, "other-ca.pem");
  const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  args.push("-subj", "/CN=another", "-keyout", join(directory, "other-ca.key"), "-out", path);
  execFileSync("openssl", args, { stdio: "ignore" });
  return path;
}
