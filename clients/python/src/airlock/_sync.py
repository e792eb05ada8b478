"""The synchronous client. Each method does what the asynchronous one does, and blocks."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from types import TracebackType
from typing import Literal, Self, Unpack

from . import aio
from ._approvals import AsyncApprovals
from ._command import CommandOptions, Mode, NetworkRules, SessionOptions, Signal, WorkspaceOptions
from ._event import Backgrounded, Event, Finished, Gap
from ._execution import AsyncExecution, Callbacks, Run, result_of
from ._files import AsyncFiles, Changes, FileEvent, PathText
from ._forward import AsyncForward, AsyncPort
from ._output import Piece, Search, Selection
from ._portal import iterate, portal
from ._result import Approval, Decision, ExecutionInfo, FileInfo, Result, SessionInfo, Transferred
from ._retry import Patience
from ._stdin import Stdin as AsyncStdin
from ._watch import WatchEvent


def connect(
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
) -> Client:
    """Connect to a server. A broken connection is re-established automatically.

    Without an argument, the settings come from `AIRLOCK_ADDRESS`, `AIRLOCK_CA`, `AIRLOCK_TOKEN_FILE`,
    `AIRLOCK_CERT` and `AIRLOCK_KEY`. Without an address, they come from the
    `connection.json` of `airlock dev`, in `AIRLOCK_STATE` or the default state directory.
    Raise `SettingsError`, `UnreachableError` or `UntrustedError`.
    """
    made = aio.connect(
        address, ca=ca, token=token, token_file=token_file, cert=cert, key=key, state=state,
        insecure_loopback=insecure_loopback, server_name=server_name, patience=patience, environment=environment,
    )  # fmt: skip
    return Client(portal().run(made))


def _followed(run: Run) -> Result:
    """Follow a command. The callbacks run in the caller's thread."""
    with closing(iterate(run.events())) as events:
        for event in events:
            run.callbacks.calls(event)
            if isinstance(event, Finished | Backgrounded):
                return result_of(event)
    raise run.connection.contract("the events ended without a closing event")


class Stdin:
    """The input of a command that was started with `stdin` or `pty`."""

    def __init__(self, stdin: AsyncStdin) -> None:
        self._stdin = stdin

    def write(self, data: bytes | str) -> None:
        """Write to the input. Return when everything is in the command's pipe. Text is encoded as UTF-8."""
        portal().run(self._stdin.write(data))

    def end(self) -> None:
        """Close the input. On a terminal, this types the end-of-file character (Ctrl+D)."""
        portal().run(self._stdin.end())


class Execution:
    """A command that was started. It continues when this object or the client is gone."""

    def __init__(self, execution: AsyncExecution) -> None:
        self._execution = execution
        self.id = execution.id
        """The execution's ID."""
        self.stdin = Stdin(execution.stdin)
        """The input, if the command was started with `stdin` or `pty`."""

    def events(self, *, cursor: bytes = b"", offsets: tuple[int, int] | None = None) -> Generator[Event, None, None]:
        """Return the events, each exactly once: from the beginning, after a cursor, or with output from offsets on."""
        return iterate(self._execution.events(cursor=cursor, offsets=offsets))

    def info(self) -> ExecutionInfo:
        """Return the current state, with the command and the decision."""
        return portal().run(self._execution.info())

    def wait(self, *, deadline: float | None = None) -> Result:
        """Wait for the end and return the result. Raise `DeniedError`, or `DeadlineError` after `deadline` seconds."""
        return portal().run(self._execution.wait(deadline=deadline))

    def kill(self) -> ExecutionInfo:
        """Request the end: SIGTERM for all processes, and SIGKILL after the grace period. Return at once."""
        return portal().run(self._execution.kill())

    def signal(self, signal: Signal) -> ExecutionInfo:
        """Send a signal to every process. If the response is lost, it is sent again, so it can arrive twice."""
        return portal().run(self._execution.signal(signal))

    def resize(self, rows: int, cols: int) -> ExecutionInfo:
        """Set the size of the terminal of a command that was started with `pty`."""
        return portal().run(self._execution.resize(rows, cols))

    def detach(self) -> ExecutionInfo:
        """Move the command to the background, so that the session's next command may run."""
        return portal().run(self._execution.detach())

    def read_output(
        self, selection: Selection | Search | None = None, *, stderr: bool = False
    ) -> Generator[Piece, None, None]:
        """Read a part of the output in its current state, live or stored. The last piece is `OutputDone`."""
        return iterate(self._execution.read_output(selection, stderr=stderr))

    def output(self, selection: Selection | None = None, *, stderr: bool = False) -> bytes:
        """Return a part of the output, by default all of it. Bytes that were not kept are missing."""
        return portal().run(self._execution.output(selection, stderr=stderr))


