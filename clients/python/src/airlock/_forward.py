"""Connections to ports of a session. A broken connection is not repeated: the program has seen its bytes."""

from __future__ import annotations

import asyncio
import contextlib
from types import TracebackType
from typing import Any, cast

import grpc.aio

from ._connection import Connection
from ._errors import AirlockError, UnreachableError
from ._methods import FORWARD
from .v1 import session_pb2 as pb

_CHUNK = 64 * 1024
_CONNECT_TIMEOUT = 60.0
# The number of attempts to open a connection. If the server refuses it while the request is sent, the library can lose
# the status. No byte of the program is lost by another attempt.
_TRIES = 3


class AsyncPort:
    """A TCP connection to a port of a session's loopback, as an asynchronous context manager."""

    def __init__(self, connection: Connection, session_id: str, port: int) -> None:
        self._connection = connection
        self._session_id = session_id
        self._port = port
        self._stack = contextlib.AsyncExitStack()
        self._call: grpc.aio.StreamStreamCall[Any, Any] | None = None
        self._has_ended = False

    async def __aenter__(self) -> AsyncPort:
        for _ in range(_TRIES - 1):
            with contextlib.suppress(UnreachableError):
                return await self._open()
        return await self._open()

    async def _open(self) -> AsyncPort:
        channel = await self._stack.enter_async_context(self._connection.separate())
        try:
            self._call = self._connection.both(channel, FORWARD)
            opening = pb.ForwardOpen(session_id=self._session_id, port=self._port)
            async with asyncio.timeout(_CONNECT_TIMEOUT):
                await self._write(pb.SessionServiceForwardRequest(open=opening))
                first = await self._message()
            if first is None or first.WhichOneof("message") != "opened":
                raise self._connection.contract("its first message is not `opened`")
        except TimeoutError:
            await self.close()
            raise self._connection.unreachable("the connection to the port was not opened in time") from None
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def send(self, data: bytes) -> None:
        """Send bytes to the program. Waits while it reads slowly."""
        for start in range(0, len(data), _CHUNK):
            await self._write(pb.SessionServiceForwardRequest(data=data[start : start + _CHUNK]))

    async def end(self) -> None:
        """End this direction: the program reads the end of the stream."""
        await self._write(pb.SessionServiceForwardRequest(end=pb.ForwardEnded()))

    async def receive(self) -> bytes:
        """Return the next bytes of the program, or `b""` when it has ended its direction."""
        if self._has_ended:
            return b""
        message = await self._message()
        match message.WhichOneof("message") if message else None:
            case "data" if message:
                return message.data
            case "end":
                self._has_ended = True
                return b""
        raise self._connection.contract("the stream ended before the program ended its direction")

    async def close(self) -> None:
        """End the connection. It is reset unless both directions have ended."""
        if self._call is not None:
            self._call.cancel()
        await self._stack.aclose()

    async def _write(self, message: pb.SessionServiceForwardRequest) -> None:
        assert self._call is not None, "the connection is not open"
        try:
            with self._connection.errors():
                await self._call.write(message)
        except asyncio.InvalidStateError:
            # The call has ended; its status has the reason.
            await self._message()
            raise self._connection.unreachable("the connection has ended") from None

    async def _message(self) -> pb.SessionServiceForwardResponse | None:
        assert self._call is not None, "the connection is not open"
        with self._connection.errors():
            message = await self._call.read()
        return None if message is grpc.aio.EOF else cast(pb.SessionServiceForwardResponse, message)


class AsyncForward:
    """A listener on this host that forwards each connection to a port of a session."""

    def __init__(self, connection: Connection, session_id: str, port: int, local_port: int) -> None:
        self._connection = connection
        self._session_id = session_id
        self._port = port
        self._local_port = local_port
        self._server: asyncio.Server | None = None
        self.address: tuple[str, int] = ("127.0.0.1", local_port)
        """The local address to connect to."""

    async def __aenter__(self) -> AsyncForward:
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", self._local_port)
        self.address = self._server.sockets[0].getsockname()[:2]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the listener. Open connections end with their programs."""
        if self._server is not None:
            self._server.close()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with (
                AsyncPort(self._connection, self._session_id, self._port) as port,
                asyncio.TaskGroup() as both,
            ):
                both.create_task(_to_program(reader, port))
                both.create_task(_from_program(port, writer))
        except* (AirlockError, OSError):
            # The local side learns about it by a reset, because its data can be incomplete.
            writer.transport.abort()
        finally:
            writer.close()


async def _to_program(reader: asyncio.StreamReader, port: AsyncPort) -> None:
    while data := await reader.read(_CHUNK):
        await port.send(data)
    await port.end()


async def _from_program(port: AsyncPort, writer: asyncio.StreamWriter) -> None:
    while data := await port.receive():
        writer.write(data)
        await writer.drain()
    writer.write_eof()
