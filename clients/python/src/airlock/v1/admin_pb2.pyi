import datetime

from airlock.v1 import common_pb2 as _common_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RunnerState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RUNNER_STATE_UNSPECIFIED: _ClassVar[RunnerState]
    RUNNER_STATE_CONNECTED: _ClassVar[RunnerState]
    RUNNER_STATE_UNREACHABLE: _ClassVar[RunnerState]
    RUNNER_STATE_DRAINING: _ClassVar[RunnerState]
    RUNNER_STATE_LOST: _ClassVar[RunnerState]
RUNNER_STATE_UNSPECIFIED: RunnerState
RUNNER_STATE_CONNECTED: RunnerState
RUNNER_STATE_UNREACHABLE: RunnerState
RUNNER_STATE_DRAINING: RunnerState
RUNNER_STATE_LOST: RunnerState

class Runner(_message.Message):
    __slots__ = ("runner_id", "epoch", "state", "version", "labels", "slots", "running", "bases", "capabilities", "last_seen", "shells")
    class LabelsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class ShellsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUNNER_ID_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    RUNNING_FIELD_NUMBER: _ClassVar[int]
    BASES_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    LAST_SEEN_FIELD_NUMBER: _ClassVar[int]
    SHELLS_FIELD_NUMBER: _ClassVar[int]
    runner_id: str
    epoch: str
    state: RunnerState
    version: str
    labels: _containers.ScalarMap[str, str]
    slots: int
    running: int
    bases: _containers.RepeatedScalarFieldContainer[str]
    capabilities: _containers.RepeatedCompositeFieldContainer[Capability]
    last_seen: _timestamp_pb2.Timestamp
    shells: _containers.ScalarMap[str, str]
    def __init__(self, runner_id: _Optional[str] = ..., epoch: _Optional[str] = ..., state: _Optional[_Union[RunnerState, str]] = ..., version: _Optional[str] = ..., labels: _Optional[_Mapping[str, str]] = ..., slots: _Optional[int] = ..., running: _Optional[int] = ..., bases: _Optional[_Iterable[str]] = ..., capabilities: _Optional[_Iterable[_Union[Capability, _Mapping]]] = ..., last_seen: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., shells: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Capability(_message.Message):
    __slots__ = ("name", "enforced", "detail")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ENFORCED_FIELD_NUMBER: _ClassVar[int]
    DETAIL_FIELD_NUMBER: _ClassVar[int]
    name: str
    enforced: bool
    detail: str
    def __init__(self, name: _Optional[str] = ..., enforced: bool = ..., detail: _Optional[str] = ...) -> None: ...

class RunnerFilter(_message.Message):
    __slots__ = ("states",)
    STATES_FIELD_NUMBER: _ClassVar[int]
    states: _containers.RepeatedScalarFieldContainer[RunnerState]
    def __init__(self, states: _Optional[_Iterable[_Union[RunnerState, str]]] = ...) -> None: ...

class AdminServiceListRunnersRequest(_message.Message):
    __slots__ = ("page", "filter")
    PAGE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    page: _common_pb2.PageRequest
    filter: RunnerFilter
    def __init__(self, page: _Optional[_Union[_common_pb2.PageRequest, _Mapping]] = ..., filter: _Optional[_Union[RunnerFilter, _Mapping]] = ...) -> None: ...

class AdminServiceListRunnersResponse(_message.Message):
    __slots__ = ("runners", "next_page_token")
    RUNNERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    runners: _containers.RepeatedCompositeFieldContainer[Runner]
    next_page_token: str
    def __init__(self, runners: _Optional[_Iterable[_Union[Runner, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class AdminServiceDrainRunnerRequest(_message.Message):
    __slots__ = ("runner_id", "undo")
    RUNNER_ID_FIELD_NUMBER: _ClassVar[int]
    UNDO_FIELD_NUMBER: _ClassVar[int]
    runner_id: str
    undo: bool
    def __init__(self, runner_id: _Optional[str] = ..., undo: bool = ...) -> None: ...

class AdminServiceDrainRunnerResponse(_message.Message):
    __slots__ = ("runner",)
    RUNNER_FIELD_NUMBER: _ClassVar[int]
    runner: Runner
    def __init__(self, runner: _Optional[_Union[Runner, _Mapping]] = ...) -> None: ...

class AdminServiceGetCapabilitiesRequest(_message.Message):
    __slots__ = ("runner_id",)
    RUNNER_ID_FIELD_NUMBER: _ClassVar[int]
    runner_id: str
    def __init__(self, runner_id: _Optional[str] = ...) -> None: ...

class AdminServiceGetCapabilitiesResponse(_message.Message):
    __slots__ = ("version", "link_protocol_version", "limits", "runners")
    class LimitsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    VERSION_FIELD_NUMBER: _ClassVar[int]
    LINK_PROTOCOL_VERSION_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    RUNNERS_FIELD_NUMBER: _ClassVar[int]
    version: str
    link_protocol_version: int
    limits: _containers.ScalarMap[str, int]
    runners: _containers.RepeatedCompositeFieldContainer[RunnerCapabilities]
    def __init__(self, version: _Optional[str] = ..., link_protocol_version: _Optional[int] = ..., limits: _Optional[_Mapping[str, int]] = ..., runners: _Optional[_Iterable[_Union[RunnerCapabilities, _Mapping]]] = ...) -> None: ...

class RunnerCapabilities(_message.Message):
    __slots__ = ("runner_id", "state", "version", "capabilities", "shells")
    class ShellsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUNNER_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    CAPABILITIES_FIELD_NUMBER: _ClassVar[int]
    SHELLS_FIELD_NUMBER: _ClassVar[int]
    runner_id: str
    state: RunnerState
    version: str
    capabilities: _containers.RepeatedCompositeFieldContainer[Capability]
    shells: _containers.ScalarMap[str, str]
    def __init__(self, runner_id: _Optional[str] = ..., state: _Optional[_Union[RunnerState, str]] = ..., version: _Optional[str] = ..., capabilities: _Optional[_Iterable[_Union[Capability, _Mapping]]] = ..., shells: _Optional[_Mapping[str, str]] = ...) -> None: ...