class Files:
    """The files of a session. A path is absolute inside the sandbox, or relative to `/workspace`."""

    def __init__(self, files: AsyncFiles) -> None:
        self._files = files

    def read(self, path: PathText, *, limit: int = 64 * 1024 * 1024) -> bytes:
        """Return the content of a file of at most `limit` bytes."""
        return portal().run(self._files.read(path, limit=limit))

    def read_text(self, path: PathText, *, limit: int = 64 * 1024 * 1024) -> str:
        """Return the content of a file as text. Invalid UTF-8 is replaced by U+FFFD."""
        return portal().run(self._files.read_text(path, limit=limit))

    def write(self, path: PathText, content: bytes | str, *, mode: int = 0o644) -> None:
        """Write a file. Missing directories are created, and an existing file is replaced."""
        portal().run(self._files.write(path, content, mode=mode))

    def read_archive(self, path: PathText = "", *, limit: int = 64 * 1024 * 1024) -> bytes:
        """Return the content of a directory as a tar archive of at most `limit` bytes. Its names are relative."""
        return portal().run(self._files.read_archive(path, limit=limit))

    def write_archive(self, archive: bytes, path: PathText = "") -> None:
        """Extract a tar archive into a directory. The server checks its names and its size."""
        portal().run(self._files.write_archive(archive, path))

    def stat(self, path: PathText) -> FileInfo:
        """Return the properties of a file. A symbolic link is described, not followed."""
        return portal().run(self._files.stat(path))

    def exists(self, path: PathText) -> bool:
        """Report whether a file exists."""
        return portal().run(self._files.exists(path))

    def list(
        self,
        path: PathText = "",
        *,
        recursive: bool = False,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
    ) -> list[FileInfo]:
        """Return the files in a directory, or all files below it, ordered by path. The globs match relative paths."""
        return portal().run(self._files.list(path, recursive=recursive, include=include, exclude=exclude))

    def diff(
        self,
        path: PathText = "",
        *,
        patch: bool = False,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
    ) -> Changes:
        """Return the changes in the workspace since it was created, ordered by path. `patch` adds unified diffs."""
        return portal().run(self._files.diff(path, patch=patch, include=include, exclude=exclude))

    def upload(
        self, source: str | os.PathLike[str], path: PathText = "", *, exclude: Sequence[str] = ()
    ) -> Transferred:
        """Copy a local file, or the content of a local directory, into the session. Links are not followed."""
        return portal().run(self._files.upload(source, path, exclude=exclude))

    def download(self, path: PathText, target: str | os.PathLike[str], *, exclude: Sequence[str] = ()) -> Transferred:
        """Copy the content of a directory of the session into a local directory, or a file to a local file."""
        return portal().run(self._files.download(path, target, exclude=exclude))

    def watch(self, path: PathText = "", *, interval: float = 1.0) -> Generator[FileEvent, None, None]:
        """Return the changes of the files below a directory. They are listed once per `interval` seconds."""
        return iterate(self._files.watch(path, interval=interval))


class Approvals:
    """The approvals of the caller's tenant. To answer one, the caller needs the role `approver`."""

    def __init__(self, approvals: AsyncApprovals) -> None:
        self._approvals = approvals

    def list(self, session_id: str = "", *, all_states: bool = False) -> list[Approval]:
        """Return the open approvals, or with `all_states` also the answered ones, oldest first."""
        return portal().run(self._approvals.list(session_id, all_states=all_states))

    def show(self, approval_id: str) -> Approval:
        """Return one approval. Raise `NotFoundError` if there is none with this ID."""
        return portal().run(self._approvals.show(approval_id))

    def allow(
        self,
        approval: Approval,
        *,
        remember: Literal["session", "tenant"] | None = None,
        rules: Sequence[str] = (),
    ) -> Approval:
        """Allow the command as it was shown. `remember` also adds rules, by default the suggested ones."""
        return portal().run(self._approvals.allow(approval, remember=remember, rules=rules))

    def deny(self, approval: Approval, reason: str = "") -> Approval:
        """Deny the command. The agent sees the reason."""
        return portal().run(self._approvals.deny(approval, reason))

    def wait(self, approval: Approval) -> Approval:
        """Wait until the approval is no longer open, and return it."""
        return portal().run(self._approvals.wait(approval))


