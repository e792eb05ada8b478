"""Conversion of a gRPC status and its `google.rpc` details to an exception. This module does not retry."""

from __future__ import annotations

from typing import TypeVar

import grpc
from google.rpc import error_details_pb2, status_pb2

from ._errors import (
    AirlockError,
    ApprovalRequiredError,
    AuthenticationError,
    DeniedError,
    FieldViolation,
    ForbiddenError,
    InvalidRequestError,
    LimitReachedError,
    NotFoundError,
    RejectedError,
    SessionClosedError,
    UnreachableError,
    UnsupportedError,
)

_Detail = TypeVar("_Detail", error_details_pb2.ErrorInfo, error_details_pb2.RetryInfo, error_details_pb2.BadRequest)

_DETAILS = "grpc-status-details-bin"
# The server's own errors always have an ErrorInfo. Without one, the library made these codes for a broken connection.
_BROKEN = frozenset({"UNAVAILABLE", "UNKNOWN", "INTERNAL", "CANCELLED", "DEADLINE_EXCEEDED"})

_BY_REASON: dict[str, type[RejectedError]] = {
    "DENIED": DeniedError,
    "APPROVAL_REQUIRED": ApprovalRequiredError,
    "SESSION_CLOSED": SessionClosedError,
    "SESSION_LOST": SessionClosedError,
    "SESSION_NOT_OPEN": SessionClosedError,
}
_BY_CODE: dict[str, type[RejectedError]] = {
    "UNAUTHENTICATED": AuthenticationError,
    "PERMISSION_DENIED": ForbiddenError,
    "INVALID_ARGUMENT": InvalidRequestError,
    "NOT_FOUND": NotFoundError,
    "RESOURCE_EXHAUSTED": LimitReachedError,
    "UNIMPLEMENTED": UnsupportedError,
}


def from_rpc(address: str, error: grpc.aio.AioRpcError) -> AirlockError:
    """Return the exception for a failed call to `address`."""
    code = error.code().name
    message = one_line(error.details() or "") or code.lower().replace("_", " ")
    status = _details(error)
    info = _unpacked(status, error_details_pb2.ErrorInfo())
    if info is None and code in _BROKEN:
        return UnreachableError(f"no answer from {address}: {message}")
    retry = _unpacked(status, error_details_pb2.RetryInfo())
    bad = _unpacked(status, error_details_pb2.BadRequest())
    reason = info.reason if info else ""
    made = _BY_REASON.get(reason) or _BY_CODE.get(code, RejectedError)
    if made is UnsupportedError:
        message = f"the server at {address} does not support this call: {message}"
    return made(
        message,
        code=code,
        reason=reason,
        violations=[FieldViolation(v.field, v.description) for v in bad.field_violations] if bad else (),
        retry_after=retry.retry_delay.ToTimedelta().total_seconds() if retry else None,
        metadata=dict(info.metadata) if info else None,
    )


def one_line(text: str) -> str:
    """Return the text without control characters, which must not reach a terminal."""
    return "".join(" " if ord(c) < 0x20 or ord(c) == 0x7F else c for c in text.strip())


def _details(error: grpc.aio.AioRpcError) -> status_pb2.Status:
    status = status_pb2.Status()
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS and isinstance(value, bytes):
            status.ParseFromString(value)
    return status


def _unpacked(status: status_pb2.Status, into: _Detail) -> _Detail | None:
    for detail in status.details:
        if detail.Unpack(into):
            return into
    return None
