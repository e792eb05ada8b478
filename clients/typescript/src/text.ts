/**
 * A result as text for a model: the output, then Airlock's notes, each on a line that begins with `airlock: `.
 *
 * A line of the output with the same start is marked, so that a command cannot imitate a note.
 */

import {
  CancelledBy,
  CauseCode,
  DeniedBy,
  Started,
  TimeoutKind,
  type Cause,
  type Result,
} from "./gen/airlock/v1/common_pb.js";

/** The start of a note. */
export const PREFIX = "airlock: ";
const MARK = "| ";
/** A line that looks like a note, after spaces, control characters and escape sequences. */
const LOOKS =
  /((?:^|[\n\r])(?:\x1b\[[^\x40-\x7e]*[\x40-\x7e]|[\x00-\x09\x0b\x0c\x0e-\x1a\x1c-\x20\x7f])*)(?=airlock:)/giu;

const CANCELLED_BY: Readonly<Partial<Record<CancelledBy, string>>> = {
  [CancelledBy.CLIENT]: "cancelled",
  [CancelledBy.ADMIN]: "cancelled by an administrator",
  [CancelledBy.DISCONNECT]: "cancelled because the client that started it disconnected",
  [CancelledBy.SESSION]: "cancelled because its session was closed",
  [CancelledBy.DRAIN]: "cancelled because its runner was drained",
};
const DENIED_BY: Readonly<Partial<Record<DeniedBy, string>>> = {
  [DeniedBy.PERSON]: "denied by a person",
  [DeniedBy.NOBODY_TO_ASK]: "policy requires an approval, and the request did not wait for one",
};
const PLAIN: Readonly<Partial<Record<CauseCode, string>>> = {
  [CauseCode.OOM_KILLED]: "ended by the kernel because it ran out of memory",
  [CauseCode.OUTPUT_LIMIT]: "ended because it exceeded its output limit",
  [CauseCode.DISK_LIMIT]: "ended because it exceeded its disk limit",
  [CauseCode.APPROVAL_EXPIRED]: "its approval expired without an answer",
  [CauseCode.QUEUE_EXPIRED]: "it waited too long in the queue",
  [CauseCode.SHELL_UNAVAILABLE]: "the shell is not available",
  [CauseCode.RUNNER_LOST]: "its runner was lost",
  [CauseCode.INTERNAL]: "internal error of Airlock",
};

/** Returns the output of a result, the cause unless the exit code is 0, and every note. */
export function forModel(outcome: Result, executionId: string): string {
  let out = "";
  for (const text of [outcome.inline?.stdout?.text, outcome.inline?.stderr?.text]) {
    out += marked(text ?? "");
    if (out !== "" && !out.endsWith("\n")) {
      out += "\n";
    }
  }
  if (!succeeded(outcome)) {
    out += `${PREFIX}${sentence(outcome)}\n`;
  }
  for (const note of outcome.notes) {
    out += `${PREFIX}${escaped(note.text)}\n`;
  }
  if (outcome.notes.some((note) => note.code === "output_shortened")) {
    out += `${PREFIX}to read the rest, read the output of the execution ${executionId}\n`;
  }
  return out;
}

/** Returns the text with a mark before each line that looks like a note. */
export function marked(text: string): string {
  return text.replace(LOOKS, (start) => start + MARK);
}

/** Returns foreign text on one line of ASCII. Other characters are shown as `\u{HEX}`. */
export function escaped(text: string): string {
  const unambiguous = text.replaceAll(/\\(?=[ux]\{)/g, "\\u{5c}");
  return unambiguous.replaceAll(/[^\x20-\x7e]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Reports whether the shell is known to have exited with 0. */
export function succeeded(outcome: Result): boolean {
  const { cause } = outcome;
  return (
    outcome.started !== Started.NO &&
    cause?.code === CauseCode.EXITED &&
    cause.detail.case === "exited" &&
    cause.detail.value.code === 0
  );
}

/** Returns the end of an execution as one line without a final period. */
export function sentence(outcome: Result): string {
  const { cause } = outcome;
  if (cause === undefined) {
    return "the result of the command is unknown";
  }
  const what = whatHappened(cause);
  const message = escaped(cause.message);
  let line = message === "" || what.includes(message) ? what : `${what}: ${message}`;
  if (outcome.interpretation) {
    line += ` (${escaped(outcome.interpretation.text)})`;
  }
  if (outcome.started === Started.NO) {
    return `${line}; it did not run`;
  }
  if (outcome.started !== Started.YES) {
    return `${line}; it is unknown whether it ran`;
  }
  return cause.code === CauseCode.RUNNER_LOST ? `${line}; it had started, but its result is unknown` : line;
}

function whatHappened(cause: Cause): string {
  const { detail } = cause;
  switch (detail.case) {
    case "exited":
      return `exited with code ${detail.value.code}`;
    case "signaled":
      return `ended by signal ${detail.value.signal}${detail.value.core ? ", core dumped" : ""}`;
    case "timedOut":
      return detail.value.kind === TimeoutKind.IDLE
        ? "ended because it wrote no output within its idle timeout"
        : "ended because its timeout expired";
    case "cancelled":
      return CANCELLED_BY[detail.value.by] ?? "cancelled by an unknown party";
    case "denied": {
      const who = DENIED_BY[detail.value.by] ?? "denied by policy";
      return detail.value.reason ? `${who}: ${escaped(detail.value.reason)}` : who;
    }
    case "refused":
      return `refused by the runner (${escaped(detail.value.reason)})`;
    case "sandboxFailed": {
      const hint = detail.value.hint ? `; ${escaped(detail.value.hint)}` : "";
      return `the sandbox failed at the step \`${escaped(detail.value.step)}\`${hint}`;
    }
    default:
      return PLAIN[cause.code] ?? `ended with a cause that this client does not support (${cause.code})`;
  }
}
