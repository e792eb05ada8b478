"""The asynchronous client.

    async with await airlock.aio.connect() as client, await client.session() as session:
        result = await session.run("make test", on_stdout=print)

Every call can be cancelled, as any coroutine.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Mapping
from datetime import timedelta
from types import TracebackType
from typing import Self, Unpack

from . import _command, _settings
from ._approvals import AsyncApprovals
from ._command import CommandOptions, Mode, NetworkRules, SessionOptions, WorkspaceOptions
from ._connection import SLOW_CALL_TIMEOUT, Connection
from ._errors import DeniedError, StartUnknownError, UnreachableError
from ._event import Event, Gap
from ._execution import AsyncExecution, Callbacks, Run, with_result
from ._files import AsyncFiles
from ._forward import AsyncForward, AsyncPort
from ._methods import CHECK, CLOSE_SESSION, CREATE_SESSION, GET_SESSION, LIST, LIST_SESSIONS, START, UPDATE_SESSION
from ._result import Decision, ExecutionInfo, Result, SessionInfo
from ._retry import Patience
from ._watch import WatchEvent, require_network, watch
from .v1 import execution_pb2, policy_pb2, session_pb2

__all__ = [
    "AsyncApprovals",
    "AsyncClient",
    "AsyncExecution",
    "AsyncFiles",
    "AsyncForward",
    "AsyncPort",
    "AsyncSession",
    "WatchEvent",
    "connect",
]


async def connect(
    address: str | None = None,
    *,
    ca: str | os.PathLike[str] | None = None,
    token: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
    cert: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    state: str | os.PathLike[str] | None = None,
    insecure_loopback: bool = False,
    server_name: str | None = None,
    patience: Patience | None = None,
    environment: Mapping[str, str] | None = None,
) -> AsyncClient:
    """Connect to a server. A broken connection is re-established automatically.

    Without an argument, the settings come from `AIRLOCK_ADDRESS`, `AIRLOCK_CA`, `AIRLOCK_TOKEN_FILE`,
    `AIRLOCK_CERT` and `AIRLOCK_KEY`. Without an address, they come from the
    `connection.json` of `airlock dev`, in `AIRLOCK_STATE` or the default state directory.
    Raise `SettingsError`, `UnreachableError` or `UntrustedError`.
    """
    settings = _settings.find(
        address=address, ca=ca, token=token, token_file=token_file, cert=cert, key=key, state=state,
        insecure_loopback=insecure_loopback, server_name=server_name, patience=patience, environment=environment,
    )  # fmt: skip
    connection = Connection(settings)
    await connection.check()
    return AsyncClient(connection)


class _Runs:
    """The methods that start commands, for a client and for a session."""

    _connection: Connection
    _session_id: str = ""

    async def prepare(
        self,
        command: str | bytes,
        callbacks: Callbacks,
        input: str | bytes | None,
        deadline: float | None,
        kill_on_cancel: bool,
        options: CommandOptions,
        workspace: WorkspaceOptions | None = None,
    ) -> Run:
        """Return a run that is ready to be followed. `run` follows it."""
        if input is not None:
            options = {**options, "stdin": True}
        spec = _command.spec_of(command, self._session_id, options, workspace)
        if spec.HasField("network"):
            await require_network(self._connection)
        data = input.encode() if isinstance(input, str) else input
        return Run(self._connection, spec, callbacks, data, deadline, kill_on_cancel)

    async def _start(
        self, command: str | bytes, options: CommandOptions, workspace: WorkspaceOptions | None = None
    ) -> AsyncExecution:
        spec = _command.spec_of(command, self._session_id, options, workspace)
        if spec.HasField("network"):
            await require_network(self._connection)
        request = execution_pb2.ExecutionServiceStartRequest(spec=spec)
        try:
            answer = await self._connection.unary(START, request, SLOW_CALL_TIMEOUT)
        except UnreachableError as error:
            message = f"no answer to the start, so it is not known whether the command runs: {error.message}"
            raise StartUnknownError(message, request_id=spec.request_id) from error
        except DeniedError as error:
            raise await with_result(self._connection, error) from None
        return AsyncExecution(self._connection, answer.execution.execution_id, stdin_offset=0)


class AsyncSession(_Runs):
    """A workspace that several commands share. As a context manager, it is closed at the end."""

    def __init__(self, connection: Connection, info: SessionInfo) -> None:
        self._connection = connection
        self._session_id = info.id
        self.id = info.id
        """The session's ID."""
        self.info = info
        """The state when it was created or last read."""
        self.files = AsyncFiles(connection, info.id)
        """The files of the session."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def run(
        self,
        command: str | bytes,
        *,
        on_stdout: Callable[[bytes], object] | None = None,
        on_stderr: Callable[[bytes], object] | None = None,
        on_gap: Callable[[Gap], object] | None = None,
        on_approval: Callable[[str], object] | None = None,
        on_event: Callable[[Event], object] | None = None,
        input: str | bytes | None = None,
        deadline: float | None = None,
        kill_on_cancel: bool = True,
        **options: Unpack[CommandOptions],
    ) -> Result:
        """Run a command to its end and return the result. Each byte of the output reaches a callback once.

        Raise `DeniedError` if policy or a person denies it. After `deadline` seconds, raise `DeadlineError`. If this
        call ends before the command does, the command is killed, unless `kill_on_cancel` is false.
        """
        callbacks = Callbacks(on_stdout, on_stderr, on_gap, on_approval, on_event)
        run = await self.prepare(command, callbacks, input, deadline, kill_on_cancel, options)
        return await run.result()

    async def start(self, command: str | bytes, **options: Unpack[CommandOptions]) -> AsyncExecution:
        """Start a command without following it. The session's next command waits for it, unless `background` is set."""
        return await self._start(command, options)

    async def check(self, command: str | bytes, *, directory: str = "", mode: Mode | None = None) -> Decision:
        """Return the decision of the policy about a command, without running it. Default: the session's directory."""
        request = policy_pb2.PolicyServiceCheckRequest(
            session_id=self.id, directory=directory, mode=_command.mode_of(mode)
        )
        if isinstance(command, bytes):
            request.command_bytes = command
        else:
            request.command = command
        return Decision.of((await self._connection.unary(CHECK, request)).decision)

    def attach(self, execution_id: str) -> AsyncExecution:
        """Return an execution by its ID. Nothing is sent."""
        return AsyncExecution(self._connection, execution_id)

    async def refresh(self) -> SessionInfo:
        """Read the state again."""
        request = session_pb2.SessionServiceGetRequest(session_id=self.id)
        self.info = SessionInfo.of((await self._connection.unary(GET_SESSION, request)).session)
        return self.info

    async def update(
        self,
        *,
        mode: Mode | None = None,
        idle_timeout: float | None = None,
        network: NetworkRules | None = None,
        reset_network: bool = False,
    ) -> SessionInfo:
        """Change the mode, the idle timeout or the network for later commands."""
        if network is not None or reset_network:
            await require_network(self._connection)
        request = session_pb2.SessionServiceUpdateRequest(
            session_id=self.id, mode=_command.mode_of(mode), reset_network=reset_network
        )
        if idle_timeout is not None:
            request.idle_timeout.FromTimedelta(timedelta(seconds=idle_timeout))
        if network is not None:
            request.network.CopyFrom(_command.rules_of(network))
        self.info = SessionInfo.of((await self._connection.unary(UPDATE_SESSION, request)).session)
        return self.info

    async def close(self) -> None:
        """End the running commands and remove the workspace. Closing a closed session succeeds."""
        request = session_pb2.SessionServiceCloseRequest(session_id=self.id)
        answer = await self._connection.unary(CLOSE_SESSION, request, SLOW_CALL_TIMEOUT)
        self.info = SessionInfo.of(answer.session)

    def connect(self, port: int) -> AsyncPort:
        """Connect to a TCP port of the session: `async with session.connect(8000) as port: ...`."""
        return AsyncPort(self._connection, self.id, port)

    def forward(self, port: int, local_port: int = 0) -> AsyncForward:
        """Listen on this host, and forward each connection to a port of the session, as a context manager."""
        return AsyncForward(self._connection, self.id, port, local_port)

    def watch(self, cursor: bytes = b"") -> AsyncGenerator[WatchEvent, None]:
        """Return the starts and ends of the session's executions as they happen."""
        return watch(self._connection, self.id, cursor)


