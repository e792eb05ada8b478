"""The settings: their order, and one clear error for each mistake."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airlock import SettingsError
from airlock._settings import find, targets

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Path]:
    """Return the state directory of a running `airlock dev`."""
    directory = tmp_path / "airlock"
    (directory / "keys").mkdir(parents=True)
    (directory / "keys/ca.pem").write_text(CERTIFICATE)
    (directory / "keys/client.token").write_text("  the-token\n")
    content = {"address": "https://127.0.0.1:7", "ca": "keys/ca.pem", "token_file": "keys/client.token"}
    (directory / "connection.json").write_text(json.dumps(content))
    with (directory / "lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield directory


def test_arguments_come_before_the_environment_and_the_environment_before_dev(state: Path) -> None:
    ca = state / "keys/ca.pem"
    env = {"XDG_STATE_HOME": str(state.parent)}
    assert find(environment=env).addresses == ("https://127.0.0.1:7",)
    env |= {"AIRLOCK_ADDRESS": "https://env:1", "AIRLOCK_CA": str(ca), "AIRLOCK_TOKEN_FILE": "/env"}
    assert find(environment=env).addresses == ("https://env:1",)
    found = find(environment=env, address="https://arg:2,https://other:3", token_file="/arg")
    assert found.addresses == ("https://arg:2", "https://other:3")
    assert found.token_file == Path("/arg")
    assert [target.port for target in targets(found)] == [2, 3]
    assert find(environment=env, state=state).addresses == ("https://127.0.0.1:7",), "a named state directory"


@pytest.mark.parametrize("name", ["AIRLOCK_STATE", "XDG_STATE_HOME", "HOME"])
def test_the_state_directory_is_found_as_the_command_line_finds_it(name: str, state: Path, tmp_path: Path) -> None:
    if name == "HOME":
        (tmp_path / ".local").mkdir()
        (tmp_path / ".local/state").symlink_to(state.parent)
    value = {"AIRLOCK_STATE": state, "XDG_STATE_HOME": state.parent, "HOME": tmp_path}[name]
    found = find(environment={name: str(value)})
    assert found.credentials().token == "the-token"
    assert found.patience.call == 5.0, "a local server is not waited for long"


def test_files_that_a_dead_dev_left_are_not_used(state: Path) -> None:
    find(environment={}, state=state)
    # A dev that is killed leaves its files, and its lock is gone.
    (state / "lock").unlink()
    (state / "lock").touch()
    with pytest.raises(SettingsError, match=r"no `airlock dev` is running.*start one with `airlock dev`"):
        find(environment={}, state=state)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"address": "http://127.0.0.1:1"}, "plain text; use https://"),
        ({"address": "http://example.com:1", "insecure_loopback": True}, "never allowed"),
        ({"address": "http://localhost:1", "insecure_loopback": True}, "never allowed"),
        ({"address": "https://example.com:1"}, "AIRLOCK_CA"),
        ({"address": "127.0.0.1:1"}, "write https://HOST:PORT"),
        ({"address": "https://h:x"}, "write https://HOST:PORT"),
        ({"address": "https://h:1,http://127.0.0.1:2", "insecure_loopback": True}, "mix https"),
        ({"address": "https://h:1", "ca": "/x", "token": "t", "cert": "/c", "key": "/k"}, "use one of them"),
        ({"address": "https://h:1", "ca": "/x", "cert": "/c"}, "private key"),
        ({}, "there is no HOME"),
    ],
)
def test_wrong_settings_are_refused_before_a_request(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        find(environment={}, **arguments)


def test_wrong_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "ca").write_text("no certificate")
    (tmp_path / "token").write_text(" \n")
    for arguments, says in (
        ({"ca": tmp_path / "ca"}, "contains no certificate in PEM format"),
        ({"ca": tmp_path / "none"}, "is not a file"),
        ({"ca": tmp_path}, "is not a file"),
    ):
        with pytest.raises(SettingsError, match=says):
            find(environment={}, address="https://h:1", **arguments).credentials()  # type: ignore[arg-type]
    (tmp_path / "ca").write_text(CERTIFICATE)
    for token_file, token, says in ((tmp_path / "token", None, "is empty"), (None, "a\nb", "no token can contain")):
        settings = find(environment={}, address="https://h:1", ca=tmp_path / "ca", token=token, token_file=token_file)
        with pytest.raises(SettingsError, match=says):
            settings.credentials()


def test_no_secret_is_shown() -> None:
    settings = find(environment={}, address="http://127.0.0.1:1", insecure_loopback=True, token="hunter2")
    assert "hunter2" not in repr(settings) + repr(settings.credentials())
