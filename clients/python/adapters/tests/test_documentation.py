"""The program of an adapter in `docs/agents.md` runs. `AIRLOCK_ADAPTER` names the adapter."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[4] / "docs/agents.md"
ADAPTER = os.environ.get("AIRLOCK_ADAPTER", "swerex")


def test_the_program_is_short_and_prints_what_the_page_shows(tmp_path: Path) -> None:
    block = re.compile(rf"```python {ADAPTER}\n(.*?)```\n(?:\nIt prints `(.*?)`)?", re.S)
    ((program, shown),) = block.findall(PAGE.read_text())
    # The first line of the section installs the package.
    assert len([line for line in program.splitlines() if line.strip()]) <= 9
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    assert shown and done.stdout.rstrip("\n").endswith(shown), done.stdout
