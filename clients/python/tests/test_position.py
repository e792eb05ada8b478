"""The position of a reader: no event or byte is returned twice, and none is skipped silently."""

from __future__ import annotations

import random

import pytest

from airlock._output import OutputBytes, OutputDone, OutputGap, OutputLine, Search, Selection, _Bytes, _Lines
from airlock._position import ContractBrokenError, ReaderPosition
from airlock.v1 import execution_pb2 as pb
from airlock.v1.common_pb2 import OUTPUT_STREAM_STDOUT as OUT


def output(offset: int, data: bytes) -> pb.Event:
    return pb.Event(output=pb.Output(stream=OUT, offset=offset, data=data))


def gap_of(start: int, end: int) -> pb.Gap:
    made = pb.Gap(stream=OUT, to=end)
    setattr(made, "from", start)
    return made


def gap(start: int, end: int) -> pb.Event:
    return pb.Event(gap=gap_of(start, end))


def rest(position: ReaderPosition, event: pb.Event) -> pb.Event | None:
    return event if position.admit(event) else None


def test_known_bytes_are_removed() -> None:
    position = ReaderPosition(0, 0)
    assert rest(position, output(0, b"abc")) == output(0, b"abc")
    assert rest(position, output(0, b"abc")) is None
    assert rest(position, output(1, b"bcde")) == output(3, b"de")
    assert rest(position, gap(2, 9)) == gap(5, 9)
    assert rest(position, gap(5, 9)) is None
    assert rest(position, output(4, b"eabcd!")) == output(9, b"!")


def test_skipped_bytes_are_a_violation() -> None:
    for event in (output(1, b"x"), gap(1, 2)):
        with pytest.raises(ContractBrokenError, match="without reporting a gap"):
            ReaderPosition(0, 0).admit(event)
    with pytest.raises(ContractBrokenError, match="unknown stream"):
        ReaderPosition(0, 0).admit(pb.Event(output=pb.Output(stream=7, data=b"x")))  # type: ignore[arg-type]
    assert ReaderPosition().admit(output(7, b"x")), "after a cursor, the first offset is not known"


def test_states_and_headers_are_returned_once() -> None:
    position = ReaderPosition(0, 0)
    opened = pb.Event(opened=pb.Opened())
    assert position.admit(opened) and not position.admit(opened)
    for version, link, new in ((2, 1, True), (2, 1, False), (1, 1, False), (2, 2, True), (3, 1, True)):
        event = pb.Event(state_changed=pb.StateChanged(version=version, link=link))  # type: ignore[arg-type]
        assert position.admit(event) is new
    assert not position.admit(pb.Event()), "an event of a later version is ignored"
    assert position.admit(pb.Event(finished=pb.Finished()))


def test_any_cuts_return_the_stream_once() -> None:
    content = bytes(range(256)) * 4
    for seed in range(50):
        rng, position, got, at = random.Random(seed), ReaderPosition(0, 0), b"", 0
        while at < len(content):
            # A new view may begin at any known byte.
            start = rng.randint(0, at)
            event = output(start, content[start : rng.randint(start, len(content))])
            if position.admit(event):
                got += event.output.data
            at = max(at, len(got))
        assert got == content, f"seed {seed}"


Response = pb.ExecutionServiceReadOutputResponse


def part(offset: int, data: bytes) -> Response:
    return Response(output=pb.Output(stream=OUT, offset=offset, data=data))


def test_a_head_of_lines_that_is_cut_continues_with_the_lines_that_are_left() -> None:
    position = _Bytes(Selection(head_lines=2))
    assert position.request().head.lines == 2
    assert position.admit(part(0, b"one\ntw")) == OutputBytes(0, b"one\ntw")
    assert position.request().range.offset == 6
    assert position.admit(part(6, b"o\r\nthree\n")) == OutputBytes(6, b"o\r\n")
    assert position.wants_end()
    last = position.request().range
    assert (last.offset, last.length) == (9, 1)
    assert position.admit(part(9, b"t")) is None
    assert position.admit(Response(done=pb.OutputDone(next_offset=10, total=20))) == OutputDone(9, 20, False, 0, False)


def test_a_range_counts_gaps() -> None:
    position = _Bytes(Selection(offset=10, length=10))
    assert position.admit(Response(gap=gap_of(10, 15))) == OutputGap(10, 15)
    assert position.request().range.length == 5
    assert position.admit(part(12, b"abcdefghijk")) == OutputBytes(15, b"defgh")
    with pytest.raises(ContractBrokenError):
        position.admit(part(30, b"x"))


def test_a_search_that_is_cut_returns_each_line_once() -> None:
    position = _Lines(Search("x", max_matches=10))
    line = Response(line=pb.OutputLine(offset=5, data=b"x", number=2))
    position.request()
    assert position.admit(line) == OutputLine(5, b"x", 2, False, False)
    position.cut()
    assert position.request().search.offset == 0, "from its beginning, so that line numbers stay known"
    assert position.admit(line) is None
    position.cut()
    position.request()
    position.cut()
    again = position.request().search
    assert (again.offset, again.max_matches) == (5, 10), "from the last match, which is found again"
