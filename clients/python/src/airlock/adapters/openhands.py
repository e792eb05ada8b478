"""The OpenHands SDK on Airlock: a workspace, and the tool `terminal` that runs commands in it.

    with AirlockWorkspace(working_dir="project") as workspace:
        agent = Agent(llm=llm, tools=[Tool(name=AirlockTerminalTool.name)])
        Conversation(agent, workspace=workspace).run()

A workspace is one Airlock session, and each command is one execution in it. The content of the local `working_dir` is
copied into `/workspace` at the start. Nothing is copied back, except by `file_download`.

OpenHands needs Python 3.12. OpenHands' own tools run on this machine: use only the tool of this module for commands.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from openhands.sdk.git.models import GitChange, GitChangeStatus, GitDiff
from openhands.sdk.tool import Action, Observation, ToolAnnotations, ToolDefinition, ToolExecutor, register_tool
from openhands.sdk.workspace import CommandResult, FileOperationResult, LocalWorkspace
from pydantic import Field, PrivateAttr

from .._errors import AirlockError, NotFoundError
from .._result import Result
from .._sync import Client, Session, connect
from ._commands import NOT_RUN, Collected, Refused, code_of, in_directory, options_of, text_of

if TYPE_CHECKING:
    from openhands.sdk.conversation.impl.local_conversation import LocalConversation
    from openhands.sdk.conversation.state import ConversationState

__all__ = ["AirlockTerminalTool", "AirlockWorkspace", "TerminalAction", "TerminalObservation"]

_STATUS = {"A": GitChangeStatus.ADDED, "?": GitChangeStatus.ADDED, "D": GitChangeStatus.DELETED}
_TIMEOUT = 120.0


class AirlockWorkspace(LocalWorkspace):
    """A workspace in an Airlock session. As a context manager, it closes the session at the end."""

    state: str | None = None
    """The state directory of `airlock dev`. Default: as for `airlock.connect`."""
    profile: str = ""
    """Default: the caller's default profile."""
    base: str = ""
    """The base that the workspace is copied from. Default: the content of `working_dir`."""
    env: dict[str, str] = Field(default_factory=dict)
    on_ask: Literal["fail", "wait"] = "fail"
    """The behaviour if policy asks for a person."""

    _client: Client | None = PrivateAttr(default=None)
    _session: Session | None = PrivateAttr(default=None)

    @property
    def session(self) -> Session:
        """The Airlock session. The first use creates it."""
        if self._session is None:
            client = connect(state=self.state)
            try:
                session = client.session(profile=self.profile, base=self.base, env=self.env)
                if not self.base and Path(self.working_dir).is_dir():
                    session.files.upload(self.working_dir)
            except BaseException:
                client.close()
                raise
            self._client, self._session = client, session
        return self._session

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        try:
            super().__exit__(exc_type, exc_val, exc_tb)
        finally:
            self.close()

    def close(self) -> None:
        """Close the session and the connection."""
        client, session = self._client, self._session
        self._client = self._session = None
        try:
            if session is not None:
                session.close()
        finally:
            if client is not None:
                client.close()

    def run(self, command: str, timeout: float = _TIMEOUT) -> Result:
        """Run a command in the session's directory and return Airlock's result.

        Its `cd` moves the session's directory. Raise `DeniedError` if it is denied.
        """
        options = options_of(timeout, on_ask=self.on_ask)
        options["allow_concurrent"] = False
        return self.session.run(command, **options)

    def execute_command(self, command: str, cwd: str | Path | None = None, timeout: float = 30.0) -> CommandResult:
        """Run a command. If it is denied, `stderr` has the text for a model."""
        got = Collected()
        try:
            result = self.session.run(
                in_directory(command, str(cwd or "")),
                on_stdout=got.stdout.extend,
                on_stderr=got.stderr.extend,
                **options_of(timeout, on_ask=self.on_ask, separate_stderr=True),
            )
        except Refused as refused:
            return CommandResult(
                command=command, exit_code=NOT_RUN, stdout="", stderr=text_of(refused), timeout_occurred=False
            )
        expired = result.cause.code == "timed_out"
        stdout, stderr = got.texts(result)
        return CommandResult(
            command=command,
            # OpenHands has this code for a command whose timeout expired.
            exit_code=-1 if expired else code_of(result),
            stdout=stdout,
            stderr=stderr,
            timeout_occurred=expired,
        )

    def file_upload(self, source_path: str | Path, destination_path: str | Path) -> FileOperationResult:
        """Copy a local file into the session."""
        try:
            self.session.files.upload(source_path, destination_path)
            size = Path(source_path).stat().st_size
        except (AirlockError, OSError) as error:
            return _failed(source_path, destination_path, error)
        return _copied(source_path, destination_path, size)

    def file_download(self, source_path: str | Path, destination_path: str | Path) -> FileOperationResult:
        """Copy a file of the session to this machine."""
        try:
            Path(destination_path).parent.mkdir(parents=True, exist_ok=True)
            self.session.files.download(source_path, destination_path)
            size = Path(destination_path).stat().st_size
        except (AirlockError, OSError) as error:
            return _failed(source_path, destination_path, error)
        return _copied(source_path, destination_path, size)

    def git_changes(self, path: str | Path) -> list[GitChange]:
        """Return the changed files of a repository in the session, since its last commit."""
        status = self._git(path, "status --porcelain=v1 -z --no-renames --untracked-files=all")
        changes = []
        for entry in status.split("\0"):
            if entry:
                kinds, name = entry[:2].strip(), entry[3:]
                changes.append(GitChange(status=_STATUS.get(kinds[:1], GitChangeStatus.UPDATED), path=Path(name)))
        return changes

    def git_diff(self, path: str | Path) -> GitDiff:
        """Return a file of a repository in the session, now and in its last commit."""
        name = shlex.quote(f"HEAD:./{Path(path).name}")
        original = self.execute_command(f"git show {name}", cwd=Path(path).parent)
        try:
            modified: str | None = self.session.files.read_text(path)
        except NotFoundError:
            modified = None
        return GitDiff(modified=modified, original=original.stdout if original.exit_code == 0 else None)

    def _git(self, path: str | Path, arguments: str) -> str:
        result = self.execute_command(f"git {arguments}", cwd=path)
        if result.exit_code != 0:
            raise RuntimeError(f"`git` failed in `{path}`: {result.stderr.strip()}")
        return result.stdout


