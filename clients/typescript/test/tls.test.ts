/** TLS: client certificates, and one clear error if the two sides do not trust each other. */

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { connectNodeAdapter } from "@connectrpc/connect-node";

import { ExecutionService } from "../src/gen/airlock/v1/execution_pb.js";
import { connect, type ExecutionInfo } from "../src/index.js";

/** A CA with a certificate for a server and one for a client, as files. */
class Pki {
  constructor(private readonly directory: string) {
    this.openssl("-x509", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem");
    for (const [name, alternative] of [
      ["server", "IP:127.0.0.1,DNS:server.test"],
      ["client", "DNS:client"],
    ] as const) {
      const signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", `subjectAltName=${alternative}`];
      signed.push("-addext", "basicConstraints=critical,CA:FALSE");
      this.openssl("-x509", "-subj", `/CN=${name}`, "-keyout", `${name}.key`, "-out", `${name}.pem`, ...signed);
    }
  }

  path(name: string): string {
    return join(this.directory, name);
  }

  private openssl(...options: string[]): void {
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    execFileSync("openssl", ["req", ...curve, ...options], { cwd: this.directory, stdio: "ignore" });
  }
}

const directories: string[] = [];
let pki: Pki;
let other: Pki;
let server: Http2SecureServer;
let address: string;

before(async () => {
  for (let count = 0; count < 2; count++) {
    directories.push(await mkdtemp(join(tmpdir(), "airlock-client-test-")));
  }
  [pki, other] = directories.map((directory) => new Pki(directory)) as [Pki, Pki];
  server = createSecureServer(
    {
      key: readFileSync(pki.path("server.key")),
      cert: readFileSync(pki.path("server.pem")),
      ca: readFileSync(pki.path("ca.pem")),
      requestCert: true,
    },
    connectNodeAdapter({ routes: (router) => router.rpc(ExecutionService.method.list, () => ({})) }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

after(async () => {
  server.close();
  for (const directory of directories) {
    await rm(directory, { recursive: true });
  }
});

async function listed(
  at: string,
  trusted: Pki,
  identity: Pki | undefined,
  serverName?: string,
): Promise<ExecutionInfo[]> {
  const files = identity && { cert: identity.path("client.pem"), key: identity.path("client.key") };
  const options = { address: at, ca: trusted.path("ca.pem"), ...files, serverName, environment: {} };
  await using client = await connect(options);
  return await client.executions();
}

test("a certificate of the CA is accepted", async () => {
  assert.deepEqual(await listed(address, pki, pki), []);
});

test("a server of another CA is not trusted", async () => {
  const untrusted = { kind: "untrusted", message: /certificate.*check that the CA file/ };
  await assert.rejects(listed(address, other, pki), untrusted);
});

for (const identity of ["none", "other"]) {
  test(`a client that the server refuses is told: ${identity}`, async () => {
    // The server of Node.js ends the connection without the alert that other servers send.
    const files = ["-cert", pki.path("server.pem"), "-key", pki.path("server.key"), "-CAfile", pki.path("ca.pem")];
    const options = ["-accept", "127.0.0.1:0", "-naccept", "1", "-Verify", "1", "-verify_return_error", "-alpn", "h2"];
    const child = spawn("openssl", ["s_server", ...options, ...files]);
    const ended = once(child, "close");
    const port = await portOf(child.stdout);
    const untrusted = { kind: "untrusted", message: /certificate|unknown/i };
    const identified = identity === "other" ? other : undefined;
    await assert.rejects(listed(`https://127.0.0.1:${port}`, pki, identified), untrusted);
    child.kill();
    await ended;
  });
}

/** Returns the port that `openssl s_server` prints. */
async function portOf(output: AsyncIterable<Buffer>): Promise<string> {
  let text = "";
  for await (const data of output) {
    text += data.toString();
    const port = /ACCEPT \S+:(\d+)/.exec(text)?.[1];
    if (port !== undefined) {
      return port;
    }
  }
  return assert.fail(`no port: ${text}`);
}

test("a name that is not in the certificate is not trusted", async () => {
  const named = address.replace("127.0.0.1", "localhost");
  await assert.rejects(listed(named, pki, pki), { kind: "untrusted", message: /localhost/ });
});

test("the name in the certificate can differ from the address", async () => {
  assert.deepEqual(await listed(address, pki, pki, "server.test"), []);
  await assert.rejects(listed(address, pki, pki, "other.test"), { kind: "untrusted", message: /other\.test/ });
});
