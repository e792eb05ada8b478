"""A SWE-ReX runtime that runs each command as one Airlock execution.

A runtime owns one Airlock session: one workspace, one HOME and one /tmp. The SWE-ReX sessions of the runtime share
these files. Each SWE-ReX session has a working directory of its own, but no shell process: variables, functions and
background jobs end with the command that made them.

It must not run or parse a command on this side.
"""

import asyncio
import codecs
import io
import re
import shlex
import tarfile
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import grpc
from airlock.v1 import common_pb2, execution_pb2, file_pb2
from swerex import exceptions
from swerex.runtime import abstract
from swerex.utils.log import get_logger

from .client import Connection, Run, Session

WORKSPACE = "/workspace"
CTRL_C = "\x03"


@dataclass
class Program:
    """An interactive program: an execution with a terminal."""

    execution_id: str
    cursor: bytes = b""
    typed: int = 0
    # Output that no pattern has consumed.
    screen: str = ""
    decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("backslashreplace")
    )

    def take(self, patterns: list[str]) -> tuple[str, str] | None:
        """Consumes the output up to the first pattern that occurs. Returns the text before it, and the pattern."""
        for pattern in patterns:
            if found := re.search(pattern, self.screen):
                before, self.screen = self.screen[: found.start()], self.screen[found.end() :]
                return before, pattern
        return None


@dataclass
class Shell:
    """A SWE-ReX session."""

    setup: str
    directory: str = WORKSPACE
    program: Program | None = None
    # A shell runs one command at a time. Airlock does not wait by itself: a read-only command may overtake a `cd`.
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


def exit_code(run: Run) -> int:
    """Returns the exit code as a shell reports it. Raises if Airlock ended the command or did not run it."""
    cause = run.result.cause
    if cause.code == common_pb2.CAUSE_CODE_EXITED:
        return int(cause.exited.code)
    if cause.code == common_pb2.CAUSE_CODE_SIGNALED:
        return 128 + int(cause.signaled.signal)
    if cause.code == common_pb2.CAUSE_CODE_TIMED_OUT:
        raise exceptions.CommandTimeoutError(cause.message)
    raise exceptions.SwerexException(cause.message)


def for_agent(run: Run) -> str:
    """Returns the output with the result's notes below it. Output that looks like a note is marked."""
    if not run.result.notes:
        return run.stdout
    output = re.sub("^airlock:", "| airlock:", run.stdout, flags=re.MULTILINE)
    separator = "" if not output or output.endswith("\n") else "\n"
    return output + separator + "".join(f"airlock: {note.text}\n" for note in run.result.notes)


def raise_failure(command: str, error_msg: str, code: int, output: str) -> NoReturn:
    message = f"command {command!r} failed with exit code {code}. Output:\n{output}"
    raise exceptions.NonZeroExitCodeError(f"{error_msg}: {message}" if error_msg else message)


