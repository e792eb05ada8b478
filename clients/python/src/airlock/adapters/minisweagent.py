"""mini-swe-agent on Airlock: an environment.

    environment = AirlockEnvironment()
    DefaultAgent(model, environment, **config).run("Fix the failing test.")

In a configuration file: `environment_class: airlock.adapters.minisweagent.AirlockEnvironment`.

An environment is one Airlock session, and each action is one execution in it. As in the other environments of
mini-swe-agent, the files persist between actions, and the directory and variables do not.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Literal, Self

from minisweagent.exceptions import Submitted
from minisweagent.utils.serialize import recursive_merge
from pydantic import BaseModel, ConfigDict

from .._result import Result
from .._sync import Client, Session, connect
from ._commands import Refused, code_of, in_directory, options_of, text_of

__all__ = ["AirlockEnvironment", "AirlockEnvironmentConfig"]

_FINISHED = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


class AirlockEnvironmentConfig(BaseModel):
    """The configuration of an `AirlockEnvironment`. Settings of the connection come from the environment."""

    model_config = ConfigDict(extra="forbid")

    cwd: str = ""
    """The directory of each command: absolute, or relative to `/workspace`."""
    env: dict[str, str] = {}
    timeout: int = 30
    """The limit of a command's run time, in seconds."""
    state: str | None = None
    """The state directory of `airlock dev`. Default: as for `airlock.connect`."""
    profile: str = ""
    """Default: the caller's default profile."""
    base: str = ""
    """The base that the workspace is copied from. Default: an empty workspace."""
    on_ask: Literal["fail", "wait"] = "fail"
    """The behaviour if policy asks for a person."""


class AirlockEnvironment:
    """An environment of mini-swe-agent in one Airlock session. `cleanup` closes it, or the end of the object."""

    def __init__(self, *, session: Session | None = None, config_class: type = AirlockEnvironmentConfig, **kwargs: Any):
        """Create a session, or use one that the caller closes."""
        self.config: AirlockEnvironmentConfig = config_class(**kwargs)
        self._uname: dict[str, str] | None = None
        self._close: Callable[[], object]
        if session is not None:
            self.session, self._close = session, lambda: None
            return
        client = connect(state=self.config.state)
        try:
            self.session = client.session(profile=self.config.profile, base=self.config.base, env=self.config.env)
        except BaseException:
            client.close()
            raise
        self._close = weakref.finalize(self, _closed, client, self.session)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.cleanup()

    def execute(self, action: dict[str, Any], cwd: str = "", *, timeout: int | None = None) -> dict[str, Any]:
        """Run a command. Raise `Submitted` if its output submits the task."""
        command = in_directory(action.get("command", ""), cwd or self.config.cwd)
        options = options_of(timeout or self.config.timeout, self.config.env, on_ask=self.config.on_ask)
        try:
            result = self.session.run(command, **options)
        except Refused as refused:
            return _failed(text_of(refused), "the command did not run", refused)
        if result.cause.code == "timed_out":
            return _failed(result.text, "the timeout of the command expired")
        code = code_of(result)
        if code == 0:
            self._check_finished(result)
        return {"output": result.text, "returncode": code, "exception_info": ""}

    def get_template_vars(self, **kwargs: Any) -> dict[str, Any]:
        """Return the variables of the prompts: the configuration, and the system of the sandbox."""
        if self._uname is None:
            names = ["system", "node", "release", "version", "machine"]
            values = self.session.run("uname -s; uname -n; uname -r; uname -v; uname -m").stdout.splitlines()
            self._uname = dict(zip(names, values, strict=False))
        return dict(recursive_merge(self.config.model_dump(), self._uname, kwargs))

    def serialize(self) -> dict[str, Any]:
        """Return what a trajectory records about the environment."""
        kind = f"{self.__class__.__module__}.{self.__class__.__name__}"
        config = self.config.model_dump(mode="json")
        return {"info": {"config": {"environment": config, "environment_type": kind}}}

    def cleanup(self) -> None:
        """Close the session that this object created."""
        self._close()

    def _check_finished(self, result: Result) -> None:
        first, _, submission = result.stdout.lstrip().partition("\n")
        if first.strip() != _FINISHED:
            return
        if result.truncated:
            whole = self.session.attach(result.execution_id).output().decode("utf-8", "replace")
            submission = whole.lstrip().partition("\n")[2]
        extra = {"exit_status": "Submitted", "submission": submission}
        raise Submitted({"role": "exit", "content": submission, "extra": extra})


def _failed(output: str, info: str, error: Exception | None = None) -> dict[str, Any]:
    failed: dict[str, Any] = {"output": output, "returncode": -1, "exception_info": info}
    if error is not None:
        failed["extra"] = {"exception_type": type(error).__name__, "exception": str(error)}
    return failed


def _closed(client: Client, session: Session) -> None:
    try:
        session.close()
    finally:
        client.close()
