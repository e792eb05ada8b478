"""The events and bytes that a reader has received.

They prevent an event or byte from being returned twice or skipped silently.
"""

from __future__ import annotations

from .v1 import common_pb2, execution_pb2

SKIPPED = "it skipped bytes without reporting a gap"


class ContractBrokenError(Exception):
    """An event cannot follow the previous ones."""


class ReaderPosition:
    """The position of a reader in an execution's events."""

    def __init__(self, stdout: int | None = None, stderr: int | None = None) -> None:
        self._opened = False
        self._state: tuple[int, int, int] | None = None
        self._at: dict[int, int | None] = {
            common_pb2.OUTPUT_STREAM_STDOUT: stdout,
            common_pb2.OUTPUT_STREAM_STDERR: stderr,
        }

    def admit(self, event: execution_pb2.Event) -> bool:
        """Record an event, remove the part that the reader has, and report whether something new remains."""
        match event.WhichOneof("event"):
            case None:
                # An event of a later version of the contract. Later versions only add events.
                return False
            case "opened":
                new, self._opened = not self._opened, True
                return new
            case "state_changed":
                return self._admit_state(event.state_changed)
            case "output":
                return self._admit_output(event.output)
            case "gap":
                return self._admit_gap(event.gap)
        return True

    def _admit_state(self, change: execution_pb2.StateChanged) -> bool:
        now = (change.version, int(change.state), int(change.link))
        had = self._state
        if had is not None and not (now[0] > had[0] or (now[0] == had[0] and now != had)):
            return False
        self._state = now
        return True

    def _admit_output(self, output: execution_pb2.Output) -> bool:
        start = self._start(output.stream, output.offset)
        end = output.offset + len(output.data)
        output.data = output.data[start - output.offset :]
        output.offset = start
        self._at[output.stream] = max(end, start)
        return bool(output.data)

    def _admit_gap(self, gap: execution_pb2.Gap) -> bool:
        start = self._start(gap.stream, getattr(gap, "from"))
        setattr(gap, "from", start)
        self._at[gap.stream] = max(gap.to, start)
        return gap.to > start

    def _start(self, stream: int, offset: int) -> int:
        if stream not in self._at:
            raise ContractBrokenError("it sent output of an unknown stream")
        at = self._at[stream]
        start = offset if at is None else at
        if offset > start:
            raise ContractBrokenError(SKIPPED)
        return start
