"""Inspect on Airlock: the sandbox environment `airlock`.

    Task(dataset, solver=[use_tools(bash()), generate()], sandbox="airlock", scorer=includes())

An environment is one Airlock session for one sample, and each command is one execution in it. `inspect eval` finds it
by its entry point. A configuration is an `AirlockConfig`: `SandboxEnvironmentSpec("airlock", AirlockConfig(...))`.
"""

from __future__ import annotations

import errno
import os
from typing import Any, Literal, overload

from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentConfigType,
    SandboxEnvironmentLimits,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandboxenv,
)
from pydantic import BaseModel, ConfigDict

from .. import aio
from .._errors import AirlockError, LimitReachedError, NotFoundError, RejectedError
from ._commands import Collected, Refused, code_of, in_directory, line_of, options_of, text_of

__all__ = ["AirlockConfig", "AirlockSandboxEnvironment"]


class AirlockConfig(BaseModel):
    """The configuration of a sandbox. Settings of the connection come from the environment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: str | None = None
    """The state directory of `airlock dev`. Default: as for `airlock.connect`."""
    profile: str = ""
    """Default: the caller's default profile."""
    base: str = ""
    """The base that the workspace is copied from. Default: an empty workspace."""
    env: dict[str, str] = {}
    timeout: float = 120.0
    """The limit of the run time of a command without another one, in seconds."""
    on_ask: Literal["fail", "wait"] = "fail"
    """The behaviour if policy asks for a person."""

    def __hash__(self) -> int:
        # Inspect collects the configurations of samples in a set.
        return hash(self.model_dump_json())


@sandboxenv(name="airlock")
class AirlockSandboxEnvironment(SandboxEnvironment):
    """A sandbox environment in an Airlock session."""

    def __init__(self, client: aio.AsyncClient, session: aio.AsyncSession, config: AirlockConfig) -> None:
        super().__init__()
        self._client = client
        self.session = session
        """The Airlock session."""
        self._config = config

    @classmethod
    def config_deserialize(cls, config: dict[str, Any]) -> BaseModel:
        """Return the configuration that was serialized."""
        return AirlockConfig(**config)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: SandboxEnvironmentConfigType | None, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        """Create the session of a sample."""
        if isinstance(config, str):
            raise ValueError("the sandbox `airlock` has no configuration file; pass an AirlockConfig")
        given = config if isinstance(config, AirlockConfig) else AirlockConfig()
        client = await aio.connect(state=given.state)
        try:
            session = await client.session(profile=given.profile, base=given.base, env=given.env)
        except BaseException:
            await client.close()
            raise
        return {"default": cls(client, session, given)}

    @classmethod
    async def sample_cleanup(
        cls,
        task_name: str,
        config: SandboxEnvironmentConfigType | None,
        environments: dict[str, SandboxEnvironment],
        interrupted: bool,
    ) -> None:
        """Close the session of a sample."""
        for environment in environments.values():
            own = environment.as_type(AirlockSandboxEnvironment)
            try:
                await own.session.close()
            finally:
                await own._client.close()

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        """Run a command. A denied command raises `PermissionError` with the text for a model.

        A command whose timeout expired is not repeated, because it can have changed files.
        """
        if user is not None:
            raise SandboxUserUnsupportedError("a session of Airlock has one user")
        config = self._config
        options = options_of(timeout or config.timeout, env, on_ask=config.on_ask, separate_stderr=True)
        got = Collected()
        try:
            result = await self.session.run(
                in_directory(line_of(cmd), cwd or ""),
                input=input,
                on_stdout=got.stdout.extend,
                on_stderr=got.stderr.extend,
                **options,
            )
        except Refused as refused:
            raise PermissionError(text_of(refused)) from refused
        except RejectedError:
            raise
        except AirlockError as error:
            raise SandboxUnavailableError(str(error)) from error
        if result.cause.code == "timed_out":
            raise TimeoutError(result.text)
        for data in (got.stdout, got.stderr):
            _limit(data)
        code = code_of(result)
        return ExecResult(code == 0, code, *got.texts(result))

    async def write_file(self, file: str, contents: str | bytes) -> None:
        """Write a file. Missing directories are created."""
        try:
            await self.session.files.write(file, contents)
        except RejectedError as error:
            raise _file_error(error, file) from error

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        """Read a file."""
        try:
            size = (await self.session.files.stat(file)).size
            limit = SandboxEnvironmentLimits.MAX_READ_FILE_SIZE
            if size > limit:
                raise OutputLimitExceededError(SandboxEnvironmentLimits.MAX_READ_FILE_SIZE_STR, None)
            data = await self.session.files.read(file, limit=limit)
        except RejectedError as error:
            raise _file_error(error, file) from error
        return data.decode("utf-8") if text else data


def _limit(data: bytearray) -> None:
    if len(data) > SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE:
        limit = SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE
        raise OutputLimitExceededError(
            SandboxEnvironmentLimits.MAX_EXEC_OUTPUT_SIZE_STR, data[:limit].decode("utf-8", "replace")
        )


def _file_error(error: RejectedError, file: str) -> Exception:
    """Return Python's exception for an error of a file."""
    if isinstance(error, LimitReachedError):
        return error
    if error.reason in ("IS_A_DIRECTORY", "NOT_A_FILE"):
        return IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), file)
    if isinstance(error, NotFoundError):
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), file)
    return PermissionError(errno.EACCES, str(error), file)
