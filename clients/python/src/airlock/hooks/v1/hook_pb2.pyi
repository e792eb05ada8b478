import datetime

from airlock.v1 import common_pb2 as _common_pb2
from airlock.v1 import policy_pb2 as _policy_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class HookOpinion(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HOOK_OPINION_UNSPECIFIED: _ClassVar[HookOpinion]
    HOOK_OPINION_NONE: _ClassVar[HookOpinion]
    HOOK_OPINION_ALLOW: _ClassVar[HookOpinion]
    HOOK_OPINION_ASK: _ClassVar[HookOpinion]
    HOOK_OPINION_DENY: _ClassVar[HookOpinion]
HOOK_OPINION_UNSPECIFIED: HookOpinion
HOOK_OPINION_NONE: HookOpinion
HOOK_OPINION_ALLOW: HookOpinion
HOOK_OPINION_ASK: HookOpinion
HOOK_OPINION_DENY: HookOpinion

class HookedExecution(_message.Message):
    __slots__ = ("execution_id", "session_id", "tenant", "principal", "profile", "mode", "command", "command_bytes", "shell", "directory", "directory_bytes", "description", "background", "unsandboxed", "env_names")
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    COMMAND_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHELL_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    BACKGROUND_FIELD_NUMBER: _ClassVar[int]
    UNSANDBOXED_FIELD_NUMBER: _ClassVar[int]
    ENV_NAMES_FIELD_NUMBER: _ClassVar[int]
    execution_id: str
    session_id: str
    tenant: str
    principal: str
    profile: str
    mode: _common_pb2.Mode
    command: str
    command_bytes: bytes
    shell: _common_pb2.Shell
    directory: str
    directory_bytes: bytes
    description: str
    background: bool
    unsandboxed: bool
    env_names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, execution_id: _Optional[str] = ..., session_id: _Optional[str] = ..., tenant: _Optional[str] = ..., principal: _Optional[str] = ..., profile: _Optional[str] = ..., mode: _Optional[_Union[_common_pb2.Mode, str]] = ..., command: _Optional[str] = ..., command_bytes: _Optional[bytes] = ..., shell: _Optional[_Union[_common_pb2.Shell, str]] = ..., directory: _Optional[str] = ..., directory_bytes: _Optional[bytes] = ..., description: _Optional[str] = ..., background: bool = ..., unsandboxed: bool = ..., env_names: _Optional[_Iterable[str]] = ...) -> None: ...

class PreExecuteRequest(_message.Message):
    __slots__ = ("hook", "execution", "decision", "binding", "allow_has_effect", "deadline")
    HOOK_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    BINDING_FIELD_NUMBER: _ClassVar[int]
    ALLOW_HAS_EFFECT_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    hook: str
    execution: HookedExecution
    decision: _policy_pb2.Decision
    binding: bytes
    allow_has_effect: bool
    deadline: _timestamp_pb2.Timestamp
    def __init__(self, hook: _Optional[str] = ..., execution: _Optional[_Union[HookedExecution, _Mapping]] = ..., decision: _Optional[_Union[_policy_pb2.Decision, _Mapping]] = ..., binding: _Optional[bytes] = ..., allow_has_effect: bool = ..., deadline: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PreExecuteResponse(_message.Message):
    __slots__ = ("binding", "opinion", "reason")
    BINDING_FIELD_NUMBER: _ClassVar[int]
    OPINION_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    binding: bytes
    opinion: HookOpinion
    reason: str
    def __init__(self, binding: _Optional[bytes] = ..., opinion: _Optional[_Union[HookOpinion, str]] = ..., reason: _Optional[str] = ...) -> None: ...

class PostExecuteRequest(_message.Message):
    __slots__ = ("hook", "execution", "decision", "state", "result", "attempt", "finished")
    HOOK_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    FINISHED_FIELD_NUMBER: _ClassVar[int]
    hook: str
    execution: HookedExecution
    decision: _policy_pb2.Decision
    state: _common_pb2.ExecutionState
    result: _common_pb2.Result
    attempt: int
    finished: _timestamp_pb2.Timestamp
    def __init__(self, hook: _Optional[str] = ..., execution: _Optional[_Union[HookedExecution, _Mapping]] = ..., decision: _Optional[_Union[_policy_pb2.Decision, _Mapping]] = ..., state: _Optional[_Union[_common_pb2.ExecutionState, str]] = ..., result: _Optional[_Union[_common_pb2.Result, _Mapping]] = ..., attempt: _Optional[int] = ..., finished: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class PostExecuteResponse(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
