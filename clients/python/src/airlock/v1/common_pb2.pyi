import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Shell(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SHELL_UNSPECIFIED: _ClassVar[Shell]
    SHELL_BASH: _ClassVar[Shell]
    SHELL_ZSH: _ClassVar[Shell]
    SHELL_PWSH: _ClassVar[Shell]

class Mode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MODE_UNSPECIFIED: _ClassVar[Mode]
    MODE_BYPASS: _ClassVar[Mode]
    MODE_ACCEPT_EDITS: _ClassVar[Mode]
    MODE_DEFAULT: _ClassVar[Mode]
    MODE_PLAN: _ClassVar[Mode]

class OutputStream(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTPUT_STREAM_UNSPECIFIED: _ClassVar[OutputStream]
    OUTPUT_STREAM_STDOUT: _ClassVar[OutputStream]
    OUTPUT_STREAM_STDERR: _ClassVar[OutputStream]

class Started(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STARTED_UNSPECIFIED: _ClassVar[Started]
    STARTED_NO: _ClassVar[Started]
    STARTED_YES: _ClassVar[Started]
    STARTED_UNKNOWN: _ClassVar[Started]

class OutputState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTPUT_STATE_UNSPECIFIED: _ClassVar[OutputState]
    OUTPUT_STATE_NONE: _ClassVar[OutputState]
    OUTPUT_STATE_LIVE: _ClassVar[OutputState]
    OUTPUT_STATE_STORING: _ClassVar[OutputState]
    OUTPUT_STATE_STORED: _ClassVar[OutputState]
    OUTPUT_STATE_PARTIAL: _ClassVar[OutputState]
    OUTPUT_STATE_LOST: _ClassVar[OutputState]

class ExecutionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXECUTION_STATE_UNSPECIFIED: _ClassVar[ExecutionState]
    EXECUTION_STATE_PENDING_APPROVAL: _ClassVar[ExecutionState]
    EXECUTION_STATE_QUEUED: _ClassVar[ExecutionState]
    EXECUTION_STATE_STARTING: _ClassVar[ExecutionState]
    EXECUTION_STATE_RUNNING: _ClassVar[ExecutionState]
    EXECUTION_STATE_FINISHED: _ClassVar[ExecutionState]

class LinkState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LINK_STATE_UNSPECIFIED: _ClassVar[LinkState]
    LINK_STATE_CONNECTED: _ClassVar[LinkState]
    LINK_STATE_UNREACHABLE: _ClassVar[LinkState]

class CauseCode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CAUSE_CODE_UNSPECIFIED: _ClassVar[CauseCode]
    CAUSE_CODE_EXITED: _ClassVar[CauseCode]
    CAUSE_CODE_SIGNALED: _ClassVar[CauseCode]
    CAUSE_CODE_TIMED_OUT: _ClassVar[CauseCode]
    CAUSE_CODE_OOM_KILLED: _ClassVar[CauseCode]
    CAUSE_CODE_OUTPUT_LIMIT: _ClassVar[CauseCode]
    CAUSE_CODE_DISK_LIMIT: _ClassVar[CauseCode]
    CAUSE_CODE_CANCELLED: _ClassVar[CauseCode]
    CAUSE_CODE_DENIED: _ClassVar[CauseCode]
    CAUSE_CODE_APPROVAL_EXPIRED: _ClassVar[CauseCode]
    CAUSE_CODE_QUEUE_EXPIRED: _ClassVar[CauseCode]
    CAUSE_CODE_REFUSED: _ClassVar[CauseCode]
    CAUSE_CODE_SANDBOX_FAILED: _ClassVar[CauseCode]
    CAUSE_CODE_SHELL_UNAVAILABLE: _ClassVar[CauseCode]
    CAUSE_CODE_RUNNER_LOST: _ClassVar[CauseCode]
    CAUSE_CODE_INTERNAL: _ClassVar[CauseCode]

class TimeoutKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TIMEOUT_KIND_UNSPECIFIED: _ClassVar[TimeoutKind]
    TIMEOUT_KIND_WALL: _ClassVar[TimeoutKind]
    TIMEOUT_KIND_IDLE: _ClassVar[TimeoutKind]

class CancelledBy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CANCELLED_BY_UNSPECIFIED: _ClassVar[CancelledBy]
    CANCELLED_BY_CLIENT: _ClassVar[CancelledBy]
    CANCELLED_BY_ADMIN: _ClassVar[CancelledBy]
    CANCELLED_BY_DISCONNECT: _ClassVar[CancelledBy]
    CANCELLED_BY_SESSION: _ClassVar[CancelledBy]
    CANCELLED_BY_DRAIN: _ClassVar[CancelledBy]

class BackgroundedBy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BACKGROUNDED_BY_UNSPECIFIED: _ClassVar[BackgroundedBy]
    BACKGROUNDED_BY_CLIENT: _ClassVar[BackgroundedBy]
    BACKGROUNDED_BY_REQUEST: _ClassVar[BackgroundedBy]
    BACKGROUNDED_BY_BUDGET: _ClassVar[BackgroundedBy]

class DeniedBy(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DENIED_BY_UNSPECIFIED: _ClassVar[DeniedBy]
    DENIED_BY_POLICY: _ClassVar[DeniedBy]
    DENIED_BY_PERSON: _ClassVar[DeniedBy]
    DENIED_BY_NOBODY_TO_ASK: _ClassVar[DeniedBy]

class BoundFileState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BOUND_FILE_STATE_UNSPECIFIED: _ClassVar[BoundFileState]
    BOUND_FILE_STATE_DIGEST: _ClassVar[BoundFileState]
    BOUND_FILE_STATE_ABSENT: _ClassVar[BoundFileState]
    BOUND_FILE_STATE_OTHER: _ClassVar[BoundFileState]
    BOUND_FILE_STATE_TOO_LARGE: _ClassVar[BoundFileState]
    BOUND_FILE_STATE_UNKNOWN: _ClassVar[BoundFileState]

class ConnectionProtocol(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONNECTION_PROTOCOL_UNSPECIFIED: _ClassVar[ConnectionProtocol]
    CONNECTION_PROTOCOL_HTTP: _ClassVar[ConnectionProtocol]
    CONNECTION_PROTOCOL_CONNECT: _ClassVar[ConnectionProtocol]
    CONNECTION_PROTOCOL_SOCKS: _ClassVar[ConnectionProtocol]

class ConnectionVerdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONNECTION_VERDICT_UNSPECIFIED: _ClassVar[ConnectionVerdict]
    CONNECTION_VERDICT_ALLOWED: _ClassVar[ConnectionVerdict]
    CONNECTION_VERDICT_WARNED: _ClassVar[ConnectionVerdict]
    CONNECTION_VERDICT_REFUSED: _ClassVar[ConnectionVerdict]
    CONNECTION_VERDICT_FAILED: _ClassVar[ConnectionVerdict]

class ViolationAction(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VIOLATION_ACTION_UNSPECIFIED: _ClassVar[ViolationAction]
    VIOLATION_ACTION_REPORTED: _ClassVar[ViolationAction]
    VIOLATION_ACTION_QUARANTINED: _ClassVar[ViolationAction]
    VIOLATION_ACTION_FAILED: _ClassVar[ViolationAction]

class DirectoryReport(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    DIRECTORY_REPORT_UNSPECIFIED: _ClassVar[DirectoryReport]
    DIRECTORY_REPORT_REPORTED: _ClassVar[DirectoryReport]
    DIRECTORY_REPORT_UNCHANGED: _ClassVar[DirectoryReport]
    DIRECTORY_REPORT_SNAPPED_BACK: _ClassVar[DirectoryReport]
    DIRECTORY_REPORT_NOT_KEPT: _ClassVar[DirectoryReport]
SHELL_UNSPECIFIED: Shell
SHELL_BASH: Shell
SHELL_ZSH: Shell
SHELL_PWSH: Shell
MODE_UNSPECIFIED: Mode
MODE_BYPASS: Mode
MODE_ACCEPT_EDITS: Mode
MODE_DEFAULT: Mode
MODE_PLAN: Mode
OUTPUT_STREAM_UNSPECIFIED: OutputStream
OUTPUT_STREAM_STDOUT: OutputStream
OUTPUT_STREAM_STDERR: OutputStream
STARTED_UNSPECIFIED: Started
STARTED_NO: Started
STARTED_YES: Started
STARTED_UNKNOWN: Started
OUTPUT_STATE_UNSPECIFIED: OutputState
OUTPUT_STATE_NONE: OutputState
OUTPUT_STATE_LIVE: OutputState
OUTPUT_STATE_STORING: OutputState
OUTPUT_STATE_STORED: OutputState
OUTPUT_STATE_PARTIAL: OutputState
OUTPUT_STATE_LOST: OutputState
EXECUTION_STATE_UNSPECIFIED: ExecutionState
EXECUTION_STATE_PENDING_APPROVAL: ExecutionState
EXECUTION_STATE_QUEUED: ExecutionState
EXECUTION_STATE_STARTING: ExecutionState
EXECUTION_STATE_RUNNING: ExecutionState
EXECUTION_STATE_FINISHED: ExecutionState
LINK_STATE_UNSPECIFIED: LinkState
LINK_STATE_CONNECTED: LinkState
LINK_STATE_UNREACHABLE: LinkState
CAUSE_CODE_UNSPECIFIED: CauseCode
CAUSE_CODE_EXITED: CauseCode
CAUSE_CODE_SIGNALED: CauseCode
CAUSE_CODE_TIMED_OUT: CauseCode
CAUSE_CODE_OOM_KILLED: CauseCode
CAUSE_CODE_OUTPUT_LIMIT: CauseCode
CAUSE_CODE_DISK_LIMIT: CauseCode
CAUSE_CODE_CANCELLED: CauseCode
CAUSE_CODE_DENIED: CauseCode
CAUSE_CODE_APPROVAL_EXPIRED: CauseCode
CAUSE_CODE_QUEUE_EXPIRED: CauseCode
CAUSE_CODE_REFUSED: CauseCode
CAUSE_CODE_SANDBOX_FAILED: CauseCode
CAUSE_CODE_SHELL_UNAVAILABLE: CauseCode
CAUSE_CODE_RUNNER_LOST: CauseCode
CAUSE_CODE_INTERNAL: CauseCode
TIMEOUT_KIND_UNSPECIFIED: TimeoutKind
TIMEOUT_KIND_WALL: TimeoutKind
TIMEOUT_KIND_IDLE: TimeoutKind
CANCELLED_BY_UNSPECIFIED: CancelledBy
CANCELLED_BY_CLIENT: CancelledBy
CANCELLED_BY_ADMIN: CancelledBy
CANCELLED_BY_DISCONNECT: CancelledBy
CANCELLED_BY_SESSION: CancelledBy
CANCELLED_BY_DRAIN: CancelledBy
BACKGROUNDED_BY_UNSPECIFIED: BackgroundedBy
BACKGROUNDED_BY_CLIENT: BackgroundedBy
BACKGROUNDED_BY_REQUEST: BackgroundedBy
BACKGROUNDED_BY_BUDGET: BackgroundedBy
DENIED_BY_UNSPECIFIED: DeniedBy
DENIED_BY_POLICY: DeniedBy
DENIED_BY_PERSON: DeniedBy
DENIED_BY_NOBODY_TO_ASK: DeniedBy
BOUND_FILE_STATE_UNSPECIFIED: BoundFileState
BOUND_FILE_STATE_DIGEST: BoundFileState
BOUND_FILE_STATE_ABSENT: BoundFileState
BOUND_FILE_STATE_OTHER: BoundFileState
BOUND_FILE_STATE_TOO_LARGE: BoundFileState
BOUND_FILE_STATE_UNKNOWN: BoundFileState
CONNECTION_PROTOCOL_UNSPECIFIED: ConnectionProtocol
CONNECTION_PROTOCOL_HTTP: ConnectionProtocol
CONNECTION_PROTOCOL_CONNECT: ConnectionProtocol
CONNECTION_PROTOCOL_SOCKS: ConnectionProtocol
CONNECTION_VERDICT_UNSPECIFIED: ConnectionVerdict
CONNECTION_VERDICT_ALLOWED: ConnectionVerdict
CONNECTION_VERDICT_WARNED: ConnectionVerdict
CONNECTION_VERDICT_REFUSED: ConnectionVerdict
CONNECTION_VERDICT_FAILED: ConnectionVerdict
VIOLATION_ACTION_UNSPECIFIED: ViolationAction
VIOLATION_ACTION_REPORTED: ViolationAction
VIOLATION_ACTION_QUARANTINED: ViolationAction
VIOLATION_ACTION_FAILED: ViolationAction
DIRECTORY_REPORT_UNSPECIFIED: DirectoryReport
DIRECTORY_REPORT_REPORTED: DirectoryReport
DIRECTORY_REPORT_UNCHANGED: DirectoryReport
DIRECTORY_REPORT_SNAPPED_BACK: DirectoryReport
DIRECTORY_REPORT_NOT_KEPT: DirectoryReport

class Cause(_message.Message):
    __slots__ = ("code", "message", "exited", "signaled", "timed_out", "cancelled", "denied", "refused", "sandbox_failed")
    class Exited(_message.Message):
        __slots__ = ("code",)
        CODE_FIELD_NUMBER: _ClassVar[int]
        code: int
        def __init__(self, code: _Optional[int] = ...) -> None: ...
    class Signaled(_message.Message):
        __slots__ = ("signal", "core")
        SIGNAL_FIELD_NUMBER: _ClassVar[int]
        CORE_FIELD_NUMBER: _ClassVar[int]
        signal: int
        core: bool
        def __init__(self, signal: _Optional[int] = ..., core: bool = ...) -> None: ...
    class TimedOut(_message.Message):
        __slots__ = ("kind",)
        KIND_FIELD_NUMBER: _ClassVar[int]
        kind: TimeoutKind
        def __init__(self, kind: _Optional[_Union[TimeoutKind, str]] = ...) -> None: ...
    class Cancelled(_message.Message):
        __slots__ = ("by",)
        BY_FIELD_NUMBER: _ClassVar[int]
        by: CancelledBy
        def __init__(self, by: _Optional[_Union[CancelledBy, str]] = ...) -> None: ...
    class Denied(_message.Message):
        __slots__ = ("by", "reason")
        BY_FIELD_NUMBER: _ClassVar[int]
        REASON_FIELD_NUMBER: _ClassVar[int]
        by: DeniedBy
        reason: str
        def __init__(self, by: _Optional[_Union[DeniedBy, str]] = ..., reason: _Optional[str] = ...) -> None: ...
    class Refused(_message.Message):
        __slots__ = ("reason", "files")
        REASON_FIELD_NUMBER: _ClassVar[int]
        FILES_FIELD_NUMBER: _ClassVar[int]
        reason: str
        files: _containers.RepeatedCompositeFieldContainer[BoundFile]
        def __init__(self, reason: _Optional[str] = ..., files: _Optional[_Iterable[_Union[BoundFile, _Mapping]]] = ...) -> None: ...
    class SandboxFailed(_message.Message):
        __slots__ = ("step", "hint")
        STEP_FIELD_NUMBER: _ClassVar[int]
        HINT_FIELD_NUMBER: _ClassVar[int]
        step: str
        hint: str
        def __init__(self, step: _Optional[str] = ..., hint: _Optional[str] = ...) -> None: ...
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    EXITED_FIELD_NUMBER: _ClassVar[int]
    SIGNALED_FIELD_NUMBER: _ClassVar[int]
    TIMED_OUT_FIELD_NUMBER: _ClassVar[int]
    CANCELLED_FIELD_NUMBER: _ClassVar[int]
    DENIED_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    SANDBOX_FAILED_FIELD_NUMBER: _ClassVar[int]
    code: CauseCode
    message: str
    exited: Cause.Exited
    signaled: Cause.Signaled
    timed_out: Cause.TimedOut
    cancelled: Cause.Cancelled
    denied: Cause.Denied
    refused: Cause.Refused
    sandbox_failed: Cause.SandboxFailed
    def __init__(self, code: _Optional[_Union[CauseCode, str]] = ..., message: _Optional[str] = ..., exited: _Optional[_Union[Cause.Exited, _Mapping]] = ..., signaled: _Optional[_Union[Cause.Signaled, _Mapping]] = ..., timed_out: _Optional[_Union[Cause.TimedOut, _Mapping]] = ..., cancelled: _Optional[_Union[Cause.Cancelled, _Mapping]] = ..., denied: _Optional[_Union[Cause.Denied, _Mapping]] = ..., refused: _Optional[_Union[Cause.Refused, _Mapping]] = ..., sandbox_failed: _Optional[_Union[Cause.SandboxFailed, _Mapping]] = ...) -> None: ...

class BoundFile(_message.Message):
    __slots__ = ("path", "path_bytes", "state", "sha256")
    PATH_FIELD_NUMBER: _ClassVar[int]
    PATH_BYTES_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    path: str
    path_bytes: bytes
    state: BoundFileState
    sha256: bytes
    def __init__(self, path: _Optional[str] = ..., path_bytes: _Optional[bytes] = ..., state: _Optional[_Union[BoundFileState, str]] = ..., sha256: _Optional[bytes] = ...) -> None: ...

class Result(_message.Message):
    __slots__ = ("cause", "started", "directory", "directory_bytes", "directory_report", "leftovers_killed", "cpu_time", "peak_memory", "run_time", "stdout_bytes", "stderr_bytes", "stdout_cut_bytes", "stderr_cut_bytes", "violations", "scrubbed_env", "limits_not_enforced", "unsandboxed", "landlock_abi", "interpretation", "no_output_expected", "interrupted", "snapshot_problem", "inline", "notes", "network_problem", "connections", "connections_left_out")
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_REPORT_FIELD_NUMBER: _ClassVar[int]
    LEFTOVERS_KILLED_FIELD_NUMBER: _ClassVar[int]
    CPU_TIME_FIELD_NUMBER: _ClassVar[int]
    PEAK_MEMORY_FIELD_NUMBER: _ClassVar[int]
    RUN_TIME_FIELD_NUMBER: _ClassVar[int]
    STDOUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    STDERR_BYTES_FIELD_NUMBER: _ClassVar[int]
    STDOUT_CUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    STDERR_CUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    SCRUBBED_ENV_FIELD_NUMBER: _ClassVar[int]
    LIMITS_NOT_ENFORCED_FIELD_NUMBER: _ClassVar[int]
    UNSANDBOXED_FIELD_NUMBER: _ClassVar[int]
    LANDLOCK_ABI_FIELD_NUMBER: _ClassVar[int]
    INTERPRETATION_FIELD_NUMBER: _ClassVar[int]
    NO_OUTPUT_EXPECTED_FIELD_NUMBER: _ClassVar[int]
    INTERRUPTED_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_PROBLEM_FIELD_NUMBER: _ClassVar[int]
    INLINE_FIELD_NUMBER: _ClassVar[int]
    NOTES_FIELD_NUMBER: _ClassVar[int]
    NETWORK_PROBLEM_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_FIELD_NUMBER: _ClassVar[int]
    CONNECTIONS_LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    cause: Cause
    started: Started
    directory: str
    directory_bytes: bytes
    directory_report: DirectoryReport
    leftovers_killed: bool
    cpu_time: _duration_pb2.Duration
    peak_memory: int
    run_time: _duration_pb2.Duration
    stdout_bytes: int
    stderr_bytes: int
    stdout_cut_bytes: int
    stderr_cut_bytes: int
    violations: _containers.RepeatedCompositeFieldContainer[Violation]
    scrubbed_env: _containers.RepeatedScalarFieldContainer[str]
    limits_not_enforced: _containers.RepeatedScalarFieldContainer[str]
    unsandboxed: bool
    landlock_abi: int
    interpretation: Interpretation
    no_output_expected: bool
    interrupted: bool
    snapshot_problem: str
    inline: InlineOutput
    notes: _containers.RepeatedCompositeFieldContainer[Note]
    network_problem: str
    connections: _containers.RepeatedCompositeFieldContainer[Connection]
    connections_left_out: int
    def __init__(self, cause: _Optional[_Union[Cause, _Mapping]] = ..., started: _Optional[_Union[Started, str]] = ..., directory: _Optional[str] = ..., directory_bytes: _Optional[bytes] = ..., directory_report: _Optional[_Union[DirectoryReport, str]] = ..., leftovers_killed: bool = ..., cpu_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., peak_memory: _Optional[int] = ..., run_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., stdout_bytes: _Optional[int] = ..., stderr_bytes: _Optional[int] = ..., stdout_cut_bytes: _Optional[int] = ..., stderr_cut_bytes: _Optional[int] = ..., violations: _Optional[_Iterable[_Union[Violation, _Mapping]]] = ..., scrubbed_env: _Optional[_Iterable[str]] = ..., limits_not_enforced: _Optional[_Iterable[str]] = ..., unsandboxed: bool = ..., landlock_abi: _Optional[int] = ..., interpretation: _Optional[_Union[Interpretation, _Mapping]] = ..., no_output_expected: bool = ..., interrupted: bool = ..., snapshot_problem: _Optional[str] = ..., inline: _Optional[_Union[InlineOutput, _Mapping]] = ..., notes: _Optional[_Iterable[_Union[Note, _Mapping]]] = ..., network_problem: _Optional[str] = ..., connections: _Optional[_Iterable[_Union[Connection, _Mapping]]] = ..., connections_left_out: _Optional[int] = ...) -> None: ...

class Connection(_message.Message):
    __slots__ = ("host", "port", "protocol", "verdict", "rule", "layer", "reason", "bytes_up", "bytes_down", "started_at", "duration", "other_layers", "address_kind")
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    LAYER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    BYTES_UP_FIELD_NUMBER: _ClassVar[int]
    BYTES_DOWN_FIELD_NUMBER: _ClassVar[int]
    STARTED_AT_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    OTHER_LAYERS_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_KIND_FIELD_NUMBER: _ClassVar[int]
    host: str
    port: int
    protocol: ConnectionProtocol
    verdict: ConnectionVerdict
    rule: str
    layer: str
    reason: str
    bytes_up: int
    bytes_down: int
    started_at: _timestamp_pb2.Timestamp
    duration: _duration_pb2.Duration
    other_layers: _containers.RepeatedScalarFieldContainer[str]
    address_kind: str
    def __init__(self, host: _Optional[str] = ..., port: _Optional[int] = ..., protocol: _Optional[_Union[ConnectionProtocol, str]] = ..., verdict: _Optional[_Union[ConnectionVerdict, str]] = ..., rule: _Optional[str] = ..., layer: _Optional[str] = ..., reason: _Optional[str] = ..., bytes_up: _Optional[int] = ..., bytes_down: _Optional[int] = ..., started_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., duration: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., other_layers: _Optional[_Iterable[str]] = ..., address_kind: _Optional[str] = ...) -> None: ...

class NetworkRules(_message.Message):
    __slots__ = ("any", "allow", "deny", "warn", "ask")
    ANY_FIELD_NUMBER: _ClassVar[int]
    ALLOW_FIELD_NUMBER: _ClassVar[int]
    DENY_FIELD_NUMBER: _ClassVar[int]
    WARN_FIELD_NUMBER: _ClassVar[int]
    ASK_FIELD_NUMBER: _ClassVar[int]
    any: bool
    allow: _containers.RepeatedScalarFieldContainer[str]
    deny: _containers.RepeatedScalarFieldContainer[str]
    warn: bool
    ask: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, any: bool = ..., allow: _Optional[_Iterable[str]] = ..., deny: _Optional[_Iterable[str]] = ..., warn: bool = ..., ask: _Optional[_Iterable[str]] = ...) -> None: ...

class Note(_message.Message):
    __slots__ = ("code", "text")
    CODE_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    code: str
    text: str
    def __init__(self, code: _Optional[str] = ..., text: _Optional[str] = ...) -> None: ...

class Interpretation(_message.Message):
    __slots__ = ("text", "failure")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    text: str
    failure: bool
    def __init__(self, text: _Optional[str] = ..., failure: bool = ...) -> None: ...

class InlineOutput(_message.Message):
    __slots__ = ("stdout", "stderr", "images", "hints")
    STDOUT_FIELD_NUMBER: _ClassVar[int]
    STDERR_FIELD_NUMBER: _ClassVar[int]
    IMAGES_FIELD_NUMBER: _ClassVar[int]
    HINTS_FIELD_NUMBER: _ClassVar[int]
    stdout: InlineText
    stderr: InlineText
    images: _containers.RepeatedCompositeFieldContainer[OutputImage]
    hints: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, stdout: _Optional[_Union[InlineText, _Mapping]] = ..., stderr: _Optional[_Union[InlineText, _Mapping]] = ..., images: _Optional[_Iterable[_Union[OutputImage, _Mapping]]] = ..., hints: _Optional[_Iterable[str]] = ...) -> None: ...

class InlineText(_message.Message):
    __slots__ = ("text", "whole", "total_bytes", "total_lines", "truncated_bytes", "invalid_utf8")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    WHOLE_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_LINES_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_BYTES_FIELD_NUMBER: _ClassVar[int]
    INVALID_UTF8_FIELD_NUMBER: _ClassVar[int]
    text: str
    whole: bool
    total_bytes: int
    total_lines: int
    truncated_bytes: int
    invalid_utf8: bool
    def __init__(self, text: _Optional[str] = ..., whole: bool = ..., total_bytes: _Optional[int] = ..., total_lines: _Optional[int] = ..., truncated_bytes: _Optional[int] = ..., invalid_utf8: bool = ...) -> None: ...

class OutputImage(_message.Message):
    __slots__ = ("stream", "offset", "media_type", "bytes", "width", "height", "data_uri")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    MEDIA_TYPE_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    WIDTH_FIELD_NUMBER: _ClassVar[int]
    HEIGHT_FIELD_NUMBER: _ClassVar[int]
    DATA_URI_FIELD_NUMBER: _ClassVar[int]
    stream: OutputStream
    offset: int
    media_type: str
    bytes: int
    width: int
    height: int
    data_uri: bool
    def __init__(self, stream: _Optional[_Union[OutputStream, str]] = ..., offset: _Optional[int] = ..., media_type: _Optional[str] = ..., bytes: _Optional[int] = ..., width: _Optional[int] = ..., height: _Optional[int] = ..., data_uri: bool = ...) -> None: ...

class Violation(_message.Message):
    __slots__ = ("layer", "kind", "path", "path_bytes", "action", "detail", "quarantine_id")
    LAYER_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    PATH_BYTES_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    QUARANTINE_ID_FIELD_NUMBER: _ClassVar[int]
    layer: str
    kind: str
    path: str
    path_bytes: bytes
    action: ViolationAction
    detail: str
    quarantine_id: str
    def __init__(self, layer: _Optional[str] = ..., kind: _Optional[str] = ..., path: _Optional[str] = ..., path_bytes: _Optional[bytes] = ..., action: _Optional[_Union[ViolationAction, str]] = ..., detail: _Optional[str] = ..., quarantine_id: _Optional[str] = ...) -> None: ...

class PageRequest(_message.Message):
    __slots__ = ("page_size", "page_token")
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class Times(_message.Message):
    __slots__ = ("created", "started", "ended")
    CREATED_FIELD_NUMBER: _ClassVar[int]
    STARTED_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    created: _timestamp_pb2.Timestamp
    started: _timestamp_pb2.Timestamp
    ended: _timestamp_pb2.Timestamp
    def __init__(self, created: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., started: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., ended: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...
