"""Uploads and downloads that survive broken connections: no byte is lost, repeated or sent twice in vain."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator
from typing import IO

from ._connection import Connection, View
from ._errors import AirlockError, LocalError, RejectedError
from ._methods import DOWNLOAD, UPLOAD
from ._retry import Retries
from .v1 import file_pb2 as pb

_CHUNK = 256 * 1024
# The time in which the server must take one chunk, in seconds.
_STALL = 60.0
# The time for the response after the last chunk. A large archive takes time to unpack.
_ANSWER = 600.0


async def upload(connection: Connection, header: pb.UploadHeader, source: IO[bytes]) -> pb.FileServiceUploadResponse:
    """Upload a file, or the content of a tar archive. The header's size and hash are computed."""
    header.size, header.sha256 = await asyncio.to_thread(_digest, source)
    header.transfer_id = header.transfer_id or str(uuid.uuid4())
    retries, patience = Retries(connection.patience), connection.patience
    sending = _Sending(header, source)
    there = 0
    while True:
        start = sending.sent
        try:
            return await _send(connection, sending)
        except AirlockError as error:
            end = _end_of(error)
            if end is None or end > header.size:
                await retries.outlast(error, patience.call)
                continue
            sending.sent = end
            if there < end < start:
                # The server holds more than it had ever confirmed: there is progress.
                there = end
                retries.reset()
            else:
                await retries.outlast(connection.unreachable("it does not keep the sent bytes"), patience.call)


class _Sending:
    """An upload, and the number of bytes that were sent."""

    def __init__(self, header: pb.UploadHeader, source: IO[bytes]) -> None:
        self.header = header
        self.source = source
        self.sent = 0

    async def messages(self, limit: asyncio.Timeout) -> AsyncIterator[pb.FileServiceUploadRequest]:
        """Return the header and all remaining bytes. `limit` is moved with each chunk."""
        now = asyncio.get_running_loop().time
        yield pb.FileServiceUploadRequest(header=self.header)
        while self.sent < self.header.size:
            data = await asyncio.to_thread(self._read)
            if not data:
                return
            limit.reschedule(now() + _STALL)
            yield pb.FileServiceUploadRequest(chunk=pb.FileChunk(offset=self.sent, data=data))
            self.sent += len(data)
        limit.reschedule(now() + _ANSWER)

    def _read(self) -> bytes:
        self.source.seek(self.sent)
        return self.source.read(min(_CHUNK, self.header.size - self.sent))


async def _send(connection: Connection, sending: _Sending) -> pb.FileServiceUploadResponse:
    async with connection.separate() as channel:
        try:
            async with asyncio.timeout(_STALL) as limit:
                return await connection.sending(channel, UPLOAD, sending.messages(limit))
        except TimeoutError:
            raise connection.unreachable("it accepts no more bytes") from None


def _digest(source: IO[bytes]) -> tuple[int, bytes]:
    source.seek(0)
    size, digest = 0, hashlib.sha256()
    while data := source.read(_CHUNK):
        size += len(data)
        digest.update(data)
    return size, digest.digest()


def _end_of(error: AirlockError) -> int | None:
    """Return the offset at which a transfer must continue, if the error has one."""
    if isinstance(error, RejectedError) and error.code == "OUT_OF_RANGE":
        end = error.metadata.get("end", "")
        return int(end) if end.isascii() and end.isdigit() else None
    return None


class Download(AsyncIterator[bytes]):
    """A download of a file or an archive. Iteration returns all bytes; at its end their hash was checked."""

    def __init__(self, connection: Connection, request: pb.FileServiceDownloadRequest, most: int) -> None:
        self._connection = connection
        self._request = request
        self._most = most
        self._view: View[pb.FileServiceDownloadResponse] | None = None
        self._header: pb.DownloadHeader | None = None
        self._have = 0
        self._hash = hashlib.sha256()
        self._retries = Retries(connection.patience)
        self.done: pb.DownloadDone | None = None
        """The totals, once all bytes have arrived."""

    async def header(self) -> pb.DownloadHeader:
        """Return the description of the file or archive."""
        while self._header is None:
            await self._next()
        return self._header

    def __aiter__(self) -> Download:
        return self

    async def __anext__(self) -> bytes:
        while self.done is None:
            data = await self._next()
            if data:
                return data
        self._drop_view()
        raise StopAsyncIteration

    async def copy_to(self, sink: IO[bytes]) -> pb.DownloadDone:
        """Write all bytes to a file."""
        try:
            async for data in self:
                await asyncio.to_thread(sink.write, data)
            await asyncio.to_thread(sink.flush)
        except OSError as error:
            raise LocalError(f"cannot write the received bytes: {error.strerror or error}") from error
        finally:
            self._drop_view()
        assert self.done is not None
        return self.done

    async def _next(self) -> bytes:
        try:
            return await self._step()
        except AirlockError as error:
            self._drop_view()
            if error.reason == "TRANSFER_GONE" and self._have == 0 and self._header is not None:
                self._header = None
                return b""
            await self._retries.outlast(error, self._connection.patience.call)
            return b""

    async def _step(self) -> bytes:
        """Read one message, and return its new bytes."""
        if self._view is None:
            request = pb.FileServiceDownloadRequest()
            request.CopyFrom(self._request)
            if self._header is not None:
                request.transfer_id, request.offset = self._header.transfer_id, self._have
            self._view = await self._connection.view(DOWNLOAD, request)
        message = await self._view.next(self._connection.patience.silence)
        match message.WhichOneof("part"):
            case "header":
                self._take_header(message.header)
            case "chunk":
                return self._take_chunk(message.chunk)
            case "done":
                self._take_done(message.done)
        return b""

    def _take_header(self, header: pb.DownloadHeader) -> None:
        known = self._header
        if known and (known.transfer_id, known.format) != (header.transfer_id, header.format):
            raise self._connection.contract("it continued with another transfer")
        self._header = known or header

    def _take_chunk(self, chunk: pb.FileChunk) -> bytes:
        if self._header is None:
            raise self._connection.contract("it sent bytes before it described the file")
        if chunk.offset > self._have:
            raise self._connection.contract("it skipped bytes without reporting a gap")
        data = chunk.data[self._have - chunk.offset :]
        if data:
            self._have += len(data)
            if self._have > self._most:
                raise LocalError(f"the file is longer than the limit of {self._most} bytes")
            self._hash.update(data)
            self._retries.reset()
        return data

    def _take_done(self, done: pb.DownloadDone) -> None:
        if done.size != self._have or done.sha256 != self._hash.digest():
            raise self._connection.contract("the received bytes do not match the announced hash")
        self.done = done

    def _drop_view(self) -> None:
        if self._view is not None:
            self._view.cancel()
            self._view = None
