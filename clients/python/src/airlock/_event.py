"""The events of an execution, as a reader receives them."""

from __future__ import annotations

from dataclasses import dataclass

from ._result import ExecutionInfo, Result, name_of, seconds, state_name
from .v1 import common_pb2, execution_pb2


@dataclass(frozen=True)
class Opened:
    """The first event: the execution in its current state."""

    cursor: bytes
    execution: ExecutionInfo


@dataclass(frozen=True)
class StateChanged:
    """A change of the execution's state."""

    cursor: bytes
    state: str
    approval_id: str
    """Set if the state is `pending_approval`."""
    connected: bool
    """Whether the runner that holds the execution can be reached."""


@dataclass(frozen=True)
class Output:
    """A part of an output stream."""

    cursor: bytes
    stream: str
    """`stdout` or `stderr`."""
    offset: int
    """The offset of the first byte, counted from the start of the stream."""
    data: bytes


@dataclass(frozen=True)
class Gap:
    """A range of bytes that are no longer held."""

    cursor: bytes
    stream: str
    start: int
    end: int


@dataclass(frozen=True)
class Progress:
    """The progress of a running command, once a second after two seconds."""

    cursor: bytes
    elapsed: float
    total_bytes: int
    last_lines: tuple[str, ...]


@dataclass(frozen=True)
class Finished:
    """The last event: the execution ended."""

    cursor: bytes
    execution: ExecutionInfo
    result: Result


@dataclass(frozen=True)
class Backgrounded:
    """The last event of a view: the command continues in the background."""

    cursor: bytes
    execution: ExecutionInfo


Event = Opened | StateChanged | Output | Gap | Progress | Finished | Backgrounded


def event_of(raw: execution_pb2.Event) -> Event:
    """Convert a message that has an event."""
    match raw.WhichOneof("event"):
        case "opened":
            return Opened(raw.cursor, ExecutionInfo.of(raw.opened.execution))
        case "state_changed":
            change = raw.state_changed
            connected = change.link != common_pb2.LINK_STATE_UNREACHABLE
            return StateChanged(raw.cursor, state_name(change.state), change.approval_id, connected)
        case "output":
            output = raw.output
            return Output(raw.cursor, stream_name(output.stream), output.offset, output.data)
        case "gap":
            gap = raw.gap
            return Gap(raw.cursor, stream_name(gap.stream), getattr(gap, "from"), gap.to)
        case "progress":
            progress = raw.progress
            lines = tuple(progress.last_lines)
            return Progress(raw.cursor, seconds(progress.elapsed), progress.total_bytes, lines)
        case "finished":
            execution = raw.finished.execution
            return Finished(raw.cursor, ExecutionInfo.of(execution), Result.of(execution))
        case _:
            return Backgrounded(raw.cursor, ExecutionInfo.of(raw.backgrounded.execution))


def stream_name(stream: int) -> str:
    """Return the name of an output stream."""
    return name_of(common_pb2.OutputStream.Name, "OUTPUT_STREAM_", stream)
