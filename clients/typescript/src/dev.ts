/** Finds the `airlock dev` of this user by its state directory. */

import { spawn } from "node:child_process";
import { open, stat } from "node:fs/promises";
import { isAbsolute, join, resolve } from "node:path";

import { textOf } from "./bytes.js";
import { readBounded } from "./credential_files.js";
import { SettingsError } from "./errors.js";

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The content of a `connection.json`. */
export interface DevConnection {
  readonly address: string;
  readonly ca: string;
  readonly tokenFile: string;
}

/** Returns the state directory of `airlock dev`. */
export function stateDirectory(environment: Environment): string {
  const named = environment["AIRLOCK_STATE"];
  if (named) {
    return resolve(named);
  }
  for (const [name, below] of [
    ["XDG_STATE_HOME", ""],
    ["HOME", ".local/state"],
  ] as const) {
    const value = environment[name];
    if (value && isAbsolute(value)) {
      return join(value, below, "airlock");
    }
  }
  throw new SettingsError("no server was named, and there is no HOME", {
    remedy: "name an address or a state directory",
  });
}

/** Returns the connection of the `airlock dev` that uses a state directory. */
export async function devConnection(directory: string): Promise<DevConnection> {
  if (!(await isLocked(join(directory, "lock")))) {
    throw new SettingsError(`no \`airlock dev\` is running with the state directory ${directory}`, {
      remedy: "start one with `airlock dev`, or name a server: the option `address` or AIRLOCK_ADDRESS",
    });
  }
  const path = join(directory, "connection.json");
  if (!(await exists(path))) {
    throw new SettingsError(`the \`airlock dev\` of ${directory} is starting or stopping`, {
      remedy: "try again in a moment",
    });
  }
  const content = parsed(textOf(await readBounded(path)));
  if (content === undefined) {
    throw new SettingsError(`${path} is not a connection file`, {
      remedy: "stop `airlock dev`, remove the file, and start it again",
    });
  }
  return { ...content, ca: resolve(directory, content.ca), tokenFile: resolve(directory, content.tokenFile) };
}

function parsed(text: string): DevConnection | undefined {
  try {
    const { address, ca, token_file: tokenFile } = JSON.parse(text) as Record<string, unknown>;
    const all = typeof address === "string" && typeof ca === "string" && typeof tokenFile === "string";
    return all ? { address, ca, tokenFile } : undefined;
  } catch {
    return undefined;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/**
 * Reports whether an instance holds the lock of a state directory. Files alone can be left over.
 *
 * Node.js has no flock, so the program `flock` of util-linux or BusyBox tries to share the lock. The lock belongs to the
 * open file, which is closed afterwards.
 */
async function isLocked(path: string): Promise<boolean> {
  let file;
  try {
    file = await open(path, "r");
  } catch {
    return false;
  }
  try {
    return (await exitCode("flock", ["-s", "-n", "3"], file.fd)) === 1;
  } catch (error) {
    throw new SettingsError("cannot check whether `airlock dev` is running: the program `flock` cannot be started", {
      remedy: "install util-linux, or name the server by the lines that `airlock dev` prints",
      cause: error,
    });
  } finally {
    await file.close();
  }
}

function exitCode(program: string, args: readonly string[], descriptor: number): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ["ignore", "ignore", "ignore", descriptor] });
    child.once("error", reject);
    child.once("close", resolve);
  });
}
