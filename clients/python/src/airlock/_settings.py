"""The settings of a connection: from arguments, the environment, or the state directory of `airlock dev`.

The names and the order are those of the `airlock` command line.
"""

from __future__ import annotations

import fcntl
import ipaddress
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from ._errors import SettingsError
from ._retry import Patience

_CONNECTION = "connection.json"
_FILE_BYTES = 1024 * 1024
# The time that a call waits for a local `airlock dev` to answer again.
_DEV_CALL = 5.0


@dataclass(frozen=True)
class Credentials:
    """The CA and the identity that a connection uses, as they were read."""

    ca: bytes | None = None
    """PEM certificates of the CAs that may have signed the server's certificate."""
    token: str | None = field(default=None, repr=False)
    """A bearer token."""
    certificate: bytes | None = None
    """A client certificate chain (PEM)."""
    key: bytes | None = field(default=None, repr=False)
    """The private key of the certificate (PEM)."""


@dataclass(frozen=True)
class Settings:
    """The address of a server, and the files with the credentials for it."""

    addresses: tuple[str, ...]
    """The addresses, `https://HOST:PORT`. Several are servers of one store."""
    ca: Path | None = None
    """The file with the CA certificates."""
    token: str | None = field(default=None, repr=False)
    """A bearer token, instead of a token file."""
    token_file: Path | None = None
    """The file with a bearer token."""
    cert: Path | None = None
    """The file with a client certificate chain."""
    key: Path | None = None
    """The file with the private key of the certificate."""
    server_name: str | None = None
    """The name in the server's certificate, if it differs from the host of the address."""
    traceparent: str | None = None
    """The W3C trace context of every call."""
    patience: Patience = field(default_factory=Patience)
    """The times to retry."""
    state: Path | None = None
    """The state directory of `airlock dev` that the settings come from."""

    def credentials(self) -> Credentials:
        """Read the files. Raise `SettingsError` if one is missing or invalid."""
        ca = _pem(self.ca, "CERTIFICATE") if self.ca else None
        token = self.token or (_token(self.token_file) if self.token_file else None)
        if token is not None and (not token.isascii() or not token.isprintable() or not token.strip()):
            raise SettingsError("the token is empty or has characters that no token can contain")
        if self.cert and self.key and token is None:
            return Credentials(ca, None, _pem(self.cert, "CERTIFICATE"), _pem(self.key, "PRIVATE KEY"))
        return Credentials(ca, token)


@dataclass(frozen=True)
class Target:
    """The host and port of a server."""

    address: str
    host: str
    port: int
    secure: bool


