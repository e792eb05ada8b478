"""The OpenAI Agents SDK on Airlock: a sandbox client with its session, and an executor of the shell tool.

    config = RunConfig(sandbox=SandboxRunConfig(client=AirlockSandboxClient(), options=AirlockSandboxClientOptions()))
    await Runner.run(SandboxAgent(name="worker", model=model), "Fix the failing test.", run_config=config)

    agent = Agent(name="worker", tools=[ShellTool(executor=shell_executor(session))])

A sandbox session is one Airlock session, and each command is one execution in it.
"""

from __future__ import annotations

import io
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal, cast

from agents import ShellCallOutcome, ShellCommandOutput, ShellCommandRequest, ShellResult
from agents.sandbox import errors
from agents.sandbox.manifest import Manifest
from agents.sandbox.session import BaseSandboxClient, BaseSandboxClientOptions, SandboxSession, SandboxSessionState
from agents.sandbox.session.base_sandbox_session import BaseSandboxSession
from agents.sandbox.snapshot import SnapshotBase, SnapshotSpec, resolve_snapshot
from agents.sandbox.types import ExecResult, User
from pydantic import Field

from .. import aio
from .._errors import AirlockError, NotFoundError, UnreachableError
from ._commands import NOT_RUN, WORKSPACE, Collected, Refused, code_of, in_directory, line_of, options_of, text_of

__all__ = [
    "AirlockSandboxClient",
    "AirlockSandboxClientOptions",
    "AirlockSandboxSession",
    "AirlockSandboxSessionState",
    "shell_executor",
]


class AirlockSandboxClientOptions(BaseSandboxClientOptions):
    """The options of a session."""

    type: Literal["airlock"] = "airlock"
    profile: str = ""
    """Default: the caller's default profile."""
    base: str = ""
    """The base that the workspace is copied from. Default: an empty workspace."""
    env: dict[str, str] = Field(default_factory=dict)
    timeout: float = 120.0
    """The limit of the run time of a command without another one, in seconds."""
    on_ask: Literal["fail", "wait"] = "fail"
    """The behaviour if policy asks for a person."""


class AirlockSandboxSessionState(SandboxSessionState):
    """The state with which a session can be found again."""

    type: Literal["airlock"] = "airlock"
    airlock_session_id: str
    options: AirlockSandboxClientOptions


class AirlockSandboxSession(BaseSandboxSession):
    """A sandbox session in an Airlock session."""

    state: AirlockSandboxSessionState

    def __init__(self, state: AirlockSandboxSessionState, session: aio.AsyncSession) -> None:
        self.state = state
        self.session = session
        """The Airlock session."""

    async def _exec_internal(self, *command: str | Path, timeout: float | None = None) -> ExecResult:
        words = tuple(str(word) for word in command)
        given, root = self.state.options, self.state.manifest.root
        options = options_of(timeout or given.timeout, on_ask=given.on_ask, separate_stderr=True)
        got = Collected()
        try:
            result = await self.session.run(
                in_directory(line_of(words), "" if root == WORKSPACE else root),
                on_stdout=got.stdout.extend,
                on_stderr=got.stderr.extend,
                **options,
            )
        except Refused as refused:
            return ExecResult(stdout=b"", stderr=text_of(refused).encode(), exit_code=NOT_RUN)
        except AirlockError as error:
            message, passing = str(error), isinstance(error, UnreachableError)
            raise errors.ExecTransportError(command=words, cause=error, message=message, retryable=passing) from error
        if result.cause.code == "timed_out":
            context = {"stdout": got.stdout.decode("utf-8", "replace"), "cause": result.cause.message}
            raise errors.ExecTimeoutError(command=words, timeout_s=options["timeout"], context=context)
        stdout, stderr = got.texts(result)
        return ExecResult(stdout=stdout.encode(), stderr=stderr.encode(), exit_code=code_of(result))

    def _prepare_exec_command(
        self, *command: str | Path, shell: bool | list[str], user: str | User | None
    ) -> list[str]:
        self._require_no_user(user)
        return super()._prepare_exec_command(*command, shell=shell, user=None)

    def _require_no_user(self, user: str | User | None) -> None:
        if user is not None:
            raise ValueError("a session of Airlock has one user; leave out `user` and `run_as`")

    async def read(self, path: Path, *, user: str | User | None = None) -> io.IOBase:
        """Read a file."""
        self._require_no_user(user)
        try:
            return io.BytesIO(await self.session.files.read(self.normalize_path(path)))
        except NotFoundError as error:
            raise errors.WorkspaceReadNotFoundError(path=path, cause=error) from error
        except AirlockError as error:
            raise errors.WorkspaceArchiveReadError(path=path, cause=error) from error

    async def write(self, path: Path, data: io.IOBase, *, user: str | User | None = None) -> None:
        """Write a file. Missing directories are created."""
        self._require_no_user(user)
        content = data.read()
        if not isinstance(content, str | bytes | bytearray):
            raise errors.WorkspaceWriteTypeError(path=path, actual_type=type(content).__name__)
        encoded = content.encode() if isinstance(content, str) else bytes(content)
        try:
            await self.session.files.write(self.normalize_path(path, for_write=True), encoded)
        except AirlockError as error:
            raise errors.WorkspaceArchiveWriteError(path=path, cause=error, message=str(error)) from error

    async def running(self) -> bool:
        """Report whether the session is open."""
        try:
            return (await self.session.refresh()).state == "open"
        except AirlockError:
            return False

    async def persist_workspace(self) -> io.IOBase:
        """Return the workspace as a tar archive."""
        root = self._workspace_root_path()
        try:
            return io.BytesIO(await self.session.files.read_archive(root))
        except AirlockError as error:
            raise errors.WorkspaceArchiveReadError(path=root, cause=error) from error

    async def hydrate_workspace(self, data: io.IOBase) -> None:
        """Extract a tar archive into the workspace."""
        root = self._workspace_root_path()
        try:
            await self.session.files.write_archive(cast(bytes, data.read()), root)
        except AirlockError as error:
            raise errors.WorkspaceArchiveWriteError(path=root, cause=error, message=str(error)) from error

    async def _shutdown_backend(self) -> None:
        await self.session.close()


