"""The files of a session: its workspace, HOME and `/tmp`."""

from __future__ import annotations

import asyncio
import io
import os
import tempfile
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _archive
from ._connection import SLOW_CALL_TIMEOUT, Connection
from ._errors import NotFoundError
from ._methods import DIFF, LIST_FILES, STAT
from ._result import FileChange, FileInfo, Transferred
from ._transfer import Download, upload
from .v1 import common_pb2
from .v1 import file_pb2 as pb

PathText = str | os.PathLike[str]
"""A path inside the sandbox: absolute, or relative to `/workspace`."""

Changes = list[FileChange]

_PAGE = 1000
_READ_BYTES = 64 * 1024 * 1024
_ARCHIVE_BYTES = 64 * 1024 * 1024 * 1024


@dataclass(frozen=True)
class FileEvent:
    """A change of a file that `watch` found."""

    kind: str
    """`added`, `modified` or `deleted`."""
    path: str
    file: FileInfo | None
    """The properties of the file. `None` if it was deleted."""


class AsyncFiles:
    """The files of a session. A path is absolute inside the sandbox, or relative to `/workspace`."""

    def __init__(self, connection: Connection, session_id: str) -> None:
        self._connection = connection
        self._session_id = session_id

    async def read(self, path: PathText, *, limit: int = _READ_BYTES) -> bytes:
        """Return the content of a file of at most `limit` bytes."""
        request = self._of(pb.FileServiceDownloadRequest(format=pb.FILE_FORMAT_FILE), path)
        sink = io.BytesIO()
        await Download(self._connection, request, limit).copy_to(sink)
        return sink.getvalue()

    async def read_text(self, path: PathText, *, limit: int = _READ_BYTES) -> str:
        """Return the content of a file as text. Invalid UTF-8 is replaced by U+FFFD."""
        return (await self.read(path, limit=limit)).decode("utf-8", "replace")

    async def write(self, path: PathText, content: bytes | str, *, mode: int = 0o644) -> None:
        """Write a file. Missing directories are created, and an existing file is replaced."""
        data = content.encode() if isinstance(content, str) else content
        header = self._of(pb.UploadHeader(format=pb.FILE_FORMAT_FILE, mode=mode), path)
        await upload(self._connection, header, io.BytesIO(data))

    async def read_archive(self, path: PathText = "", *, limit: int = _READ_BYTES) -> bytes:
        """Return the content of a directory as a tar archive of at most `limit` bytes. Its names are relative."""
        request = self._of(pb.FileServiceDownloadRequest(format=pb.FILE_FORMAT_TAR), path)
        sink = io.BytesIO()
        await Download(self._connection, request, limit).copy_to(sink)
        return sink.getvalue()

    async def write_archive(self, archive: bytes, path: PathText = "") -> None:
        """Extract a tar archive into a directory. The server checks its names and its size."""
        header = self._of(pb.UploadHeader(format=pb.FILE_FORMAT_TAR), path)
        await upload(self._connection, header, io.BytesIO(archive))

    async def stat(self, path: PathText) -> FileInfo:
        """Return the properties of a file. A symbolic link is described, not followed."""
        answer = await self._connection.unary(STAT, self._of(pb.FileServiceStatRequest(), path))
        return FileInfo.of(answer.file)

    async def exists(self, path: PathText) -> bool:
        """Report whether a file exists."""
        try:
            await self.stat(path)
        except NotFoundError:
            return False
        return True

    async def list(
        self,
        path: PathText = "",
        *,
        recursive: bool = False,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
    ) -> list[FileInfo]:
        """Return the files in a directory, or all files below it, ordered by path. The globs match relative paths."""
        request = self._of(pb.FileServiceListRequest(recursive=recursive), path)
        request.filter.include.extend(include)
        request.filter.exclude.extend(exclude)
        found: list[FileInfo] = []
        while True:
            request.page.CopyFrom(common_pb2.PageRequest(page_size=_PAGE, page_token=request.page.page_token))
            answer = await self._connection.unary(LIST_FILES, request, SLOW_CALL_TIMEOUT)
            found.extend(FileInfo.of(file) for file in answer.files)
            if not answer.next_page_token:
                return found
            request.page.page_token = answer.next_page_token

    async def diff(
        self,
        path: PathText = "",
        *,
        patch: bool = False,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
    ) -> Changes:
        """Return the changes in the workspace since it was created, ordered by path. `patch` adds unified diffs."""
        request = self._of(pb.FileServiceDiffRequest(patch=patch), path)
        request.filter.include.extend(include)
        request.filter.exclude.extend(exclude)
        found: list[FileChange] = []
        while True:
            answer = await self._connection.unary(DIFF, request, SLOW_CALL_TIMEOUT)
            found.extend(FileChange.of(change) for change in answer.changes)
            if not answer.next_page_token:
                return found
            request.page.page_token = answer.next_page_token

    async def upload(
        self, source: str | os.PathLike[str], path: PathText = "", *, exclude: Sequence[str] = ()
    ) -> Transferred:
        """Copy a local file, or the content of a local directory, into the session.

        Links are not followed. Owners are not transferred. `exclude` has globs of paths below a directory.
        """
        local = Path(source)
        with tempfile.TemporaryFile() as archive:
            if local.is_file():
                await asyncio.to_thread(_copy_of, local, archive)
                mode = (await asyncio.to_thread(local.stat)).st_mode & 0o777
                header, skipped = pb.UploadHeader(format=pb.FILE_FORMAT_FILE, mode=mode), tuple[str, ...]()
            else:
                skipped = await asyncio.to_thread(_archive.pack, local, archive, exclude)
                header = pb.UploadHeader(format=pb.FILE_FORMAT_TAR)
            done = await upload(self._connection, self._of(header, path), archive)
        return Transferred(done.files, done.directories, done.links, skipped)

    async def download(
        self, path: PathText, target: str | os.PathLike[str], *, exclude: Sequence[str] = ()
    ) -> Transferred:
        """Copy the content of a directory of the session into a local directory, or a file to a local file.

        The whole archive is checked before anything is written. A new directory appears complete or not at all.
        """
        local = Path(target)
        request = self._of(pb.FileServiceDownloadRequest(exclude=list(exclude)), path)
        download = Download(self._connection, request, _ARCHIVE_BYTES)
        header = await download.header()
        if header.format == pb.FILE_FORMAT_FILE:
            await _into_file(download, local, header.info.mode)
            return Transferred(1, 0, 0, ())
        with tempfile.TemporaryFile() as archive:
            done = await download.copy_to(archive)
            counts = await asyncio.to_thread(_archive.unpack, archive, local, header.info.mode)
        skipped = tuple(f"{one.path}: {one.reason}" for one in done.skipped)
        return Transferred(*counts, skipped)

    async def watch(self, path: PathText = "", *, interval: float = 1.0) -> AsyncIterator[FileEvent]:
        """Return the changes of the files below a directory as they happen.

        The server does not report changes of files, so this lists them once per `interval` seconds. Several changes of
        a file within an interval are one event.
        """
        known = await self._snapshot(path)
        while True:
            await asyncio.sleep(interval)
            now = await self._snapshot(path)
            for name, file in now.items():
                if name not in known:
                    yield FileEvent("added", name, file)
                elif known[name] != file:
                    yield FileEvent("modified", name, file)
            for name in known.keys() - now.keys():
                yield FileEvent("deleted", name, None)
            known = now

    async def _snapshot(self, path: PathText) -> dict[str, FileInfo]:
        files = await self.list(path, recursive=True)
        # The time of a directory changes with its entries, which are reported themselves.
        return {file.path: file for file in files if file.type != "directory"}

    def _of(self, message: Any, path: PathText) -> Any:
        """Return the message with the session and the path."""
        message.session_id = self._session_id
        text = os.fspath(path)
        try:
            text.encode()
            message.path = text
        except UnicodeEncodeError:
            message.path_bytes = os.fsencode(text)
        return message


def _copy_of(source: Path, into: Any) -> None:
    with source.open("rb") as file:
        while data := file.read(1024 * 1024):
            into.write(data)


async def _into_file(download: Download, target: Path, mode: int) -> None:
    """Replace a file atomically after all data has arrived."""
    descriptor, name = await asyncio.to_thread(tempfile.mkstemp, prefix=".airlock-", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            await download.copy_to(file)
        temporary.chmod(mode & 0o777 & ~_archive.umask() | 0o600)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
