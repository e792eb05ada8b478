"""Parts of an execution's output.

After a broken connection, reading continues at the same position without losing or repeating a byte.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from ._connection import Connection, View
from ._errors import AirlockError
from ._methods import OUTPUT
from ._position import SKIPPED, ContractBrokenError
from ._retry import Retries
from .v1 import common_pb2
from .v1 import execution_pb2 as pb

# The number of consecutive views without new data after which line numbers are no longer returned.
_VAIN = 2
_MATCHES_DEFAULT = 1000


@dataclass(frozen=True)
class Selection:
    """A part of an output stream: a range (the default), its head or its tail."""

    offset: int = 0
    """The first byte of a range."""
    length: int = 0
    """The number of bytes of a range. 0: to the end."""
    head_bytes: int | None = None
    head_lines: int | None = None
    tail_bytes: int | None = None
    tail_lines: int | None = None


@dataclass(frozen=True)
class Search:
    """The lines of an output stream that match a pattern."""

    pattern: str
    """A regular expression without look-around and back-references."""
    fixed: bool = False
    """Treat the pattern as literal text."""
    ignore_case: bool = False
    invert: bool = False
    before: int = 0
    """The number of lines to show before each match."""
    after: int = 0
    max_matches: int = 0
    """0: 1,000."""
    offset: int = 0


@dataclass(frozen=True)
class OutputBytes:
    """Bytes of the output."""

    offset: int
    data: bytes


@dataclass(frozen=True)
class OutputGap:
    """A range of bytes that are no longer held."""

    start: int
    end: int


@dataclass(frozen=True)
class OutputLine:
    """A line that matched, or a line of its context."""

    offset: int
    data: bytes
    number: int
    """Counted from 1. 0 if it is unknown."""
    context: bool
    """The line is context and did not match."""
    truncated: bool


@dataclass(frozen=True)
class OutputDone:
    """The end of a complete read."""

    next_offset: int
    """The offset at which the next read continues."""
    total: int
    complete: bool
    """The stream no longer grows."""
    matches: int
    more: bool
    """The search stopped at `max_matches`."""


Piece = OutputBytes | OutputGap | OutputLine | OutputDone


class _Bytes:
    """The position of a reader of bytes."""

    def __init__(self, selection: Selection) -> None:
        self._first = pb.ExecutionServiceReadOutputRequest()
        self._at: int | None = 0
        # The number of bytes, or of lines, that remain. Neither: to the end.
        self._bytes: int | None = None
        self._lines: int | None = None
        self._moved = False
        self._only_end = False
        first, s = self._first, selection
        if s.head_bytes is not None:
            first.head.bytes = self._bytes = s.head_bytes
        elif s.head_lines is not None:
            first.head.lines = self._lines = s.head_lines
        elif s.tail_bytes is not None:
            first.tail.bytes, self._at = s.tail_bytes, None
        elif s.tail_lines is not None:
            first.tail.lines, self._at = s.tail_lines, None
        else:
            first.range.offset, first.range.length = s.offset, s.length
            self._at, self._bytes = s.offset, s.length or None

    def request(self) -> pb.ExecutionServiceReadOutputRequest:
        """Return the request for the rest."""
        self._only_end = False
        if not self._moved or self._at is None:
            return self._first
        request = pb.ExecutionServiceReadOutputRequest()
        request.range.offset = self._at
        if self._has_all():
            self._only_end, request.range.length = True, 1
        elif self._bytes is not None:
            request.range.length = self._bytes
        return request

    def cut(self) -> None:
        """Record that the view broke."""

    def wants_end(self) -> bool:
        """Report whether the open view would deliver lines that are not wanted."""
        return self._moved and self._lines == 0 and not self._only_end

    def admit(self, part: pb.ExecutionServiceReadOutputResponse) -> Piece | None:
        """Return the new part of a response."""
        match part.WhichOneof("part"):
            case "done":
                done = _done(part.done)
                if self._only_end and self._at is not None:
                    return OutputDone(self._at, done.total, done.complete, 0, False)
                return done
            case "output" if not self._only_end:
                start = self._start(part.output.offset)
                data = self._wanted(part.output.data[start - part.output.offset :])
                if data:
                    self._move(start + len(data))
                    return OutputBytes(start, data)
            case "gap" if not self._only_end:
                start = self._start(getattr(part.gap, "from"))
                if part.gap.to > start:
                    if self._bytes is not None:
                        self._bytes = max(0, self._bytes - (part.gap.to - start))
                    self._move(part.gap.to)
                    return OutputGap(start, part.gap.to)
            case "line":
                raise ContractBrokenError("it sent lines where bytes were requested")
        return None

    def _has_all(self) -> bool:
        return self._bytes == 0 or self._lines == 0

    def _start(self, offset: int) -> int:
        start = offset if self._at is None else self._at
        if offset > start:
            raise ContractBrokenError(SKIPPED)
        return start

    def _move(self, at: int) -> None:
        self._at, self._moved = at, True

    def _wanted(self, data: bytes) -> bytes:
        if self._bytes is not None:
            data = data[: self._bytes]
            self._bytes -= len(data)
        elif self._lines is not None:
            length = 0
            for line in _lines(data):
                if self._lines == 0:
                    break
                length += len(line)
                self._lines -= line.endswith(b"\n")
            data = data[:length]
        return data


def _lines(data: bytes) -> list[bytes]:
    """Split at newlines only; a carriage return does not end a line of the output."""
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


class _Lines:
    """The position of a reader in a search.

    A search that was cut is requested again from its beginning, and known lines are skipped, so line numbers stay
    known. If connections break too early for progress, it continues from the last match, without line numbers.
    """

    def __init__(self, search: Search) -> None:
        self._search = search
        self._last_line: int | None = None
        self._last_match: int | None = None
        self._matches = 0
        self._before_view = 0
        self._gap_to = 0
        self._brought = False
        self._vain = 0

    def request(self) -> pb.ExecutionServiceReadOutputRequest:
        """Return the request for the rest."""
        s = self._search
        self._brought, self._before_view = False, 0
        search = pb.OutputSearch(
            pattern=s.pattern, fixed=s.fixed, ignore_case=s.ignore_case, invert=s.invert,
            before=s.before, after=s.after, max_matches=s.max_matches, offset=s.offset,
        )  # fmt: skip
        if self._vain >= _VAIN and self._last_match is not None:
            # It starts at the last match, which is found again, so that the context after it is shown.
            self._before_view = max(0, self._matches - 1)
            search.max_matches = max(1, (s.max_matches or _MATCHES_DEFAULT) - self._before_view)
            search.offset = self._last_match
        return pb.ExecutionServiceReadOutputRequest(search=search)

    def cut(self) -> None:
        """Record that the view broke."""
        if self._vain < _VAIN:
            self._vain = 0 if self._brought else self._vain + 1

    def wants_end(self) -> bool:
        """Report whether the open view would deliver lines that are not wanted."""
        return False

    def admit(self, part: pb.ExecutionServiceReadOutputResponse) -> Piece | None:
        """Return the new part of a response."""
        match part.WhichOneof("part"):
            case "done":
                done = _done(part.done)
                matches = done.matches + self._before_view
                return OutputDone(done.next_offset, done.total, done.complete, matches, done.more)
            case "gap":
                start, self._gap_to = (
                    max(getattr(part.gap, "from"), self._gap_to),
                    max(self._gap_to, part.gap.to),
                )
                return OutputGap(start, part.gap.to) if part.gap.to > start else None
            case "line":
                line = part.line
                if self._last_line is not None and line.offset <= self._last_line:
                    return None
                self._brought, self._last_line = True, line.offset
                if not line.context:
                    self._last_match = line.offset
                    self._matches += 1
                return OutputLine(line.offset, line.data, line.number, line.context, line.truncated)
            case "output":
                raise ContractBrokenError("it sent bytes where lines were requested")
        return None


def _done(raw: pb.OutputDone) -> OutputDone:
    return OutputDone(raw.next_offset, raw.total, raw.complete, raw.matches, raw.more)


class OutputReader(AsyncIterator[Piece]):
    """A reader of one part of one output stream. The last piece is `OutputDone`."""

    def __init__(
        self, connection: Connection, execution_id: str, selection: Selection | Search, *, stderr: bool
    ) -> None:
        self._connection = connection
        self._execution_id = execution_id
        self._stream = common_pb2.OUTPUT_STREAM_STDERR if stderr else common_pb2.OUTPUT_STREAM_STDOUT
        self._position = _Lines(selection) if isinstance(selection, Search) else _Bytes(selection)
        self._view: View[pb.ExecutionServiceReadOutputResponse] | None = None
        self._retries = Retries(connection.patience)
        self._finished = False

    def __aiter__(self) -> OutputReader:
        return self

    async def __anext__(self) -> Piece:
        while not self._finished:
            try:
                piece = await self._step()
            except AirlockError as error:
                self._drop_view()
                self._position.cut()
                await self._retries.outlast(error, self._connection.patience.call)
                continue
            if piece is not None:
                self._retries.reset()
                self._finished = isinstance(piece, OutputDone)
                return piece
        self._drop_view()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the read."""
        self._finished = True
        self._drop_view()

    async def _step(self) -> Piece | None:
        if self._view is None:
            request = pb.ExecutionServiceReadOutputRequest()
            request.CopyFrom(self._position.request())
            request.execution_id, request.stream = self._execution_id, self._stream
            self._view = await self._connection.view(OUTPUT, request)
        response = await self._view.next(self._connection.patience.silence)
        try:
            piece = self._position.admit(response)
        except ContractBrokenError as what:
            raise self._connection.contract(str(what)) from None
        if self._position.wants_end():
            self._drop_view()
        return piece

    def _drop_view(self) -> None:
        if self._view is not None:
            self._view.cancel()
            self._view = None
