"""SWE-ReX on Airlock: a deployment, and its runtime.

    deployment = AirlockDeployment()
    await deployment.start()
    observation = await deployment.runtime.run_in_session(BashAction(command="make test"))

A runtime is one Airlock session: one workspace, one HOME and one `/tmp`. `execute` runs one execution. A SWE-ReX
session is a shell on a terminal, so it keeps its variables, functions and jobs. The policy decides about each command
before the shell gets it.
"""

from __future__ import annotations

import logging
import shlex
from typing import Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict
from swerex import exceptions
from swerex.deployment.abstract import AbstractDeployment
from swerex.deployment.hooks.abstract import CombinedDeploymentHook, DeploymentHook
from swerex.runtime import abstract
from swerex.utils.log import get_logger

from .. import aio
from .._command import CommandOptions
from .._errors import AirlockError, DeniedError, NotFoundError
from .._result import Decision, Result
from .._text import marked
from ._commands import Collected, Refused, code_of, in_directory, options_of, text_of
from ._screen import Taken, plain
from ._shell import BusyError, RefusedError, Shell, ShellEndedError

__all__ = ["AirlockDeployment", "AirlockDeploymentConfig", "AirlockRuntime"]


def _raise_failure(command: str, error_msg: str, code: int, output: str) -> NoReturn:
    message = f"command {command!r} failed with exit code {code}. Output:\n{output}"
    raise exceptions.NonZeroExitCodeError(f"{error_msg}: {message}" if error_msg else message)


def _exit_code(result: Result) -> int:
    """Return the exit code. Raise if Airlock ended the command."""
    if result.cause.code == "timed_out":
        raise exceptions.CommandTimeoutError(result.text)
    if result.cause.code not in ("exited", "signaled"):
        raise exceptions.SwerexException(result.text)
    return code_of(result)


