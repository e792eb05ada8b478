"""The options of commands and sessions, and their conversion to messages."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypedDict, TypeVar, cast

from ._errors import SettingsError
from .v1 import common_pb2, execution_pb2, session_pb2

V = TypeVar("V")

Mode = Literal["plan", "default", "accept_edits", "bypass"]
"""The strictness of a session, from the tightest to the loosest."""
Shell = Literal["bash", "zsh", "pwsh"]
Signal = Literal["hup", "int", "quit", "usr1", "usr2", "term", "kill", "stop", "cont"]

_MODES = {
    "plan": common_pb2.MODE_PLAN,
    "default": common_pb2.MODE_DEFAULT,
    "accept_edits": common_pb2.MODE_ACCEPT_EDITS,
    "bypass": common_pb2.MODE_BYPASS,
}
_SHELLS = {"bash": common_pb2.SHELL_BASH, "zsh": common_pb2.SHELL_ZSH, "pwsh": common_pb2.SHELL_PWSH}
_ON_ASK = {"fail": execution_pb2.ON_ASK_FAIL, "wait": execution_pb2.ON_ASK_WAIT}


@dataclass(frozen=True)
class Pty:
    """A terminal for a command."""

    rows: int = 24
    cols: int = 80
    term: str = "xterm"


@dataclass(frozen=True)
class NetworkRules:
    """Rules that narrow the network of the profile. Rules without `allow`, `any` and `warn` allow nothing."""

    allow: Sequence[str] = ()
    """Presets, hosts, or addresses, such as `pypi` or `*.example.com:8080`."""
    deny: Sequence[str] = ()
    any: bool = False
    """Allow every public host on the ports 80 and 443."""
    warn: bool = False
    """Report connections to public hosts that these rules do not allow, instead of refusing them."""


class CommandOptions(TypedDict, total=False):
    """The options of a command. Times are in seconds."""

    timeout: float
    """The limit of the run time. Default: the profile's, usually two minutes."""
    idle_timeout: float
    """The limit of the time without output."""
    description: str
    """The purpose of the command in a few words. Approvers see it."""
    on_ask: Literal["fail", "wait"]
    """The behaviour if policy asks for a person: fail (the default), or wait for the answer."""
    mode: Mode
    """The mode of this command. It may only be tighter than the session's."""
    shell: Shell
    env: Mapping[str, str | bytes]
    separate_stderr: bool
    """Keep stderr as a separate stream. By default, stdout has both in the order of writing."""
    stdin: bool
    """Keep the input open for writing."""
    pty: Pty | bool
    """Give the command a terminal. Implies `stdin`."""
    background: bool
    """Run it in the background: later commands do not wait for it."""
    yield_after: float
    """Move it to the background if it still runs after this time."""
    kill_on_disconnect: bool
    """End it if this client disconnects. A cut connection then ends the command, too."""
    allow_concurrent: bool
    """Let it run at the same time as other commands of the session."""
    labels: Mapping[str, str]
    inline_limit: int
    """The number of bytes up to which the result has the whole output."""
    umask: str
    network: NetworkRules
    """Narrows the network of the profile and the session."""
    dangerously_disable_sandbox: bool
    request_id: str
    """The key of the start. A repeated start with it returns the same execution. Default: a new key."""


class WorkspaceOptions(TypedDict, total=False):
    """The options of the temporary session of a command without a session."""

    profile: str
    base: str
    runner_labels: Mapping[str, str]


class SessionOptions(TypedDict, total=False):
    """The options of a session. Times are in seconds."""

    base: str
    """The base that the workspace is copied from. Default: an empty workspace."""
    profile: str
    """Default: the caller's default profile."""
    mode: Mode
    shell: Shell
    env: Mapping[str, str | bytes]
    labels: Mapping[str, str]
    runner_labels: Mapping[str, str]
    """Labels that the runner must have."""
    idle_timeout: float
    """The session is closed after this time without use. Default: one hour."""
    network: NetworkRules
    request_id: str


