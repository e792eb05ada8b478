"""The methods of `airlock.v1` with the types of their messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from google.protobuf.message import Message

from .v1 import approval_pb2, execution_pb2, file_pb2, policy_pb2, session_pb2

Q = TypeVar("Q", bound=Message)
A = TypeVar("A", bound=Message)


@dataclass(frozen=True)
class Method(Generic[Q, A]):
    """A method: its path, and the types of its request and response."""

    path: str
    request: type[Q]
    response: type[A]


def _execution(name: str, request: type[Q], response: type[A]) -> Method[Q, A]:
    return Method(f"/airlock.v1.ExecutionService/{name}", request, response)


def _session(name: str, request: type[Q], response: type[A]) -> Method[Q, A]:
    return Method(f"/airlock.v1.SessionService/{name}", request, response)


def _file(name: str, request: type[Q], response: type[A]) -> Method[Q, A]:
    return Method(f"/airlock.v1.FileService/{name}", request, response)


def _approval(name: str, request: type[Q], response: type[A]) -> Method[Q, A]:
    return Method(f"/airlock.v1.ApprovalService/{name}", request, response)


_e, _s, _f, _a = execution_pb2, session_pb2, file_pb2, approval_pb2

RUN = _execution("Run", _e.ExecutionServiceRunRequest, _e.ExecutionServiceRunResponse)
START = _execution("Start", _e.ExecutionServiceStartRequest, _e.ExecutionServiceStartResponse)
ATTACH = _execution("Attach", _e.ExecutionServiceAttachRequest, _e.ExecutionServiceAttachResponse)
WAIT = _execution("Wait", _e.ExecutionServiceWaitRequest, _e.ExecutionServiceWaitResponse)
GET = _execution("Get", _e.ExecutionServiceGetRequest, _e.ExecutionServiceGetResponse)
LIST = _execution("List", _e.ExecutionServiceListRequest, _e.ExecutionServiceListResponse)
CANCEL = _execution("Cancel", _e.ExecutionServiceCancelRequest, _e.ExecutionServiceCancelResponse)
SIGNAL = _execution("Signal", _e.ExecutionServiceSignalRequest, _e.ExecutionServiceSignalResponse)
RESIZE = _execution("Resize", _e.ExecutionServiceResizeRequest, _e.ExecutionServiceResizeResponse)
DETACH = _execution("Detach", _e.ExecutionServiceDetachRequest, _e.ExecutionServiceDetachResponse)
STDIN = _execution("WriteStdin", _e.ExecutionServiceWriteStdinRequest, _e.ExecutionServiceWriteStdinResponse)
OUTPUT = _execution("ReadOutput", _e.ExecutionServiceReadOutputRequest, _e.ExecutionServiceReadOutputResponse)
WATCH = _execution("Watch", _e.ExecutionServiceWatchRequest, _e.ExecutionServiceWatchResponse)

CREATE_SESSION = _session("Create", _s.SessionServiceCreateRequest, _s.SessionServiceCreateResponse)
GET_SESSION = _session("Get", _s.SessionServiceGetRequest, _s.SessionServiceGetResponse)
LIST_SESSIONS = _session("List", _s.SessionServiceListRequest, _s.SessionServiceListResponse)
UPDATE_SESSION = _session("Update", _s.SessionServiceUpdateRequest, _s.SessionServiceUpdateResponse)
CLOSE_SESSION = _session("Close", _s.SessionServiceCloseRequest, _s.SessionServiceCloseResponse)
FORWARD = _session("Forward", _s.SessionServiceForwardRequest, _s.SessionServiceForwardResponse)

UPLOAD = _file("Upload", _f.FileServiceUploadRequest, _f.FileServiceUploadResponse)
DOWNLOAD = _file("Download", _f.FileServiceDownloadRequest, _f.FileServiceDownloadResponse)
STAT = _file("Stat", _f.FileServiceStatRequest, _f.FileServiceStatResponse)
LIST_FILES = _file("List", _f.FileServiceListRequest, _f.FileServiceListResponse)
DIFF = _file("Diff", _f.FileServiceDiffRequest, _f.FileServiceDiffResponse)

LIST_APPROVALS = _approval("List", _a.ApprovalServiceListRequest, _a.ApprovalServiceListResponse)
DECIDE = _approval("Decide", _a.ApprovalServiceDecideRequest, _a.ApprovalServiceDecideResponse)

CHECK = Method(
    "/airlock.v1.PolicyService/Check", policy_pb2.PolicyServiceCheckRequest, policy_pb2.PolicyServiceCheckResponse
)
