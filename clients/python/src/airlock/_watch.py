"""The starts and ends of executions, and the check for features that an older server lacks."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from ._connection import Connection
from ._errors import AirlockError, InvalidRequestError, UnsupportedError
from ._methods import START, WATCH
from ._result import ExecutionInfo, name_of
from ._retry import Retries
from .v1 import execution_pb2


@dataclass(frozen=True)
class WatchEvent:
    """A milestone of an execution."""

    cursor: bytes
    """A position. Watch with it to receive the events after this one."""
    kind: str
    """`started`, `backgrounded` or `finished`; `unspecified` for the first event, which confirms the watch."""
    execution: ExecutionInfo | None


async def watch(connection: Connection, session_id: str, cursor: bytes) -> AsyncGenerator[WatchEvent, None]:
    """Return the milestones of executions, each once. A broken watch continues after its last event."""
    retries, active = Retries(connection.patience), False
    while True:
        request = execution_pb2.ExecutionServiceWatchRequest(session_id=session_id, cursor=cursor)
        view = None
        try:
            view = await connection.view(WATCH, request)
            async for raw in view:
                retries.reset()
                cursor = raw.cursor
                info = ExecutionInfo.of(raw.execution) if raw.HasField("execution") else None
                if info is None and active:
                    continue
                active = True
                yield WatchEvent(cursor, name_of(execution_pb2.WatchKind.Name, "WATCH_KIND_", raw.kind), info)
        except AirlockError as error:
            await retries.outlast(error, connection.patience.view)
        finally:
            if view is not None:
                view.cancel()


async def require_network(connection: Connection) -> None:
    """Raise `UnsupportedError` if the server does not know network rules, because it would ignore them.

    A start without a command is always refused, and the refusal names every invalid field that the server knows.
    """
    if connection.knows_network:
        return
    spec = execution_pb2.ExecutionSpec()
    spec.network.allow.append("://")
    request = execution_pb2.ExecutionServiceStartRequest(spec=spec)
    try:
        await connection.unary(START, request)
    except InvalidRequestError as error:
        if any(one.field.startswith("spec.network") for one in error.violations):
            connection.knows_network = True
            return
    raise UnsupportedError(f"the server at {connection.address} does not support network rules", code="UNIMPLEMENTED")
