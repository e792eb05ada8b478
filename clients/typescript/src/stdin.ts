/** The input of a command. After a broken connection, it continues after the last confirmed byte. */

import type { MessageInitShape, MessageShape } from "@bufbuild/protobuf";

import { bytesOf } from "./bytes.js";
import { Turns, type Cancellable } from "./cancel.js";
import type { Connection } from "./connection.js";
import { RejectedError } from "./errors.js";
import {
  ExecutionService,
  type ExecutionServiceWriteStdinRequestSchema,
  type ExecutionServiceWriteStdinResponseSchema,
} from "./gen/airlock/v1/execution_pb.js";
import { Retries } from "./retry.js";

type Request = MessageInitShape<typeof ExecutionServiceWriteStdinRequestSchema>;
type Answer = MessageShape<typeof ExecutionServiceWriteStdinResponseSchema>;

const CHUNK = 256 * 1024;
/** The number of bytes that are sent before the server must confirm them. */
const WINDOW = 1024 * 1024;

/** Data at an offset of the input. */
interface Part {
  readonly offset: number;
  readonly data: Uint8Array;
  readonly end: boolean;
  readonly takeOver: boolean;
}

/** The input of a command that was started with `stdin` or `pty`. */
export class Stdin {
  private readonly turns = new Turns();

  /**
   * `offset` is that of the next byte. `undefined`: another client may have written.
   *
   * @internal
   */
  constructor(
    private readonly connection: Connection,
    private readonly executionId: string,
    private offset: number | undefined,
  ) {}

  /**
   * Writes to the input. Returns when everything is in the command's pipe. Text is encoded as UTF-8.
   *
   * An error with the reason `NOT_RUNNING` does not tell whether the last bytes arrived: a command can end after it has
   * read them, while the connection is broken.
   */
  write(data: string | Uint8Array, { signal }: Cancellable = {}): Promise<void> {
    const content = bytesOf(data);
    return this.turns.run(async () => {
      for (let start = 0; start < content.length; start += WINDOW) {
        await this.send(content.subarray(start, start + WINDOW), false, signal);
      }
    });
  }

  /** Closes the input. On a terminal, this types the end-of-file character (Ctrl+D). */
  end({ signal }: Cancellable = {}): Promise<void> {
    return this.turns.run(() => this.send(new Uint8Array(), true, signal));
  }

  private async send(data: Uint8Array, end: boolean, signal: AbortSignal | undefined): Promise<void> {
    const { patience } = this.connection;
    const retries = new Retries(patience);
    this.offset ??= await this.find(retries, signal);
    const first = this.offset;
    const last = first + data.length;
    let lost = false;
    for (;;) {
      const began = performance.now();
      try {
        const offset = this.offset;
        const answer = await this.once({ offset, data: data.subarray(offset - first), end, takeOver: false }, signal);
        const accepted = Number(answer.accepted);
        if (accepted < offset || accepted > last) {
          throw this.connection.contract("it confirmed input that was not sent");
        }
        this.offset = accepted;
        if (accepted === last && (answer.ended || !end)) {
          return;
        }
        if (accepted === offset) {
          throw this.connection.unreachable("the command's input makes no progress");
        }
        retries.reset();
      } catch (error) {
        // The confirmation of the end was lost, and the command has ended since.
        if (end && lost && error instanceof RejectedError && error.reason === "NOT_RUNNING") {
          return;
        }
        lost = true;
        retries.heldSince(began);
        await retries.outlast(error, patience.viewMs, signal);
      }
    }
  }

  /** Takes over the input, and returns the number of bytes that were written to it. */
  private async find(retries: Retries, signal: AbortSignal | undefined): Promise<number> {
    for (;;) {
      try {
        const none = { offset: 0, data: new Uint8Array(), end: false, takeOver: true };
        return Number((await this.once(none, signal)).accepted);
      } catch (error) {
        await retries.outlast(error, this.connection.patience.viewMs, signal);
      }
    }
  }

  private async once(part: Part, signal: AbortSignal | undefined): Promise<Answer> {
    const channel = await this.connection.separate();
    try {
      return await this.connection.sending(channel, ExecutionService.method.writeStdin, this.messages(part), signal);
    } finally {
      channel.close();
    }
  }

  private async *messages({ offset, data, end, takeOver }: Part): AsyncGenerator<Request> {
    for (let start = 0; start < Math.max(1, data.length); start += CHUNK) {
      yield {
        executionId: start === 0 ? this.executionId : "",
        offset: BigInt(offset + start),
        data: data.subarray(start, start + CHUNK),
        end: end && start + CHUNK >= data.length,
        takeOver: takeOver && start === 0,
      };
    }
  }
}
