"""The exceptions of the client.

Each has a `kind`, which is the same in every Airlock client, a stable `reason` if the server sent one, and a `remedy`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from ._result import Result


@dataclass(frozen=True)
class Span:
    """A range of byte offsets into a command. The end is exclusive."""

    start: int
    end: int


@dataclass(frozen=True)
class FieldViolation:
    """An invalid field of a request."""

    field: str
    """The path of the field in the request."""
    description: str
    """The problem with the field."""


class AirlockError(Exception):
    """The base of all exceptions of this package."""

    kind: ClassVar[str] = "error"
    """The name of this class of errors, the same in every Airlock client."""
    default_remedy: ClassVar[str] = ""

    def __init__(self, message: str, *, reason: str = "", remedy: str = "", execution_id: str | None = None) -> None:
        self.message = message
        """The problem, in one line."""
        self.reason = reason
        """The stable name of the problem from the server, such as `APPROVAL_REQUIRED`, or an empty string."""
        self.remedy = remedy or self.default_remedy
        """What to do, or an empty string."""
        self.execution_id = execution_id
        """The execution that the error refers to, if there is one."""
        self.span: Span | None = None
        """The part of the command that the error refers to, if there is one."""
        # The server's messages often have the remedy.
        super().__init__(f"{message}; {self.remedy}" if self.remedy and self.remedy not in message else message)


class SettingsError(AirlockError):
    """The connection settings are missing or invalid. No request was sent."""

    kind = "settings"


class UnreachableError(AirlockError):
    """No response arrived: there was no connection, or it broke."""

    kind = "unreachable"
    default_remedy = "check that the server is running and can be reached from this host"


class UntrustedError(AirlockError):
    """TLS failed: the server's certificate is not trusted, or the server refuses this client's certificate."""

    kind = "untrusted"
    default_remedy = (
        "check that the CA file has the CA of the server's certificate, and that the certificate names this address"
    )


class RejectedError(AirlockError):
    """The server responded with an error."""

    kind = "rejected"

    def __init__(
        self,
        message: str,
        *,
        code: str,
        reason: str = "",
        remedy: str = "",
        violations: Sequence[FieldViolation] = (),
        retry_after: float | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> None:
        metadata = dict(metadata or {})
        super().__init__(message, reason=reason, remedy=remedy, execution_id=metadata.get("execution_id"))
        self.code = code
        """The gRPC code, such as `NOT_FOUND`."""
        self.violations = tuple(violations)
        """All invalid fields of the request."""
        self.retry_after = retry_after
        """The time in seconds after which a retry may succeed, if the server sent one."""
        self.metadata = metadata
        """The remaining details."""


class AuthenticationError(RejectedError):
    """The server does not accept the credentials: they are missing, unknown or expired."""

    kind = "unauthenticated"
    default_remedy = "check that the token or certificate is a current one of this server"


class ForbiddenError(RejectedError):
    """The caller's roles do not permit the call."""

    kind = "forbidden"
    default_remedy = "ask the operator for the role that the message names"


class InvalidRequestError(RejectedError):
    """The request has invalid fields. `violations` lists all of them."""

    kind = "invalid_request"
    default_remedy = "correct the fields that `violations` names"


class NotFoundError(RejectedError):
    """The profile, session, execution, approval or file does not exist, or belongs to another tenant."""

    kind = "not_found"
    default_remedy = "check the name or the ID"


class SessionClosedError(RejectedError):
    """The session is closed or lost, or not open yet."""

    kind = "session_closed"
    default_remedy = "create another session"


class LimitReachedError(RejectedError):
    """A limit is reached. `metadata["limit"]` names it."""

    kind = "limit_reached"


class UnsupportedError(RejectedError):
    """The server is older than this client and lacks a method or field."""

    kind = "unsupported"
    default_remedy = "upgrade the server, or do not use this feature"


class DeniedError(RejectedError):
    """Policy or a person denied the command. It did not run.

    `span` is the part of the command that decided, `text` is for the model.
    """

    kind = "denied"
    default_remedy = "use another command, or ask the operator for a rule that allows it"
    result: Result | None = None
    """The result of the denied execution, with its decision, if it could be read."""

    @property
    def text(self) -> str:
        """The text for a model: the refusal and its reason."""
        return self.result.text if self.result else f"airlock: {self.message}; it did not run\n"


class ApprovalRequiredError(DeniedError):
    """Policy asks for a person, and the request did not wait for one. The command did not run."""

    kind = "approval_required"
    default_remedy = 'run it with on_ask="wait", and let an approver answer'


class StartUnknownError(AirlockError):
    """A start was sent and no response arrived. The command may run, may have run, or may never run."""

    kind = "start_unknown"
    default_remedy = "repeat the start with the same request ID; it returns the execution, if there is one"

    def __init__(self, message: str, *, request_id: str) -> None:
        super().__init__(message)
        self.request_id = request_id
        """The key of the start."""


class ViewLostError(AirlockError):
    """The view of an execution broke repeatedly. The result of the execution is unknown."""

    kind = "view_lost"
    default_remedy = "attach to the execution with the cursor"

    def __init__(self, message: str, *, execution_id: str, cursor: bytes) -> None:
        super().__init__(message, execution_id=execution_id)
        self.cursor = cursor
        """The position to attach with. Empty: from the beginning."""


class DeadlineError(AirlockError):
    """The caller's deadline expired before the call was complete."""

    kind = "deadline"


class LocalError(AirlockError):
    """A local file or connection failed."""

    kind = "local"


class ArchiveError(LocalError):
    """A received archive was refused, or a local directory cannot be packed."""

    kind = "archive"


class ContractError(AirlockError):
    """The server's response violates the contract."""

    kind = "contract"
    default_remedy = "report it: this is a bug in the server, or something else answers at this address"


def is_passing(error: AirlockError) -> bool:
    """Report whether the same call may succeed soon and is safe to repeat."""
    if isinstance(error, RejectedError):
        return error.code == "UNAVAILABLE"
    return isinstance(error, UnreachableError)
