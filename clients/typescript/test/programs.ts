/** The helpers of the conformance cases: the proxy, the server with an older contract, and a temporary directory. */

import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface, type Interface } from "node:readline";

/** The directory of the cases. The tests run in the directory of the package. */
export const CONFORMANCE = resolve("../conformance");

/** A helper that prints its address, and ends with its input. */
export class Program implements AsyncDisposable {
  private constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    private readonly lines: Interface,
    /** The address that it printed. */
    readonly address: string,
  ) {}

  /** Starts a program of the conformance cases. */
  static async start(name: string, ...args: string[]): Promise<Program> {
    const child = spawn("python3", [join(CONFORMANCE, name), ...args]);
    child.stderr.pipe(process.stderr);
    const lines = createInterface(child.stdout);
    const [address] = (await Promise.race([once(lines, "line"), ended(child, name)])) as [string];
    return new Program(child, lines, address);
  }

  /** Sends a command and returns the answer. */
  async tell(command: string): Promise<string> {
    const answer = once(this.lines, "line");
    this.child.stdin.write(`${command}\n`);
    return ((await answer) as [string])[0];
  }

  /** Ends the program. */
  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.child, "close");
    this.child.stdin.end();
    await closed;
  }
}

async function ended(child: ChildProcessWithoutNullStreams, name: string): Promise<never> {
  await once(child, "close");
  throw new Error(`${name} has ended`);
}

/** The address and the credentials of the server under test, which `AIRLOCK_STATE` names. */
export function server(): { address: string; ca: string; tokenFile: string } {
  const state = process.env["AIRLOCK_STATE"] ?? "";
  const { address, ca, token_file } = JSON.parse(readFileSync(join(state, "connection.json"), "utf8"));
  return { address, ca: resolve(state, ca), tokenFile: resolve(state, token_file) };
}

/** Runs a test with an empty directory. */
export async function inScratch<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), "airlock-client-test-"));
  try {
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}
