/** Connections to ports of a session. A broken connection is not repeated: the program has seen its bytes. */

import type { MessageInitShape } from "@bufbuild/protobuf";

import { bytesOf } from "./bytes.js";
import { Scope, within, type Cancellable } from "./cancel.js";
import type { Channel } from "./channel.js";
import type { Connection } from "./connection.js";
import { UnreachableError } from "./errors.js";
import {
  SessionService,
  type SessionServiceForwardRequestSchema,
  type SessionServiceForwardResponse,
} from "./gen/airlock/v1/session_pb.js";
import { Outbox } from "./outbox.js";

type Request = MessageInitShape<typeof SessionServiceForwardRequestSchema>;

const CHUNK = 64 * 1024;
const CONNECT_TIMEOUT_MS = 60_000;
/**
 * The number of attempts to open a connection. If the server refuses it while the request is sent, the library can lose
 * the status. No byte of the program is lost by another attempt.
 */
const TRIES = 3;

/** A TCP connection to a port of a session's loopback. */
export class Port implements AsyncDisposable {
  private readonly outbox = new Outbox<Request>();
  private readonly scope: Scope;
  private messages: AsyncIterator<SessionServiceForwardResponse> | undefined;
  private hasEnded = false;

  private constructor(
    private readonly connection: Connection,
    private readonly channel: Channel,
    private readonly parent: AbortSignal | undefined,
  ) {
    this.scope = new Scope(parent);
  }

  /** @internal */
  static async open(connection: Connection, sessionId: string, port: number, options: Cancellable): Promise<Port> {
    for (let attempt = 1; ; attempt++) {
      const made = new Port(connection, await connection.separate(), options.signal);
      const late = (): unknown => connection.unreachable("the connection to the port was not opened in time");
      try {
        await within(made.start(sessionId, port), CONNECT_TIMEOUT_MS, late);
        return made;
      } catch (error) {
        await made.close();
        if (!(error instanceof UnreachableError) || attempt === TRIES) {
          throw error;
        }
      }
    }
  }

  private async start(sessionId: string, port: number): Promise<void> {
    const { connection, channel, outbox, scope } = this;
    // It is taken when the stream is open. A failure of the stream is reported below.
    outbox.send({ message: { case: "open", value: { sessionId, port } } }).catch(() => undefined);
    try {
      const response = await connection.both(channel, SessionService.method.forward, outbox, scope.signal);
      this.messages = response.message[Symbol.asyncIterator]();
    } catch (error) {
      throw connection.error(error, this.parent);
    }
    const first = await this.message();
    if (first?.message.case !== "opened") {
      throw connection.contract("its first message is not `opened`");
    }
  }

  /** Sends bytes to the program. Waits while it reads slowly. */
  async send(data: string | Uint8Array): Promise<void> {
    const content = bytesOf(data);
    for (let start = 0; start < content.length; start += CHUNK) {
      await this.write({ message: { case: "data", value: content.subarray(start, start + CHUNK) } });
    }
  }

  /** Ends this direction: the program reads the end of the stream. */
  async end(): Promise<void> {
    await this.write({ message: { case: "end", value: {} } });
  }

  /** Returns the next bytes of the program, or no bytes when it has ended its direction. */
  async receive(): Promise<Uint8Array> {
    if (this.hasEnded) {
      return new Uint8Array();
    }
    const received = (await this.message())?.message;
    if (received?.case === "data") {
      return received.value;
    }
    if (received?.case === "end") {
      this.hasEnded = true;
      return new Uint8Array();
    }
    throw this.connection.contract("the stream ended before the program ended its direction");
  }

  /** Ends the connection. It is reset unless both directions have ended. */
  async close(): Promise<void> {
    this.outbox.fail(this.connection.unreachable("the connection has ended"));
    this.scope.abort();
    this.scope.dispose();
    this.channel.close();
  }

  /** Ends the connection. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async write(message: Request): Promise<void> {
    try {
      await this.outbox.send(message);
    } catch {
      // The call has ended; its status has the reason.
      await this.message();
      throw this.connection.unreachable("the connection has ended");
    }
  }

  private async message(): Promise<SessionServiceForwardResponse | undefined> {
    try {
      const next = await this.messages?.next();
      return next?.done ? undefined : next?.value;
    } catch (error) {
      this.outbox.fail(error);
      throw this.connection.error(error, this.parent);
    }
  }
}
