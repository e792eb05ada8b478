"""The typed values of the client: executions, results, events, files, sessions and approvals.

States and names are lower-case text, such as `running` or `timed_out`. A value of a later version of the contract is
`unknown_` and its number. `raw` is the message with every field.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from google.protobuf import duration_pb2, timestamp_pb2

from . import _text
from ._errors import Span
from .v1 import approval_pb2, common_pb2, execution_pb2, file_pb2, policy_pb2, session_pb2


def name_of(enum: Callable[[int], str], prefix: str, value: int) -> str:
    """Return the lower-case name of an enum's value without the enum's prefix."""
    try:
        return enum(value).removeprefix(prefix).lower()
    except ValueError:
        return f"unknown_{value}"


def seconds(duration: duration_pb2.Duration) -> float:
    """Return a duration in seconds."""
    return duration.seconds + duration.nanos / 1e9


def moment(stamp: timestamp_pb2.Timestamp) -> datetime:
    """Return a point in time in UTC."""
    return stamp.ToDatetime(tzinfo=UTC)


def path_of(text: str, data: bytes) -> str:
    """Return a path. Bytes that are not UTF-8 are surrogates, as in the functions of `os`."""
    return data.decode("utf-8", "surrogateescape") if data else text


@dataclass(frozen=True)
class Note:
    """A fact about a run that its reader needs and that is not in the output."""

    code: str
    """A stable name, such as `output_cut`."""
    text: str
    """One line."""


@dataclass(frozen=True)
class Violation:
    """An action that a layer of the sandbox detected."""

    layer: str
    kind: str
    path: str
    action: str
    """`reported`, `quarantined` or `failed`."""
    detail: str
    quarantine_id: str


@dataclass(frozen=True)
class Cause:
    """The reason why an execution ended."""

    code: str
    """`exited`, `signaled`, `timed_out`, `denied`, ... Only `exited` can mean success."""
    message: str
    """One line for people."""
    detail: str = ""
    """The origin of a cancellation or denial, the reason of a refusal, or the kind of a timeout."""
    signal: int | None = None
    """The number of the signal, if the code is `signaled`."""


@dataclass(frozen=True)
class Reason:
    """One reason for the verdict of a decision."""

    code: str
    message: str
    span: Span | None
    """The part of the command that the reason refers to."""
    rule: str


@dataclass(frozen=True)
class Decision:
    """The decision of the policy about a command."""

    verdict: str
    """`allow`, `ask` or `deny`."""
    reasons: tuple[Reason, ...]
    read_only: bool
    warnings: tuple[str, ...]
    suggested_rules: tuple[str, ...]
    """Rules that would allow the command."""
    profile: str
    raw: policy_pb2.Decision = field(repr=False, compare=False)

    @staticmethod
    def of(raw: policy_pb2.Decision) -> Decision:
        """Convert the message."""
        reasons = tuple(
            Reason(r.code, r.message, Span(r.span.start, r.span.end) if r.HasField("span") else None, r.rule)
            for r in raw.reasons
        )
        verdict = name_of(policy_pb2.Verdict.Name, "VERDICT_", raw.verdict)
        return Decision(
            verdict, reasons, raw.read_only, tuple(raw.warnings), tuple(raw.suggested_rules), raw.profile, raw
        )


@dataclass(frozen=True)
class Result:
    """The outcome of an execution."""

    execution_id: str
    session_id: str
    text: str
    """The text for a model: the output, then Airlock's notes. Give it to the model as it is."""
    exit_code: int | None
    """The exit code of the shell. `None` if it did not exit by itself."""
    cause: Cause
    stdout: str
    """Standard output as cleaned text, or both streams unless `separate_stderr` was set. It can be shortened."""
    stderr: str
    """Standard error as cleaned text, if `separate_stderr` was set."""
    truncated: bool
    """The text has only a part of the output. `read_output` returns the rest."""
    notes: tuple[Note, ...]
    violations: tuple[Violation, ...]
    started: str
    """Whether the command began to run: `yes`, `no` or `unknown`."""
    directory: str
    """The session's working directory after the command."""
    run_time: float
    """The time from the start of the command to its end, in seconds."""
    decision: Decision | None
    """The decision of the policy, if the server sent it."""
    raw: common_pb2.Result = field(repr=False, compare=False)

    @property
    def ok(self) -> bool:
        """Whether the shell exited with 0."""
        return self.exit_code == 0

    @staticmethod
    def running(execution: execution_pb2.Execution) -> Result:
        """Return the result of a view whose command continues in the background."""
        text = (
            f"{_text.PREFIX}the command continues in the background as execution {execution.execution_id}; "
            "its result is not known yet\n"
        )
        return Result(
            execution_id=execution.execution_id,
            session_id=execution.session_id,
            text=text,
            exit_code=None,
            cause=Cause("backgrounded", "the command continues in the background"),
            stdout="",
            stderr="",
            truncated=False,
            notes=(),
            violations=(),
            started="yes",
            directory="",
            run_time=0.0,
            decision=None,
            raw=common_pb2.Result(),
        )

    @staticmethod
    def of(execution: execution_pb2.Execution) -> Result:
        """Convert the result of a finished execution."""
        raw = execution.result
        exited = raw.cause.HasField("exited") and raw.started != common_pb2.STARTED_NO
        inline = raw.inline
        short = any(note.code in ("output_cut", "output_shortened") for note in raw.notes)
        return Result(
            execution_id=execution.execution_id,
            session_id=execution.session_id,
            text=_text.for_model(raw, execution.execution_id),
            exit_code=raw.cause.exited.code if exited else None,
            cause=_cause(raw.cause),
            stdout=inline.stdout.text,
            stderr=inline.stderr.text,
            truncated=short or _is_part(inline, "stdout") or _is_part(inline, "stderr"),
            notes=tuple(Note(note.code, note.text) for note in raw.notes),
            violations=tuple(_violation(one) for one in raw.violations),
            started=name_of(common_pb2.Started.Name, "STARTED_", raw.started),
            directory=path_of(raw.directory, raw.directory_bytes),
            run_time=seconds(raw.run_time),
            decision=Decision.of(execution.decision) if execution.HasField("decision") else None,
            raw=raw,
        )


