"""Retries: bounded, growing pauses with jitter, up to the time limits of `Patience`."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from ._errors import AirlockError, RejectedError, is_passing

T = TypeVar("T")

# A connection that lasted this long counts as a success.
_HELD = 1.0


@dataclass(frozen=True)
class Patience:
    """The times, in seconds, for which a client retries without success, and its pauses."""

    call: float = 20.0
    """The time for a call or for the start of a command."""
    view: float = 120.0
    """The time for a view of an execution, since its last event."""
    silence: float = 600.0
    """The time for a download or an output reader that receives nothing new on an open connection."""
    backoff_first: float = 0.05
    """The pause before the first retry; it doubles with each retry."""
    backoff_max: float = 3.0
    """The longest pause between two attempts."""


class Retries:
    """The attempts since the last success."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._step = patience.backoff_first
        self._since: float | None = None

    def reset(self) -> None:
        """Record a success: the next pause is the shortest again."""
        self._step = self._patience.backoff_first
        self._since = None

    def held_since(self, began: float) -> None:
        """Record that a connection that was open since `began` broke. If it lasted, it counts as a success."""
        if time.monotonic() - began >= _HELD:
            self.reset()

    def pause(self, error: AirlockError, limit: float) -> float | None:
        """Return the pause after `error`, or `None` if no attempt has succeeded for `limit` seconds."""
        now = time.monotonic()
        if self._since is None:
            self._since = now
        left = limit - (now - self._since)
        if left < 0:
            return None
        pause = self._step * random.uniform(0.5, 1.0)
        self._step = min(self._step * 2, self._patience.backoff_max)
        if isinstance(error, RejectedError):
            pause = max(pause, error.retry_after or 0.0)
        return min(pause, self._patience.backoff_max, max(left, self._patience.backoff_first))

    async def outlast(self, error: AirlockError, limit: float) -> None:
        """Pause if `error` may pass. Raise it if it may not, or if the time is over."""
        if not is_passing(error):
            raise error
        pause = self.pause(error, limit)
        if pause is None:
            raise error
        await asyncio.sleep(pause)


async def retrying(patience: Patience, call: Callable[[], Awaitable[T]]) -> T:
    """Repeat a call that is safe to repeat, until it succeeds, fails permanently, or reaches its time limit."""
    retries = Retries(patience)
    while True:
        try:
            return await call()
        except AirlockError as error:
            await retries.outlast(error, patience.call)
