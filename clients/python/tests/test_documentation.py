"""Each Python block of the documentation runs, and prints what the page shows."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = ("clients/python/README.md", "docs/agents.md")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.S)


def blocks() -> Iterator[Any]:
    for page in PAGES:
        found = BLOCK.findall((ROOT / page).read_text())
        for number, (language, code) in enumerate(found):
            if language == "python":
                after = found[number + 1] if number + 1 < len(found) else ("", "")
                # A text block after a program is its output.
                yield pytest.param(code, after[1] if after[0] == "text" else None, id=f"{page}-{number}")


@pytest.mark.parametrize(("code", "output"), list(blocks()))
def test_a_block_runs_and_prints_what_the_page_shows(code: str, output: str | None, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        input="y\n",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if output is not None:
        assert UUID.sub("ID", done.stdout).split() == output.split()


def test_the_pages_have_blocks() -> None:
    names = [str(one.id) for one in blocks()]
    assert all(sum(name.startswith(page) for name in names) >= 3 for page in PAGES), names


def test_the_first_programs_are_at_most_ten_lines() -> None:
    page = (ROOT / "docs/agents.md").read_text().split("## Text for the model")[0]
    programs = [code for language, code in BLOCK.findall(page) if language == "python"]
    lengths = [len([line for line in code.splitlines() if line.strip()]) for code in programs]
    assert len(lengths) == 2 and max(lengths) <= 10, lengths