def find(
    *,
    address: str | None = None,
    ca: str | os.PathLike[str] | None = None,
    token: str | None = None,
    token_file: str | os.PathLike[str] | None = None,
    cert: str | os.PathLike[str] | None = None,
    key: str | os.PathLike[str] | None = None,
    state: str | os.PathLike[str] | None = None,
    insecure_loopback: bool = False,
    server_name: str | None = None,
    patience: Patience | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Find the settings: each argument, else its variable; without an address, `connection.json`."""
    env = os.environ if environment is None else environment
    if state is not None and address is None:
        return _of_dev(Path(state), env, patience)
    named = address or env.get("AIRLOCK_ADDRESS")
    if not named:
        return _of_dev(_state_directory(env), env, patience)

    def file(value: str | os.PathLike[str] | None, variable: str) -> Path | None:
        text = value or env.get(variable)
        return Path(text) if text else None

    settings = Settings(
        addresses=tuple(part.strip() for part in named.split(",")),
        ca=file(ca, "AIRLOCK_CA"),
        token=token,
        token_file=None if token else file(token_file, "AIRLOCK_TOKEN_FILE"),
        cert=file(cert, "AIRLOCK_CERT"),
        key=file(key, "AIRLOCK_KEY"),
        server_name=server_name,
        traceparent=env.get("TRACEPARENT"),
        patience=patience or Patience(),
    )
    _check(settings, insecure_loopback)
    return settings


def _check(settings: Settings, insecure_loopback: bool) -> None:
    all_targets = targets(settings)
    secure = {target.secure for target in all_targets}
    if len(secure) > 1:
        raise SettingsError("the addresses mix https:// with http://")
    for target in all_targets:
        if not target.secure and not insecure_loopback:
            raise SettingsError(
                f"the server's address `{target.address}` is plain text",
                remedy="use https://, or insecure_loopback=True for a server on this host",
            )
        if not target.secure and not _is_loopback(target.host):
            raise SettingsError(
                f"the server's address `{target.address}` is plain text to another host, which is never allowed"
            )
    if True in secure and settings.ca is None:
        raise SettingsError(
            f"the server's address `{settings.addresses[0]}` needs the certificate of its authority",
            remedy="name a CA file: the argument `ca` or AIRLOCK_CA",
        )
    if (settings.token or settings.token_file) and settings.cert:
        raise SettingsError("a token and a certificate select different identities", remedy="use one of them")
    if (settings.cert is None) != (settings.key is None):
        raise SettingsError("a client certificate needs its private key", remedy="name both `cert` and `key`")


def targets(settings: Settings) -> tuple[Target, ...]:
    """Return the servers that the addresses name. Raise `SettingsError` for an invalid address."""
    return tuple(_target(address) for address in settings.addresses)


def _target(address: str) -> Target:
    wrong = SettingsError(f"`{address}` is not a server's address", remedy="write https://HOST:PORT")
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise wrong from None
    if parts.scheme not in ("https", "http") or not host or parts.path not in ("", "/"):
        raise wrong
    secure = parts.scheme == "https"
    return Target(address, host, port or (443 if secure else 80), secure)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _state_directory(env: Mapping[str, str]) -> Path:
    if named := env.get("AIRLOCK_STATE"):
        return Path(named).absolute()
    for name, below in (("XDG_STATE_HOME", ""), ("HOME", ".local/state")):
        value = env.get(name)
        if value and Path(value).is_absolute():
            return Path(value) / below / "airlock"
    raise SettingsError("no server was named, and there is no HOME", remedy="name an address or a state directory")


def _of_dev(directory: Path, env: Mapping[str, str], patience: Patience | None) -> Settings:
    if not _is_locked(directory / "lock"):
        raise SettingsError(
            f"no `airlock dev` is running with the state directory {directory}",
            remedy="start one with `airlock dev`, or name a server: the argument `address` or AIRLOCK_ADDRESS",
        )
    path = directory / _CONNECTION
    if not path.exists():
        raise SettingsError(f"the `airlock dev` of {directory} is starting or stopping", remedy="try again in a moment")
    try:
        parts = json.loads(_read(path))
        address, ca, token_file = str(parts["address"]), str(parts["ca"]), str(parts["token_file"])
    except (ValueError, KeyError, TypeError):
        raise SettingsError(
            f"{path} is not a connection file",
            remedy="stop `airlock dev`, remove the file, and start it again",
        ) from None
    settings = Settings(
        addresses=(address,),
        ca=directory / ca,
        token_file=directory / token_file,
        traceparent=env.get("TRACEPARENT"),
        patience=patience or replace(Patience(), call=_DEV_CALL),
        state=directory,
    )
    _check(settings, insecure_loopback=False)
    return settings


def _is_locked(path: Path) -> bool:
    """Report whether an instance holds the lock of a state directory. Files alone can be left over."""
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise SettingsError(f"`{path}` is not a file")
        with path.open("rb") as file:
            content = file.read(_FILE_BYTES + 1)
    except OSError as error:
        raise SettingsError(f"cannot read `{path}`: {error.strerror}") from error
    if len(content) > _FILE_BYTES:
        raise SettingsError(f"`{path}` is over {_FILE_BYTES} bytes")
    return content


def _pem(path: Path, what: str) -> bytes:
    content = _read(path)
    if f"{what}-----".encode() not in content:
        raise SettingsError(f"`{path}` contains no {what.lower()} in PEM format")
    return content


def _token(path: Path) -> str:
    token = _read(path).decode("utf-8", "replace").strip()
    if not token:
        raise SettingsError(f"the token file `{path}` is empty")
    return token