class AirlockRuntime(abstract.AbstractRuntime):
    """A SWE-ReX runtime on one Airlock session. `start` creates it, and `close` ends it."""

    def __init__(self, session: Session) -> None:
        self.logger = get_logger("rex-airlock")
        self.session = session
        self._shells: dict[str, Shell] = {}
        # The shell that started the latest command. The Airlock session has its working directory.
        self._latest: Shell | None = None
        self._order = asyncio.Lock()

    @classmethod
    async def start(cls, connection: Connection, profile: str = "agent") -> "AirlockRuntime":
        return cls(await Session.create(connection, profile))

    async def is_alive(self, *, timeout: float | None = None) -> abstract.IsAliveResponse:
        try:
            return abstract.IsAliveResponse(is_alive=await self.session.is_open(timeout))
        except grpc.aio.AioRpcError as error:
            return abstract.IsAliveResponse(is_alive=False, message=str(error.details()))

    async def create_session(self, request: abstract.CreateSessionRequest) -> abstract.CreateSessionResponse:
        if request.session in self._shells:
            raise exceptions.SessionExistsError(f"session {request.session!r} already exists")
        setup = "".join(f"source {shlex.quote(file)}\n" for file in request.startup_source)
        self._shells[request.session] = Shell(setup)
        return abstract.CreateBashSessionResponse()

    async def close_session(self, request: abstract.CloseSessionRequest) -> abstract.CloseSessionResponse:
        shell = self._shell(request.session)
        if shell.program is not None:
            await self.session.cancel(shell.program.execution_id)
        del self._shells[request.session]
        return abstract.CloseBashSessionResponse()

    async def run_in_session(self, action: abstract.Action) -> abstract.Observation:
        shell = self._shell(action.session)
        if isinstance(action, abstract.BashInterruptAction):
            return await self._interrupt(shell, action)
        if action.is_interactive_command or action.is_interactive_quit:
            return await self._interact(shell, action)
        if shell.program is not None:
            raise exceptions.SwerexException("an interactive program is running; quit or interrupt it first")
        await self._check_syntax(action.command)
        timeout = self.session.timeout(action.timeout)
        async with shell.turn:
            run = await self.session.finish(await self._start_in(shell, action.command, timeout=timeout))
            shell.directory = run.result.directory or shell.directory
        code = exit_code(run)
        if action.check == "raise" and code != 0:
            raise_failure(action.command, action.error_msg, code, for_agent(run))
        shown = None if action.check == "ignore" else code
        return abstract.BashObservation(output=for_agent(run), exit_code=shown)

    async def execute(self, command: abstract.Command) -> abstract.CommandResponse:
        words = [command.command] if isinstance(command.command, str) else command.command
        line = " ".join(words) if command.shell else shlex.join(words)
        run = await self._run_beside(
            f"cd -- {shlex.quote(command.cwd or WORKSPACE)} || exit\n{line}",
            env=command.env,
            timeout=self.session.timeout(command.timeout),
            separate_stderr=not command.merge_output_streams,
        )
        code = exit_code(run)
        if command.check and code != 0:
            raise_failure(line, command.error_msg, code, run.stdout + run.stderr)
        return abstract.CommandResponse(stdout=run.stdout, stderr=run.stderr, exit_code=code)

    async def read_file(self, request: abstract.ReadFileRequest) -> abstract.ReadFileResponse:
        try:
            data = await self.session.download(request.path)
        except grpc.aio.AioRpcError as error:
            if error.code() == grpc.StatusCode.NOT_FOUND:
                raise FileNotFoundError(request.path) from error
            raise
        content = data.decode(request.encoding or "utf-8", request.errors or "strict")
        return abstract.ReadFileResponse(content=content)

    async def write_file(self, request: abstract.WriteFileRequest) -> abstract.WriteFileResponse:
        await self.session.upload(request.path, request.content.encode(), file_pb2.FILE_FORMAT_FILE)
        return abstract.WriteFileResponse()

    async def upload(self, request: abstract.UploadRequest) -> abstract.UploadResponse:
        source = Path(request.source_path)
        if source.is_dir():
            archive = io.BytesIO()
            with tarfile.open(fileobj=archive, mode="w") as tar:
                tar.add(source, arcname=".")
            await self.session.upload(request.target_path, archive.getvalue(), file_pb2.FILE_FORMAT_TAR)
        else:
            data, mode = source.read_bytes(), source.stat().st_mode & 0o777
            await self.session.upload(request.target_path, data, file_pb2.FILE_FORMAT_FILE, mode)
        return abstract.UploadResponse()

    async def close(self) -> abstract.CloseResponse:
        await self.session.close()
        return abstract.CloseResponse()

    def _shell(self, name: str) -> Shell:
        if name not in self._shells:
            raise exceptions.SessionDoesNotExistError(f"session {name!r} does not exist")
        return self._shells[name]

    async def _start(self, command: str, **fields: Any) -> str:
        try:
            return await self.session.start(execution_pb2.ExecutionSpec(command=command, **fields))
        except grpc.aio.AioRpcError as error:
            if error.code() == grpc.StatusCode.PERMISSION_DENIED:
                raise exceptions.SwerexException(error.details()) from error
            raise

    async def _start_in(self, shell: Shell, command: str, **fields: Any) -> str:
        """Starts a command in the working directory of a shell."""
        async with self._order:
            same = self._latest is shell or (self._latest is None and shell.directory == WORKSPACE)
            move = "" if same else f"cd -- {shlex.quote(shell.directory)} || exit\n"
            execution_id = await self._start(move + shell.setup + command, **fields)
            self._latest = shell
        return execution_id

    async def _run_beside(self, command: str, **fields: Any) -> Run:
        """Runs a command that does not wait for the commands of the shells and does not move them."""
        return await self.session.finish(await self._start(command, allow_concurrent=True, **fields))

    async def _check_syntax(self, command: str) -> None:
        """Raises if bash cannot parse a command. Asks bash only if the policy could not parse all of it."""
        if await self.session.is_parsed(command):
            return
        run = await self._run_beside(shlex.join(["bash", "-n", "-c", command]), separate_stderr=True)
        if exit_code(run) != 0:
            extra = {"bash_stdout": run.stdout, "bash_stderr": run.stderr}
            raise exceptions.BashIncorrectSyntaxError(run.stderr, extra_info=extra)

    async def _interact(self, shell: Shell, action: abstract.BashAction) -> abstract.BashObservation:
        """Starts a program in a terminal, or types into it, and waits for an expected pattern or its end."""
        if shell.program is None:
            shell.program = Program(await self._start_in(shell, action.command, pty=execution_pb2.Pty()))
        else:
            await self._type(shell.program, action.command + "\n")
        try:
            async with asyncio.timeout(action.timeout):
                output, expected = await self._expect(shell, shell.program, action.expect)
        except TimeoutError as error:
            raise exceptions.CommandTimeoutError(f"no expected output within {action.timeout} s") from error
        # SWE-ReX removes the echo of the command and the blanks around the output.
        output = output.replace("\r\n", "\n").lstrip().removeprefix(action.command).strip()
        return abstract.BashObservation(output=output, exit_code=0, expect_string=expected)

    async def _interrupt(self, shell: Shell, action: abstract.BashInterruptAction) -> abstract.BashObservation:
        """Types Ctrl+C into the program of a shell. Cancels the program if this does not help."""
        program = shell.program
        if program is None:
            return abstract.BashObservation(exit_code=0)
        for _ in range(action.n_retry):
            await self._type(program, CTRL_C)
            try:
                async with asyncio.timeout(action.timeout):
                    output, expected = await self._expect(shell, program, action.expect)
                return abstract.BashObservation(output=output.strip(), exit_code=0, expect_string=expected)
            except TimeoutError:
                continue
        await self.session.cancel(program.execution_id)
        shell.program = None
        return abstract.BashObservation(output=program.screen.strip(), exit_code=0)

    async def _type(self, program: Program, keys: str) -> None:
        await self.session.write_stdin(program.execution_id, program.typed, keys.encode())
        program.typed += len(keys.encode())

    async def _expect(self, shell: Shell, program: Program, patterns: list[str]) -> tuple[str, str]:
        """Reads until a pattern occurs or the program ends. Returns the output before it, and the pattern."""
        if found := program.take(patterns):
            return found
        async with aclosing(self.session.events(program.execution_id, program.cursor)) as events:
            async for event in events:
                program.cursor = event.cursor
                program.screen += program.decoder.decode(event.output.data)
                if event.HasField("finished"):
                    shell.directory = event.finished.execution.result.directory or shell.directory
                    shell.program = None
                if found := program.take(patterns):
                    return found
        return program.screen, ""
