"""Fixtures for SWE-ReX's runtime tests. SWE-ReX's source distribution leaves its own fixtures out.

SWE-ReX tests its runtime on the machine that pytest runs on: the runtime writes a file, and the test reads it. Here the
runtime is in a sandbox. `SharedPath` keeps such a file under the same path on both sides.

AIRLOCK_STATE names the state directory of a running `airlock dev`.
"""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path, PosixPath

import pytest
from airlock import Session, connect
from airlock.adapters.swerex import AirlockDeployment, AirlockRuntime
from swerex.runtime import abstract

# Only a failing test waits this long. A timeout that a test sets itself is meant to expire.
PATIENCE = 300.0


class _Action(abstract.BashAction):
    timeout: float | None = PATIENCE


class _Command(abstract.Command):
    timeout: float | None = PATIENCE


class SharedPath(PosixPath):
    """A path below /tmp. A test reads the file of the session, and writes both that and the file of this machine."""

    session: Session

    def read_text(self, encoding: str | None = None, errors: str | None = None) -> str:
        return self.session.files.read(self).decode(encoding or "utf-8", errors or "strict")

    def write_text(
        self, data: str, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> int:
        written = super().write_text(data, encoding, errors, newline)
        self.session.files.write(self, self.read_bytes())
        return written


@pytest.fixture
async def remote_runtime() -> AsyncIterator[AirlockRuntime]:
    deployment = AirlockDeployment(profile="agent")
    await deployment.start()
    assert await deployment.is_alive()
    yield deployment.runtime
    await deployment.stop()


@pytest.fixture
async def runtime_with_default_session(remote_runtime: AirlockRuntime) -> AsyncIterator[AirlockRuntime]:
    await remote_runtime.create_session(abstract.CreateBashSessionRequest())
    yield remote_runtime
    await remote_runtime.close_session(abstract.CloseBashSessionRequest())


@pytest.fixture
def tmp_path(remote_runtime: AirlockRuntime) -> Iterator[Path]:
    with connect() as client, tempfile.TemporaryDirectory(prefix="airlock-swerex-", dir="/tmp") as directory:
        SharedPath.session = client.open_session(remote_runtime.session.id)
        yield SharedPath(directory)
