"""The conformance cases of all clients, run with this one. `AIRLOCK_STATE` names the state directory of a server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import airlock

from .calls import Calls, Json, of_error

CONFORMANCE = Path(__file__).parent / "../../conformance"
EVERY = 2


class Program:
    """A helper that prints its address, and ends with its input."""

    def __init__(self, *command: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self.address = self._output.readline().strip()

    def tell(self, command: str) -> str:
        self._input.write(command + "\n")
        self._input.flush()
        return self._output.readline().strip()

    def end(self) -> None:
        self._input.close()
        self._process.wait(timeout=10)


class Server:
    """A real server behind the proxy."""

    def __init__(self, state: Path) -> None:
        connection = json.loads((state / "connection.json").read_text())
        self.ca, self.token_file = str(state / connection["ca"]), str(state / connection["token_file"])
        self.proxy = Program(str(CONFORMANCE / "proxy.py"), connection["address"].removeprefix("https://"))
        self.address = f"https://{self.proxy.address}"

    def known(self) -> dict[str, Any]:
        return {"address": self.address, "ca": self.ca, "token_file": self.token_file}


def cases(cut: bool) -> Iterator[Any]:
    for path in sorted((CONFORMANCE / "cases").glob("*.json")):
        for case in json.loads(path.read_text()):
            if case.get("cuts", True) in ([True, "only"] if cut else [True, False]):
                yield pytest.param(case, id=f"{path.stem}-{case['name']}")


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    server = Server(Path(os.environ["AIRLOCK_STATE"]))
    yield server
    server.proxy.end()


@pytest.fixture(scope="session")
def old_server() -> Iterator[Program]:
    program = Program(str(CONFORMANCE / "old_server.py"))
    yield program
    program.end()


@pytest.fixture(scope="session")
def other_ca(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("ca")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-subj", "/CN=another", "-keyout", str(directory / "key"), "-out", str(directory / "ca.pem")]
    subprocess.run(command, check=True, capture_output=True)
    return str(directory / "ca.pem")


@pytest.fixture(scope="session")
def cutting(server: Server) -> Iterator[Server]:
    """Cut all connections every two seconds, while the cases run again."""
    before = int(server.proxy.tell("cuts"))
    server.proxy.tell(f"every {EVERY}")
    yield server
    server.proxy.tell("every 0")
    assert int(server.proxy.tell("cuts")) > before + 2, "connections were cut"


@pytest.mark.parametrize("case", list(cases(cut=False)))
def test_case(case: Any, server: Server, old_server: Program, other_ca: str, tmp_path: Path) -> None:
    if case.get("server") == "old":
        made = airlock.connect(old_server.address, insecure_loopback=True, environment={})
    else:
        made = airlock.connect(**server.known(), environment={})
    check(case, made, server, other_ca, tmp_path)
    assert server.proxy.tell("left") == "none", "the cut of the case has happened"


@pytest.mark.parametrize("case", list(cases(cut=True)))
def test_case_although_connections_are_cut(case: Any, cutting: Server, other_ca: str, tmp_path: Path) -> None:
    check(case, airlock.connect(**cutting.known(), environment={}), cutting, other_ca, tmp_path)


def check(case: Any, made: airlock.Client, server: Server, other_ca: str, tmp_path: Path) -> None:
    """Run a case."""
    saved: dict[str, Json] = {
        "server": server.known(),
        "closed": "https://127.0.0.1:1",
        "other_ca": other_ca,
        "tmp": str(tmp_path),
        "unique": str(uuid.uuid4()),
    }
    with made as client:
        calls = Calls(client)
        for step in case["steps"]:
            take(step, calls, server.proxy, saved)
        for session in calls.sessions.values():
            session.close()


def take(step: Json, calls: Calls, proxy: Program, saved: dict[str, Json]) -> None:
    """Take one step of a case."""
    if "proxy" in step:
        assert proxy.tell(step["proxy"]) == "ok"
        return
    args = resolved(step["args"], saved)
    try:
        response = calls.call(step["call"], args)
    except airlock.AirlockError as error:
        if "error" not in step:
            raise
        response = of_error(error)
    else:
        assert "error" not in step, f"{step['call']} did not fail: {response}"
    expected = resolved(step.get("error", step.get("expect", {})), saved)
    problem = difference(expected, response or {}, step["call"])
    assert problem is None, problem
    if "save" in step:
        saved[step["save"]] = response


def resolved(value: Json, saved: dict[str, Json]) -> Json:
    """Return the value with saved values in it."""
    match value:
        case str() if value.startswith("$tmp/"):
            return str(saved["tmp"]) + value.removeprefix("$tmp")
        case str() if value.startswith("$"):
            name, *path = value[1:].split(".")
            found = saved[name]
            for key in path:
                found = found[key]
            return found
        case {"repeat": text, "times": times}:
            return text * times
        case dict():
            return {key: resolved(one, saved) for key, one in value.items()}
        case list():
            return [resolved(one, saved) for one in value]
    return value


def difference(expected: Json, got: Json, at: str) -> str | None:
    """Return the first difference, or `None` if the response matches."""
    match expected:
        case {"$match": pattern}:
            return None if isinstance(got, str) and re.search(pattern, got) else f"{at}: no `{pattern}` in {got!r}"
        case {"$contains": part}:
            found = part in got if isinstance(got, str) else any(difference(part, one, at) is None for one in got)
            return None if found else f"{at}: no {part!r} in {got!r}"
        case {"$at_least": least}:
            return None if got >= least else f"{at}: {got} is below {least}"
        case dict() if isinstance(got, dict):
            each = (difference(one, got.get(key), f"{at}.{key}") for key, one in expected.items())
            return next((one for one in each if one), None)
        case list() if isinstance(got, list) and len(got) == len(expected):
            each = (
                difference(one, other, f"{at}[{i}]") for i, (one, other) in enumerate(zip(expected, got, strict=True))
            )
            return next((one for one in each if one), None)
    return None if expected == got else f"{at}: {got!r} is not {expected!r}"
