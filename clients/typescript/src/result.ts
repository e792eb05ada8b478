/** Results of executions, executions, and decisions. `raw` is the message with every field. */

import { create } from "@bufbuild/protobuf";

import { pathOf } from "./bytes.js";
import type { Span } from "./errors.js";
import {
  BackgroundedBy,
  CancelledBy,
  CauseCode,
  DeniedBy,
  ExecutionState,
  ResultSchema,
  Started,
  TimeoutKind,
  ViolationAction,
  type Cause as RawCause,
  type InlineText,
  type Result as RawResult,
  type Violation as RawViolation,
} from "./gen/airlock/v1/common_pb.js";
import type { Execution as RawExecution } from "./gen/airlock/v1/execution_pb.js";
import { Verdict, type Decision as RawDecision } from "./gen/airlock/v1/policy_pb.js";
import { millis, nameOf } from "./names.js";
import { PREFIX, forModel } from "./text.js";

/** A fact about a run that its reader needs and that is not in the output. */
export interface Note {
  /** A stable name, such as `output_cut`. */
  readonly code: string;
  /** One line. */
  readonly text: string;
}

/** An action that a layer of the sandbox detected. */
export interface Violation {
  /** The layer, such as `protected_names`. */
  readonly layer: string;
  /** A stable name for the action. */
  readonly kind: string;
  /** An absolute path inside the sandbox, or an empty string. */
  readonly path: string;
  /** `reported`, `quarantined` or `failed`. */
  readonly action: string;
  /** One line for people. */
  readonly detail: string;
  /** The ID of the file in quarantine, or an empty string. */
  readonly quarantineId: string;
}

/** The reason why an execution ended. */
export interface Cause {
  /** `exited`, `signaled`, `timed_out`, `denied`, ... Only `exited` can mean success. */
  readonly code: string;
  /** One line for people. */
  readonly message: string;
  /** The origin of a cancellation or denial, the reason of a refusal, or the kind of a timeout. */
  readonly detail: string;
  /** The number of the signal, if the code is `signaled`. */
  readonly signal: number | undefined;
}

/** One reason for the verdict of a decision. */
export interface Reason {
  /** A stable name, such as `deny_rule`. */
  readonly code: string;
  /** One line for people. */
  readonly message: string;
  /** The part of the command that the reason refers to. */
  readonly span: Span | undefined;
  /** The rule that decided, or an empty string. */
  readonly rule: string;
}

/** The decision of the policy about a command. */
export interface Decision {
  /** `allow`, `ask` or `deny`. */
  readonly verdict: string;
  /** The reason that determined the verdict is first. */
  readonly reasons: readonly Reason[];
  /** The command is proven to change nothing. */
  readonly readOnly: boolean;
  /** Destructive effects of the command. */
  readonly warnings: readonly string[];
  /** Rules that would allow the command. */
  readonly suggestedRules: readonly string[];
  /** The profile that decided. */
  readonly profile: string;
  /** The message. */
  readonly raw: RawDecision;
}

/** The outcome of an execution. */
export interface Result {
  /** The execution's ID. */
  readonly executionId: string;
  /** The session's ID. */
  readonly sessionId: string;
  /** The text for a model: the output, then Airlock's notes. Give it to the model as it is. */
  readonly text: string;
  /** The exit code of the shell. `undefined` if it did not exit by itself. */
  readonly exitCode: number | undefined;
  /** Whether the shell exited with 0. */
  readonly ok: boolean;
  /** The reason why the execution ended. */
  readonly cause: Cause;
  /** Standard output as cleaned text, or both streams unless `separateStderr` was set. It can be shortened. */
  readonly stdout: string;
  /** Standard error as cleaned text, if `separateStderr` was set. */
  readonly stderr: string;
  /** The text has only a part of the output. `readOutput` returns the rest. */
  readonly truncated: boolean;
  /** Facts about the run. */
  readonly notes: readonly Note[];
  /** Actions that the sandbox detected. */
  readonly violations: readonly Violation[];
  /** Whether the command began to run: `yes`, `no` or `unknown`. */
  readonly started: string;
  /** The session's working directory after the command. */
  readonly directory: string;
  /** The time from the start of the command to its end, in milliseconds. */
  readonly runTimeMs: number;
  /** The decision of the policy, if the server sent it. */
  readonly decision: Decision | undefined;
  /** The message. */
  readonly raw: RawResult;
}

