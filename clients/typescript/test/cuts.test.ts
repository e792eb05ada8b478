/** The conformance cases while all connections are cut every two seconds. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { connect } from "../src/index.js";
import { cases, check } from "./cases.js";
import { Program, inScratch, server } from "./programs.js";

const EVERY_SECONDS = 2;
let proxy: Program;

before(async () => {
  proxy = await Program.start("proxy.py", server().address.replace("https://", ""));
  assert.equal(await proxy.tell(`every ${EVERY_SECONDS}`), "ok");
});

after(async () => {
  const cuts = Number(await proxy.tell("cuts"));
  await proxy[Symbol.asyncDispose]();
  assert.ok(cuts > 2, "connections were cut");
});

test("there are cases", () => {
  assert.ok(cases(true).length > 30, "with cuts");
});

for (const one of cases(true)) {
  test(`${one.name}, although connections are cut`, { timeout: 180_000 }, () =>
    inScratch(async (tmp) => {
      const { ca, tokenFile } = server();
      const address = `https://${proxy.address}`;
      await using client = await connect({ address, ca, tokenFile, environment: {} });
      const named = { address, ca, token_file: tokenFile };
      await check(one, client, proxy, { server: named, tmp });
    }),
  );
}