class AirlockRuntime(abstract.AbstractRuntime):
    """A SWE-ReX runtime on one Airlock session. `close` ends the session and all that runs in it."""

    def __init__(
        self, session: aio.AsyncSession, *, logger: logging.Logger | None = None, on_ask: str = "fail"
    ) -> None:
        self.logger = logger or get_logger("rex-airlock")
        self.session = session
        """The Airlock session."""
        self._on_ask = on_ask
        self._shells: dict[str, Shell] = {}

    async def is_alive(self, *, timeout: float | None = None) -> abstract.IsAliveResponse:
        """Report whether the session is open."""
        try:
            state = (await self.session.refresh()).state
        except AirlockError as error:
            return abstract.IsAliveResponse(is_alive=False, message=str(error))
        return abstract.IsAliveResponse(is_alive=state == "open", message="" if state == "open" else state)

    async def create_session(self, request: abstract.CreateSessionRequest) -> abstract.CreateSessionResponse:
        """Start a shell. `startup_source` has files that it sources first."""
        if request.session in self._shells:
            raise exceptions.SessionExistsError(f"session {request.session!r} already exists")
        try:
            shell = await Shell.start(self.session, self._vet, **options_of(None, on_ask=self._on_ask))
        except DeniedError as denied:
            raise exceptions.SwerexException(denied.text) from denied
        self._shells[request.session] = shell
        output = ""
        for file in request.startup_source:
            # SWE-ReX's own limit of one second would expire on a busy host.
            output += (await self._run(shell, f"source {shlex.quote(file)}", timeout=60.0, patterns=[])).output
        return abstract.CreateBashSessionResponse(output=marked(plain(output)))

    async def close_session(self, request: abstract.CloseSessionRequest) -> abstract.CloseSessionResponse:
        """End a shell and its jobs."""
        await self._shell(request.session).close()
        del self._shells[request.session]
        return abstract.CloseBashSessionResponse()

    async def run_in_session(self, action: abstract.Action) -> abstract.Observation:
        """Run a command in a shell, type into its program, or interrupt it."""
        shell = self._shell(action.session)
        if isinstance(action, abstract.BashInterruptAction):
            return await self._interrupt(shell, action)
        if action.is_interactive_command or action.is_interactive_quit:
            return await self._interact(shell, action)
        taken = await self._run(shell, action.command, timeout=action.timeout, patterns=action.expect)
        output = marked(plain(taken.output))
        if action.check == "raise" and taken.exit_code != 0:
            _raise_failure(action.command, action.error_msg, taken.exit_code or 0, output)
        code = None if action.check == "ignore" else taken.exit_code
        return abstract.BashObservation(output=output, exit_code=code, expect_string=taken.pattern)

    async def execute(self, command: abstract.Command) -> abstract.CommandResponse:
        """Run a command as one execution, beside the shells."""
        words = [command.command] if isinstance(command.command, str) else command.command
        line = " ".join(words) if command.shell else shlex.join(words)
        separate = not command.merge_output_streams
        options = options_of(command.timeout, command.env, on_ask=self._on_ask, separate_stderr=separate)
        response = await self._execution(in_directory(line, command.cwd or ""), options)
        if command.check and response.exit_code != 0:
            _raise_failure(line, command.error_msg, response.exit_code or 0, response.stdout + response.stderr)
        return response

    async def read_file(self, request: abstract.ReadFileRequest) -> abstract.ReadFileResponse:
        """Read a file of the session."""
        try:
            data = await self.session.files.read(request.path)
        except NotFoundError as error:
            raise FileNotFoundError(request.path) from error
        content = data.decode(request.encoding or "utf-8", request.errors or "strict")
        return abstract.ReadFileResponse(content=content)

    async def write_file(self, request: abstract.WriteFileRequest) -> abstract.WriteFileResponse:
        """Write a file of the session. Missing directories are created."""
        await self.session.files.write(request.path, request.content)
        return abstract.WriteFileResponse()

    async def upload(self, request: abstract.UploadRequest) -> abstract.UploadResponse:
        """Copy a local file or directory into the session."""
        await self.session.files.upload(request.source_path, request.target_path)
        return abstract.UploadResponse()

    async def close(self) -> abstract.CloseResponse:
        """Close the session and all that runs in it."""
        for shell in self._shells.values():
            await shell.close()
        self._shells.clear()
        await self.session.close()
        return abstract.CloseResponse()

    def _shell(self, name: str) -> Shell:
        if name not in self._shells:
            raise exceptions.SessionDoesNotExistError(f"session {name!r} does not exist")
        return self._shells[name]

    async def _execution(self, line: str, options: CommandOptions) -> abstract.CommandResponse:
        got = Collected()
        try:
            result = await self.session.run(line, on_stdout=got.stdout.extend, on_stderr=got.stderr.extend, **options)
        except Refused as refused:
            raise exceptions.SwerexException(text_of(refused)) from refused
        code = _exit_code(result)
        stdout, stderr = got.texts(result)
        if not options.get("separate_stderr"):
            # Only the notes are in stderr.
            stdout, stderr = stdout + stderr, ""
        return abstract.CommandResponse(stdout=stdout, stderr=stderr, exit_code=code)

    async def _run(self, shell: Shell, command: str, *, timeout: float | None, patterns: list[str]) -> Taken:
        try:
            return await shell.run(command, timeout=timeout, patterns=patterns)
        except TimeoutError as error:
            message = f"timeout after {timeout} seconds while running command {command!r}"
            raise exceptions.CommandTimeoutError(message) from error
        except (RefusedError, BusyError, ShellEndedError) as error:
            raise exceptions.SwerexException(str(error)) from error

    async def _vet(self, command: str, decision: Decision) -> None:
        """Raise if bash cannot parse a command. Ask bash only if the policy could not parse all of it."""
        if decision.raw.parse_complete:
            return
        options = options_of(None, separate_stderr=True)
        response = await self._execution(shlex.join(["bash", "-n", "-c", command]), options)
        if response.exit_code != 0:
            extra = {"bash_stdout": response.stdout, "bash_stderr": response.stderr}
            raise exceptions.BashIncorrectSyntaxError(response.stderr, extra_info=extra)

    async def _interact(self, shell: Shell, action: abstract.BashAction) -> abstract.BashObservation:
        """Start a program that stays, or type into it. Return at an expected text, or when the program has ended."""
        if not shell.busy:
            taken = await self._run(shell, action.command, timeout=action.timeout, patterns=action.expect)
        else:
            try:
                taken = await shell.type(action.command, timeout=action.timeout, patterns=action.expect)
            except TimeoutError as error:
                raise exceptions.CommandTimeoutError(f"no expected output within {action.timeout} s") from error
            except ShellEndedError as error:
                raise exceptions.SwerexException(str(error)) from error
        # SWE-ReX removes the echo of the command and the blanks around the output.
        output = marked(plain(taken.output)).lstrip().removeprefix(action.command).strip()
        return abstract.BashObservation(output=output, exit_code=0, expect_string=taken.pattern)

    async def _interrupt(self, shell: Shell, action: abstract.BashInterruptAction) -> abstract.BashObservation:
        try:
            taken = await shell.interrupt(timeout=action.timeout, tries=action.n_retry, patterns=action.expect)
        except TimeoutError as error:
            raise exceptions.CommandTimeoutError("the program could not be interrupted; close the session") from error
        except ShellEndedError as error:
            raise exceptions.SwerexException(str(error)) from error
        output = marked(plain(taken.output)).strip()
        return abstract.BashObservation(output=output, exit_code=0, expect_string=taken.pattern)