class AsyncClient(_Runs):
    """A connection to a server, as an asynchronous context manager."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.approvals = AsyncApprovals(connection)
        """The commands that wait for a person."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def address(self) -> str:
        """The address of the server."""
        return self._connection.address

    async def close(self) -> None:
        """End the connections. Commands continue."""
        await self._connection.close()

    async def session(self, **options: Unpack[SessionOptions]) -> AsyncSession:
        """Create a session and wait until it is usable."""
        request = _command.create_of(options)
        if request.HasField("network"):
            await require_network(self._connection)
        answer = await self._connection.unary(CREATE_SESSION, request, SLOW_CALL_TIMEOUT)
        return AsyncSession(self._connection, SessionInfo.of(answer.session))

    async def open_session(self, session_id: str) -> AsyncSession:
        """Return an existing session by its ID."""
        request = session_pb2.SessionServiceGetRequest(session_id=session_id)
        answer = await self._connection.unary(GET_SESSION, request)
        return AsyncSession(self._connection, SessionInfo.of(answer.session))

    async def sessions(self) -> list[SessionInfo]:
        """Return the sessions that are not closed, newest first."""
        request, found = session_pb2.SessionServiceListRequest(), list[SessionInfo]()
        while True:
            answer = await self._connection.unary(LIST_SESSIONS, request)
            found.extend(SessionInfo.of(one) for one in answer.sessions)
            if not answer.next_page_token:
                return found
            request.page.page_token = answer.next_page_token

    async def executions(self, session_id: str = "") -> list[ExecutionInfo]:
        """Return the executions of a session, or of the tenant, newest first."""
        request, found = execution_pb2.ExecutionServiceListRequest(), list[ExecutionInfo]()
        request.filter.session_id = session_id
        while True:
            answer = await self._connection.unary(LIST, request)
            found.extend(ExecutionInfo.of(one) for one in answer.executions)
            if not answer.next_page_token:
                return found
            request.page.page_token = answer.next_page_token

    async def run(
        self,
        command: str | bytes,
        *,
        on_stdout: Callable[[bytes], object] | None = None,
        on_stderr: Callable[[bytes], object] | None = None,
        on_gap: Callable[[Gap], object] | None = None,
        on_approval: Callable[[str], object] | None = None,
        on_event: Callable[[Event], object] | None = None,
        input: str | bytes | None = None,
        deadline: float | None = None,
        kill_on_cancel: bool = True,
        workspace: WorkspaceOptions | None = None,
        **options: Unpack[CommandOptions],
    ) -> Result:
        """Run a command in a temporary session, as `AsyncSession.run` does."""
        callbacks = Callbacks(on_stdout, on_stderr, on_gap, on_approval, on_event)
        run = await self.prepare(command, callbacks, input, deadline, kill_on_cancel, options, workspace)
        return await run.result()

    async def start(
        self,
        command: str | bytes,
        *,
        workspace: WorkspaceOptions | None = None,
        **options: Unpack[CommandOptions],
    ) -> AsyncExecution:
        """Start a command in a temporary session, without following it."""
        return await self._start(command, options, workspace)

    def attach(self, execution_id: str) -> AsyncExecution:
        """Return an execution by its ID. Nothing is sent."""
        return AsyncExecution(self._connection, execution_id)

    def watch(self, cursor: bytes = b"") -> AsyncGenerator[WatchEvent, None]:
        """Return the starts and ends of the tenant's executions as they happen."""
        return watch(self._connection, "", cursor)