def spec_of(
    command: str | bytes, session_id: str, options: CommandOptions, workspace: WorkspaceOptions | None = None
) -> execution_pb2.ExecutionSpec:
    """Return the message for a command. A command without `request_id` gets one, so that a start can be repeated."""
    _known("option", options, CommandOptions)
    spec = execution_pb2.ExecutionSpec(session_id=session_id, request_id=options.get("request_id") or str(uuid.uuid4()))
    if isinstance(command, bytes):
        spec.command_bytes = command
    else:
        spec.command = command
    _set_times(spec, options)
    _set_env(spec, options.get("env") or {})
    spec.on_ask = _chosen("on_ask", _ON_ASK, options.get("on_ask"))
    spec.mode = _chosen("mode", _MODES, options.get("mode"))
    spec.shell = _chosen("shell", _SHELLS, options.get("shell"))
    for name in (
        "description", "separate_stderr", "stdin", "background", "kill_on_disconnect", "allow_concurrent",
        "inline_limit", "umask", "dangerously_disable_sandbox",
    ):  # fmt: skip
        if name in options:
            setattr(spec, name, options[name])
    spec.labels.update(options.get("labels") or {})
    if pty := options.get("pty"):
        size = pty if isinstance(pty, Pty) else Pty()
        spec.pty.CopyFrom(execution_pb2.Pty(rows=size.rows, cols=size.cols, term=size.term))
    if network := options.get("network"):
        spec.network.CopyFrom(rules_of(network))
    if workspace:
        _known("option", workspace, WorkspaceOptions)
        spec.profile, spec.base = workspace.get("profile", ""), workspace.get("base", "")
        spec.runner_labels.update(workspace.get("runner_labels") or {})
    return spec


def create_of(options: SessionOptions) -> session_pb2.SessionServiceCreateRequest:
    """Return the message that creates a session."""
    _known("option", options, SessionOptions)
    request = session_pb2.SessionServiceCreateRequest(
        request_id=options.get("request_id") or str(uuid.uuid4()),
        profile=options.get("profile", ""),
        base=options.get("base", ""),
        mode=_chosen("mode", _MODES, options.get("mode")),
        shell=_chosen("shell", _SHELLS, options.get("shell")),
        labels=options.get("labels") or {},
        runner_labels=options.get("runner_labels") or {},
    )
    _set_env(request, options.get("env") or {})
    if idle := options.get("idle_timeout"):
        request.idle_timeout.FromTimedelta(timedelta(seconds=idle))
    if network := options.get("network"):
        request.network.CopyFrom(rules_of(network))
    return request


def rules_of(network: NetworkRules) -> common_pb2.NetworkRules:
    """Return the message for network rules."""
    return common_pb2.NetworkRules(
        any=network.any, allow=list(network.allow), deny=list(network.deny), warn=network.warn
    )


def mode_of(mode: Mode | None) -> common_pb2.Mode:
    """Return the message's value for a mode."""
    return _chosen("mode", _MODES, mode)


def signal_of(signal: Signal) -> execution_pb2.Signal:
    """Return the message's value for a signal."""
    try:
        return cast(execution_pb2.Signal, execution_pb2.Signal.Value(f"SIGNAL_{signal.upper()}"))
    except ValueError:
        raise SettingsError(f"`{signal}` is not a signal that a command can get") from None


def _set_times(spec: execution_pb2.ExecutionSpec, options: CommandOptions) -> None:
    for field, value in (
        (spec.timeout, options.get("timeout")),
        (spec.idle_timeout, options.get("idle_timeout")),
        (spec.yield_after, options.get("yield_after")),
    ):
        if value:
            field.FromTimedelta(timedelta(seconds=value))


def _set_env(
    message: execution_pb2.ExecutionSpec | session_pb2.SessionServiceCreateRequest,
    variables: Mapping[str, str | bytes],
) -> None:
    for name, value in variables.items():
        if isinstance(value, bytes):
            message.env_bytes[name] = value
        else:
            message.env[name] = value


def _chosen(what: str, known: Mapping[str, V], name: str | None) -> V:
    """Return the value of a name, and the unspecified value for no name."""
    if name is None:
        return cast(V, 0)
    if name not in known:
        raise SettingsError(f"`{name}` is not a {what}", remedy=f"use one of: {', '.join(known)}")
    return known[name]


def _known(what: str, options: Mapping[str, object], of: type) -> None:
    unknown = set(options) - set(of.__annotations__)
    if unknown:
        raise TypeError(f"unknown {what}: {', '.join(sorted(unknown))}")
