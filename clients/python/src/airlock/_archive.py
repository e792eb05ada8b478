"""Local directories as tar archives. A received archive is checked completely before anything is written.

Nothing outside the target directory is changed: no name leads out of it, and no link is followed.
"""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import shutil
import stat
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from ._errors import ArchiveError, LocalError

_ENTRIES = 1_000_000
_TEMPORARY = ".airlock-"


def pack(directory: Path, into: IO[bytes], exclude: Sequence[str]) -> tuple[str, ...]:
    """Write the content of a directory as an archive. Return the skipped files with the reasons. Blocks."""
    if not directory.is_dir():
        raise LocalError(f"`{directory}` is not a local directory")
    patterns = [_glob(one) for one in exclude]
    skipped: list[str] = []
    try:
        with tarfile.open(fileobj=into, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for path, name in _walk(directory, "", patterns):
                _add(archive, path, name, skipped)
    except OSError as error:
        raise LocalError(f"cannot read `{directory}`: {error.strerror or error}") from error
    return tuple(skipped)


def _walk(directory: Path, below: str, exclude: Sequence[re.Pattern[str]]) -> Iterator[tuple[Path, str]]:
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        name = f"{below}{entry.name}"
        if any(pattern.fullmatch(name) for pattern in exclude):
            continue
        yield Path(entry.path), name
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), f"{name}/", exclude)


def _add(archive: tarfile.TarFile, path: Path, name: str, skipped: list[str]) -> None:
    info = archive.gettarinfo(str(path), name)
    if info is None or not (info.isfile() or info.isdir() or info.issym() or info.islnk()):
        skipped.append(f"{name}: not a file, directory or link")
        return
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode &= 0o777
    if not info.isfile():
        archive.addfile(info)
        return
    with path.open("rb") as file:
        archive.addfile(info, file)


def _glob(pattern: str) -> re.Pattern[str]:
    """Return a pattern in which `*` does not match slashes and `**` does."""
    parts = re.split(r"(\*\*/?|\*|\?|\[[^\]]*\])", pattern)
    out = ""
    for part in parts:
        match part:
            case "**/":
                out += "(?:.*/)?"
            case "**":
                out += ".*"
            case "*":
                out += "[^/]*"
            case "?":
                out += "[^/]"
            case _ if part.startswith("["):
                out += fnmatch.translate(part).removeprefix("(?s:").removesuffix(r")\Z")
            case _:
                out += re.escape(part)
    return re.compile(out, re.S)


def unpack(archive: IO[bytes], into: Path, mode: int) -> tuple[int, int, int]:
    """Write an archive's content into a directory. Return the numbers of files, directories and links. Blocks.

    A new directory appears complete or not at all. `mode` is its permission bits.
    """
    _check(archive)
    try:
        if into.exists() or into.is_symlink():
            _conflicts(archive, into)
            return _write(archive, into)
        made = Path(tempfile.mkdtemp(prefix=_TEMPORARY, dir=into.parent))
        try:
            counts = _write(archive, made)
            made.chmod(mode & 0o777 & ~umask() | 0o700)
            made.rename(into)
        except BaseException:
            shutil.rmtree(made, ignore_errors=True)
            raise
    except OSError as error:
        raise LocalError(f"cannot write `{into}`: {error.strerror or error}") from error
    return counts


def _entries(archive: IO[bytes]) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo, tuple[str, ...]]]:
    archive.seek(0)
    try:
        with tarfile.open(fileobj=archive, mode="r:") as opened:
            for count, entry in enumerate(opened):
                if count >= _ENTRIES:
                    raise ArchiveError(f"the archive has more than {_ENTRIES} entries")
                parts = _parts(entry.name)
                if parts:
                    yield opened, entry, parts
    except tarfile.TarError as error:
        raise ArchiveError(f"the archive is invalid: {error}") from error


def _parts(name: str) -> tuple[str, ...]:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise ArchiveError(f"the archive was refused: the name `{name}` leads out of the directory")
    return path.parts


