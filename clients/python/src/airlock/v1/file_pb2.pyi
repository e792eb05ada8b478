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

class FileFormat(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FILE_FORMAT_UNSPECIFIED: _ClassVar[FileFormat]
    FILE_FORMAT_FILE: _ClassVar[FileFormat]
    FILE_FORMAT_TAR: _ClassVar[FileFormat]
    FILE_FORMAT_TAR_GZIP: _ClassVar[FileFormat]

class FileType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    FILE_TYPE_UNSPECIFIED: _ClassVar[FileType]
    FILE_TYPE_REGULAR: _ClassVar[FileType]
    FILE_TYPE_DIRECTORY: _ClassVar[FileType]
    FILE_TYPE_SYMLINK: _ClassVar[FileType]
    FILE_TYPE_OTHER: _ClassVar[FileType]

class ChangeKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CHANGE_KIND_UNSPECIFIED: _ClassVar[ChangeKind]
    CHANGE_KIND_ADDED: _ClassVar[ChangeKind]
    CHANGE_KIND_MODIFIED: _ClassVar[ChangeKind]
    CHANGE_KIND_DELETED: _ClassVar[ChangeKind]
FILE_FORMAT_UNSPECIFIED: FileFormat
FILE_FORMAT_FILE: FileFormat
FILE_FORMAT_TAR: FileFormat
FILE_FORMAT_TAR_GZIP: FileFormat
FILE_TYPE_UNSPECIFIED: FileType
FILE_TYPE_REGULAR: FileType
FILE_TYPE_DIRECTORY: FileType
FILE_TYPE_SYMLINK: FileType
FILE_TYPE_OTHER: FileType
CHANGE_KIND_UNSPECIFIED: ChangeKind
CHANGE_KIND_ADDED: ChangeKind
CHANGE_KIND_MODIFIED: ChangeKind
CHANGE_KIND_DELETED: ChangeKind

class FileInfo(_message.Message):
    __slots__ = ("path", "path_bytes", "type", "size", "mode", "modified", "link_target", "link_target_bytes")
    PATH_FIELD_NUMBER: _ClassVar[int]
    PATH_BYTES_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    MODIFIED_FIELD_NUMBER: _ClassVar[int]
    LINK_TARGET_FIELD_NUMBER: _ClassVar[int]
    LINK_TARGET_BYTES_FIELD_NUMBER: _ClassVar[int]
    path: str
    path_bytes: bytes
    type: FileType
    size: int
    mode: int
    modified: _timestamp_pb2.Timestamp
    link_target: str
    link_target_bytes: bytes
    def __init__(self, path: _Optional[str] = ..., path_bytes: _Optional[bytes] = ..., type: _Optional[_Union[FileType, str]] = ..., size: _Optional[int] = ..., mode: _Optional[int] = ..., modified: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., link_target: _Optional[str] = ..., link_target_bytes: _Optional[bytes] = ...) -> None: ...

class FileChunk(_message.Message):
    __slots__ = ("offset", "data")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    offset: int
    data: bytes
    def __init__(self, offset: _Optional[int] = ..., data: _Optional[bytes] = ...) -> None: ...

class UploadHeader(_message.Message):
    __slots__ = ("session_id", "transfer_id", "path", "path_bytes", "format", "size", "sha256", "mode")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TRANSFER_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    PATH_BYTES_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    transfer_id: str
    path: str
    path_bytes: bytes
    format: FileFormat
    size: int
    sha256: bytes
    mode: int
    def __init__(self, session_id: _Optional[str] = ..., transfer_id: _Optional[str] = ..., path: _Optional[str] = ..., path_bytes: _Optional[bytes] = ..., format: _Optional[_Union[FileFormat, str]] = ..., size: _Optional[int] = ..., sha256: _Optional[bytes] = ..., mode: _Optional[int] = ...) -> None: ...

class FileServiceUploadRequest(_message.Message):
    __slots__ = ("header", "chunk")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    header: UploadHeader
    chunk: FileChunk
    def __init__(self, header: _Optional[_Union[UploadHeader, _Mapping]] = ..., chunk: _Optional[_Union[FileChunk, _Mapping]] = ...) -> None: ...

class FileServiceUploadResponse(_message.Message):
    __slots__ = ("transfer_id", "received", "files", "directories", "links", "bytes")
    TRANSFER_ID_FIELD_NUMBER: _ClassVar[int]
    RECEIVED_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    DIRECTORIES_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    transfer_id: str
    received: int
    files: int
    directories: int
    links: int
    bytes: int
    def __init__(self, transfer_id: _Optional[str] = ..., received: _Optional[int] = ..., files: _Optional[int] = ..., directories: _Optional[int] = ..., links: _Optional[int] = ..., bytes: _Optional[int] = ...) -> None: ...

class FileServiceDownloadRequest(_message.Message):
    __slots__ = ("session_id", "transfer_id", "path", "path_bytes", "format", "offset", "exclude")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    TRANSFER_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    PATH_BYTES_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    transfer_id: str
    path: str
    path_bytes: bytes
    format: FileFormat
    offset: int
    exclude: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, session_id: _Optional[str] = ..., transfer_id: _Optional[str] = ..., path: _Optional[str] = ..., path_bytes: _Optional[bytes] = ..., format: _Optional[_Union[FileFormat, str]] = ..., offset: _Optional[int] = ..., exclude: _Optional[_Iterable[str]] = ...) -> None: ...

