import datetime

from airlock.v1 import common_pb2 as _common_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SessionState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SESSION_STATE_UNSPECIFIED: _ClassVar[SessionState]
    SESSION_STATE_OPENING: _ClassVar[SessionState]
    SESSION_STATE_OPEN: _ClassVar[SessionState]
    SESSION_STATE_CLOSING: _ClassVar[SessionState]
    SESSION_STATE_CLOSED: _ClassVar[SessionState]
    SESSION_STATE_LOST: _ClassVar[SessionState]
SESSION_STATE_UNSPECIFIED: SessionState
SESSION_STATE_OPENING: SessionState
SESSION_STATE_OPEN: SessionState
SESSION_STATE_CLOSING: SessionState
SESSION_STATE_CLOSED: SessionState
SESSION_STATE_LOST: SessionState

class Session(_message.Message):
    __slots__ = ("session_id", "tenant", "principal", "state", "profile", "mode", "shell", "directory", "directory_bytes", "runner_id", "labels", "created", "idle_timeout", "base", "state_message", "throwaway", "snapshot_problem", "network")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    SHELL_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    RUNNER_ID_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    IDLE_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    STATE_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    THROWAWAY_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_PROBLEM_FIELD_NUMBER: _ClassVar[int]
    NETWORK_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    tenant: str
    principal: str
    state: SessionState
    profile: str
    mode: _common_pb2.Mode
    shell: _common_pb2.Shell
    directory: str
    directory_bytes: bytes
    runner_id: str
    labels: _containers.ScalarMap[str, str]
    created: _timestamp_pb2.Timestamp
    idle_timeout: _duration_pb2.Duration
    base: str
    state_message: str
    throwaway: bool
    snapshot_problem: str
    network: _common_pb2.NetworkRules
    def __init__(self, session_id: _Optional[str] = ..., tenant: _Optional[str] = ..., principal: _Optional[str] = ..., state: _Optional[_Union[SessionState, str]] = ..., profile: _Optional[str] = ..., mode: _Optional[_Union[_common_pb2.Mode, str]] = ..., shell: _Optional[_Union[_common_pb2.Shell, str]] = ..., directory: _Optional[str] = ..., directory_bytes: _Optional[bytes] = ..., runner_id: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., created: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., idle_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., base: _Optional[str] = ..., state_message: _Optional[str] = ..., throwaway: bool = ..., snapshot_problem: _Optional[str] = ..., network: _Optional[_Union[_common_pb2.NetworkRules, _Mapping]] = ...) -> None: ...

class SessionServiceCreateRequest(_message.Message):
    __slots__ = ("request_id", "profile", "mode", "shell", "base", "env", "env_bytes", "labels", "idle_timeout", "runner_labels", "network")
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
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    SHELL_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    ENV_FIELD_NUMBER: _ClassVar[int]
    ENV_BYTES_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    IDLE_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    RUNNER_LABELS_FIELD_NUMBER: _ClassVar[int]
    NETWORK_FIELD_NUMBER: _ClassVar[int]
    request_id: str
    profile: str
    mode: _common_pb2.Mode
    shell: _common_pb2.Shell
    base: str
    env: _containers.ScalarMap[str, str]
    env_bytes: _containers.ScalarMap[str, bytes]
    labels: _containers.ScalarMap[str, str]
    idle_timeout: _duration_pb2.Duration
    runner_labels: _containers.ScalarMap[str, str]
    network: _common_pb2.NetworkRules
    def __init__(self, request_id: _Optional[str] = ..., profile: _Optional[str] = ..., mode: _Optional[_Union[_common_pb2.Mode, str]] = ..., shell: _Optional[_Union[_common_pb2.Shell, str]] = ..., base: _Optional[str] = ..., env: _Optional[_Mapping[str, str]] = ..., env_bytes: _Optional[_Mapping[str, bytes]] = ..., labels: _Optional[_Mapping[str, str]] = ..., idle_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., runner_labels: _Optional[_Mapping[str, str]] = ..., network: _Optional[_Union[_common_pb2.NetworkRules, _Mapping]] = ...) -> None: ...

class SessionServiceCreateResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class SessionServiceGetRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class SessionServiceGetResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class SessionServiceListRequest(_message.Message):
    __slots__ = ("page", "filter")
    PAGE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    page: _common_pb2.PageRequest
    filter: SessionFilter
    def __init__(self, page: _Optional[_Union[_common_pb2.PageRequest, _Mapping]] = ..., filter: _Optional[_Union[SessionFilter, _Mapping]] = ...) -> None: ...

class SessionFilter(_message.Message):
    __slots__ = ("states", "principal", "labels")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    STATES_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[SessionState]
    principal: str
    labels: _containers.ScalarMap[str, str]
    def __init__(self, states: _Optional[_Iterable[_Union[SessionState, str]]] = ..., principal: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ...) -> None: ...

class SessionServiceListResponse(_message.Message):
    __slots__ = ("sessions", "next_page_token")
    SESSIONS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    sessions: _containers.RepeatedCompositeFieldContainer[Session]
    next_page_token: str
    def __init__(self, sessions: _Optional[_Iterable[_Union[Session, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class SessionServiceCloseRequest(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class SessionServiceCloseResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class SessionServiceUpdateRequest(_message.Message):
    __slots__ = ("session_id", "mode", "idle_timeout", "network", "reset_network")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    IDLE_TIMEOUT_FIELD_NUMBER: _ClassVar[int]
    NETWORK_FIELD_NUMBER: _ClassVar[int]
    RESET_NETWORK_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    mode: _common_pb2.Mode
    idle_timeout: _duration_pb2.Duration
    network: _common_pb2.NetworkRules
    reset_network: bool
    def __init__(self, session_id: _Optional[str] = ..., mode: _Optional[_Union[_common_pb2.Mode, str]] = ..., idle_timeout: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., network: _Optional[_Union[_common_pb2.NetworkRules, _Mapping]] = ..., reset_network: bool = ...) -> None: ...

class SessionServiceUpdateResponse(_message.Message):
    __slots__ = ("session",)
    SESSION_FIELD_NUMBER: _ClassVar[int]
    session: Session
    def __init__(self, session: _Optional[_Union[Session, _Mapping]] = ...) -> None: ...

class SessionServiceForwardRequest(_message.Message):
    __slots__ = ("open", "data", "end")
    OPEN_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    open: ForwardOpen
    data: bytes
    end: ForwardEnded
    def __init__(self, open: _Optional[_Union[ForwardOpen, _Mapping]] = ..., data: _Optional[bytes] = ..., end: _Optional[_Union[ForwardEnded, _Mapping]] = ...) -> None: ...

class ForwardOpen(_message.Message):
    __slots__ = ("session_id", "port")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    port: int
    def __init__(self, session_id: _Optional[str] = ..., port: _Optional[int] = ...) -> None: ...

class SessionServiceForwardResponse(_message.Message):
    __slots__ = ("opened", "data", "end")
    OPENED_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    opened: ForwardOpened
    data: bytes
    end: ForwardEnded
    def __init__(self, opened: _Optional[_Union[ForwardOpened, _Mapping]] = ..., data: _Optional[bytes] = ..., end: _Optional[_Union[ForwardEnded, _Mapping]] = ...) -> None: ...

class ForwardOpened(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ForwardEnded(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
