import datetime

from airlock.v1 import common_pb2 as _common_pb2
from airlock.v1 import execution_pb2 as _execution_pb2
from airlock.v1 import policy_pb2 as _policy_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RuleScope(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RULE_SCOPE_UNSPECIFIED: _ClassVar[RuleScope]
    RULE_SCOPE_SESSION: _ClassVar[RuleScope]
    RULE_SCOPE_TENANT: _ClassVar[RuleScope]

class ApprovalState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    APPROVAL_STATE_UNSPECIFIED: _ClassVar[ApprovalState]
    APPROVAL_STATE_OPEN: _ClassVar[ApprovalState]
    APPROVAL_STATE_ALLOWED: _ClassVar[ApprovalState]
    APPROVAL_STATE_DENIED: _ClassVar[ApprovalState]
    APPROVAL_STATE_EXPIRED: _ClassVar[ApprovalState]
    APPROVAL_STATE_WITHDRAWN: _ClassVar[ApprovalState]
RULE_SCOPE_UNSPECIFIED: RuleScope
RULE_SCOPE_SESSION: RuleScope
RULE_SCOPE_TENANT: RuleScope
APPROVAL_STATE_UNSPECIFIED: ApprovalState
APPROVAL_STATE_OPEN: ApprovalState
APPROVAL_STATE_ALLOWED: ApprovalState
APPROVAL_STATE_DENIED: ApprovalState
APPROVAL_STATE_EXPIRED: ApprovalState
APPROVAL_STATE_WITHDRAWN: ApprovalState

class Approval(_message.Message):
    __slots__ = ("approval_id", "execution_id", "session_id", "principal", "state", "command", "command_bytes", "shell", "directory", "directory_bytes", "description", "decision", "created", "expires", "binding", "decided_by", "reason", "files", "terms", "connection")
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PRINCIPAL_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    COMMAND_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHELL_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_FIELD_NUMBER: _ClassVar[int]
    DIRECTORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    DECISION_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_FIELD_NUMBER: _ClassVar[int]
    BINDING_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    TERMS_FIELD_NUMBER: _ClassVar[int]
    CONNECTION_FIELD_NUMBER: _ClassVar[int]
    approval_id: str
    execution_id: str
    session_id: str
    principal: str
    state: ApprovalState
    command: str
    command_bytes: bytes
    shell: _common_pb2.Shell
    directory: str
    directory_bytes: bytes
    description: str
    decision: _policy_pb2.Decision
    created: _timestamp_pb2.Timestamp
    expires: _timestamp_pb2.Timestamp
    binding: bytes
    decided_by: str
    reason: str
    files: _containers.RepeatedCompositeFieldContainer[_common_pb2.BoundFile]
    terms: ApprovalTerms
    connection: ApprovalConnection
    def __init__(self, approval_id: _Optional[str] = ..., execution_id: _Optional[str] = ..., session_id: _Optional[str] = ..., principal: _Optional[str] = ..., state: _Optional[_Union[ApprovalState, str]] = ..., command: _Optional[str] = ..., command_bytes: _Optional[bytes] = ..., shell: _Optional[_Union[_common_pb2.Shell, str]] = ..., directory: _Optional[str] = ..., directory_bytes: _Optional[bytes] = ..., description: _Optional[str] = ..., decision: _Optional[_Union[_policy_pb2.Decision, _Mapping]] = ..., created: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., expires: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., binding: _Optional[bytes] = ..., decided_by: _Optional[str] = ..., reason: _Optional[str] = ..., files: _Optional[_Iterable[_Union[_common_pb2.BoundFile, _Mapping]]] = ..., terms: _Optional[_Union[ApprovalTerms, _Mapping]] = ..., connection: _Optional[_Union[ApprovalConnection, _Mapping]] = ...) -> None: ...

class ApprovalConnection(_message.Message):
    __slots__ = ("host", "port", "rule")
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    host: str
    port: int
    rule: str
    def __init__(self, host: _Optional[str] = ..., port: _Optional[int] = ..., rule: _Optional[str] = ...) -> None: ...

class ApprovalTerms(_message.Message):
    __slots__ = ("env", "profile", "profile_sha256", "read_only", "unsandboxed", "requires", "snapshot_sha256", "stdin", "terminal", "programs", "git", "paths", "obeyed", "further", "edit")
    class FurtherEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    ENV_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    PROFILE_SHA256_FIELD_NUMBER: _ClassVar[int]
    READ_ONLY_FIELD_NUMBER: _ClassVar[int]
    UNSANDBOXED_FIELD_NUMBER: _ClassVar[int]
    REQUIRES_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_SHA256_FIELD_NUMBER: _ClassVar[int]
    STDIN_FIELD_NUMBER: _ClassVar[int]
    TERMINAL_FIELD_NUMBER: _ClassVar[int]
    PROGRAMS_FIELD_NUMBER: _ClassVar[int]
    GIT_FIELD_NUMBER: _ClassVar[int]
    PATHS_FIELD_NUMBER: _ClassVar[int]
    OBEYED_FIELD_NUMBER: _ClassVar[int]
    FURTHER_FIELD_NUMBER: _ClassVar[int]
    EDIT_FIELD_NUMBER: _ClassVar[int]
    env: _containers.RepeatedCompositeFieldContainer[BoundVariable]
    profile: str
    profile_sha256: bytes
    read_only: bool
    unsandboxed: bool
    requires: _containers.RepeatedScalarFieldContainer[str]
    snapshot_sha256: bytes
    stdin: bool
    terminal: _execution_pb2.TerminalSize
    programs: _containers.RepeatedCompositeFieldContainer[_policy_pb2.Word]
    git: _containers.RepeatedScalarFieldContainer[str]
    paths: _containers.RepeatedCompositeFieldContainer[BoundPath]
    obeyed: _containers.RepeatedScalarFieldContainer[str]
    further: _containers.ScalarMap[str, str]
    edit: EditPreview
    def __init__(self, env: _Optional[_Iterable[_Union[BoundVariable, _Mapping]]] = ..., profile: _Optional[str] = ..., profile_sha256: _Optional[bytes] = ..., read_only: bool = ..., unsandboxed: bool = ..., requires: _Optional[_Iterable[str]] = ..., snapshot_sha256: _Optional[bytes] = ..., stdin: bool = ..., terminal: _Optional[_Union[_execution_pb2.TerminalSize, _Mapping]] = ..., programs: _Optional[_Iterable[_Union[_policy_pb2.Word, _Mapping]]] = ..., git: _Optional[_Iterable[str]] = ..., paths: _Optional[_Iterable[_Union[BoundPath, _Mapping]]] = ..., obeyed: _Optional[_Iterable[str]] = ..., further: _Optional[_Mapping[str, str]] = ..., edit: _Optional[_Union[EditPreview, _Mapping]] = ...) -> None: ...

class EditPreview(_message.Message):
    __slots__ = ("files", "note", "words")
    FILES_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    WORDS_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedCompositeFieldContainer[FilePreview]
    note: str
    words: _containers.RepeatedCompositeFieldContainer[_policy_pb2.Word]
    def __init__(self, files: _Optional[_Iterable[_Union[FilePreview, _Mapping]]] = ..., note: _Optional[str] = ..., words: _Optional[_Iterable[_Union[_policy_pb2.Word, _Mapping]]] = ...) -> None: ...

class FilePreview(_message.Message):
    __slots__ = ("path", "path_bytes", "before_sha256", "after_sha256", "before_bytes", "after_bytes", "mode", "binary", "replaces_link", "diff", "diff_bytes", "truncated", "backup")
    PATH_FIELD_NUMBER: _ClassVar[int]
    PATH_BYTES_FIELD_NUMBER: _ClassVar[int]
    BEFORE_SHA256_FIELD_NUMBER: _ClassVar[int]
    AFTER_SHA256_FIELD_NUMBER: _ClassVar[int]
    BEFORE_BYTES_FIELD_NUMBER: _ClassVar[int]
    AFTER_BYTES_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    BINARY_FIELD_NUMBER: _ClassVar[int]
    REPLACES_LINK_FIELD_NUMBER: _ClassVar[int]
    DIFF_FIELD_NUMBER: _ClassVar[int]
    DIFF_BYTES_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    BACKUP_FIELD_NUMBER: _ClassVar[int]
    path: str
    path_bytes: bytes
    before_sha256: bytes
    after_sha256: bytes
    before_bytes: int
    after_bytes: int
    mode: int
    binary: bool
    replaces_link: bool
    diff: str
    diff_bytes: bytes
    truncated: bool
    backup: _common_pb2.BoundFile
    def __init__(self, path: _Optional[str] = ..., path_bytes: _Optional[bytes] = ..., before_sha256: _Optional[bytes] = ..., after_sha256: _Optional[bytes] = ..., before_bytes: _Optional[int] = ..., after_bytes: _Optional[int] = ..., mode: _Optional[int] = ..., binary: bool = ..., replaces_link: bool = ..., diff: _Optional[str] = ..., diff_bytes: _Optional[bytes] = ..., truncated: bool = ..., backup: _Optional[_Union[_common_pb2.BoundFile, _Mapping]] = ...) -> None: ...

class BoundVariable(_message.Message):
    __slots__ = ("name", "value", "value_bytes", "masked", "length", "sha256")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    VALUE_BYTES_FIELD_NUMBER: _ClassVar[int]
    MASKED_FIELD_NUMBER: _ClassVar[int]
    LENGTH_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    value_bytes: bytes
    masked: bool
    length: int
    sha256: bytes
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ..., value_bytes: _Optional[bytes] = ..., masked: bool = ..., length: _Optional[int] = ..., sha256: _Optional[bytes] = ...) -> None: ...

