"""Fixtures for SWE-ReX's runtime tests. SWE-ReX's source distribution leaves its own fixtures out.

SWE-ReX tests its runtime on the machine that pytest runs on: the runtime writes a file, and the test reads it. Here the
runtime is in a sandbox. `SharedPath` keeps such a file under the same path on both sides.

AIRLOCK_STATE names the state directory of a running `airlock dev`.
"""

import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path, PosixPath

import grpc
import pytest
from airlock.v1 import file_pb2, file_pb2_grpc
from swerex.runtime import abstract

from .adapter import AirlockRuntime
from .client import Connection, upload_requests

EXCEPTED = Path(__file__).with_name("excepted.tsv")
# Only a failing test waits this long. A timeout that a test sets itself is meant to expire.
PATIENCE = 300.0


class _Action(abstract.BashAction):
    timeout: float | None = PATIENCE


class _Command(abstract.Command):
    timeout: float | None = PATIENCE


class SharedPath(PosixPath):
    """A path below /tmp. A test reads the file of the session, and writes both that and the file of this machine."""

    files: file_pb2_grpc.FileServiceStub
    session_id: str

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        request = file_pb2.FileServiceDownloadRequest(session_id=self.session_id, path=str(self))
        data = b"".join(response.chunk.data for response in self.files.Download(request))
        return data.decode(encoding or "utf-8", errors or "strict")

    def write_text(
        self, data: str, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> int:
        header = file_pb2.UploadHeader(
            session_id=self.session_id, path=str(self), format=file_pb2.FILE_FORMAT_FILE
        )
        written = super().write_text(data, encoding, errors, newline)
        self.files.Upload(upload_requests(header, self.read_bytes()))
        return written


@pytest.fixture(scope="session")
def connection() -> Connection:
    return Connection.from_state(Path(os.environ["AIRLOCK_STATE"]))


@pytest.fixture
async def remote_runtime(connection: Connection) -> AsyncIterator[AirlockRuntime]:
    runtime = await AirlockRuntime.start(connection)
    yield runtime
    await runtime.close()


@pytest.fixture
async def runtime_with_default_session(remote_runtime: AirlockRuntime) -> AsyncIterator[AirlockRuntime]:
    await remote_runtime.create_session(abstract.CreateBashSessionRequest())
    yield remote_runtime
    await remote_runtime.close_session(abstract.CloseBashSessionRequest())


@pytest.fixture
def tmp_path(connection: Connection, remote_runtime: AirlockRuntime) -> Iterator[Path]:
    with (
        grpc.secure_channel(connection.target, connection.credentials()) as channel,
        tempfile.TemporaryDirectory(prefix="airlock-swerex-", dir="/tmp") as directory,
    ):
        SharedPath.files = file_pb2_grpc.FileServiceStub(channel)
        SharedPath.session_id = remote_runtime.session.session_id
        yield SharedPath(directory)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expects the excepted tests to fail. Refuses an exception that is not needed, or that names no test."""
    rows = (line.split("\t") for line in EXCEPTED.read_text().splitlines() if not line.startswith("#"))
    reasons = {name: reason for name, reason in rows}
    for item in items:
        if reason := reasons.pop(item.name, None):
            raises = (AssertionError, pytest.fail.Exception)
            item.add_marker(pytest.mark.xfail(reason=reason, raises=raises, strict=True))
    if reasons:
        raise pytest.UsageError(f"{EXCEPTED.name} names no test: {', '.join(reasons)}")
