/** One HTTP/2 connection to a server, which is opened when a call needs it. */

import { Http2SessionManager, createGrpcTransport } from "@connectrpc/connect-node";
import type { Transport } from "@connectrpc/connect";

import type { Credentials, Target } from "./settings.js";

/** The largest response, in bytes. The server bounds a page of full executions below this. */
const ANSWER_BYTES = 32 * 1024 * 1024;
const PING_MS = 10_000;

/** A connection. It is opened again after it broke. */
export class Channel {
  /** Makes calls on this connection. */
  readonly transport: Transport;
  private readonly manager: Http2SessionManager;

  constructor(target: Target, credentials: Credentials, serverName: string | undefined) {
    const options = target.secure ? tlsOptions(credentials, serverName) : {};
    // A connection without calls is not pinged. It is checked by a ping before it is used again.
    const pings = { pingIntervalMs: PING_MS, pingTimeoutMs: PING_MS };
    this.manager = new Http2SessionManager(target.url, pings, options);
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

  /** Gives up an attempt to connect that has no result, so that the next call starts another one. */
  giveUpConnecting(): void {
    if (this.manager.state() === "connecting") {
      this.manager.abort();
    }
  }

  /** Ends the connection and all of its calls. */
  close(): void {
    this.manager.abort();
  }
}

/** The options of Node.js for TLS with the credentials. */
export function tlsOptions(
  credentials: Credentials,
  serverName: string | undefined,
): { ca?: string; cert?: string; key?: string; servername?: string } {
  return {
    ...(credentials.ca === undefined ? {} : { ca: credentials.ca }),
    ...(credentials.certificate === undefined ? {} : { cert: credentials.certificate }),
    ...(credentials.key === undefined ? {} : { key: credentials.key.reveal() }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  };
}
