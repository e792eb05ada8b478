"""Runs SWE-ReX's runtime tests through Airlock: run.py STATE SDIST [PYTEST-ARGUMENT...]

STATE is the state directory of a running `airlock dev`, and SDIST is SWE-ReX's source distribution. The tests are used as
they are in SDIST. PYTHONPATH must have the Python client and the packages of
`clients/python/adapters/requirements/swerex.txt`. Exits with pytest's exit code.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SUITE = "test_execution.py"
# pytest without a configuration file and without a cache directory. gRPC needs one event loop for all tests.
PYTEST = ["-m", "pytest", "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider", "-ra"]
ASYNCIO = ["mode=auto", "default_fixture_loop_scope=session", "default_test_loop_scope=session"]


def main() -> int:
    state, sdist, *arguments = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="airlock-swerex-") as work:
        package = Path(work) / "suite"
        package.mkdir()
        (package / "__init__.py").touch()
        shutil.copy(HERE / "conftest.py", package)
        with tarfile.open(sdist) as archive:
            member = next(entry for entry in archive if entry.name.endswith(f"/tests/{SUITE}"))
            content = archive.extractfile(member)
            assert content is not None
            (package / SUITE).write_bytes(content.read())
        env = os.environ | {"AIRLOCK_STATE": os.path.abspath(state)}
        options = [f"-oasyncio_{option}" for option in ASYNCIO]
        pytest = [sys.executable, *PYTEST, *options, package.name, *arguments]
        return subprocess.run(pytest, cwd=work, env=env).returncode


if __name__ == "__main__":
    sys.exit(main())
