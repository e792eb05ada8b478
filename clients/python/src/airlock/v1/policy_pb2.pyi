import datetime

from airlock.v1 import common_pb2 as _common_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ProfileView(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PROFILE_VIEW_UNSPECIFIED: _ClassVar[ProfileView]
    PROFILE_VIEW_BASIC: _ClassVar[ProfileView]
    PROFILE_VIEW_FULL: _ClassVar[ProfileView]

class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERDICT_UNSPECIFIED: _ClassVar[Verdict]
    VERDICT_ALLOW: _ClassVar[Verdict]
    VERDICT_ASK: _ClassVar[Verdict]
    VERDICT_DENY: _ClassVar[Verdict]

class HookOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HOOK_OUTCOME_UNSPECIFIED: _ClassVar[HookOutcome]
    HOOK_OUTCOME_NONE: _ClassVar[HookOutcome]
    HOOK_OUTCOME_ALLOW: _ClassVar[HookOutcome]
    HOOK_OUTCOME_ASK: _ClassVar[HookOutcome]
    HOOK_OUTCOME_DENY: _ClassVar[HookOutcome]
    HOOK_OUTCOME_TIMEOUT: _ClassVar[HookOutcome]
    HOOK_OUTCOME_UNAVAILABLE: _ClassVar[HookOutcome]
    HOOK_OUTCOME_INVALID: _ClassVar[HookOutcome]
    HOOK_OUTCOME_BUSY: _ClassVar[HookOutcome]
PROFILE_VIEW_UNSPECIFIED: ProfileView
PROFILE_VIEW_BASIC: ProfileView
PROFILE_VIEW_FULL: ProfileView
VERDICT_UNSPECIFIED: Verdict
VERDICT_ALLOW: Verdict
VERDICT_ASK: Verdict
VERDICT_DENY: Verdict
HOOK_OUTCOME_UNSPECIFIED: HookOutcome
HOOK_OUTCOME_NONE: HookOutcome
HOOK_OUTCOME_ALLOW: HookOutcome
HOOK_OUTCOME_ASK: HookOutcome
HOOK_OUTCOME_DENY: HookOutcome
HOOK_OUTCOME_TIMEOUT: HookOutcome
HOOK_OUTCOME_UNAVAILABLE: HookOutcome
HOOK_OUTCOME_INVALID: HookOutcome
HOOK_OUTCOME_BUSY: HookOutcome

class Profile(_message.Message):
    __slots__ = ("name", "policy_version", "default_mode", "modes", "timeout_default", "timeout_max", "limits", "rules", "path", "env_names", "root_binds", "is_default", "network", "port_forward", "self_approval", "no_background", "hooks")
    NAME_FIELD_NUMBER: _ClassVar[int]
    POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    DEFAULT_MODE_FIELD_NUMBER: _ClassVar[int]
    MODES_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MAX_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    ENV_NAMES_FIELD_NUMBER: _ClassVar[int]
    ROOT_BINDS_FIELD_NUMBER: _ClassVar[int]
    IS_DEFAULT_FIELD_NUMBER: _ClassVar[int]
    NETWORK_FIELD_NUMBER: _ClassVar[int]
    PORT_FORWARD_FIELD_NUMBER: _ClassVar[int]
    SELF_APPROVAL_FIELD_NUMBER: _ClassVar[int]
    NO_BACKGROUND_FIELD_NUMBER: _ClassVar[int]
    HOOKS_FIELD_NUMBER: _ClassVar[int]
    name: str
    policy_version: bytes
    default_mode: _common_pb2.Mode
    modes: _containers.RepeatedScalarFieldContainer[_common_pb2.Mode]
    timeout_default: _duration_pb2.Duration
    timeout_max: _duration_pb2.Duration
    limits: ProfileLimits
    rules: _containers.RepeatedCompositeFieldContainer[ProfileRule]
    path: str
    env_names: _containers.RepeatedScalarFieldContainer[str]
    root_binds: _containers.RepeatedScalarFieldContainer[str]
    is_default: bool
    network: _common_pb2.NetworkRules
    port_forward: _containers.RepeatedScalarFieldContainer[str]
    self_approval: bool
    no_background: bool
    hooks: _containers.RepeatedCompositeFieldContainer[ProfileHook]
    def __init__(self, name: _Optional[str] = ..., policy_version: _Optional[bytes] = ..., default_mode: _Optional[_Union[_common_pb2.Mode, str]] = ..., modes: _Optional[_Iterable[_Union[_common_pb2.Mode, str]]] = ..., timeout_default: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., timeout_max: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., limits: _Optional[_Union[ProfileLimits, _Mapping]] = ..., rules: _Optional[_Iterable[_Union[ProfileRule, _Mapping]]] = ..., path: _Optional[str] = ..., env_names: _Optional[_Iterable[str]] = ..., root_binds: _Optional[_Iterable[str]] = ..., is_default: bool = ..., network: _Optional[_Union[_common_pb2.NetworkRules, _Mapping]] = ..., port_forward: _Optional[_Iterable[str]] = ..., self_approval: bool = ..., no_background: bool = ..., hooks: _Optional[_Iterable[_Union[ProfileHook, _Mapping]]] = ...) -> None: ...

class ProfileHook(_message.Message):
    __slots__ = ("name", "required")
    NAME_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    name: str
    required: bool
    def __init__(self, name: _Optional[str] = ..., required: bool = ...) -> None: ...

class ProfileRule(_message.Message):
    __slots__ = ("verdict", "rule")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    verdict: Verdict
    rule: str
    def __init__(self, verdict: _Optional[_Union[Verdict, str]] = ..., rule: _Optional[str] = ...) -> None: ...

class ProfileLimits(_message.Message):
    __slots__ = ("open_files", "processes", "file_size", "output_bytes", "grace")
    OPEN_FILES_FIELD_NUMBER: _ClassVar[int]
    PROCESSES_FIELD_NUMBER: _ClassVar[int]
    FILE_SIZE_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    GRACE_FIELD_NUMBER: _ClassVar[int]
    open_files: int
    processes: int
    file_size: int
    output_bytes: int
    grace: _duration_pb2.Duration
    def __init__(self, open_files: _Optional[int] = ..., processes: _Optional[int] = ..., file_size: _Optional[int] = ..., output_bytes: _Optional[int] = ..., grace: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class ProfileFilter(_message.Message):
    __slots__ = ("name_prefix",)
    NAME_PREFIX_FIELD_NUMBER: _ClassVar[int]
    name_prefix: str
    def __init__(self, name_prefix: _Optional[str] = ...) -> None: ...

class PolicyServiceGetProfileRequest(_message.Message):
    __slots__ = ("name", "view")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    name: str
    view: ProfileView
    def __init__(self, name: _Optional[str] = ..., view: _Optional[_Union[ProfileView, str]] = ...) -> None: ...

class PolicyServiceGetProfileResponse(_message.Message):
    __slots__ = ("profile",)
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    profile: Profile
    def __init__(self, profile: _Optional[_Union[Profile, _Mapping]] = ...) -> None: ...

class PolicyServiceListProfilesRequest(_message.Message):
    __slots__ = ("page", "filter", "view")
    PAGE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    VIEW_FIELD_NUMBER: _ClassVar[int]
    page: _common_pb2.PageRequest
    filter: ProfileFilter
    view: ProfileView
    def __init__(self, page: _Optional[_Union[_common_pb2.PageRequest, _Mapping]] = ..., filter: _Optional[_Union[ProfileFilter, _Mapping]] = ..., view: _Optional[_Union[ProfileView, str]] = ...) -> None: ...

class PolicyServiceListProfilesResponse(_message.Message):
    __slots__ = ("profiles", "next_page_token")
    PROFILES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    profiles: _containers.RepeatedCompositeFieldContainer[Profile]
    next_page_token: str
    def __init__(self, profiles: _Optional[_Iterable[_Union[Profile, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class PolicyServiceCheckRequest(_message.Message):
    __slots__ = ("command", "command_bytes", "shell", "session_id", "profile", "directory", "directory_bytes", "mode")
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    COMMAND_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHELL_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    command: str
    command_bytes: bytes
    shell: _common_pb2.Shell
    session_id: str
    profile: str
    directory: str
    directory_bytes: bytes
    mode: _common_pb2.Mode
    def __init__(self, command: _Optional[str] = ..., command_bytes: _Optional[bytes] = ..., shell: _Optional[_Union[_common_pb2.Shell, str]] = ..., session_id: _Optional[str] = ..., profile: _Optional[str] = ..., directory: _Optional[str] = ..., directory_bytes: _Optional[bytes] = ..., mode: _Optional[_Union[_common_pb2.Mode, str]] = ...) -> None: ...

class PolicyServiceCheckResponse(_message.Message):
    __slots__ = ("decision",)
    DECISION_FIELD_NUMBER: _ClassVar[int]
    decision: Decision
    def __init__(self, decision: _Optional[_Union[Decision, _Mapping]] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("verdict", "reasons", "commands", "read_only", "concurrency_safe", "requires", "category", "no_output_expected", "paths", "rewrites", "warnings", "suggested_rules", "parse_complete", "policy_version", "profile", "shadow", "endings", "warning_notes", "hooks", "edit")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    REASONS_FIELD_NUMBER: _ClassVar[int]
    COMMANDS_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    CONCURRENCY_SAFE_FIELD_NUMBER: _ClassVar[int]
    REQUIRES_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    NO_OUTPUT_EXPECTED_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    REWRITES_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    SUGGESTED_RULES_FIELD_NUMBER: _ClassVar[int]
    PARSE_COMPLETE_FIELD_NUMBER: _ClassVar[int]
    POLICY_VERSION_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    SHADOW_FIELD_NUMBER: _ClassVar[int]
    ENDINGS_FIELD_NUMBER: _ClassVar[int]
    WARNING_NOTES_FIELD_NUMBER: _ClassVar[int]
    HOOKS_FIELD_NUMBER: _ClassVar[int]
    EDIT_FIELD_NUMBER: _ClassVar[int]
    verdict: Verdict
    reasons: _containers.RepeatedCompositeFieldContainer[Reason]
    commands: _containers.RepeatedCompositeFieldContainer[FoundCommand]
    read_only: bool
    concurrency_safe: bool
    requires: _containers.RepeatedScalarFieldContainer[str]
    category: str
    no_output_expected: bool
    paths: _containers.RepeatedCompositeFieldContainer[PathUse]
    rewrites: _containers.RepeatedScalarFieldContainer[str]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    suggested_rules: _containers.RepeatedScalarFieldContainer[str]
    parse_complete: bool
    policy_version: bytes
    profile: str
    shadow: _containers.RepeatedCompositeFieldContainer[ShadowHit]
    endings: _containers.RepeatedScalarFieldContainer[int]
    warning_notes: _containers.RepeatedCompositeFieldContainer[_common_pb2.Note]
    hooks: _containers.RepeatedCompositeFieldContainer[HookAnswer]
    edit: FileEdit
    def __init__(self, verdict: _Optional[_Union[Verdict, str]] = ..., reasons: _Optional[_Iterable[_Union[Reason, _Mapping]]] = ..., commands: _Optional[_Iterable[_Union[FoundCommand, _Mapping]]] = ..., read_only: bool = ..., concurrency_safe: bool = ..., requires: _Optional[_Iterable[str]] = ..., category: _Optional[str] = ..., no_output_expected: bool = ..., paths: _Optional[_Iterable[_Union[PathUse, _Mapping]]] = ..., rewrites: _Optional[_Iterable[str]] = ..., warnings: _Optional[_Iterable[str]] = ..., suggested_rules: _Optional[_Iterable[str]] = ..., parse_complete: bool = ..., policy_version: _Optional[bytes] = ..., profile: _Optional[str] = ..., shadow: _Optional[_Iterable[_Union[ShadowHit, _Mapping]]] = ..., endings: _Optional[_Iterable[int]] = ..., warning_notes: _Optional[_Iterable[_Union[_common_pb2.Note, _Mapping]]] = ..., hooks: _Optional[_Iterable[_Union[HookAnswer, _Mapping]]] = ..., edit: _Optional[_Union[FileEdit, _Mapping]] = ...) -> None: ...

class HookAnswer(_message.Message):
    __slots__ = ("hook", "outcome", "reason", "in_effect", "required")
    HOOK_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    IN_EFFECT_FIELD_NUMBER: _ClassVar[int]
    REQUIRED_FIELD_NUMBER: _ClassVar[int]
    hook: str
    outcome: HookOutcome
    reason: str
    in_effect: bool
    required: bool
    def __init__(self, hook: _Optional[str] = ..., outcome: _Optional[_Union[HookOutcome, str]] = ..., reason: _Optional[str] = ..., in_effect: bool = ..., required: bool = ...) -> None: ...

class FileEdit(_message.Message):
    __slots__ = ("files", "expressions", "options", "backup_suffix")
    FILES_FIELD_NUMBER: _ClassVar[int]
    EXPRESSIONS_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    BACKUP_SUFFIX_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedCompositeFieldContainer[EditedFile]
    expressions: _containers.RepeatedScalarFieldContainer[str]
    options: _containers.RepeatedScalarFieldContainer[str]
    backup_suffix: str
    def __init__(self, files: _Optional[_Iterable[_Union[EditedFile, _Mapping]]] = ..., expressions: _Optional[_Iterable[str]] = ..., options: _Optional[_Iterable[str]] = ..., backup_suffix: _Optional[str] = ...) -> None: ...

class EditedFile(_message.Message):
    __slots__ = ("path", "backup")
    PATH_FIELD_NUMBER: _ClassVar[int]
    BACKUP_FIELD_NUMBER: _ClassVar[int]
    path: str
    backup: str
    def __init__(self, path: _Optional[str] = ..., backup: _Optional[str] = ...) -> None: ...

class ShadowHit(_message.Message):
    __slots__ = ("rule", "verdict", "command_index")
    RULE_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    COMMAND_INDEX_FIELD_NUMBER: _ClassVar[int]
    rule: str
    verdict: Verdict
    command_index: int
    def __init__(self, rule: _Optional[str] = ..., verdict: _Optional[_Union[Verdict, str]] = ..., command_index: _Optional[int] = ...) -> None: ...

class Reason(_message.Message):
    __slots__ = ("code", "message", "span", "rule", "command_index")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    SPAN_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    COMMAND_INDEX_FIELD_NUMBER: _ClassVar[int]
    code: str
    message: str
    span: Span
    rule: str
    command_index: int
    def __init__(self, code: _Optional[str] = ..., message: _Optional[str] = ..., span: _Optional[_Union[Span, _Mapping]] = ..., rule: _Optional[str] = ..., command_index: _Optional[int] = ...) -> None: ...

class Span(_message.Message):
    __slots__ = ("start", "end")
    START_FIELD_NUMBER: _ClassVar[int]
    END_FIELD_NUMBER: _ClassVar[int]
    start: int
    end: int
    def __init__(self, start: _Optional[int] = ..., end: _Optional[int] = ...) -> None: ...

class FoundCommand(_message.Message):
    __slots__ = ("argv", "span", "nesting", "read_only", "category")
    ARGV_FIELD_NUMBER: _ClassVar[int]
    SPAN_FIELD_NUMBER: _ClassVar[int]
    NESTING_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    CATEGORY_FIELD_NUMBER: _ClassVar[int]
    argv: _containers.RepeatedCompositeFieldContainer[Word]
    span: Span
    nesting: int
    read_only: bool
    category: str
    def __init__(self, argv: _Optional[_Iterable[_Union[Word, _Mapping]]] = ..., span: _Optional[_Union[Span, _Mapping]] = ..., nesting: _Optional[int] = ..., read_only: bool = ..., category: _Optional[str] = ...) -> None: ...

class Word(_message.Message):
    __slots__ = ("text", "text_bytes")
    TEXT_FIELD_NUMBER: _ClassVar[int]
    TEXT_BYTES_FIELD_NUMBER: _ClassVar[int]
    text: str
    text_bytes: bytes
    def __init__(self, text: _Optional[str] = ..., text_bytes: _Optional[bytes] = ...) -> None: ...

class PathUse(_message.Message):
    __slots__ = ("path", "path_bytes", "access", "command_index")
    PATH_FIELD_NUMBER: _ClassVar[int]
    PATH_BYTES_FIELD_NUMBER: _ClassVar[int]
    ACCESS_FIELD_NUMBER: _ClassVar[int]
    COMMAND_INDEX_FIELD_NUMBER: _ClassVar[int]
    path: str
    path_bytes: bytes
    access: str
    command_index: int
    def __init__(self, path: _Optional[str] = ..., path_bytes: _Optional[bytes] = ..., access: _Optional[str] = ..., command_index: _Optional[int] = ...) -> None: ...
