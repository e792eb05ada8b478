/** The starts and ends of executions, and the check for features that an older server lacks. */

import type { Cancellable } from "./cancel.js";
import type { Connection } from "./connection.js";
import { InvalidRequestError, UnsupportedError } from "./errors.js";
import { ExecutionService, WatchKind } from "./gen/airlock/v1/execution_pb.js";
import { nameOf } from "./names.js";
import { executionOf, type ExecutionInfo } from "./result.js";
import { Retries } from "./retry.js";

const { start, watch } = ExecutionService.method;

/** A milestone of an execution. */
export interface WatchEvent {
  /** A position. Watch with it to receive the events after this one. */
  readonly cursor: Uint8Array;
  /** `started`, `backgrounded` or `finished`; `unspecified` for the first event, which confirms the watch. */
  readonly kind: string;
  /** The execution. */
  readonly execution: ExecutionInfo | undefined;
}

/** The options of a watch. */
export interface WatchOptions extends Cancellable {
  /** The cursor of an event: the watch continues after it. Default: from now on. */
  readonly cursor?: Uint8Array | undefined;
}

/**
 * Returns the milestones of executions, each once. A broken watch continues after its last event.
 *
 * @internal
 */
export async function* watched(
  connection: Connection,
  sessionId: string,
  { cursor: first = new Uint8Array(), signal }: WatchOptions,
): AsyncGenerator<WatchEvent, void, void> {
  const retries = new Retries(connection.patience);
  let cursor = first;
  let active = false;
  for (;;) {
    let view;
    try {
      view = await connection.view(watch, { sessionId, cursor }, signal);
      for (;;) {
        const raw = await view.next();
        retries.reset();
        cursor = raw.cursor;
        if (raw.execution === undefined && active) {
          continue;
        }
        active = true;
        yield { cursor, kind: nameOf(WatchKind, raw.kind), execution: raw.execution && executionOf(raw.execution) };
      }
    } catch (error) {
      await retries.outlast(error, connection.patience.viewMs, signal);
    } finally {
      view?.cancel();
    }
  }
}

/**
 * Throws `UnsupportedError` if the server does not know network rules, because it would ignore them.
 *
 * A start without a command is always refused, and the refusal names every invalid field that the server knows.
 *
 * @internal
 */
export async function requireNetwork(connection: Connection, signal: AbortSignal | undefined): Promise<void> {
  if (connection.knowsNetwork) {
    return;
  }
  try {
    await connection.unary(start, { spec: { network: { allow: ["://"] } } }, { signal });
  } catch (error) {
    if (!(error instanceof InvalidRequestError)) {
      throw error;
    }
    if (error.violations.some(({ field }) => field.startsWith("spec.network"))) {
      connection.knowsNetwork = true;
      return;
    }
  }
  throw new UnsupportedError(`the server at ${connection.address} does not support network rules`, {
    code: "UNIMPLEMENTED",
  });
}
