/** One HTTP/2 connection to a server, which is opened when a call needs it. */

import type { Socket } from "node:net";

import type { Transport } from "@connectrpc/connect";
import { Http2SessionManager, createGrpcTransport } from "@connectrpc/connect-node";

import type { Credentials, Target } from "./settings.js";
import { openSocket, systemError } from "./socket.js";

/** The largest response, in bytes. The server bounds a page of full executions below this. */
const ANSWER_BYTES = 32 * 1024 * 1024;
const PING_MS = 10_000;
const CONNECT_TIMEOUT_MS = 20_000;

/** A connection. It is opened again after it broke. */
export class Channel {
  /** Makes calls on this connection. */
  readonly transport: Transport;
  private readonly manager: Http2SessionManager;

  constructor(target: Target, credentials: Credentials, serverName: string | undefined) {
    // A connection without calls is not pinged. It is checked by a ping before it is used again.
    const pings = { pingIntervalMs: PING_MS, pingTimeoutMs: PING_MS };
    const createConnection = (): Socket => bounded(openSocket(target, credentials, serverName), target.secure);
    this.manager = new Http2SessionManager(target.url, pings, { createConnection });
    this.transport = createGrpcTransport({
      baseUrl: target.url,
      sessionManager: this.manager,
      readMaxBytes: ANSWER_BYTES,
      acceptCompression: [],
    });
  }

  /** Whether no call uses the connection. */
  get idle(): boolean {
    const state = this.manager.state();
    return state !== "open" && state !== "connecting";
  }

  /** Ends the connection and all of its calls. */
  close(): void {
    this.manager.abort();
  }
}

/** Destroys a socket that is not connected in time. */
function bounded(socket: Socket, secure: boolean): Socket {
  const late = systemError("ETIMEDOUT", "the connection was not established in time");
  const timer = setTimeout(() => socket.destroy(late), CONNECT_TIMEOUT_MS);
  const connected = (): void => clearTimeout(timer);
  socket.once(secure ? "secureConnect" : "connect", connected);
  socket.once("close", connected);
  return socket;
}
