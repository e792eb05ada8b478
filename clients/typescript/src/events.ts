/**
 * An execution as a stream of events that survives broken connections.
 *
 * If a view breaks or ends without a closing event, a new view continues after the last event that was returned.
 */

import type { MessageInitShape } from "@bufbuild/protobuf";

import { sleep } from "./cancel.js";
import type { Connection } from "./connection.js";
import {
  AirlockError,
  ContractError,
  LimitReachedError,
  RejectedError,
  StartUnknownError,
  ViewLostError,
  isPassing,
} from "./errors.js";
import { eventOf, type Event } from "./event.js";
import {
  ExecutionService,
  type Event as RawEvent,
  type ExecutionServiceAttachRequestSchema,
  type ExecutionSpecSchema,
} from "./gen/airlock/v1/execution_pb.js";
import { ContractBroken, ReaderPosition } from "./position.js";
import { Retries } from "./retry.js";
import type { View } from "./view.js";

const { run, attach } = ExecutionService.method;

/** The offsets of both output streams. */
export interface Offsets {
  /** The first byte of stdout. */
  readonly stdout: number;
  /** The first byte of stderr. */
  readonly stderr: number;
}

/** @internal */
export interface EventsStart {
  /** The command to start, or the execution to attach to. */
  readonly spec?: MessageInitShape<typeof ExecutionSpecSchema> & { readonly requestId: string };
  readonly executionId?: string;
  readonly cursor?: Uint8Array | undefined;
  readonly offsets?: Offsets | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The events of one execution, each exactly once. Only one call of `next` may be open at a time. */
export class Events implements AsyncIterableIterator<Event>, AsyncDisposable {
  /** The execution's ID, once it is known. */
  executionId: string | undefined;
  /** The position after the last event, for a later attach. Empty: the beginning. */
  cursor: Uint8Array;
  /** The reason why no events arrive at present, such as an unreachable server. */
  trouble: string | undefined;
  /**
   * Whether the server may have received the start.
   *
   * @internal
   */
  sent = false;
  private view: View<{ readonly event?: RawEvent | undefined }> | undefined;
  private began: number | undefined;
  private finished = false;
  private readonly retries: Retries;
  private readonly position: ReaderPosition;

  /** @internal */
  constructor(
    private readonly connection: Connection,
    private readonly from: EventsStart,
  ) {
    this.executionId = from.executionId;
    this.cursor = from.cursor ?? new Uint8Array();
    this.retries = new Retries(connection.patience);
    const { stdout = 0, stderr = 0 } = from.offsets ?? {};
    this.position = this.cursor.length > 0 ? new ReaderPosition() : new ReaderPosition(stdout, stderr);
  }

  /** Returns this iterator. */
  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Returns the next event. The iteration ends after `finished` or `backgrounded`. */
  async next(): Promise<IteratorResult<Event, undefined>> {
    while (!this.finished) {
      try {
        const event = await this.step();
        if (event !== undefined) {
          return { done: false, value: event };
        }
      } catch (error) {
        this.dropView();
        if (this.began !== undefined) {
          this.retries.heldSince(this.began);
          this.began = undefined;
        }
        await this.pauseAfter(error);
      }
    }
    return { done: true, value: undefined };
  }

  /** Continues after a `backgrounded` event. The next events follow the execution to its end. */
  goOn(): void {
    this.finished = false;
    this.dropView();
  }

  /** Ends the view. The command continues. */
  async return(): Promise<IteratorResult<Event, undefined>> {
    this.finished = true;
    this.dropView();
    return { done: true, value: undefined };
  }

  /** Ends the view. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  /** Returns one event of the view, which is opened if necessary, or `undefined` if the event is not new. */
  private async step(): Promise<Event | undefined> {
    this.view ??= await this.open();
    const { event: raw } = await this.view.next();
    this.began ??= performance.now();
    this.trouble = undefined;
    if (raw === undefined) {
      return undefined;
    }
    if (this.executionId === undefined && raw.event.case === "opened") {
      this.executionId = raw.event.value.execution?.executionId;
    }
    if (!this.admit(raw)) {
      return undefined;
    }
    this.retries.reset();
    if (this.executionId !== undefined) {
      this.cursor = raw.cursor;
    }
    const event = eventOf(raw);
    this.finished = event.type === "finished" || event.type === "backgrounded";
    if (this.finished) {
      this.dropView();
    }
    return event;
  }

  private admit(raw: RawEvent): boolean {
    try {
      return this.position.admit(raw);
    } catch (error) {
      throw error instanceof ContractBroken ? this.connection.contract(error.message) : error;
    }
  }

  private async open(): Promise<View<{ readonly event?: RawEvent | undefined }>> {
    const { spec, offsets, signal } = this.from;
    if (this.executionId === undefined) {
      this.sent = true;
      return this.connection.view(run, { spec: spec ?? {} }, signal);
    }
    let from: MessageInitShape<typeof ExecutionServiceAttachRequestSchema>["from"];
    if (this.cursor.length > 0) {
      from = { case: "cursor", value: this.cursor };
    } else if (offsets !== undefined) {
      const value = { stdout: BigInt(offsets.stdout), stderr: BigInt(offsets.stderr) };
      from = { case: "offsets", value };
    }
    const request = { executionId: this.executionId, ...(from === undefined ? {} : { from }) };
    return this.connection.view(attach, request, signal);
  }

  private dropView(): void {
    this.view?.cancel();
    this.view = undefined;
  }

  /** Pauses if `error` may pass, otherwise throws it. */
  private async pauseAfter(error: unknown): Promise<void> {
    const { patience } = this.connection;
    const reading = this.executionId !== undefined;
    if (!(error instanceof AirlockError)) {
      throw error;
    }
    // A view of a known execution only reads, so an overloaded server or a contract violation is retried, too.
    const retried = reading && (error instanceof LimitReachedError || error instanceof ContractError);
    if (!isPassing(error) && !retried) {
      throw error;
    }
    const pause = this.retries.pause(error, reading ? patience.viewMs : patience.callMs);
    if (pause === undefined) {
      throw this.outOfPatience(error);
    }
    this.trouble = error.message;
    await sleep(pause, this.from.signal);
  }

  private outOfPatience(last: AirlockError): AirlockError {
    if (this.executionId !== undefined) {
      const problem = `the view of execution ${this.executionId} broke and could not be resumed: ${last.problem}`;
      return new ViewLostError(problem, this.executionId, this.cursor, last);
    }
    const { spec } = this.from;
    if (this.sent && spec !== undefined && !(last instanceof RejectedError)) {
      const problem = `no answer to the start, so it is not known whether the command runs: ${last.problem}`;
      return new StartUnknownError(problem, spec.requestId, last);
    }
    return last;
  }
}