def _is_part(inline: common_pb2.InlineOutput, stream: str) -> bool:
    return inline.HasField("stdout" if stream == "stdout" else "stderr") and not getattr(inline, stream).whole


def _cause(raw: common_pb2.Cause) -> Cause:
    code = name_of(common_pb2.CauseCode.Name, "CAUSE_CODE_", raw.code)
    detail, signal = "", None
    match raw.WhichOneof("detail"):
        case "signaled":
            signal = raw.signaled.signal
        case "timed_out":
            detail = name_of(common_pb2.TimeoutKind.Name, "TIMEOUT_KIND_", raw.timed_out.kind)
        case "cancelled":
            detail = name_of(common_pb2.CancelledBy.Name, "CANCELLED_BY_", raw.cancelled.by)
        case "denied":
            detail = name_of(common_pb2.DeniedBy.Name, "DENIED_BY_", raw.denied.by)
        case "refused":
            detail = raw.refused.reason
        case "sandbox_failed":
            detail = raw.sandbox_failed.step
    return Cause(code, raw.message, detail, signal)


def _violation(raw: common_pb2.Violation) -> Violation:
    action = name_of(common_pb2.ViolationAction.Name, "VIOLATION_ACTION_", raw.action)
    path = path_of(raw.path, raw.path_bytes)
    return Violation(raw.layer, raw.kind, path, action, raw.detail, raw.quarantine_id)


@dataclass(frozen=True)
class ExecutionInfo:
    """The state of an execution."""

    id: str
    session_id: str
    state: str
    """`pending_approval`, `queued`, `starting`, `running` or `finished`."""
    command: str
    """Empty in a list."""
    approval_id: str
    """Set while the state is `pending_approval`."""
    background: bool
    labels: dict[str, str]
    result: Result | None
    """Set if the state is `finished`."""
    raw: execution_pb2.Execution = field(repr=False, compare=False)

    @staticmethod
    def of(raw: execution_pb2.Execution) -> ExecutionInfo:
        """Convert the message."""
        return ExecutionInfo(
            id=raw.execution_id,
            session_id=raw.session_id,
            state=state_name(raw.state),
            command=path_of(raw.command, raw.command_bytes),
            approval_id=raw.approval_id,
            background=raw.backgrounded_by != common_pb2.BACKGROUNDED_BY_UNSPECIFIED,
            labels=dict(raw.labels),
            result=Result.of(raw) if raw.HasField("result") else None,
            raw=raw,
        )


def state_name(state: int) -> str:
    """Return the name of an execution's state."""
    return name_of(common_pb2.ExecutionState.Name, "EXECUTION_STATE_", state)


