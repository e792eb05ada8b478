"""The received results, in an SQLite file. A repeated delivery changes nothing."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from types import TracebackType

from airlock.hooks.v1 import hook_pb2
from airlock.v1 import common_pb2

_TABLE = """
CREATE TABLE IF NOT EXISTS results (
  execution_id TEXT NOT NULL,
  hook         TEXT NOT NULL,
  cause        TEXT NOT NULL,
  found        TEXT NOT NULL,
  attempt      INTEGER NOT NULL,
  finished     INTEGER NOT NULL,
  PRIMARY KEY (execution_id, hook)
) STRICT
"""


class Deliveries:
    """The file of results. Its methods can be called on any thread."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, check_same_thread=False)
        self._connection.execute(_TABLE)
        self._lock = threading.Lock()

    def add(self, request: hook_pb2.PostExecuteRequest, found: list[str]) -> bool:
        """Write a result to disk. Return False if an earlier delivery of it was written."""
        row = (
            request.execution.execution_id,
            request.hook,
            common_pb2.CauseCode.Name(request.result.cause.code),
            ", ".join(found),
            request.attempt,
            request.finished.seconds,
        )
        with self._lock, self._connection:
            written = self._connection.execute("INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?, ?, ?)", row)
            return written.rowcount == 1

    def __enter__(self) -> Deliveries:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
