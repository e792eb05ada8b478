/** A command that is followed to its end. */

import { Scope } from "./cancel.js";
import type { Spec } from "./command.js";
import type { Connection } from "./connection.js";
import { AirlockError, DeadlineError, DeniedError } from "./errors.js";
import type { Event, Gap } from "./event.js";
import { Events } from "./events.js";
import { ExecutionService } from "./gen/airlock/v1/execution_pb.js";
import { outcomeOf, withDecision, withResult } from "./outcome.js";
import type { Result } from "./result.js";
import { Stdin } from "./stdin.js";

const { cancel, start } = ExecutionService.method;
const KILL_MS = 5_000;

/** The functions that a run calls as events arrive. Each may return a promise, which is awaited. */
export interface Callbacks {
  /** Receives the bytes of stdout. */
  readonly onStdout?: ((data: Uint8Array) => unknown) | undefined;
  /** Receives the bytes of stderr, if it is a separate stream. */
  readonly onStderr?: ((data: Uint8Array) => unknown) | undefined;
  /** Receives a range of bytes that are no longer held. */
  readonly onGap?: ((gap: Gap) => unknown) | undefined;
  /** Receives the approval's ID when the command begins to wait for a person. */
  readonly onApproval?: ((approvalId: string) => unknown) | undefined;
  /** Receives every event. */
  readonly onEvent?: ((event: Event) => unknown) | undefined;
}

/** The options of a run besides those of its command. */
export interface FollowOptions extends Callbacks {
  /** The whole input of the command. */
  readonly input?: string | Uint8Array | undefined;
  /** The time for the whole run in milliseconds. Then the command is ended, and the run fails with `DeadlineError`. */
  readonly deadlineMs?: number | undefined;
  /** End the command if the run ends early. Default: true. */
  readonly killOnCancel?: boolean | undefined;
  /** Ends the run, and the command unless `killOnCancel` is false. */
  readonly signal?: AbortSignal | undefined;
}

/** @internal */
export class Run {
  constructor(
    private readonly connection: Connection,
    private readonly spec: Spec,
    private readonly options: FollowOptions,
  ) {}

  /** Follows the command, calls the callbacks, and returns the result. */
  async result(): Promise<Result> {
    for await (const event of this.events()) {
      await this.report(event);
      if (event.type === "finished" || event.type === "backgrounded") {
        return outcomeOf(event);
      }
    }
    throw this.connection.contract("the events ended without a closing event");
  }

  private async report(event: Event): Promise<void> {
    const { onStdout, onStderr, onGap, onApproval, onEvent } = this.options;
    await onEvent?.(event);
    if (event.type === "output") {
      await (event.stream === "stderr" ? onStderr : onStdout)?.(event.data);
    } else if (event.type === "gap") {
      await onGap?.(event);
    } else if (event.type === "state_changed" && event.approvalId !== "") {
      await onApproval?.(event.approvalId);
    }
  }

  /** Returns the events. If the caller stops before the end, the command is killed, unless that is off. */
  private async *events(): AsyncGenerator<Event> {
    const { input, deadlineMs, signal, killOnCancel = true } = this.options;
    const scope = new Scope(signal);
    const late = (): void => scope.abort(this.late(stream.executionId, killOnCancel));
    const timer = deadlineMs === undefined ? undefined : setTimeout(late, deadlineMs);
    const stream = new Events(this.connection, { spec: this.spec, signal: scope.signal });
    let done = false;
    let written = false;
    try {
      while (!done) {
        const event = await this.next(stream);
        done = event.type === "finished" || event.type === "backgrounded";
        if (event.type === "opened" && input !== undefined && !written) {
          written = true;
          void this.write(event.execution.id, input, scope.signal);
        }
        yield event;
      }
    } catch (error) {
      // After an error of the server or the network, the caller can attach again, or repeat the start.
      done = error instanceof AirlockError && !scope.signal.aborted;
      throw error instanceof DeniedError ? await withResult(this.connection, error) : error;
    } finally {
      clearTimeout(timer);
      scope.abort();
      scope.dispose();
      await stream.return();
      if (!done && killOnCancel && stream.sent) {
        await this.kill(stream.executionId);
      }
    }
  }

  private async next(stream: Events): Promise<Event> {
    const { done, value } = await stream.next();
    if (done) {
      throw this.connection.contract("the events ended without a closing event");
    }
    const denied = value.type === "finished" && value.result.cause.code === "denied";
    return denied ? withDecision(this.connection, value) : value;
  }

  private late(executionId: string | undefined, kills: boolean): DeadlineError {
    const what = kills ? "it was ended" : "it continues";
    return new DeadlineError(`the command has not ended within ${this.options.deadlineMs} ms; ${what}`, {
      executionId,
    });
  }

  private async write(executionId: string, data: string | Uint8Array, signal: AbortSignal): Promise<void> {
    const stdin = new Stdin(this.connection, executionId, 0);
    try {
      await stdin.write(data, { signal });
      await stdin.end({ signal });
    } catch {
      // A command may end without reading its input, or be cancelled. Its result shows how it ended.
    }
  }

  private async kill(executionId: string | undefined): Promise<void> {
    const signal = AbortSignal.timeout(KILL_MS);
    try {
      await this.cancel(executionId, signal);
    } catch (error) {
      if (!(error instanceof AirlockError) && !signal.aborted) {
        throw error;
      }
    }
  }

  private async cancel(known: string | undefined, signal: AbortSignal): Promise<void> {
    let executionId = known;
    if (executionId === undefined) {
      // The start was sent and not answered. With the same request ID, it returns the execution.
      const answer = await this.connection.once(start, { spec: this.spec }, { signal });
      executionId = answer.execution?.executionId ?? "";
    }
    await this.connection.once(cancel, { executionId }, { signal });
  }
}
