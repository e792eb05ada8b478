/** Connects once and ends the connection, to get one clear error if a server cannot be reached or is not trusted. */

import { sleep } from "./cancel.js";
import { UnreachableError, UntrustedError } from "./errors.js";
import type { Credentials, Target } from "./settings.js";
import { openSocket, systemError } from "./socket.js";
import { oneLine } from "./status.js";

const CONNECT_TIMEOUT_MS = 5_000;
/** The number of attempts for a connection that is cut while it is established, and the first pause. */
const CUT_TRIES = 5;
const CUT_PAUSE_MS = 50;
/** The codes of a connection that is cut. */
const CUT: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE"]);

/**
 * Connects to a server.
 *
 * An attempt that is cut while the connection is established is repeated. An unreachable server is an error at once.
 */
export async function probe(
  target: Target,
  credentials: Credentials,
  serverName: string | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await attempted(target, credentials, serverName, signal);
      return;
    } catch (error) {
      signal?.throwIfAborted();
      if (!CUT.has(codeOf(error)) || attempt === CUT_TRIES - 1) {
        throw described(target, error);
      }
      await sleep(CUT_PAUSE_MS * 2 ** attempt, signal);
    }
  }
}

function attempted(
  target: Target,
  credentials: Credentials,
  serverName: string | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = openSocket(target, credentials, serverName);
    const ended = (error?: unknown): void => {
      signal?.removeEventListener("abort", aborted);
      socket.destroy();
      if (error === undefined) {
        resolve();
      } else {
        reject(error);
      }
    };
    const aborted = (): void => ended(signal?.reason);
    signal?.addEventListener("abort", aborted, { once: true });
    socket.setTimeout(CONNECT_TIMEOUT_MS, () => ended(systemError("ETIMEDOUT", "timed out")));
    socket.on("error", ended);
    socket.on("end", () => ended(systemError("ECONNRESET", "the connection was cut")));
    socket.on("close", () => ended(systemError("ECONNRESET", "the connection was cut")));
    if (target.secure) {
      // A server that refuses a client certificate says so after the handshake. Otherwise it sends its first frame.
      socket.once("data", () => ended());
    } else {
      socket.once("connect", () => ended());
    }
  });
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

function described(target: Target, error: unknown): Error {
  const message = oneLine(error instanceof Error ? error.message || String(codeOf(error)) : String(error));
  // An error of a system call has its name. Every other error is one of TLS.
  if (CUT.has(codeOf(error)) || (error instanceof Error && ("syscall" in error || error instanceof AggregateError))) {
    return new UnreachableError(`no answer from ${target.address}: ${message}`, { cause: error });
  }
  return new UntrustedError(`no secure connection to ${target.address}: ${message}`, { cause: error });
}
