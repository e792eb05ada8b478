/** One execution: its events, its end, its input and its output. */

import { create } from "@bufbuild/protobuf";

import { Scope, type Cancellable } from "./cancel.js";
import { signalOf, type Signal } from "./command.js";
import { CALL_TIMEOUT_MS, type Connection } from "./connection.js";
import { DeadlineError } from "./errors.js";
import { Events, type Offsets } from "./events.js";
import {
  ExecutionSchema,
  ExecutionService,
  ExecutionView,
  type Execution as RawExecution,
} from "./gen/airlock/v1/execution_pb.js";
import { checked } from "./outcome.js";
import { OutputReader, type ReadOptions } from "./output.js";
import { executionOf, resultOf, type ExecutionInfo, type Result } from "./result.js";
import type { Search, Selection } from "./selection.js";
import { Stdin } from "./stdin.js";

const { cancel, detach, get, resize, signal, wait } = ExecutionService.method;
const WAIT_SECONDS = 30;

/** The position at which a view of an execution begins. */
export interface ViewOptions {
  /** The cursor of an event: the view begins after it. */
  readonly cursor?: Uint8Array | undefined;
  /** The offsets at which the output begins. */
  readonly offsets?: Offsets | undefined;
  /** Ends the view. */
  readonly signal?: AbortSignal | undefined;
}

/** The options of `wait`. */
export interface WaitOptions {
  /** The time to wait, in milliseconds. Then the wait fails with a `DeadlineError`, and the command continues. */
  readonly deadlineMs?: number | undefined;
  /** Ends the wait. The command continues. */
  readonly signal?: AbortSignal | undefined;
}

/** A command that was started. It continues when this object or the client is gone. */
export class Execution {
  /** The input, if the command was started with `stdin` or `pty`. */
  readonly stdin: Stdin;

  /** @internal */
  constructor(
    private readonly connection: Connection,
    /** The execution's ID. */
    readonly id: string,
    stdinOffset?: number,
  ) {
    this.stdin = new Stdin(connection, id, stdinOffset);
  }

  /**
   * Returns the events, each exactly once: from the beginning, after a cursor, or with output from offsets on.
   *
   * The view survives broken connections. It ends with `finished` or `backgrounded`.
   */
  events({ cursor, offsets, signal }: ViewOptions = {}): Events {
    return new Events(this.connection, { executionId: this.id, cursor, offsets, signal });
  }

  /** Returns the current state, with the command and the decision. */
  async info({ signal }: Cancellable = {}): Promise<ExecutionInfo> {
    const request = { executionId: this.id, view: ExecutionView.FULL };
    return infoOf(await this.connection.unary(get, request, { signal }));
  }

  /**
   * Waits for the end, also in the background, and returns the result.
   *
   * Rejects with `DeniedError` if the command was denied, and with `DeadlineError` after `deadlineMs`.
   */
  async wait({ deadlineMs, signal }: WaitOptions = {}): Promise<Result> {
    const scope = new Scope(signal);
    const late = new DeadlineError(`the execution ${this.id} has not ended within ${deadlineMs} ms; it continues`, {
      remedy: "wait again, or kill it",
      executionId: this.id,
    });
    const timer = deadlineMs === undefined ? undefined : setTimeout(() => scope.abort(late), deadlineMs);
    try {
      return await this.waited(scope.signal);
    } finally {
      clearTimeout(timer);
      scope.dispose();
    }
  }

  private async waited(signal: AbortSignal): Promise<Result> {
    const request = { executionId: this.id, timeout: { seconds: BigInt(WAIT_SECONDS) } };
    const timeoutMs = WAIT_SECONDS * 1_000 + CALL_TIMEOUT_MS;
    for (;;) {
      const { execution } = await this.connection.unary(wait, request, { timeoutMs, signal });
      if (execution?.result !== undefined) {
        return checked(resultOf(execution));
      }
    }
  }

  /** Requests the end: SIGTERM for all processes, and SIGKILL after the grace period. Returns at once. */
  async kill({ signal }: Cancellable = {}): Promise<ExecutionInfo> {
    return infoOf(await this.connection.unary(cancel, { executionId: this.id }, { signal }));
  }

  /** Sends a signal to every process. If the response is lost, it is sent again, so it can arrive twice. */
  async signal(name: Signal, options: Cancellable = {}): Promise<ExecutionInfo> {
    const request = { executionId: this.id, signal: signalOf(name) };
    return infoOf(await this.connection.unary(signal, request, { signal: options.signal }));
  }

  /** Sets the size of the terminal of a command that was started with `pty`. */
  async resize(rows: number, cols: number, { signal }: Cancellable = {}): Promise<ExecutionInfo> {
    return infoOf(await this.connection.unary(resize, { executionId: this.id, size: { rows, cols } }, { signal }));
  }

  /** Moves the command to the background, so that the session's next command may run. */
  async detach({ signal }: Cancellable = {}): Promise<ExecutionInfo> {
    return infoOf(await this.connection.unary(detach, { executionId: this.id }, { signal }));
  }

  /** Reads a part of the output in its current state, live or stored. The last piece is `done`. */
  readOutput(selection: Selection | Search = {}, options: ReadOptions = {}): OutputReader {
    return new OutputReader(this.connection, this.id, selection, options);
  }

  /** Returns a part of the output, by default all of it. Bytes that were not kept are missing. */
  async output(selection: Selection = {}, options: ReadOptions = {}): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for await (const piece of this.readOutput(selection, options)) {
      if (piece.type === "bytes") {
        parts.push(piece.data);
      }
    }
    return Buffer.concat(parts);
  }
}

function infoOf({ execution }: { readonly execution?: RawExecution | undefined }): ExecutionInfo {
  return executionOf(execution ?? create(ExecutionSchema));
}