def _copied(source: str | Path, destination: str | Path, size: int) -> FileOperationResult:
    return FileOperationResult(success=True, source_path=str(source), destination_path=str(destination), file_size=size)


def _failed(source: str | Path, destination: str | Path, error: Exception) -> FileOperationResult:
    return FileOperationResult(
        success=False, source_path=str(source), destination_path=str(destination), error=str(error)
    )


class TerminalAction(Action):
    """A command."""

    command: str = Field(description="The bash command to run.")
    timeout: float = Field(default=_TIMEOUT, gt=0, description="The limit of its run time, in seconds.")


class TerminalObservation(Observation):
    """The text of a command for a model."""

    exit_code: int | None = Field(default=None, description="The exit code, if the command exited by itself.")


class _Executor(ToolExecutor[TerminalAction, TerminalObservation]):
    def __call__(self, action: TerminalAction, conversation: LocalConversation | None = None) -> TerminalObservation:
        workspace = conversation.workspace if conversation else None
        if not isinstance(workspace, AirlockWorkspace):
            raise TypeError("the tool needs a conversation with an AirlockWorkspace")
        try:
            result = workspace.run(action.command, action.timeout)
        except Refused as refused:
            return TerminalObservation.from_text(text_of(refused), is_error=True)
        return TerminalObservation.from_text(result.text, exit_code=result.exit_code)


class AirlockTerminalTool(ToolDefinition[TerminalAction, TerminalObservation]):
    """The tool that runs a command in an `AirlockWorkspace`. The directory persists."""

    @classmethod
    def create(cls, conv_state: ConversationState | None = None, **_: Any) -> Sequence[Self]:
        """Return the tool."""
        return [
            cls(
                description="Runs a bash command in a sandbox, and returns its output. It begins in /workspace.",
                action_type=TerminalAction,
                observation_type=TerminalObservation,
                executor=_Executor(),
                annotations=ToolAnnotations(title="terminal", destructiveHint=True, openWorldHint=True),
            )
        ]


register_tool(AirlockTerminalTool.name, AirlockTerminalTool)