class FileServiceDownloadResponse(_message.Message):
    __slots__ = ("header", "chunk", "done")
    HEADER_FIELD_NUMBER: _ClassVar[int]
    CHUNK_FIELD_NUMBER: _ClassVar[int]
    DONE_FIELD_NUMBER: _ClassVar[int]
    header: DownloadHeader
    chunk: FileChunk
    done: DownloadDone
    def __init__(self, header: _Optional[_Union[DownloadHeader, _Mapping]] = ..., chunk: _Optional[_Union[FileChunk, _Mapping]] = ..., done: _Optional[_Union[DownloadDone, _Mapping]] = ...) -> None: ...

class DownloadHeader(_message.Message):
    __slots__ = ("transfer_id", "format", "info")
    TRANSFER_ID_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    transfer_id: str
    format: FileFormat
    info: FileInfo
    def __init__(self, transfer_id: _Optional[str] = ..., format: _Optional[_Union[FileFormat, str]] = ..., info: _Optional[_Union[FileInfo, _Mapping]] = ...) -> None: ...

class DownloadDone(_message.Message):
    __slots__ = ("size", "sha256", "files", "directories", "links", "skipped", "skipped_total")
    SIZE_FIELD_NUMBER: _ClassVar[int]
    SHA256_FIELD_NUMBER: _ClassVar[int]
    FILES_FIELD_NUMBER: _ClassVar[int]
    DIRECTORIES_FIELD_NUMBER: _ClassVar[int]
    LINKS_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_TOTAL_FIELD_NUMBER: _ClassVar[int]
    size: int
    sha256: bytes
    files: int
    directories: int
    links: int
    skipped: _containers.RepeatedCompositeFieldContainer[SkippedFile]
    skipped_total: int
    def __init__(self, size: _Optional[int] = ..., sha256: _Optional[bytes] = ..., files: _Optional[int] = ..., directories: _Optional[int] = ..., links: _Optional[int] = ..., skipped: _Optional[_Iterable[_Union[SkippedFile, _Mapping]]] = ..., skipped_total: _Optional[int] = ...) -> None: ...

class SkippedFile(_message.Message):
    __slots__ = ("path", "path_bytes", "reason")
    PATH_FIELD_NUMBER: _ClassVar[int]
    PATH_BYTES_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    path: str
    path_bytes: bytes
    reason: str
    def __init__(self, path: _Optional[str] = ..., path_bytes: _Optional[bytes] = ..., reason: _Optional[str] = ...) -> None: ...

class FileServiceStatRequest(_message.Message):
    __slots__ = ("session_id", "path", "path_bytes")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    PATH_BYTES_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    path: str
    path_bytes: bytes
    def __init__(self, session_id: _Optional[str] = ..., path: _Optional[str] = ..., path_bytes: _Optional[bytes] = ...) -> None: ...

class FileServiceStatResponse(_message.Message):
    __slots__ = ("file",)
    FILE_FIELD_NUMBER: _ClassVar[int]
    file: FileInfo
    def __init__(self, file: _Optional[_Union[FileInfo, _Mapping]] = ...) -> None: ...

class QuarantinedFile(_message.Message):
    __slots__ = ("id", "info", "reason", "moved", "execution_id")
    ID_FIELD_NUMBER: _ClassVar[int]
    INFO_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    id: str
    info: FileInfo
    reason: str
    moved: _timestamp_pb2.Timestamp
    execution_id: str
    def __init__(self, id: _Optional[str] = ..., info: _Optional[_Union[FileInfo, _Mapping]] = ..., reason: _Optional[str] = ..., moved: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., execution_id: _Optional[str] = ...) -> None: ...

class FileServiceListQuarantineRequest(_message.Message):
    __slots__ = ("session_id", "page")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    page: _common_pb2.PageRequest
    def __init__(self, session_id: _Optional[str] = ..., page: _Optional[_Union[_common_pb2.PageRequest, _Mapping]] = ...) -> None: ...