@dataclass(frozen=True)
class SessionInfo:
    """The state of a session."""

    id: str
    state: str
    """`opening`, `open`, `closing`, `closed` or `lost`."""
    profile: str
    mode: str
    directory: str
    """The working directory of the next command."""
    base: str
    labels: dict[str, str]
    raw: session_pb2.Session = field(repr=False, compare=False)

    @staticmethod
    def of(raw: session_pb2.Session) -> SessionInfo:
        """Convert the message."""
        return SessionInfo(
            id=raw.session_id,
            state=name_of(session_pb2.SessionState.Name, "SESSION_STATE_", raw.state),
            profile=raw.profile,
            mode=name_of(common_pb2.Mode.Name, "MODE_", raw.mode),
            directory=path_of(raw.directory, raw.directory_bytes),
            base=raw.base,
            labels=dict(raw.labels),
            raw=raw,
        )


@dataclass(frozen=True)
class Approval:
    """A question to a person about one execution, and the answer."""

    id: str
    execution_id: str
    session_id: str
    principal: str
    """The caller that submitted the command."""
    state: str
    """`open`, `allowed`, `denied`, `expired` or `withdrawn`."""
    command: str
    directory: str
    description: str
    """Text from the agent. It is not verified."""
    decision: Decision
    binding: bytes
    """The hash of everything that the answer covers. An answer is sent with the binding that was shown."""
    expires: datetime
    decided_by: str
    reason: str
    connection: str
    """The host and port, as `HOST:PORT`, if a connection of the running command waits for the answer. Empty: the
    command itself waits."""
    raw: approval_pb2.Approval = field(repr=False, compare=False)
    """The message. `raw.terms` and `raw.files` have the other fields that the answer covers."""

    @staticmethod
    def of(raw: approval_pb2.Approval) -> Approval:
        """Convert the message."""
        return Approval(
            id=raw.approval_id,
            execution_id=raw.execution_id,
            session_id=raw.session_id,
            principal=raw.principal,
            state=name_of(approval_pb2.ApprovalState.Name, "APPROVAL_STATE_", raw.state),
            command=path_of(raw.command, raw.command_bytes),
            directory=path_of(raw.directory, raw.directory_bytes),
            description=raw.description,
            decision=Decision.of(raw.decision),
            binding=raw.binding,
            expires=moment(raw.expires),
            decided_by=raw.decided_by,
            reason=raw.reason,
            connection=f"{raw.connection.host}:{raw.connection.port}" if raw.HasField("connection") else "",
            raw=raw,
        )


@dataclass(frozen=True)
class FileInfo:
    """The properties of a file."""

    path: str
    """An absolute path inside the sandbox."""
    type: str
    """`regular`, `directory`, `symlink` or `other`."""
    size: int
    mode: int
    """The permission bits."""
    modified: datetime
    link_target: str

    @staticmethod
    def of(raw: file_pb2.FileInfo) -> FileInfo:
        """Convert the message."""
        kind = name_of(file_pb2.FileType.Name, "FILE_TYPE_", raw.type)
        target = path_of(raw.link_target, raw.link_target_bytes)
        path = path_of(raw.path, raw.path_bytes)
        return FileInfo(path, kind, raw.size, raw.mode, moment(raw.modified), target)


@dataclass(frozen=True)
class FileChange:
    """A changed file."""

    kind: str
    """`added`, `modified` or `deleted`."""
    path: str
    before: FileInfo | None
    after: FileInfo | None
    patch: str
    """A unified diff, if one was requested and is possible."""
    patch_omitted: str
    """The reason for a missing diff, such as `binary`."""

    @staticmethod
    def of(raw: file_pb2.FileChange) -> FileChange:
        """Convert the message."""
        before = FileInfo.of(raw.before) if raw.HasField("before") else None
        after = FileInfo.of(raw.after) if raw.HasField("after") else None
        kind = name_of(file_pb2.ChangeKind.Name, "CHANGE_KIND_", raw.kind)
        known = after or before
        patch = path_of(raw.patch, raw.patch_bytes)
        return FileChange(kind, known.path if known else "", before, after, patch, raw.patch_omitted)


@dataclass(frozen=True)
class Transferred:
    """The result of a transfer of a directory."""

    files: int
    directories: int
    links: int
    skipped: tuple[str, ...]
    """Paths that are missing from the copy, with the reason: `PATH: REASON`."""
