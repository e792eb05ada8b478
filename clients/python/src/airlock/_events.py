"""An execution as a stream of events that survives broken connections.

If a view breaks or ends without a closing event, a new view continues after the last event that was returned.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from ._connection import Connection, View
from ._errors import (
    AirlockError,
    ContractError,
    LimitReachedError,
    RejectedError,
    StartUnknownError,
    ViewLostError,
    is_passing,
)
from ._event import Backgrounded, Event, Finished, event_of
from ._methods import ATTACH, RUN
from ._position import ContractBrokenError, ReaderPosition
from ._retry import Retries
from .v1 import execution_pb2 as pb

_Response = pb.ExecutionServiceRunResponse | pb.ExecutionServiceAttachResponse


class Events(AsyncIterator[Event]):
    """The events of one execution, each exactly once."""

    def __init__(
        self,
        connection: Connection,
        *,
        spec: pb.ExecutionSpec | None = None,
        execution_id: str | None = None,
        cursor: bytes = b"",
        offsets: tuple[int, int] | None = None,
    ) -> None:
        self._connection = connection
        self._spec = spec
        self.sent = False
        """Whether the server may have received the start."""
        self._view: View[pb.ExecutionServiceRunResponse] | View[pb.ExecutionServiceAttachResponse] | None = None
        self._began: float | None = None
        self._retries = Retries(connection.patience)
        self._finished = False
        self._offsets = offsets
        self.execution_id = execution_id
        """The execution's ID, once it is known."""
        self.cursor = cursor
        """The position after the last event, for a later attach. Empty: the beginning."""
        self.trouble: str | None = None
        """The reason why no events arrive at present, such as an unreachable server."""
        self._position = ReaderPosition() if cursor else ReaderPosition(*(offsets or (0, 0)))

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> Event:
        while not self._finished:
            try:
                event = await self._step()
            except AirlockError as error:
                self._drop_view()
                if self._began is not None:
                    self._retries.held_since(self._began)
                    self._began = None
                await self._pause_after(error)
                continue
            if event is not None:
                return event
        raise StopAsyncIteration

    def go_on(self) -> None:
        """Continue after a `Backgrounded` event. The next events follow the execution to its end."""
        self._finished = False
        self._drop_view()

    async def aclose(self) -> None:
        """End the view. The command continues."""
        self._finished = True
        self._drop_view()

    async def _step(self) -> Event | None:
        """Return one event of the view, which is opened if necessary, or `None` if the event is not new."""
        if self._view is None:
            self._view = await self._open()
        response: _Response = await self._view.next(None)
        raw = response.event
        if self._began is None:
            self._began = time.monotonic()
        self.trouble = None
        if self.execution_id is None and raw.WhichOneof("event") == "opened":
            self.execution_id = raw.opened.execution.execution_id
        try:
            if not self._position.admit(raw):
                return None
        except ContractBrokenError as what:
            raise self._connection.contract(str(what)) from None
        self._retries.reset()
        if self.execution_id is not None:
            self.cursor = raw.cursor
        event = event_of(raw)
        self._finished = isinstance(event, Finished | Backgrounded)
        if self._finished:
            self._drop_view()
        return event

    async def _open(
        self,
    ) -> View[pb.ExecutionServiceRunResponse] | View[pb.ExecutionServiceAttachResponse]:
        if self.execution_id is None:
            self.sent = True
            return await self._connection.view(RUN, pb.ExecutionServiceRunRequest(spec=self._spec))
        request = pb.ExecutionServiceAttachRequest(execution_id=self.execution_id)
        if self.cursor:
            request.cursor = self.cursor
        elif self._offsets is not None:
            request.offsets.stdout, request.offsets.stderr = self._offsets
        return await self._connection.view(ATTACH, request)

    def _drop_view(self) -> None:
        if self._view is not None:
            self._view.cancel()
            self._view = None

    async def _pause_after(self, error: AirlockError) -> None:
        """Pause if `error` may pass, otherwise raise it."""
        patience = self._connection.patience
        reading = self.execution_id is not None
        # A view of a known execution only reads, so an overloaded server or a contract violation is retried, too.
        if not is_passing(error) and not (reading and isinstance(error, LimitReachedError | ContractError)):
            raise error
        pause = self._retries.pause(error, patience.view if reading else patience.call)
        if pause is None:
            raise self._out_of_patience(error) from error
        self.trouble = str(error)
        await asyncio.sleep(pause)

    def _out_of_patience(self, last: AirlockError) -> AirlockError:
        if self.execution_id is not None:
            message = f"the view of execution {self.execution_id} broke and could not be resumed: {last.message}"
            return ViewLostError(message, execution_id=self.execution_id, cursor=self.cursor)
        if self.sent and self._spec is not None and not isinstance(last, RejectedError):
            message = f"no answer to the start, so it is not known whether the command runs: {last.message}"
            return StartUnknownError(message, request_id=self._spec.request_id)
        return last
