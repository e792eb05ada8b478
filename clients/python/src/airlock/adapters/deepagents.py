"""LangChain deepagents on Airlock: a sandbox backend.

    with airlock.connect() as client, client.session() as session:
        agent = create_deep_agent(model=model, backend=AirlockBackend(session))

The caller owns the session. Each command is one execution in it. The tools for files also run commands, as in every
backend that is derived from `BaseSandbox`, so the policy decides about them too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from deepagents.backends import protocol
from deepagents.backends.sandbox import BaseSandbox

from .._errors import AirlockError, NotFoundError
from .._sync import Session
from ._commands import NOT_RUN, Collected, Refused, code_of, in_directory, options_of, text_of

__all__ = ["AirlockBackend"]

# Whether a command runs for a tool that parses its output. It then gets the whole output, and no notes.
_exact: ContextVar[bool] = ContextVar("airlock_exact", default=False)


@contextlib.contextmanager
def _parsed() -> Iterator[None]:
    before = _exact.set(True)
    try:
        yield
    finally:
        _exact.reset(before)


class AirlockBackend(BaseSandbox):
    """A sandbox backend in an Airlock session."""

    def __init__(
        self, session: Session, *, timeout: int = 120, directory: str = "", env: dict[str, str] | None = None,
        on_ask: str = "fail",
    ) -> None:  # fmt: skip
        """Use a session. `timeout` is the default for a command, in seconds; `directory` is where it runs."""
        self._session = session
        self._timeout = timeout
        self._directory = directory
        self._env = env
        self._on_ask = on_ask

    @property
    def id(self) -> str:
        """The ID of the session."""
        return self._session.id

    def execute(self, command: str, *, timeout: int | None = None) -> protocol.ExecuteResponse:
        """Run a command. The output is the text for a model. It says why a command was denied or ended."""
        options = options_of(self._timeout if timeout is None else timeout, self._env, on_ask=self._on_ask)
        exact, got = _exact.get(), Collected()
        try:
            result = self._session.run(
                in_directory(command, self._directory), on_stdout=got.stdout.extend if exact else None, **options
            )
        except Refused as refused:
            # A tool would take an exit code for the answer of its command.
            return protocol.ExecuteResponse(text_of(refused), None if exact else NOT_RUN)
        if exact:
            cut = any(note.code == "output_cut" for note in result.notes)
            return protocol.ExecuteResponse(got.stdout.decode("utf-8", "replace"), code_of(result), cut)
        return protocol.ExecuteResponse(result.text, code_of(result), result.truncated)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        """Write files. A file that cannot be written does not prevent the others."""
        return [protocol.FileUploadResponse(path, error=self._write(path, content)) for path, content in files]

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        """Read files. A file that cannot be read does not prevent the others."""
        return [self._read(path) for path in paths]

    def _write(self, path: str, content: bytes) -> str | None:
        if not path.startswith("/"):
            return protocol.INVALID_PATH
        try:
            self._session.files.write(path, content)
        except AirlockError as error:
            return _file_error(error)
        return None

    def _read(self, path: str) -> protocol.FileDownloadResponse:
        if not path.startswith("/"):
            return protocol.FileDownloadResponse(path, error=protocol.INVALID_PATH)
        try:
            return protocol.FileDownloadResponse(path, content=self._session.files.read(path))
        except AirlockError as error:
            return protocol.FileDownloadResponse(path, error=_file_error(error))

    def ls(self, path: str) -> protocol.LsResult:
        """List a directory."""
        with _parsed():
            return super().ls(path)

    async def als(self, path: str) -> protocol.LsResult:
        """List a directory."""
        with _parsed():
            return await super().als(path)

    def read(self, *args: Any, **options: Any) -> protocol.ReadResult:
        """Read lines of a file."""
        with _parsed():
            return super().read(*args, **options)

    async def aread(self, *args: Any, **options: Any) -> protocol.ReadResult:
        """Read lines of a file."""
        with _parsed():
            return await super().aread(*args, **options)

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        """Write a file."""
        with _parsed():
            return super().write(file_path, content)

    async def awrite(self, file_path: str, content: str) -> protocol.WriteResult:
        """Write a file."""
        with _parsed():
            return await super().awrite(file_path, content)

    def edit(self, *args: Any, **options: Any) -> protocol.EditResult:
        """Replace text in a file."""
        with _parsed():
            return super().edit(*args, **options)

    async def aedit(self, *args: Any, **options: Any) -> protocol.EditResult:
        """Replace text in a file."""
        with _parsed():
            return await super().aedit(*args, **options)

    def delete(self, file_path: str) -> protocol.DeleteResult:
        """Remove a file or a directory."""
        with _parsed():
            return super().delete(file_path)

    def grep(self, *args: Any, **options: Any) -> protocol.GrepResult:
        """Search for text in files."""
        with _parsed():
            return super().grep(*args, **options)

    async def agrep(self, *args: Any, **options: Any) -> protocol.GrepResult:
        """Search for text in files."""
        with _parsed():
            return await super().agrep(*args, **options)

    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        """Find files by name."""
        with _parsed():
            return super().glob(pattern, path)

    async def aglob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        """Find files by name."""
        with _parsed():
            return await super().aglob(pattern, path)


def _file_error(error: AirlockError) -> str:
    """Return the backend's name for an error, or the message."""
    if isinstance(error, NotFoundError):
        return protocol.FILE_NOT_FOUND
    reasons = {
        "IS_A_DIRECTORY": protocol.IS_DIRECTORY,
        "NOT_A_FILE": protocol.IS_DIRECTORY,
        "NOT_A_DIRECTORY": protocol.INVALID_PATH,
    }
    return reasons.get(error.reason, error.message)
