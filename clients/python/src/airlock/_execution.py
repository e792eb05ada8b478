"""One execution of an asynchronous client: its events, its end, its input and its output."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from ._command import Signal, signal_of
from ._connection import CALL_TIMEOUT, Connection
from ._errors import AirlockError, ApprovalRequiredError, DeadlineError, DeniedError
from ._event import Backgrounded, Event, Finished, Gap, Opened, Output, StateChanged
from ._events import Events
from ._methods import CANCEL, DETACH, GET, RESIZE, SIGNAL, START, WAIT
from ._output import OutputBytes, OutputReader, Search, Selection
from ._result import ExecutionInfo, Result
from ._stdin import Stdin
from .v1 import execution_pb2 as pb

_WAIT = 30.0
_KILL = 5.0


@dataclass(frozen=True)
class Callbacks:
    """The functions that a run calls as events arrive. Each may be a coroutine function."""

    on_stdout: Callable[[bytes], object] | None = None
    on_stderr: Callable[[bytes], object] | None = None
    on_gap: Callable[[Gap], object] | None = None
    on_approval: Callable[[str], object] | None = None
    """Receives the approval's ID when the command begins to wait for a person."""
    on_event: Callable[[Event], object] | None = None

    def calls(self, event: Event) -> list[object]:
        """Call the functions for an event. Return what they returned."""
        returned = [self.on_event(event)] if self.on_event else []
        match event:
            case Output(stream="stderr", data=data) if self.on_stderr:
                returned.append(self.on_stderr(data))
            case Output(stream="stdout", data=data) if self.on_stdout:
                returned.append(self.on_stdout(data))
            case Gap() if self.on_gap:
                returned.append(self.on_gap(event))
            case StateChanged(approval_id=approval_id) if approval_id and self.on_approval:
                returned.append(self.on_approval(approval_id))
        return returned


class AsyncExecution:
    """A command that was started. It continues when this object or the client is gone."""

    def __init__(self, connection: Connection, execution_id: str, *, stdin_offset: int | None = None) -> None:
        self._connection = connection
        self.id = execution_id
        """The execution's ID."""
        self.stdin = Stdin(connection, execution_id, stdin_offset)
        """The input, if the command was started with `stdin` or `pty`."""

    def events(self, *, cursor: bytes = b"", offsets: tuple[int, int] | None = None) -> Events:
        """Return the events, each exactly once: from the beginning, after a cursor, or with output from offsets on.

        The view survives broken connections. It ends with `Finished` or `Backgrounded`.
        """
        return Events(self._connection, execution_id=self.id, cursor=cursor, offsets=offsets)

    async def info(self) -> ExecutionInfo:
        """Return the current state, with the command and the decision."""
        request = pb.ExecutionServiceGetRequest(execution_id=self.id, view=pb.EXECUTION_VIEW_FULL)
        return ExecutionInfo.of((await self._connection.unary(GET, request)).execution)

    async def wait(self, *, deadline: float | None = None) -> Result:
        """Wait for the end, also in the background, and return the result.

        Raise `DeniedError` if the command was denied, and `DeadlineError` after `deadline` seconds.
        """
        try:
            async with asyncio.timeout(deadline):
                while True:
                    request = pb.ExecutionServiceWaitRequest(execution_id=self.id)
                    request.timeout.seconds = int(_WAIT)
                    answer = await self._connection.unary(WAIT, request, _WAIT + CALL_TIMEOUT)
                    if answer.execution.HasField("result"):
                        return checked(Result.of(answer.execution))
        except TimeoutError:
            message = f"the execution {self.id} has not ended within {deadline} s; it continues"
            raise DeadlineError(message, remedy="wait again, or kill it", execution_id=self.id) from None

    async def kill(self) -> ExecutionInfo:
        """Request the end: SIGTERM for all processes, and SIGKILL after the grace period. Return at once."""
        request = pb.ExecutionServiceCancelRequest(execution_id=self.id)
        return ExecutionInfo.of((await self._connection.unary(CANCEL, request)).execution)

    async def signal(self, signal: Signal) -> ExecutionInfo:
        """Send a signal to every process. If the response is lost, it is sent again, so it can arrive twice."""
        request = pb.ExecutionServiceSignalRequest(execution_id=self.id, signal=signal_of(signal))
        return ExecutionInfo.of((await self._connection.unary(SIGNAL, request)).execution)

    async def resize(self, rows: int, cols: int) -> ExecutionInfo:
        """Set the size of the terminal of a command that was started with `pty`."""
        request = pb.ExecutionServiceResizeRequest(execution_id=self.id)
        request.size.rows, request.size.cols = rows, cols
        return ExecutionInfo.of((await self._connection.unary(RESIZE, request)).execution)

    async def detach(self) -> ExecutionInfo:
        """Move the command to the background, so that the session's next command may run."""
        request = pb.ExecutionServiceDetachRequest(execution_id=self.id)
        return ExecutionInfo.of((await self._connection.unary(DETACH, request)).execution)

    def read_output(self, selection: Selection | Search | None = None, *, stderr: bool = False) -> OutputReader:
        """Read a part of the output in its current state, live or stored. The last piece is `OutputDone`."""
        return OutputReader(self._connection, self.id, selection or Selection(), stderr=stderr)

    async def output(self, selection: Selection | None = None, *, stderr: bool = False) -> bytes:
        """Return a part of the output, by default all of it. Bytes that were not kept are missing."""
        reader = self.read_output(selection, stderr=stderr)
        return b"".join([piece.data async for piece in reader if isinstance(piece, OutputBytes)])