/** The state of an execution. */
export interface ExecutionInfo {
  /** The execution's ID. */
  readonly id: string;
  /** The session's ID. */
  readonly sessionId: string;
  /** `pending_approval`, `queued`, `starting`, `running` or `finished`. */
  readonly state: string;
  /** The command. Empty in a list. */
  readonly command: string;
  /** Set while the state is `pending_approval`. */
  readonly approvalId: string;
  /** The command runs in the background. */
  readonly background: boolean;
  /** The labels of the request. */
  readonly labels: Readonly<Record<string, string>>;
  /** Set if the state is `finished`. */
  readonly result: Result | undefined;
  /** The message. */
  readonly raw: RawExecution;
}

/** @internal */
export function decisionOf(raw: RawDecision): Decision {
  return {
    verdict: nameOf(Verdict, raw.verdict),
    reasons: raw.reasons.map(({ code, message, span, rule }) => ({
      code,
      message,
      span: span && { start: span.start, end: span.end },
      rule,
    })),
    readOnly: raw.readOnly,
    warnings: raw.warnings,
    suggestedRules: raw.suggestedRules,
    profile: raw.profile,
    raw,
  };
}

/**
 * Returns the result of a view whose command continues in the background.
 *
 * @internal
 */
export function runningResult(execution: RawExecution): Result {
  const { executionId, sessionId } = execution;
  return {
    executionId,
    sessionId,
    text:
      `${PREFIX}the command continues in the background as execution ${executionId}; ` +
      "its result is not known yet\n",
    exitCode: undefined,
    ok: false,
    cause: {
      code: "backgrounded",
      message: "the command continues in the background",
      detail: "",
      signal: undefined,
    },
    stdout: "",
    stderr: "",
    truncated: false,
    notes: [],
    violations: [],
    started: "yes",
    directory: "",
    runTimeMs: 0,
    decision: undefined,
    raw: create(ResultSchema),
  };
}

/**
 * Returns the result of a finished execution.
 *
 * @internal
 */
export function resultOf(execution: RawExecution): Result {
  const raw = execution.result ?? create(ResultSchema);
  const { inline } = raw;
  const short = raw.notes.some(({ code }) => code === "output_cut" || code === "output_shortened");
  const exitCode = exitCodeOf(raw);
  return {
    executionId: execution.executionId,
    sessionId: execution.sessionId,
    text: forModel(raw, execution.executionId),
    exitCode,
    ok: exitCode === 0,
    cause: causeOf(raw.cause),
    stdout: inline?.stdout?.text ?? "",
    stderr: inline?.stderr?.text ?? "",
    truncated: short || isPart(inline?.stdout) || isPart(inline?.stderr),
    notes: raw.notes.map(({ code, text }) => ({ code, text })),
    violations: raw.violations.map(violationOf),
    started: nameOf(Started, raw.started),
    directory: pathOf(raw.directory, raw.directoryBytes),
    runTimeMs: millis(raw.runTime),
    decision: execution.decision && decisionOf(execution.decision),
    raw,
  };
}

function exitCodeOf(raw: RawResult): number | undefined {
  const detail = raw.cause?.detail;
  return detail?.case === "exited" && raw.started !== Started.NO ? detail.value.code : undefined;
}

function isPart(text: InlineText | undefined): boolean {
  return text !== undefined && !text.whole;
}

function causeOf(raw: RawCause | undefined): Cause {
  const code = nameOf(CauseCode, raw?.code ?? CauseCode.UNSPECIFIED);
  const signal = raw?.detail.case === "signaled" ? raw.detail.value.signal : undefined;
  return { code, message: raw?.message ?? "", detail: detailOf(raw), signal };
}

function detailOf(raw: RawCause | undefined): string {
  switch (raw?.detail.case) {
    case "timedOut":
      return nameOf(TimeoutKind, raw.detail.value.kind);
    case "cancelled":
      return nameOf(CancelledBy, raw.detail.value.by);
    case "denied":
      return nameOf(DeniedBy, raw.detail.value.by);
    case "refused":
      return raw.detail.value.reason;
    case "sandboxFailed":
      return raw.detail.value.step;
    default:
      return "";
  }
}

function violationOf(raw: RawViolation): Violation {
  return {
    layer: raw.layer,
    kind: raw.kind,
    path: pathOf(raw.path, raw.pathBytes),
    action: nameOf(ViolationAction, raw.action),
    detail: raw.detail,
    quarantineId: raw.quarantineId,
  };
}

/** @internal */
export function executionOf(raw: RawExecution): ExecutionInfo {
  return {
    id: raw.executionId,
    sessionId: raw.sessionId,
    state: nameOf(ExecutionState, raw.state),
    command: pathOf(raw.command, raw.commandBytes),
    approvalId: raw.approvalId,
    background: raw.backgroundedBy !== BackgroundedBy.UNSPECIFIED,
    labels: { ...raw.labels },
    result: raw.result && resultOf(raw),
    raw,
  };
}