class BoundPath(_message.Message):
    __slots__ = ("path", "path_bytes", "access")
    PATH_FIELD_NUMBER: _ClassVar[int]
    PATH_BYTES_FIELD_NUMBER: _ClassVar[int]
    ACCESS_FIELD_NUMBER: _ClassVar[int]
    path: str
    path_bytes: bytes
    access: str
    def __init__(self, path: _Optional[str] = ..., path_bytes: _Optional[bytes] = ..., access: _Optional[str] = ...) -> None: ...

class RememberedRule(_message.Message):
    __slots__ = ("rule_id", "rule", "scope", "session_id", "profile", "approval_id", "decided_by", "created")
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    DECIDED_BY_FIELD_NUMBER: _ClassVar[int]
    CREATED_FIELD_NUMBER: _ClassVar[int]
    rule_id: str
    rule: str
    scope: RuleScope
    session_id: str
    profile: str
    approval_id: str
    decided_by: str
    created: _timestamp_pb2.Timestamp
    def __init__(self, rule_id: _Optional[str] = ..., rule: _Optional[str] = ..., scope: _Optional[_Union[RuleScope, str]] = ..., session_id: _Optional[str] = ..., profile: _Optional[str] = ..., approval_id: _Optional[str] = ..., decided_by: _Optional[str] = ..., created: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ApprovalFilter(_message.Message):
    __slots__ = ("session_id", "states")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    states: _containers.RepeatedScalarFieldContainer[ApprovalState]
    def __init__(self, session_id: _Optional[str] = ..., states: _Optional[_Iterable[_Union[ApprovalState, str]]] = ...) -> None: ...

class ApprovalServiceListRequest(_message.Message):
    __slots__ = ("page", "filter")
    PAGE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    page: _common_pb2.PageRequest
    filter: ApprovalFilter
    def __init__(self, page: _Optional[_Union[_common_pb2.PageRequest, _Mapping]] = ..., filter: _Optional[_Union[ApprovalFilter, _Mapping]] = ...) -> None: ...

class ApprovalServiceListResponse(_message.Message):
    __slots__ = ("approvals", "next_page_token")
    APPROVALS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    approvals: _containers.RepeatedCompositeFieldContainer[Approval]
    next_page_token: str
    def __init__(self, approvals: _Optional[_Iterable[_Union[Approval, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ApprovalServiceDecideRequest(_message.Message):
    __slots__ = ("approval_id", "binding", "allow_once", "deny", "allow_and_remember")
    class AllowOnce(_message.Message):
        __slots__ = ()
        def __init__(self) -> None: ...
    class AllowAndRemember(_message.Message):
        __slots__ = ("scope", "rules")
        SCOPE_FIELD_NUMBER: _ClassVar[int]
        RULES_FIELD_NUMBER: _ClassVar[int]
        scope: RuleScope
        rules: _containers.RepeatedScalarFieldContainer[str]
        def __init__(self, scope: _Optional[_Union[RuleScope, str]] = ..., rules: _Optional[_Iterable[str]] = ...) -> None: ...
    class Deny(_message.Message):
        __slots__ = ("reason",)
        REASON_FIELD_NUMBER: _ClassVar[int]
        reason: str
        def __init__(self, reason: _Optional[str] = ...) -> None: ...
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    BINDING_FIELD_NUMBER: _ClassVar[int]
    ALLOW_ONCE_FIELD_NUMBER: _ClassVar[int]
    DENY_FIELD_NUMBER: _ClassVar[int]
    ALLOW_AND_REMEMBER_FIELD_NUMBER: _ClassVar[int]
    approval_id: str
    binding: bytes
    allow_once: ApprovalServiceDecideRequest.AllowOnce
    deny: ApprovalServiceDecideRequest.Deny
    allow_and_remember: ApprovalServiceDecideRequest.AllowAndRemember
    def __init__(self, approval_id: _Optional[str] = ..., binding: _Optional[bytes] = ..., allow_once: _Optional[_Union[ApprovalServiceDecideRequest.AllowOnce, _Mapping]] = ..., deny: _Optional[_Union[ApprovalServiceDecideRequest.Deny, _Mapping]] = ..., allow_and_remember: _Optional[_Union[ApprovalServiceDecideRequest.AllowAndRemember, _Mapping]] = ...) -> None: ...

class ApprovalServiceDecideResponse(_message.Message):
    __slots__ = ("approval",)
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    approval: Approval
    def __init__(self, approval: _Optional[_Union[Approval, _Mapping]] = ...) -> None: ...

class RuleFilter(_message.Message):
    __slots__ = ("session_id",)
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    def __init__(self, session_id: _Optional[str] = ...) -> None: ...

class ApprovalServiceListRulesRequest(_message.Message):
    __slots__ = ("page", "filter")
    PAGE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    page: _common_pb2.PageRequest
    filter: RuleFilter
    def __init__(self, page: _Optional[_Union[_common_pb2.PageRequest, _Mapping]] = ..., filter: _Optional[_Union[RuleFilter, _Mapping]] = ...) -> None: ...

class ApprovalServiceListRulesResponse(_message.Message):
    __slots__ = ("rules", "next_page_token")
    RULES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    rules: _containers.RepeatedCompositeFieldContainer[RememberedRule]
    next_page_token: str
    def __init__(self, rules: _Optional[_Iterable[_Union[RememberedRule, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ApprovalServiceRemoveRuleRequest(_message.Message):
    __slots__ = ("rule_id",)
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    rule_id: str
    def __init__(self, rule_id: _Optional[str] = ...) -> None: ...

class ApprovalServiceRemoveRuleResponse(_message.Message):
    __slots__ = ("rule",)
    RULE_FIELD_NUMBER: _ClassVar[int]
    rule: RememberedRule
    def __init__(self, rule: _Optional[_Union[RememberedRule, _Mapping]] = ...) -> None: ...
