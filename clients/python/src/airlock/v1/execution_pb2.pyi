import datetime

from airlock.v1 import common_pb2 as _common_pb2
from airlock.v1 import policy_pb2 as _policy_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Signal(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SIGNAL_UNSPECIFIED: _ClassVar[Signal]
    SIGNAL_HUP: _ClassVar[Signal]
    SIGNAL_INT: _ClassVar[Signal]
    SIGNAL_QUIT: _ClassVar[Signal]
    SIGNAL_USR1: _ClassVar[Signal]
    SIGNAL_USR2: _ClassVar[Signal]
    SIGNAL_TERM: _ClassVar[Signal]
    SIGNAL_KILL: _ClassVar[Signal]
    SIGNAL_STOP: _ClassVar[Signal]
    SIGNAL_CONT: _ClassVar[Signal]

class OnAsk(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ON_ASK_UNSPECIFIED: _ClassVar[OnAsk]
    ON_ASK_FAIL: _ClassVar[OnAsk]
    ON_ASK_WAIT: _ClassVar[OnAsk]

class ExecutionView(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    EXECUTION_VIEW_UNSPECIFIED: _ClassVar[ExecutionView]
    EXECUTION_VIEW_BASIC: _ClassVar[ExecutionView]
    EXECUTION_VIEW_FULL: _ClassVar[ExecutionView]

class WatchKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    WATCH_KIND_UNSPECIFIED: _ClassVar[WatchKind]
    WATCH_KIND_STARTED: _ClassVar[WatchKind]
    WATCH_KIND_BACKGROUNDED: _ClassVar[WatchKind]
    WATCH_KIND_FINISHED: _ClassVar[WatchKind]
SIGNAL_UNSPECIFIED: Signal
SIGNAL_HUP: Signal
SIGNAL_INT: Signal
SIGNAL_QUIT: Signal
SIGNAL_USR1: Signal
SIGNAL_USR2: Signal
SIGNAL_TERM: Signal
SIGNAL_KILL: Signal
SIGNAL_STOP: Signal
SIGNAL_CONT: Signal
ON_ASK_UNSPECIFIED: OnAsk
ON_ASK_FAIL: OnAsk
ON_ASK_WAIT: OnAsk
EXECUTION_VIEW_UNSPECIFIED: ExecutionView
EXECUTION_VIEW_BASIC: ExecutionView
EXECUTION_VIEW_FULL: ExecutionView
WATCH_KIND_UNSPECIFIED: WatchKind
WATCH_KIND_STARTED: WatchKind
WATCH_KIND_BACKGROUNDED: WatchKind
WATCH_KIND_FINISHED: WatchKind

class TerminalSize(_message.Message):
    __slots__ = ("rows", "cols")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    COLS_FIELD_NUMBER: _ClassVar[int]
    rows: int
    cols: int
    def __init__(self, rows: _Optional[int] = ..., cols: _Optional[int] = ...) -> None: ...

class Pty(_message.Message):
    __slots__ = ("rows", "cols", "term")
    ROWS_FIELD_NUMBER: _ClassVar[int]
    COLS_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    rows: int
    cols: int
    term: str
    def __init__(self, rows: _Optional[int] = ..., cols: _Optional[int] = ..., term: _Optional[str] = ...) -> None: ...

class ExecutionSpec(_message.Message):
    __slots__ = ("command", "command_bytes", "shell", "session_id", "request_id", "timeout", "description", "on_ask", "mode", "env", "env_bytes", "separate_stderr", "profile", "kill_on_disconnect", "allow_concurrent", "labels", "base", "stdin", "dangerously_disable_sandbox", "idle_timeout", "background", "yield_after", "inline_limit", "pty", "runner_labels", "umask", "network")
    class EnvEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class EnvBytesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: bytes
        def __init__(self, key: _Optional[str] = ..., value: _Optional[bytes] = ...) -> None: ...
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class RunnerLabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    COMMAND_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHELL_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    ON_ASK_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    ENV_BYTES_FIELD_NUMBER: _ClassVar[int]
    SEPARATE_STDERR_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    KILL_ON_DISCONNECT_FIELD_NUMBER: _ClassVar[int]
    ALLOW_CONCURRENT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    STDIN_FIELD_NUMBER: _ClassVar[int]
    DANGEROUSLY_DISABLE_SANDBOX_FIELD_NUMBER: _ClassVar[int]
    IDLE_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    BACKGROUND_FIELD_NUMBER: _ClassVar[int]
    YIELD_AFTER_FIELD_NUMBER: _ClassVar[int]
    INLINE_LIMIT_FIELD_NUMBER: _ClassVar[int]
    PTY_FIELD_NUMBER: _ClassVar[int]
    RUNNER_LABELS_FIELD_NUMBER: _ClassVar[int]
    UMASK_FIELD_NUMBER: _ClassVar[int]
    NETWORK_FIELD_NUMBER: _ClassVar[int]
    command: str
    command_bytes: bytes
    shell: _common_pb2.Shell
    session_id: str
    request_id: str
    timeout: _duration_pb2.Duration
    description: str
    on_ask: OnAsk
    mode: _common_pb2.Mode
    env: _containers.ScalarMap[str, str]
    env_bytes: _containers.ScalarMap[str, bytes]
    separate_stderr: bool
    profile: str
    kill_on_disconnect: bool
    allow_concurrent: bool
    labels: _containers.ScalarMap[str, str]
    base: str
    stdin: bool
    dangerously_disable_sandbox: bool
    idle_timeout: _duration_pb2.Duration
    background: bool
    yield_after: _duration_pb2.Duration
    inline_limit: int
    pty: Pty
    runner_labels: _containers.ScalarMap[str, str]
    umask: str
    network: _common_pb2.NetworkRules
    def __init__(self, command: _Optional[str] = ..., command_bytes: _Optional[bytes] = ..., shell: _Optional[_Union[_common_pb2.Shell, str]] = ..., session_id: _Optional[str] = ..., request_id: _Optional[str] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., description: _Optional[str] = ..., on_ask: _Optional[_Union[OnAsk, str]] = ..., mode: _Optional[_Union[_common_pb2.Mode, str]] = ..., env: _Optional[_Mapping[str, str]] = ..., env_bytes: _Optional[_Mapping[str, bytes]] = ..., separate_stderr: bool = ..., profile: _Optional[str] = ..., kill_on_disconnect: bool = ..., allow_concurrent: bool = ..., labels: _Optional[_Mapping[str, str]] = ..., base: _Optional[str] = ..., stdin: bool = ..., dangerously_disable_sandbox: bool = ..., idle_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., background: bool = ..., yield_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., inline_limit: _Optional[int] = ..., pty: _Optional[_Union[Pty, _Mapping]] = ..., runner_labels: _Optional[_Mapping[str, str]] = ..., umask: _Optional[str] = ..., network: _Optional[_Union[_common_pb2.NetworkRules, _Mapping]] = ...) -> None: ...

class Execution(_message.Message):
    __slots__ = ("execution_id", "session_id", "request_id", "tenant", "principal", "state", "link", "version", "runner_id", "attempt", "shell", "directory", "directory_bytes", "times", "verdict", "output_state", "partial_from", "result", "approval_id", "labels", "command", "command_bytes", "description", "decision", "backgrounded_by", "separate_stderr", "pty", "umask", "network")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    RUNNER_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    SHELL_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    TIMES_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_STATE_FIELD_NUMBER: _ClassVar[int]
    PARTIAL_FROM_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    COMMAND_BYTES_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    BACKGROUNDED_BY_FIELD_NUMBER: _ClassVar[int]
    SEPARATE_STDERR_FIELD_NUMBER: _ClassVar[int]
    PTY_FIELD_NUMBER: _ClassVar[int]
    UMASK_FIELD_NUMBER: _ClassVar[int]
    NETWORK_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    session_id: str
    request_id: str
    tenant: str
    principal: str
    state: _common_pb2.ExecutionState
    link: _common_pb2.LinkState
    version: int
    runner_id: str
    attempt: int
    shell: _common_pb2.Shell
    directory: str
    directory_bytes: bytes
    times: _common_pb2.Times
    verdict: _policy_pb2.Verdict
    output_state: _common_pb2.OutputState
    partial_from: int
    result: _common_pb2.Result
    approval_id: str
    labels: _containers.ScalarMap[str, str]
    command: str
    command_bytes: bytes
    description: str
    decision: _policy_pb2.Decision
    backgrounded_by: _common_pb2.BackgroundedBy
    separate_stderr: bool
    pty: Pty
    umask: str
    network: _common_pb2.NetworkRules
    def __init__(self, execution_id: _Optional[str] = ..., session_id: _Optional[str] = ..., request_id: _Optional[str] = ..., tenant: _Optional[str] = ..., principal: _Optional[str] = ..., state: _Optional[_Union[_common_pb2.ExecutionState, str]] = ..., link: _Optional[_Union[_common_pb2.LinkState, str]] = ..., version: _Optional[int] = ..., runner_id: _Optional[str] = ..., attempt: _Optional[int] = ..., shell: _Optional[_Union[_common_pb2.Shell, str]] = ..., directory: _Optional[str] = ..., directory_bytes: _Optional[bytes] = ..., times: _Optional[_Union[_common_pb2.Times, _Mapping]] = ..., verdict: _Optional[_Union[_policy_pb2.Verdict, str]] = ..., output_state: _Optional[_Union[_common_pb2.OutputState, str]] = ..., partial_from: _Optional[int] = ..., result: _Optional[_Union[_common_pb2.Result, _Mapping]] = ..., approval_id: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., command: _Optional[str] = ..., command_bytes: _Optional[bytes] = ..., description: _Optional[str] = ..., decision: _Optional[_Union[_policy_pb2.Decision, _Mapping]] = ..., backgrounded_by: _Optional[_Union[_common_pb2.BackgroundedBy, str]] = ..., separate_stderr: bool = ..., pty: _Optional[_Union[Pty, _Mapping]] = ..., umask: _Optional[str] = ..., network: _Optional[_Union[_common_pb2.NetworkRules, _Mapping]] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("cursor", "opened", "state_changed", "output", "gap", "finished", "backgrounded", "progress")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    OPENED_FIELD_NUMBER: _ClassVar[int]
    STATE_CHANGED_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    BACKGROUNDED_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    cursor: bytes
    opened: Opened
    state_changed: StateChanged
    output: Output
    gap: Gap
    finished: Finished
    backgrounded: Backgrounded
    progress: Progress
    def __init__(self, cursor: _Optional[bytes] = ..., opened: _Optional[_Union[Opened, _Mapping]] = ..., state_changed: _Optional[_Union[StateChanged, _Mapping]] = ..., output: _Optional[_Union[Output, _Mapping]] = ..., gap: _Optional[_Union[Gap, _Mapping]] = ..., finished: _Optional[_Union[Finished, _Mapping]] = ..., backgrounded: _Optional[_Union[Backgrounded, _Mapping]] = ..., progress: _Optional[_Union[Progress, _Mapping]] = ...) -> None: ...

class Progress(_message.Message):
    __slots__ = ("elapsed", "total_bytes", "total_lines", "last_lines", "complete")
    ELAPSED_FIELD_NUMBER: _ClassVar[int]
    TOTAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    TOTAL_LINES_FIELD_NUMBER: _ClassVar[int]
    LAST_LINES_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    elapsed: _duration_pb2.Duration
    total_bytes: int
    total_lines: int
    last_lines: _containers.RepeatedScalarFieldContainer[str]
    complete: bool
    def __init__(self, elapsed: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., total_bytes: _Optional[int] = ..., total_lines: _Optional[int] = ..., last_lines: _Optional[_Iterable[str]] = ..., complete: bool = ...) -> None: ...

class Opened(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: Execution
    def __init__(self, execution: _Optional[_Union[Execution, _Mapping]] = ...) -> None: ...

class StateChanged(_message.Message):
    __slots__ = ("version", "state", "link", "at", "approval_id", "backgrounded_by")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    LINK_FIELD_NUMBER: _ClassVar[int]
    AT_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    BACKGROUNDED_BY_FIELD_NUMBER: _ClassVar[int]
    version: int
    state: _common_pb2.ExecutionState
    link: _common_pb2.LinkState
    at: _timestamp_pb2.Timestamp
    approval_id: str
    backgrounded_by: _common_pb2.BackgroundedBy
    def __init__(self, version: _Optional[int] = ..., state: _Optional[_Union[_common_pb2.ExecutionState, str]] = ..., link: _Optional[_Union[_common_pb2.LinkState, str]] = ..., at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., approval_id: _Optional[str] = ..., backgrounded_by: _Optional[_Union[_common_pb2.BackgroundedBy, str]] = ...) -> None: ...

class Output(_message.Message):
    __slots__ = ("stream", "offset", "data")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    stream: _common_pb2.OutputStream
    offset: int
    data: bytes
    def __init__(self, stream: _Optional[_Union[_common_pb2.OutputStream, str]] = ..., offset: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class Gap(_message.Message):
    __slots__ = ("stream", "to")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    FROM_FIELD_NUMBER: _ClassVar[int]
    TO_FIELD_NUMBER: _ClassVar[int]
    stream: _common_pb2.OutputStream
    to: int
    def __init__(self, stream: _Optional[_Union[_common_pb2.OutputStream, str]] = ..., to: _Optional[int] = ..., **kwargs) -> None: ...

class Finished(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: Execution
    def __init__(self, execution: _Optional[_Union[Execution, _Mapping]] = ...) -> None: ...

class Backgrounded(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: Execution
    def __init__(self, execution: _Optional[_Union[Execution, _Mapping]] = ...) -> None: ...

class ExecutionServiceRunRequest(_message.Message):
    __slots__ = ("spec",)
    SPEC_FIELD_NUMBER: _ClassVar[int]
    spec: ExecutionSpec
    def __init__(self, spec: _Optional[_Union[ExecutionSpec, _Mapping]] = ...) -> None: ...

class ExecutionServiceRunResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: Event
    def __init__(self, event: _Optional[_Union[Event, _Mapping]] = ...) -> None: ...

class ExecutionServiceStartRequest(_message.Message):
    __slots__ = ("spec",)
    SPEC_FIELD_NUMBER: _ClassVar[int]
    spec: ExecutionSpec
    def __init__(self, spec: _Optional[_Union[ExecutionSpec, _Mapping]] = ...) -> None: ...

class ExecutionServiceStartResponse(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: Execution
    def __init__(self, execution: _Optional[_Union[Execution, _Mapping]] = ...) -> None: ...

class ExecutionServiceAttachRequest(_message.Message):
    __slots__ = ("execution_id", "cursor", "offsets")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    OFFSETS_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    cursor: bytes
    offsets: OutputOffsets
    def __init__(self, execution_id: _Optional[str] = ..., cursor: _Optional[bytes] = ..., offsets: _Optional[_Union[OutputOffsets, _Mapping]] = ...) -> None: ...

class OutputOffsets(_message.Message):
    __slots__ = ("stdout", "stderr")
    STDOUT_FIELD_NUMBER: _ClassVar[int]
    STDERR_FIELD_NUMBER: _ClassVar[int]
    stdout: int
    stderr: int
    def __init__(self, stdout: _Optional[int] = ..., stderr: _Optional[int] = ...) -> None: ...

class ExecutionServiceAttachResponse(_message.Message):
    __slots__ = ("event",)
    EVENT_FIELD_NUMBER: _ClassVar[int]
    event: Event
    def __init__(self, event: _Optional[_Union[Event, _Mapping]] = ...) -> None: ...

class ExecutionServiceWaitRequest(_message.Message):
    __slots__ = ("execution_id", "timeout")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    timeout: _duration_pb2.Duration
    def __init__(self, execution_id: _Optional[str] = ..., timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ExecutionServiceWaitResponse(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: Execution
    def __init__(self, execution: _Optional[_Union[Execution, _Mapping]] = ...) -> None: ...

class ExecutionServiceGetRequest(_message.Message):
    __slots__ = ("execution_id", "view")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    view: ExecutionView
    def __init__(self, execution_id: _Optional[str] = ..., view: _Optional[_Union[ExecutionView, str]] = ...) -> None: ...

class ExecutionServiceGetResponse(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: Execution
    def __init__(self, execution: _Optional[_Union[Execution, _Mapping]] = ...) -> None: ...

class ExecutionServiceListRequest(_message.Message):
    __slots__ = ("page", "filter", "view")
    PAGE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    page: _common_pb2.PageRequest
    filter: ExecutionFilter
    view: ExecutionView
    def __init__(self, page: _Optional[_Union[_common_pb2.PageRequest, _Mapping]] = ..., filter: _Optional[_Union[ExecutionFilter, _Mapping]] = ..., view: _Optional[_Union[ExecutionView, str]] = ...) -> None: ...

class ExecutionFilter(_message.Message):
    __slots__ = ("session_id", "states", "principal", "labels")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    states: _containers.RepeatedScalarFieldContainer[_common_pb2.ExecutionState]
    principal: str
    labels: _containers.ScalarMap[str, str]
    def __init__(self, session_id: _Optional[str] = ..., states: _Optional[_Iterable[_Union[_common_pb2.ExecutionState, str]]] = ..., principal: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ExecutionServiceListResponse(_message.Message):
    __slots__ = ("executions", "next_page_token")
    EXECUTIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    executions: _containers.RepeatedCompositeFieldContainer[Execution]
    next_page_token: str
    def __init__(self, executions: _Optional[_Iterable[_Union[Execution, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ExecutionServiceCancelRequest(_message.Message):
    __slots__ = ("execution_id",)
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    def __init__(self, execution_id: _Optional[str] = ...) -> None: ...

class ExecutionServiceCancelResponse(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: Execution
    def __init__(self, execution: _Optional[_Union[Execution, _Mapping]] = ...) -> None: ...

class ExecutionServiceSignalRequest(_message.Message):
    __slots__ = ("execution_id", "signal")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    signal: Signal
    def __init__(self, execution_id: _Optional[str] = ..., signal: _Optional[_Union[Signal, str]] = ...) -> None: ...

class ExecutionServiceSignalResponse(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: Execution
    def __init__(self, execution: _Optional[_Union[Execution, _Mapping]] = ...) -> None: ...

class ExecutionServiceResizeRequest(_message.Message):
    __slots__ = ("execution_id", "size")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    size: TerminalSize
    def __init__(self, execution_id: _Optional[str] = ..., size: _Optional[_Union[TerminalSize, _Mapping]] = ...) -> None: ...

class ExecutionServiceResizeResponse(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: Execution
    def __init__(self, execution: _Optional[_Union[Execution, _Mapping]] = ...) -> None: ...

class ExecutionServiceDetachRequest(_message.Message):
    __slots__ = ("execution_id",)
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    def __init__(self, execution_id: _Optional[str] = ...) -> None: ...

class ExecutionServiceDetachResponse(_message.Message):
    __slots__ = ("execution",)
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    execution: Execution
    def __init__(self, execution: _Optional[_Union[Execution, _Mapping]] = ...) -> None: ...

class ExecutionServiceWriteStdinRequest(_message.Message):
    __slots__ = ("execution_id", "offset", "data", "end", "take_over")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    TAKE_OVER_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    offset: int
    data: bytes
    end: bool
    take_over: bool
    def __init__(self, execution_id: _Optional[str] = ..., offset: _Optional[int] = ..., data: _Optional[bytes] = ..., end: bool = ..., take_over: bool = ...) -> None: ...

class ExecutionServiceWriteStdinResponse(_message.Message):
    __slots__ = ("accepted", "ended")
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    ENDED_FIELD_NUMBER: _ClassVar[int]
    accepted: int
    ended: bool
    def __init__(self, accepted: _Optional[int] = ..., ended: bool = ...) -> None: ...

class ExecutionServiceReadOutputRequest(_message.Message):
    __slots__ = ("execution_id", "stream", "range", "head", "tail", "search")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    RANGE_FIELD_NUMBER: _ClassVar[int]
    HEAD_FIELD_NUMBER: _ClassVar[int]
    TAIL_FIELD_NUMBER: _ClassVar[int]
    SEARCH_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    stream: _common_pb2.OutputStream
    range: OutputRange
    head: OutputEdge
    tail: OutputEdge
    search: OutputSearch
    def __init__(self, execution_id: _Optional[str] = ..., stream: _Optional[_Union[_common_pb2.OutputStream, str]] = ..., range: _Optional[_Union[OutputRange, _Mapping]] = ..., head: _Optional[_Union[OutputEdge, _Mapping]] = ..., tail: _Optional[_Union[OutputEdge, _Mapping]] = ..., search: _Optional[_Union[OutputSearch, _Mapping]] = ...) -> None: ...

class OutputRange(_message.Message):
    __slots__ = ("offset", "length")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    offset: int
    length: int
    def __init__(self, offset: _Optional[int] = ..., length: _Optional[int] = ...) -> None: ...

class OutputEdge(_message.Message):
    __slots__ = ("bytes", "lines")
    BYTES_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    lines: int
    def __init__(self, bytes: _Optional[int] = ..., lines: _Optional[int] = ...) -> None: ...

class OutputSearch(_message.Message):
    __slots__ = ("pattern", "fixed", "ignore_case", "invert", "before", "after", "max_matches", "offset")
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    FIXED_FIELD_NUMBER: _ClassVar[int]
    IGNORE_CASE_FIELD_NUMBER: _ClassVar[int]
    INVERT_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    MAX_MATCHES_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    pattern: str
    fixed: bool
    ignore_case: bool
    invert: bool
    before: int
    after: int
    max_matches: int
    offset: int
    def __init__(self, pattern: _Optional[str] = ..., fixed: bool = ..., ignore_case: bool = ..., invert: bool = ..., before: _Optional[int] = ..., after: _Optional[int] = ..., max_matches: _Optional[int] = ..., offset: _Optional[int] = ...) -> None: ...

class ExecutionServiceReadOutputResponse(_message.Message):
    __slots__ = ("output", "gap", "line", "done")
    OUTPUT_FIELD_NUMBER: _ClassVar[int]
    GAP_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    output: Output
    gap: Gap
    line: OutputLine
    done: OutputDone
    def __init__(self, output: _Optional[_Union[Output, _Mapping]] = ..., gap: _Optional[_Union[Gap, _Mapping]] = ..., line: _Optional[_Union[OutputLine, _Mapping]] = ..., done: _Optional[_Union[OutputDone, _Mapping]] = ...) -> None: ...

class OutputLine(_message.Message):
    __slots__ = ("stream", "offset", "data", "truncated", "number", "context", "matches")
    STREAM_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    CONTEXT_FIELD_NUMBER: _ClassVar[int]
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    stream: _common_pb2.OutputStream
    offset: int
    data: bytes
    truncated: bool
    number: int
    context: bool
    matches: _containers.RepeatedCompositeFieldContainer[_policy_pb2.Span]
    def __init__(self, stream: _Optional[_Union[_common_pb2.OutputStream, str]] = ..., offset: _Optional[int] = ..., data: _Optional[bytes] = ..., truncated: bool = ..., number: _Optional[int] = ..., context: bool = ..., matches: _Optional[_Iterable[_Union[_policy_pb2.Span, _Mapping]]] = ...) -> None: ...

class OutputDone(_message.Message):
    __slots__ = ("next_offset", "total", "complete", "matches", "more")
    NEXT_OFFSET_FIELD_NUMBER: _ClassVar[int]
    TOTAL_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    MATCHES_FIELD_NUMBER: _ClassVar[int]
    MORE_FIELD_NUMBER: _ClassVar[int]
    next_offset: int
    total: int
    complete: bool
    matches: int
    more: bool
    def __init__(self, next_offset: _Optional[int] = ..., total: _Optional[int] = ..., complete: bool = ..., matches: _Optional[int] = ..., more: bool = ...) -> None: ...

class ExecutionServiceWatchRequest(_message.Message):
    __slots__ = ("session_id", "cursor")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    cursor: bytes
    def __init__(self, session_id: _Optional[str] = ..., cursor: _Optional[bytes] = ...) -> None: ...

class ExecutionServiceWatchResponse(_message.Message):
    __slots__ = ("cursor", "kind", "execution")
    CURSOR_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    cursor: bytes
    kind: WatchKind
    execution: Execution
    def __init__(self, cursor: _Optional[bytes] = ..., kind: _Optional[_Union[WatchKind, str]] = ..., execution: _Optional[_Union[Execution, _Mapping]] = ...) -> None: ...