class Port:
    """A TCP connection to a port of a session's loopback, as a context manager."""

    def __init__(self, port: AsyncPort) -> None:
        self._port = port

    def __enter__(self) -> Self:
        portal().run(self._port.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def send(self, data: bytes) -> None:
        """Send bytes to the program. Waits while it reads slowly."""
        portal().run(self._port.send(data))

    def end(self) -> None:
        """End this direction: the program reads the end of the stream."""
        portal().run(self._port.end())

    def receive(self) -> bytes:
        """Return the next bytes of the program, or `b""` when it has ended its direction."""
        return portal().run(self._port.receive())

    def close(self) -> None:
        """End the connection. It is reset unless both directions have ended."""
        portal().run(self._port.close())


class Forward:
    """A listener on this host that forwards each connection to a port of a session, as a context manager."""

    def __init__(self, forward: AsyncForward) -> None:
        self._forward = forward

    def __enter__(self) -> Self:
        portal().run(self._forward.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        portal().run(self._forward.close())

    @property
    def address(self) -> tuple[str, int]:
        """The local address to connect to."""
        return self._forward.address


class Session:
    """A workspace that several commands share. As a context manager, it is closed at the end."""

    def __init__(self, session: aio.AsyncSession) -> None:
        self._session = session
        self.id = session.id
        """The session's ID."""
        self.files = Files(session.files)
        """The files of the session."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def info(self) -> SessionInfo:
        """The state when the session was created or last read."""
        return self._session.info

    def run(
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
        made = self._session.prepare(command, callbacks, input, deadline, kill_on_cancel, options)
        return _followed(portal().run(made))

    def start(self, command: str | bytes, **options: Unpack[CommandOptions]) -> Execution:
        """Start a command without following it. The next command waits for it, unless `background` is set."""
        return Execution(portal().run(self._session.start(command, **options)))

    def check(self, command: str | bytes, *, directory: str = "", mode: Mode | None = None) -> Decision:
        """Return the decision of the policy about a command, without running it. Default: the session's directory."""
        return portal().run(self._session.check(command, directory=directory, mode=mode))

    def attach(self, execution_id: str) -> Execution:
        """Return an execution by its ID. Nothing is sent."""
        return Execution(self._session.attach(execution_id))

    def refresh(self) -> SessionInfo:
        """Read the state again."""
        return portal().run(self._session.refresh())

    def update(
        self,
        *,
        mode: Mode | None = None,
        idle_timeout: float | None = None,
        network: NetworkRules | None = None,
        reset_network: bool = False,
    ) -> SessionInfo:
        """Change the mode, the idle timeout or the network for later commands."""
        made = self._session.update(mode=mode, idle_timeout=idle_timeout, network=network, reset_network=reset_network)
        return portal().run(made)

    def close(self) -> None:
        """End the running commands and remove the workspace. Closing a closed session succeeds."""
        portal().run(self._session.close())

    def connect(self, port: int) -> Port:
        """Connect to a TCP port of the session: `with session.connect(8000) as port: ...`."""
        return Port(self._session.connect(port))

    def forward(self, port: int, local_port: int = 0) -> Forward:
        """Listen on this host, and forward each connection to a port of the session, as a context manager."""
        return Forward(self._session.forward(port, local_port))

    def watch(self, cursor: bytes = b"") -> Generator[WatchEvent, None, None]:
        """Return the starts and ends of the session's executions as they happen."""
        return iterate(self._session.watch(cursor))


class Client:
    """A connection to a server, as a context manager."""

    def __init__(self, client: aio.AsyncClient) -> None:
        self._client = client
        self.approvals = Approvals(client.approvals)
        """The commands that wait for a person."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def address(self) -> str:
        """The address of the server."""
        return self._client.address

    def close(self) -> None:
        """End the connections. Commands continue."""
        portal().run(self._client.close())

    def session(self, **options: Unpack[SessionOptions]) -> Session:
        """Create a session and wait until it is usable."""
        return Session(portal().run(self._client.session(**options)))

    def open_session(self, session_id: str) -> Session:
        """Return an existing session by its ID."""
        return Session(portal().run(self._client.open_session(session_id)))

    def sessions(self) -> list[SessionInfo]:
        """Return the sessions that are not closed, newest first."""
        return portal().run(self._client.sessions())

    def executions(self, session_id: str = "") -> list[ExecutionInfo]:
        """Return the executions of a session, or of the tenant, newest first."""
        return portal().run(self._client.executions(session_id))

    def run(
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
        """Run a command in a temporary session, as `Session.run` does."""
        callbacks = Callbacks(on_stdout, on_stderr, on_gap, on_approval, on_event)
        made = self._client.prepare(command, callbacks, input, deadline, kill_on_cancel, options, workspace)
        return _followed(portal().run(made))

    def start(
        self,
        command: str | bytes,
        *,
        workspace: WorkspaceOptions | None = None,
        **options: Unpack[CommandOptions],
    ) -> Execution:
        """Start a command in a temporary session, without following it."""
        return Execution(portal().run(self._client.start(command, workspace=workspace, **options)))

    def attach(self, execution_id: str) -> Execution:
        """Return an execution by its ID. Nothing is sent."""
        return Execution(self._client.attach(execution_id))

    def watch(self, cursor: bytes = b"") -> Generator[WatchEvent, None, None]:
        """Return the starts and ends of the tenant's executions as they happen."""
        return iterate(self._client.watch(cursor))