def _check(archive: IO[bytes]) -> None:
    files: set[tuple[str, ...]] = set()
    for _, entry, parts in _entries(archive):
        if entry.issym():
            if _leaves(parts, entry.linkname):
                raise ArchiveError(f"the archive was refused: the link `{entry.name}` leads out of the directory")
        elif entry.islnk():
            if _parts(entry.linkname) not in files:
                raise ArchiveError(f"the archive was refused: `{entry.name}` links to a file that it does not have")
        elif not (entry.isreg() or entry.isdir()):
            raise ArchiveError(f"the archive was refused: `{entry.name}` is not a file, directory or link")
        if entry.isreg() or entry.islnk():
            files.add(parts)


def _leaves(parts: tuple[str, ...], target: str) -> bool:
    if target.startswith("/"):
        return True
    depth = len(parts) - 1
    for part in target.split("/"):
        depth += -1 if part == ".." else 0 if part in ("", ".") else 1
        if depth < 0:
            return True
    return False


def _conflicts(archive: IO[bytes], into: Path) -> None:
    """Raise an error if an existing file is in the way, before anything is written."""
    for _, entry, parts in _entries(archive):
        for end in range(1, len(parts) + 1):
            at = into.joinpath(*parts[:end])
            try:
                found = at.lstat()
            except FileNotFoundError:
                break
            wants_directory = end < len(parts) or entry.isdir()
            if stat.S_ISDIR(found.st_mode) != wants_directory:
                raise ArchiveError(f"`{at}` is in the way", remedy="remove it, or choose another directory")


def _write(archive: IO[bytes], into: Path) -> tuple[int, int, int]:
    files = directories = links = 0
    mask = umask()
    modes: list[tuple[tuple[str, ...], int]] = []
    root = os.open(into, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for opened, entry, parts in _entries(archive):
            with _parent(root, parts[:-1]) as parent:
                mode = entry.mode & 0o777 & ~mask
                if entry.isdir():
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(parts[-1], 0o700, dir_fd=parent)
                        directories += 1
                    modes.append((parts, mode | 0o700))
                    continue
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(parts[-1], dir_fd=parent)
                if entry.issym():
                    os.symlink(entry.linkname, parts[-1], dir_fd=parent)
                    links += 1
                elif entry.islnk():
                    _hard_link(root, _parts(entry.linkname), parent, parts[-1])
                    links += 1
                else:
                    _file(opened, entry, parent, parts[-1], mode)
                    files += 1
        for parts, mode in reversed(modes):
            with _parent(root, parts) as directory:
                os.fchmod(directory, mode)
    finally:
        os.close(root)
    return files, directories, links


def _file(opened: tarfile.TarFile, entry: tarfile.TarInfo, parent: int, name: str, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with os.fdopen(os.open(name, flags, 0o600, dir_fd=parent), "wb") as file:
        content = opened.extractfile(entry)
        if content is not None:
            shutil.copyfileobj(content, file)
        os.fchmod(file.fileno(), mode | 0o600)


def _hard_link(root: int, source: tuple[str, ...], parent: int, name: str) -> None:
    with _parent(root, source[:-1]) as at:
        os.link(source[-1], name, src_dir_fd=at, dst_dir_fd=parent, follow_symlinks=False)


@contextlib.contextmanager
def _parent(root: int, parts: Sequence[str]) -> Iterator[int]:
    """Open a directory below the root, without following links. Missing directories are created."""
    at = os.dup(root)
    try:
        for part in parts:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o755, dir_fd=at)
            below = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        yield at
    finally:
        os.close(at)


def umask() -> int:
    """Return the umask. The system call that reads it also sets it, so it is read from /proc."""
    with (
        contextlib.suppress(OSError, ValueError),
        open("/proc/self/status", encoding="ascii", errors="replace") as status,
    ):
        for line in status:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022
