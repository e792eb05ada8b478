"""The event loop of the synchronous client: one thread for all clients of a process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")

# The time in seconds for a cancelled coroutine to end.
_END = 10.0


class Portal:
    """An event loop in a thread. It runs coroutines for other threads."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="airlock", daemon=True).start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine and return its result. An exception in this thread, such as Ctrl+C, cancels the coroutine."""
        ended = threading.Event()

        async def worked() -> T:
            try:
                return await work
            finally:
                ended.set()

        future = asyncio.run_coroutine_threadsafe(worked(), self._loop)
        try:
            return future.result()
        except BaseException:
            if future.cancel():
                # The coroutine may have something to end on the server.
                ended.wait(_END)
            raise


_lock = threading.Lock()
_portal: Portal | None = None


def portal() -> Portal:
    """Return the portal of this process. A forked process gets a new one."""
    global _portal  # noqa: PLW0603 - the one portal
    with _lock:
        if _portal is None or _portal.pid != os.getpid():
            _portal = Portal()
        return _portal


def iterate(source: AsyncIterator[T]) -> Generator[T, None, None]:
    """Return the items of an asynchronous iterator. It is closed when the iteration ends early."""
    run = portal().run

    async def step() -> tuple[T] | None:
        try:
            return (await source.__anext__(),)
        except StopAsyncIteration:
            return None

    async def close() -> None:
        ended = getattr(source, "aclose", None)
        if ended is not None:
            await ended()

    try:
        while (item := run(step())) is not None:
            yield item[0]
    finally:
        run(close())
