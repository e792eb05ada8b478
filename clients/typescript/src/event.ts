/** The events of an execution, as a reader receives them. */

import { create } from "@bufbuild/protobuf";

import { ExecutionState, LinkState, OutputStream } from "./gen/airlock/v1/common_pb.js";
import {
  ExecutionSchema,
  type Event as RawEvent,
  type Execution as RawExecution,
} from "./gen/airlock/v1/execution_pb.js";
import { millis, nameOf } from "./names.js";
import { executionOf, resultOf, type ExecutionInfo, type Result } from "./result.js";

/** The first event: the execution in its current state. */
export interface Opened {
  /** The kind of the event. */
  readonly type: "opened";
  /** The position after this event. */
  readonly cursor: Uint8Array;
  /** The execution. */
  readonly execution: ExecutionInfo;
}

/** A change of the execution's state. */
export interface StateChanged {
  /** The kind of the event. */
  readonly type: "state_changed";
  /** The position after this event. */
  readonly cursor: Uint8Array;
  /** The state, such as `running`. */
  readonly state: string;
  /** Set if the state is `pending_approval`. */
  readonly approvalId: string;
  /** Whether the runner that holds the execution can be reached. */
  readonly connected: boolean;
}

/** A part of an output stream. */
export interface Output {
  /** The kind of the event. */
  readonly type: "output";
  /** The position after this event. */
  readonly cursor: Uint8Array;
  /** `stdout` or `stderr`. */
  readonly stream: string;
  /** The offset of the first byte, counted from the start of the stream. */
  readonly offset: number;
  /** The bytes. */
  readonly data: Uint8Array;
}

/** A range of bytes that are no longer held. */
export interface Gap {
  /** The kind of the event. */
  readonly type: "gap";
  /** The position after this event. */
  readonly cursor: Uint8Array;
  /** `stdout` or `stderr`. */
  readonly stream: string;
  /** The first byte. */
  readonly start: number;
  /** The byte after the last one. */
  readonly end: number;
}

/** The progress of a running command, once a second after two seconds. */
export interface Progress {
  /** The kind of the event. */
  readonly type: "progress";
  /** The position after this event. */
  readonly cursor: Uint8Array;
  /** The time since the command began to run, in milliseconds. */
  readonly elapsedMs: number;
  /** The number of bytes of both streams. */
  readonly totalBytes: number;
  /** At most the last five lines. */
  readonly lastLines: readonly string[];
}

/** The last event: the execution ended. */
export interface Finished {
  /** The kind of the event. */
  readonly type: "finished";
  /** The position after this event. */
  readonly cursor: Uint8Array;
  /** The execution. */
  readonly execution: ExecutionInfo;
  /** Its result. */
  readonly result: Result;
}

/** The last event of a view: the command continues in the background. */
export interface Backgrounded {
  /** The kind of the event. */
  readonly type: "backgrounded";
  /** The position after this event. */
  readonly cursor: Uint8Array;
  /** The execution. */
  readonly execution: ExecutionInfo;
}

/** An event of an execution. `type` tells which. */
export type Event = Opened | StateChanged | Output | Gap | Progress | Finished | Backgrounded;

/**
 * Converts a message that has an event.
 *
 * @internal
 */
export function eventOf({ cursor, event }: RawEvent): Event {
  switch (event.case) {
    case "opened":
      return { type: "opened", cursor, execution: infoOf(event.value.execution) };
    case "stateChanged": {
      const { state, approvalId, link } = event.value;
      const connected = link !== LinkState.UNREACHABLE;
      return { type: "state_changed", cursor, state: nameOf(ExecutionState, state), approvalId, connected };
    }
    case "output": {
      const { stream, offset, data } = event.value;
      return { type: "output", cursor, stream: nameOf(OutputStream, stream), offset: Number(offset), data };
    }
    case "gap": {
      const { stream, from, to } = event.value;
      return { type: "gap", cursor, stream: nameOf(OutputStream, stream), start: Number(from), end: Number(to) };
    }
    case "progress": {
      const { elapsed, totalBytes, lastLines } = event.value;
      return { type: "progress", cursor, elapsedMs: millis(elapsed), totalBytes: Number(totalBytes), lastLines };
    }
    case "finished": {
      const execution = raw(event.value.execution);
      return { type: "finished", cursor, execution: executionOf(execution), result: resultOf(execution) };
    }
    default:
      return { type: "backgrounded", cursor, execution: infoOf(event.value?.execution) };
  }
}

function infoOf(execution: RawExecution | undefined): ExecutionInfo {
  return executionOf(raw(execution));
}

function raw(execution: RawExecution | undefined): RawExecution {
  return execution ?? create(ExecutionSchema);
}
