"""The input of a command. After a broken connection, it continues after the last confirmed byte."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator

from ._connection import Connection
from ._errors import AirlockError
from ._methods import STDIN
from ._retry import Retries
from .v1 import execution_pb2 as pb

_CHUNK = 256 * 1024
# The number of bytes that are sent before the server must confirm them.
_WINDOW = 1024 * 1024


class Stdin:
    """The input of a command that was started with `stdin` or `pty`."""

    def __init__(self, connection: Connection, execution_id: str, offset: int | None) -> None:
        self._connection = connection
        self._execution_id = execution_id
        # The offset of the next byte. `None`: another client may have written.
        self._offset = offset
        self._lock = asyncio.Lock()

    async def write(self, data: bytes | str) -> None:
        """Write to the input. Return when everything is in the command's pipe. Text is encoded as UTF-8.

        An error with the reason `NOT_RUNNING` does not tell whether the last bytes arrived: a command can end after it
        has read them, while the connection is broken.
        """
        content = data.encode() if isinstance(data, str) else data
        async with self._lock:
            for start in range(0, len(content), _WINDOW):
                await self._send(content[start : start + _WINDOW], end=False)

    async def end(self) -> None:
        """Close the input. On a terminal, this types the end-of-file character (Ctrl+D)."""
        async with self._lock:
            await self._send(b"", end=True)

    async def _send(self, data: bytes, *, end: bool) -> None:
        retries = Retries(self._connection.patience)
        if self._offset is None:
            self._offset = await self._find(retries)
        first, lost = self._offset, False
        while True:
            began = time.monotonic()
            try:
                rest = data[self._offset - first :]
                answer = await self._once(self._offset, rest, end=end, take_over=False)
                if not self._offset <= answer.accepted <= first + len(data):
                    raise self._connection.contract("it confirmed input that was not sent")
                moved, self._offset = answer.accepted > self._offset, answer.accepted
                if self._offset == first + len(data) and (answer.ended or not end):
                    return
                if moved:
                    retries.reset()
                else:
                    error = self._connection.unreachable("the command's input makes no progress")
                    await retries.outlast(error, self._connection.patience.view)
            except AirlockError as error:
                # The confirmation of the end was lost, and the command has ended since.
                if end and lost and error.reason == "NOT_RUNNING":
                    return
                lost = True
                retries.held_since(began)
                await retries.outlast(error, self._connection.patience.view)

    async def _find(self, retries: Retries) -> int:
        """Take over the input, and return the number of bytes that were written to it."""
        while True:
            try:
                return (await self._once(0, b"", end=False, take_over=True)).accepted
            except AirlockError as error:
                await retries.outlast(error, self._connection.patience.view)

    async def _once(
        self, offset: int, data: bytes, *, end: bool, take_over: bool
    ) -> pb.ExecutionServiceWriteStdinResponse:
        async def messages() -> AsyncIterator[pb.ExecutionServiceWriteStdinRequest]:
            for start in range(0, max(1, len(data)), _CHUNK):
                part = data[start : start + _CHUNK]
                yield pb.ExecutionServiceWriteStdinRequest(
                    execution_id="" if start else self._execution_id,
                    offset=offset + start,
                    data=part,
                    end=end and start + _CHUNK >= len(data),
                    take_over=take_over and not start,
                )

        async with self._connection.separate() as channel:
            return await self._connection.sending(channel, STDIN, messages())