class AirlockDeploymentConfig(BaseModel):
    """The configuration of an `AirlockDeployment`. Settings of the connection come from the environment."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["airlock"] = "airlock"
    state: str | None = None
    """The state directory of `airlock dev`. Default: as for `airlock.connect`."""
    profile: str = ""
    """Default: the caller's default profile."""
    base: str = ""
    """The base that the workspace is copied from. Default: an empty workspace."""
    env: dict[str, str] = {}
    labels: dict[str, str] = {}
    on_ask: Literal["fail", "wait"] = "fail"
    """The behaviour of `execute` and `create_session` if policy asks for a person."""

    def get_deployment(self) -> AbstractDeployment:
        """Return the deployment."""
        return AirlockDeployment.from_config(self)


class AirlockDeployment(AbstractDeployment):
    """A SWE-ReX deployment that creates one Airlock session. `stop` closes it."""

    def __init__(
        self, *, client: aio.AsyncClient | None = None, logger: logging.Logger | None = None, **config: Any
    ) -> None:
        self.logger = logger or get_logger("rex-deploy")
        self._config = AirlockDeploymentConfig(**config)
        self._given = client
        self._own: aio.AsyncClient | None = None
        self._runtime: AirlockRuntime | None = None
        self._hooks = CombinedDeploymentHook()

    def __del__(self) -> None:
        """Leave a session that was not stopped to its idle timeout. Its client belongs to an event loop."""

    @classmethod
    def from_config(cls, config: AirlockDeploymentConfig) -> AirlockDeployment:
        """Return a deployment with a configuration."""
        return cls(**config.model_dump())

    def add_hook(self, hook: DeploymentHook) -> None:
        """Add an object that is told about the steps of the start."""
        self._hooks.add_hook(hook)

    async def is_alive(self, *, timeout: float | None = None) -> abstract.IsAliveResponse:
        """Report whether the session is open."""
        return await self.runtime.is_alive(timeout=timeout)

    async def start(self, *_args: Any, **_options: Any) -> None:
        """Connect, and create the session."""
        if self._runtime is not None:
            return
        self._hooks.on_custom_step("Creating Airlock session")
        if self._given is None:
            self._own = await aio.connect(state=self._config.state)
        client = self._given or self._own
        assert client is not None
        try:
            config = self._config
            session = await client.session(
                profile=config.profile, base=config.base, env=config.env, labels=config.labels
            )
        except BaseException:
            await self._disconnect()
            raise
        self._runtime = AirlockRuntime(session, logger=self.logger, on_ask=self._config.on_ask)

    async def stop(self, *_args: Any, **_options: Any) -> None:
        """Close the session and the connection."""
        runtime, self._runtime = self._runtime, None
        try:
            if runtime is not None:
                await runtime.close()
        finally:
            await self._disconnect()

    @property
    def runtime(self) -> AirlockRuntime:
        """The runtime. Raise `DeploymentNotStartedError` before `start`."""
        if self._runtime is None:
            raise exceptions.DeploymentNotStartedError
        return self._runtime

    async def _disconnect(self) -> None:
        client, self._own = self._own, None
        if client is not None:
            await client.close()
