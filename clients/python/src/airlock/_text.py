"""A result as text for a model: the output, then Airlock's notes, each on a line that begins with `airlock: `.

A line of the output with the same start is marked, so that a command cannot imitate a note.
"""

from __future__ import annotations

import re

from .v1 import common_pb2

PREFIX = "airlock: "
_MARK = "| "
# A line that looks like a note, after spaces, control characters and escape sequences.
_LOOKS = re.compile(
    r"(?P<start>(?:^|[\n\r])(?:\x1b\[[^\x40-\x7e]*[\x40-\x7e]|[\x00-\x09\x0b\x0c\x0e-\x1a\x1c-\x20\x7f])*)(?=airlock:)",
    re.I,
)
_PRINTABLE = re.compile(r"[^\x20-\x7e]")
_ESCAPE = re.compile(r"\\(?=[ux]\{)")

_CANCELLED_BY = {
    common_pb2.CANCELLED_BY_CLIENT: "cancelled",
    common_pb2.CANCELLED_BY_ADMIN: "cancelled by an administrator",
    common_pb2.CANCELLED_BY_DISCONNECT: "cancelled because the client that started it disconnected",
    common_pb2.CANCELLED_BY_SESSION: "cancelled because its session was closed",
    common_pb2.CANCELLED_BY_DRAIN: "cancelled because its runner was drained",
}
_DENIED_BY = {
    common_pb2.DENIED_BY_PERSON: "denied by a person",
    common_pb2.DENIED_BY_NOBODY_TO_ASK: "policy requires an approval, and the request did not wait for one",
}
_PLAIN = {
    common_pb2.CAUSE_CODE_OOM_KILLED: "ended by the kernel because it ran out of memory",
    common_pb2.CAUSE_CODE_OUTPUT_LIMIT: "ended because it exceeded its output limit",
    common_pb2.CAUSE_CODE_DISK_LIMIT: "ended because it exceeded its disk limit",
    common_pb2.CAUSE_CODE_APPROVAL_EXPIRED: "its approval expired without an answer",
    common_pb2.CAUSE_CODE_QUEUE_EXPIRED: "it waited too long in the queue",
    common_pb2.CAUSE_CODE_SHELL_UNAVAILABLE: "the shell is not available",
    common_pb2.CAUSE_CODE_RUNNER_LOST: "its runner was lost",
    common_pb2.CAUSE_CODE_INTERNAL: "internal error of Airlock",
}


def for_model(outcome: common_pb2.Result, execution_id: str) -> str:
    """Return the output of a result, the cause unless the exit code is 0, and every note."""
    out = ""
    for text in (outcome.inline.stdout, outcome.inline.stderr):
        out += marked(text.text)
        if out and not out.endswith("\n"):
            out += "\n"
    if not succeeded(outcome):
        out += f"{PREFIX}{sentence(outcome)}\n"
    for note in outcome.notes:
        out += f"{PREFIX}{escaped(note.text)}\n"
    if any(note.code == "output_shortened" for note in outcome.notes):
        out += f"{PREFIX}to read the rest, read the output of the execution {execution_id}\n"
    return out


def marked(text: str) -> str:
    """Return the text with a mark before each line that looks like a note."""
    return _LOOKS.sub(lambda match: match["start"] + _MARK, text)


def escaped(text: str) -> str:
    r"""Return foreign text on one line of ASCII. Other characters are shown as `\u{HEX}`."""
    text = _ESCAPE.sub(lambda _: "\\u{5c}", text)
    return _PRINTABLE.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)


def succeeded(outcome: common_pb2.Result) -> bool:
    """Report whether the shell is known to have exited with 0."""
    cause = outcome.cause
    return (
        outcome.started != common_pb2.STARTED_NO
        and cause.code == common_pb2.CAUSE_CODE_EXITED
        and cause.HasField("exited")
        and cause.exited.code == 0
    )


def sentence(outcome: common_pb2.Result) -> str:
    """Return the end of an execution as one line without a final period."""
    if not outcome.HasField("cause"):
        return "the result of the command is unknown"
    cause = outcome.cause
    what, message = _what_happened(cause), escaped(cause.message)
    line = what if not message or message in what else f"{what}: {message}"
    if outcome.HasField("interpretation"):
        line += f" ({escaped(outcome.interpretation.text)})"
    if outcome.started == common_pb2.STARTED_NO:
        return line + "; it did not run"
    if outcome.started != common_pb2.STARTED_YES:
        return line + "; it is unknown whether it ran"
    if cause.code == common_pb2.CAUSE_CODE_RUNNER_LOST:
        return line + "; it had started, but its result is unknown"
    return line


def _what_happened(cause: common_pb2.Cause) -> str:
    match cause.WhichOneof("detail"):
        case "exited":
            return f"exited with code {cause.exited.code}"
        case "signaled":
            return f"ended by signal {cause.signaled.signal}" + (", core dumped" if cause.signaled.core else "")
        case "timed_out":
            if cause.timed_out.kind == common_pb2.TIMEOUT_KIND_IDLE:
                return "ended because it wrote no output within its idle timeout"
            return "ended because its timeout expired"
        case "cancelled":
            return _CANCELLED_BY.get(cause.cancelled.by, "cancelled by an unknown party")
        case "denied":
            who = _DENIED_BY.get(cause.denied.by, "denied by policy")
            return f"{who}: {escaped(cause.denied.reason)}" if cause.denied.reason else who
        case "refused":
            return f"refused by the runner ({escaped(cause.refused.reason)})"
        case "sandbox_failed":
            hint = f"; {escaped(cause.sandbox_failed.hint)}" if cause.sandbox_failed.hint else ""
            return f"the sandbox failed at the step `{escaped(cause.sandbox_failed.step)}`{hint}"
    return _PLAIN.get(cause.code, f"ended with a cause that this client does not support ({cause.code})")