class FileServiceListQuarantineResponse(_message.Message):
    __slots__ = ("files", "next_page_token")
    FILES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedCompositeFieldContainer[QuarantinedFile]
    next_page_token: str
    def __init__(self, files: _Optional[_Iterable[_Union[QuarantinedFile, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class FileServiceRestoreQuarantineRequest(_message.Message):
    __slots__ = ("session_id", "quarantine_id")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    QUARANTINE_ID_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    quarantine_id: str
    def __init__(self, session_id: _Optional[str] = ..., quarantine_id: _Optional[str] = ...) -> None: ...

class FileServiceRestoreQuarantineResponse(_message.Message):
    __slots__ = ("path", "path_bytes", "replaced_id")
    PATH_FIELD_NUMBER: _ClassVar[int]
    PATH_BYTES_FIELD_NUMBER: _ClassVar[int]
    REPLACED_ID_FIELD_NUMBER: _ClassVar[int]
    path: str
    path_bytes: bytes
    replaced_id: str
    def __init__(self, path: _Optional[str] = ..., path_bytes: _Optional[bytes] = ..., replaced_id: _Optional[str] = ...) -> None: ...

class FileFilter(_message.Message):
    __slots__ = ("types", "include", "exclude")
    TYPES_FIELD_NUMBER: _ClassVar[int]
    INCLUDE_FIELD_NUMBER: _ClassVar[int]
    EXCLUDE_FIELD_NUMBER: _ClassVar[int]
    types: _containers.RepeatedScalarFieldContainer[FileType]
    include: _containers.RepeatedScalarFieldContainer[str]
    exclude: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, types: _Optional[_Iterable[_Union[FileType, str]]] = ..., include: _Optional[_Iterable[str]] = ..., exclude: _Optional[_Iterable[str]] = ...) -> None: ...

class FileServiceListRequest(_message.Message):
    __slots__ = ("session_id", "path", "path_bytes", "recursive", "page", "filter")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    PATH_BYTES_FIELD_NUMBER: _ClassVar[int]
    RECURSIVE_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    path: str
    path_bytes: bytes
    recursive: bool
    page: _common_pb2.PageRequest
    filter: FileFilter
    def __init__(self, session_id: _Optional[str] = ..., path: _Optional[str] = ..., path_bytes: _Optional[bytes] = ..., recursive: bool = ..., page: _Optional[_Union[_common_pb2.PageRequest, _Mapping]] = ..., filter: _Optional[_Union[FileFilter, _Mapping]] = ...) -> None: ...

class FileServiceListResponse(_message.Message):
    __slots__ = ("files", "next_page_token")
    FILES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedCompositeFieldContainer[FileInfo]
    next_page_token: str
    def __init__(self, files: _Optional[_Iterable[_Union[FileInfo, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class FileServiceDiffRequest(_message.Message):
    __slots__ = ("session_id", "path", "path_bytes", "page", "filter", "patch")
    SESSION_ID_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    PATH_BYTES_FIELD_NUMBER: _ClassVar[int]
    PAGE_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    session_id: str
    path: str
    path_bytes: bytes
    page: _common_pb2.PageRequest
    filter: FileFilter
    patch: bool
    def __init__(self, session_id: _Optional[str] = ..., path: _Optional[str] = ..., path_bytes: _Optional[bytes] = ..., page: _Optional[_Union[_common_pb2.PageRequest, _Mapping]] = ..., filter: _Optional[_Union[FileFilter, _Mapping]] = ..., patch: bool = ...) -> None: ...

class FileServiceDiffResponse(_message.Message):
    __slots__ = ("changes", "next_page_token")
    CHANGES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    changes: _containers.RepeatedCompositeFieldContainer[FileChange]
    next_page_token: str
    def __init__(self, changes: _Optional[_Iterable[_Union[FileChange, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class FileChange(_message.Message):
    __slots__ = ("kind", "before", "after", "patch", "patch_bytes", "patch_omitted")
    KIND_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    PATCH_BYTES_FIELD_NUMBER: _ClassVar[int]
    PATCH_OMITTED_FIELD_NUMBER: _ClassVar[int]
    kind: ChangeKind
    before: FileInfo
    after: FileInfo
    patch: str
    patch_bytes: bytes
    patch_omitted: str
    def __init__(self, kind: _Optional[_Union[ChangeKind, str]] = ..., before: _Optional[_Union[FileInfo, _Mapping]] = ..., after: _Optional[_Union[FileInfo, _Mapping]] = ..., patch: _Optional[str] = ..., patch_bytes: _Optional[bytes] = ..., patch_omitted: _Optional[str] = ...) -> None: ...
