"""A client for Airlock, which runs the shell commands of AI agents in a sandbox.

    import airlock

    with airlock.connect() as client, client.session() as sandbox:
        result = sandbox.run("make test", on_stdout=sys.stdout.buffer.write)
        print(result.text)

`airlock.aio` has the same client for asyncio.
"""

from . import aio
from ._command import CommandOptions, Mode, NetworkRules, Pty, SessionOptions, Shell, Signal, WorkspaceOptions
from ._errors import (
    AirlockError,
    ApprovalRequiredError,
    ArchiveError,
    AuthenticationError,
    ContractError,
    DeadlineError,
    DeniedError,
    FieldViolation,
    ForbiddenError,
    InvalidRequestError,
    LimitReachedError,
    LocalError,
    NotFoundError,
    RejectedError,
    SessionClosedError,
    SettingsError,
    Span,
    StartUnknownError,
    UnreachableError,
    UnsupportedError,
    UntrustedError,
    ViewLostError,
)
from ._event import Backgrounded, Event, Finished, Gap, Opened, Output, Progress, StateChanged
from ._files import FileEvent
from ._output import OutputBytes, OutputDone, OutputGap, OutputLine, Piece, Search, Selection
from ._result import (
    Approval,
    Cause,
    Decision,
    ExecutionInfo,
    FileChange,
    FileInfo,
    Note,
    Reason,
    Result,
    SessionInfo,
    Transferred,
    Violation,
)
from ._retry import Patience
from ._sync import Approvals, Client, Execution, Files, Forward, Port, Session, Stdin, connect
from ._watch import WatchEvent

__all__ = [
    "AirlockError",
    "Approval",
    "ApprovalRequiredError",
    "Approvals",
    "ArchiveError",
    "AuthenticationError",
    "Backgrounded",
    "Cause",
    "Client",
    "CommandOptions",
    "ContractError",
    "DeadlineError",
    "Decision",
    "DeniedError",
    "Event",
    "Execution",
    "ExecutionInfo",
    "FieldViolation",
    "FileChange",
    "FileEvent",
    "FileInfo",
    "Files",
    "Finished",
    "ForbiddenError",
    "Forward",
    "Gap",
    "InvalidRequestError",
    "LimitReachedError",
    "LocalError",
    "Mode",
    "NetworkRules",
    "NotFoundError",
    "Note",
    "Opened",
    "Output",
    "OutputBytes",
    "OutputDone",
    "OutputGap",
    "OutputLine",
    "Patience",
    "Piece",
    "Port",
    "Progress",
    "Pty",
    "Reason",
    "RejectedError",
    "Result",
    "Search",
    "Selection",
    "Session",
    "SessionClosedError",
    "SessionInfo",
    "SessionOptions",
    "SettingsError",
    "Shell",
    "Signal",
    "Span",
    "StartUnknownError",
    "StateChanged",
    "Stdin",
    "Transferred",
    "UnreachableError",
    "UnsupportedError",
    "UntrustedError",
    "ViewLostError",
    "Violation",
    "WatchEvent",
    "WorkspaceOptions",
    "aio",
    "connect",
]
