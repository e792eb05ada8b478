"""Archives: a received one is checked before anything is written, and nothing outside the directory is changed."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest

from airlock import ArchiveError, LocalError
from airlock._archive import pack, unpack


def archive(*entries: tuple[str, bytes, str]) -> io.BytesIO:
    """Return an archive with entries: the name, the type, and the content or link target."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, kind, content in entries:
            info = tarfile.TarInfo(name)
            info.type, info.mode = kind, 0o755 if kind == tarfile.DIRTYPE else 0o640
            if kind == tarfile.REGTYPE:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content.encode()))
            else:
                info.linkname = content
                tar.addfile(info)
    return made


FILE, DIRECTORY, LINK, HARD = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE


def test_a_directory_comes_back_as_it_was(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "a").write_text("a")
    (source / "a").chmod(0o640)
    (source / "sub/run").write_text("b")
    (source / "sub/run").chmod(0o755)
    (source / "link").symlink_to("sub/run")
    (source / "skip.log").write_text("no")
    os.mkfifo(source / "pipe")
    made = io.BytesIO()
    assert pack(source, made, ["*.log"]) == ("pipe: not a file, directory or link",)
    assert unpack(made, tmp_path / "out", 0o755) == (2, 1, 1)
    out = tmp_path / "out"
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*")) == ["a", "link", "sub", "sub/run"]
    assert (out / "a").stat().st_mode & 0o777 == 0o640
    assert (out / "sub/run").stat().st_mode & 0o777 == 0o755
    assert os.readlink(out / "link") == "sub/run"


@pytest.mark.parametrize(
    "entries",
    [
        [("../outside", FILE, "x")],
        [("/outside", FILE, "x")],
        [("a/../../outside", FILE, "x")],
        [("link", LINK, "../outside")],
        [("link", LINK, "/outside")],
        [("a/link", LINK, "b/../../../outside")],
        [("hard", HARD, "../outside")],
        [("hard", HARD, "not-there")],
        [("device", tarfile.CHRTYPE, "")],
        [("pipe", tarfile.FIFOTYPE, "")],
    ],
)
def test_hostile_archives_are_refused_and_nothing_is_written(
    entries: list[tuple[str, bytes, str]], tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("mine")
    made = archive(("good", FILE, "x"), *entries)
    with pytest.raises(ArchiveError):
        unpack(made, tmp_path / "out", 0o755)
    assert [path.name for path in tmp_path.iterdir()] == ["outside"], "no part of it was written"
    assert (tmp_path / "outside").read_text() == "mine"


def test_the_control_a_plain_extraction_would_write_outside(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    made = archive(("../outside", FILE, "x"))
    made.seek(0)
    with tarfile.open(fileobj=made) as tar:
        # Versions of Python with extraction filters are told to trust the archive; older ones always do.
        tar.extraction_filter = staticmethod(lambda member, _: member)
        tar.extractall(tmp_path / "out")
    assert (tmp_path / "outside").read_text() == "x"


def test_a_link_in_the_archive_is_not_followed(tmp_path: Path) -> None:
    made = archive(("in", DIRECTORY, ""), ("to", LINK, "in"), ("to/file", FILE, "x"))
    with pytest.raises(LocalError):
        unpack(made, tmp_path / "out", 0o755)
    assert not (tmp_path / "out").exists()


def test_a_local_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ArchiveError, match="in the way"):
        unpack(archive(("sub/file", FILE, "x")), tmp_path / "out", 0o755)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_existing_files_are_replaced_and_others_stay(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "b").write_text("stays")
    assert unpack(archive(("a", FILE, "new"), ("a2", HARD, "a")), tmp_path, 0o755) == (1, 0, 1)
    assert [(tmp_path / name).read_text() for name in ("a", "a2", "b")] == ["new", "new", "stays"]


def test_what_is_no_archive_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="invalid"):
        unpack(io.BytesIO(b"x" * 2000), tmp_path / "out", 0o755)
    with pytest.raises(LocalError, match="not a local directory"):
        pack(tmp_path / "none", io.BytesIO(), [])


@pytest.mark.parametrize(
    ("pattern", "gone"),
    [
        ("*.log", ["a.log"]),
        ("**/*.log", ["a.log", "sub/b.log"]),
        ("sub", ["sub/b.log", "sub/c.txt"]),
        ("sub/?.txt", ["sub/c.txt"]),
        ("[ab].log", ["a.log"]),
    ],
)
def test_globs_exclude_relative_paths(pattern: str, gone: list[str], tmp_path: Path) -> None:
    names = ["a.log", "sub/b.log", "sub/c.txt"]
    for name in names:
        (tmp_path / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / name).touch()
    made = io.BytesIO()
    pack(tmp_path / "in", made, [pattern])
    made.seek(0)
    with tarfile.open(fileobj=made) as tar:
        kept = [name for name in tar.getnames() if name in names]
    assert kept == [name for name in names if name not in gone]