@dataclass
class Run:
    """A command that is followed to its end."""

    connection: Connection
    spec: pb.ExecutionSpec
    callbacks: Callbacks
    input: bytes | None = None
    deadline: float | None = None
    kill_on_cancel: bool = True

    async def events(self) -> AsyncGenerator[Event, None]:
        """Return the events. If the caller stops before the end, the command is killed, unless that is off."""
        stream = Events(self.connection, spec=self.spec)
        writer: asyncio.Task[None] | None = None
        done = False
        until = None if self.deadline is None else asyncio.get_running_loop().time() + self.deadline
        try:
            while not done:
                # The timeout must not extend over a `yield`: the consumer may continue in another task.
                async with asyncio.timeout_at(until):
                    event = await anext(stream)
                done = isinstance(event, Finished | Backgrounded)
                if isinstance(event, Finished) and event.result.cause.code == "denied":
                    event = await self._with_decision(event)
                if isinstance(event, Opened) and self.input is not None and writer is None:
                    writer = asyncio.create_task(self._write(event.execution.id, self.input))
                yield event
        except TimeoutError:
            what = "it was ended" if self.kill_on_cancel else "it continues"
            raise DeadlineError(
                f"the command has not ended within {self.deadline} s; {what}",
                execution_id=stream.execution_id,
            ) from None
        except DeniedError as error:
            done = True
            raise await with_result(self.connection, error) from None
        except AirlockError:
            # The caller can attach again, or repeat the start.
            done = True
            raise
        finally:
            if writer is not None:
                writer.cancel()
            await stream.aclose()
            if not done and self.kill_on_cancel and stream.sent:
                await self._kill(stream.execution_id)

    async def result(self) -> Result:
        """Follow the command, call the callbacks, and return the result."""
        events = self.events()
        try:
            async for event in events:
                for returned in self.callbacks.calls(event):
                    if inspect.isawaitable(returned):
                        await returned
                if isinstance(event, Finished | Backgrounded):
                    return result_of(event)
        finally:
            await events.aclose()
        raise self.connection.contract("the events ended without a closing event")

    async def _with_decision(self, event: Finished) -> Finished:
        """Return the event with the decision, which closing events do not have."""
        with contextlib.suppress(AirlockError):
            info = await AsyncExecution(self.connection, event.execution.id).info()
            if info.result:
                return Finished(event.cursor, info, info.result)
        return event

    async def _write(self, execution_id: str, data: bytes) -> None:
        stdin = Stdin(self.connection, execution_id, 0)
        # A command may end without reading its input. Its result shows how it ended.
        with contextlib.suppress(AirlockError):
            await stdin.write(data)
            await stdin.end()

    async def _kill(self, execution_id: str | None) -> None:
        with contextlib.suppress(AirlockError, TimeoutError):
            await asyncio.shield(asyncio.wait_for(self._cancel(execution_id), _KILL))

    async def _cancel(self, execution_id: str | None) -> None:
        if execution_id is None:
            # The start was sent and not answered. With the same request ID, it returns the execution.
            start = pb.ExecutionServiceStartRequest(spec=self.spec)
            execution_id = (await self.connection.once(START, start, _KILL)).execution.execution_id
        request = pb.ExecutionServiceCancelRequest(execution_id=execution_id)
        await self.connection.once(CANCEL, request, _KILL)


def result_of(event: Finished | Backgrounded) -> Result:
    """Return the result of a closing event. Raise `DeniedError` for a denied command."""
    if isinstance(event, Backgrounded):
        return Result.running(event.execution.raw)
    return checked(event.result)


def checked(result: Result) -> Result:
    """Return the result, or raise `DeniedError` if the command was denied."""
    if result.cause.code != "denied":
        return result
    reason = result.raw.cause.denied.reason or result.cause.message
    made = ApprovalRequiredError if result.cause.detail == "nobody_to_ask" else DeniedError
    error = made(
        reason,
        code="PERMISSION_DENIED",
        reason="APPROVAL_REQUIRED" if made is ApprovalRequiredError else "DENIED",
        metadata={"execution_id": result.execution_id},
    )
    _explain(error, result)
    raise error


def _explain(error: DeniedError, result: Result) -> None:
    error.result = result
    reasons = result.decision.reasons if result.decision else ()
    error.span = next((one.span for one in reasons if one.span), None)


async def with_result(connection: Connection, error: DeniedError) -> DeniedError:
    """Return the error with the span and the result of the execution that it names."""
    if error.execution_id:
        with contextlib.suppress(AirlockError):
            info = await AsyncExecution(connection, error.execution_id).info()
            if info.result:
                _explain(error, info.result)
    return error