class AirlockSandboxClient(BaseSandboxClient[AirlockSandboxClientOptions]):
    """Creates sandbox sessions. Settings of the connection come from the environment."""

    backend_id = "airlock"
    supports_default_options = True

    def __init__(self, client: aio.AsyncClient | None = None, *, state: str | None = None) -> None:
        """Use a client, or connect at the first session. `state` is the state directory of `airlock dev`."""
        self._client = client
        self._own = client is None
        self._state = state

    async def create(
        self,
        *,
        snapshot: SnapshotSpec | SnapshotBase | None = None,
        manifest: Manifest | None = None,
        options: AirlockSandboxClientOptions | None = None,
    ) -> SandboxSession:
        """Create a session."""
        manifest = self._validate_manifest_for_create(manifest or Manifest(root=WORKSPACE))
        options = options or AirlockSandboxClientOptions()
        session = await self._create_session(options, await manifest.environment.resolve())
        session_id = uuid.uuid4()
        state = AirlockSandboxSessionState(
            session_id=session_id,
            manifest=manifest,
            snapshot=resolve_snapshot(snapshot, str(session_id)),
            airlock_session_id=session.id,
            options=options,
        )
        return self._wrap_session(AirlockSandboxSession(state, session))

    async def delete(self, session: SandboxSession) -> SandboxSession:
        """Close a session."""
        inner = session._inner
        if not isinstance(inner, AirlockSandboxSession):
            raise TypeError("the session is not one of Airlock")
        await inner.session.close()
        return session

    async def resume(self, state: SandboxSessionState) -> SandboxSession:
        """Return the session of a state. If it was closed, create another, which begins with the state's snapshot."""
        if not isinstance(state, AirlockSandboxSessionState):
            raise TypeError("the state is not one of Airlock")
        state.assert_path_grants_rebound()
        session = await self._open(state.airlock_session_id)
        preserved = session is not None
        if session is None:
            session = await self._create_session(state.options, await state.manifest.environment.resolve())
            state.airlock_session_id, state.workspace_root_ready = session.id, False
        inner = AirlockSandboxSession(state, session)
        inner._set_start_state_preserved(preserved, system=preserved)
        return self._wrap_session(inner)

    def deserialize_session_state(self, payload: dict[str, object]) -> SandboxSessionState:
        """Return the state that was serialized."""
        return self._deserialize_session_state_payload(payload, AirlockSandboxSessionState)

    async def close(self) -> None:
        """End the connection that this object created."""
        if self._own and self._client is not None:
            await self._client.close()
            self._client = None

    async def _connected(self) -> aio.AsyncClient:
        if self._client is None:
            self._client = await aio.connect(state=self._state)
        return self._client

    async def _create_session(
        self, options: AirlockSandboxClientOptions, environment: dict[str, str]
    ) -> aio.AsyncSession:
        client = await self._connected()
        return await client.session(profile=options.profile, base=options.base, env={**options.env, **environment})

    async def _open(self, session_id: str) -> aio.AsyncSession | None:
        try:
            session = await (await self._connected()).open_session(session_id)
        except NotFoundError:
            return None
        return session if session.info.state == "open" else None


def shell_executor(
    session: aio.AsyncSession, *, timeout: float = 120.0, env: dict[str, str] | None = None, on_ask: str = "fail"
) -> Callable[[ShellCommandRequest], Awaitable[ShellResult]]:
    """Return an executor for `ShellTool`. The caller owns the session. `timeout` is the default, in seconds.

    The output is the text for a model. It says why a command was denied or ended.
    """

    async def run(command: str, limit: float) -> ShellCommandOutput:
        try:
            result = await session.run(command, **options_of(limit, env, on_ask=on_ask))
        except Refused as refused:
            outcome = ShellCallOutcome(type="exit", exit_code=NOT_RUN)
            return ShellCommandOutput(stderr=text_of(refused), outcome=outcome, command=command)
        kind: Any = "timeout" if result.cause.code == "timed_out" else "exit"
        code = None if kind == "timeout" else code_of(result)
        outcome = ShellCallOutcome(type=kind, exit_code=code)
        return ShellCommandOutput(stdout=result.text, outcome=outcome, command=command)

    async def execute(request: ShellCommandRequest) -> ShellResult:
        action = request.data.action
        limit = action.timeout_ms / 1000 if action.timeout_ms else timeout
        output = [await run(command, limit) for command in action.commands]
        return ShellResult(output=output, max_output_length=action.max_output_length)

    return execute
