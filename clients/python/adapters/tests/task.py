"""The task of the scripted agents: find a bug in a small repository, fix it, test it and commit it.

`agent.json` has the answers of the model, and texts that the model must get back for each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import airlock

STATE = os.environ["AIRLOCK_STATE"]
ANSWER = "The mean is right now."
PROJECT = "/workspace/project"
_SUMS = "def mean(numbers):\n    return sum(numbers) / (len(numbers) - 1)\n"
_TEST = """import unittest

from sums import mean


class Mean(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([2, 4, 6]), 4)
"""


@dataclass(frozen=True)
class Step:
    """An answer of the model, and texts that the model gets back."""

    command: str
    shows: Sequence[str]


STEPS = [Step(**step) for step in json.loads(Path(__file__).with_name("agent.json").read_text())]


@contextmanager
def session_of(session_id: str) -> Iterator[airlock.Session]:
    """Return a session that an adapter created."""
    with airlock.connect(state=STATE) as client:
        yield client.open_session(session_id)


def prepare(session: airlock.Session) -> None:
    """Create the repository."""
    session.files.write("project/sums.py", _SUMS)
    session.files.write("project/test_sums.py", _TEST)
    session.files.write("project/.gitignore", "__pycache__/\n")
    user = "git config user.name agent && git config user.email agent@example.com"
    result = session.run(f"(cd project && git init -q && {user} && git add . && git commit -qm 'Add the mean')")
    assert result.ok, result.text


def check(session: airlock.Session, heard: Sequence[str]) -> None:
    """Check what the model got for each step, and the repository."""
    assert len(heard) == len(STEPS), heard
    for step, text in zip(STEPS, heard, strict=True):
        missing = [part for part in step.shows if part not in text]
        assert not missing, f"no {missing} for `{step.command}` in:\n{text}"
    result = session.run(f"(cd {PROJECT} && git status --short && git log --format=%s && python3 -m unittest -q 2>&1)")
    assert result.stdout.splitlines()[:2] == ["Divide by the number of values", "Add the mean"], result.text
    assert result.ok and result.stdout.rstrip().endswith("OK"), result.text
