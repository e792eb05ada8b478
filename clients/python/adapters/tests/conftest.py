"""Bounds each test: a client that waits for ever is a failure."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

# Far more than a busy host needs.
LIMIT = 600


@pytest.fixture(autouse=True)
def bounded() -> Iterator[None]:
    """Raise an error in a test that does not end."""

    def expired(_signal: int, _frame: object) -> None:
        raise TimeoutError(f"the test has not ended within {LIMIT} s")

    before = signal.signal(signal.SIGALRM, expired)
    signal.alarm(LIMIT)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
