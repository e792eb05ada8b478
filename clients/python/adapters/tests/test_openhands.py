"""OpenHands: its own agent with its own scripted model, in a workspace of Airlock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openhands.sdk import Agent, Conversation, Event, Message, TextContent, Tool
from openhands.sdk.event import ObservationEvent
from openhands.sdk.git.models import GitChangeStatus
from openhands.sdk.llm import MessageToolCall
from openhands.sdk.testing import TestLLM

from airlock.adapters.openhands import AirlockTerminalTool, AirlockWorkspace, TerminalObservation

from . import task


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[AirlockWorkspace]:
    project = tmp_path / "local"
    project.mkdir()
    (project / "given.txt").write_text("given\n")
    with AirlockWorkspace(working_dir=str(project), state=task.STATE) as made:
        yield made


def answer(number: int, command: str) -> Message:
    arguments = json.dumps({"command": command})
    call = MessageToolCall(id=f"call-{number}", name=AirlockTerminalTool.name, arguments=arguments, origin="completion")
    return Message(role="assistant", content=[TextContent(text="")], tool_calls=[call])


def test_a_scripted_agent_fixes_a_bug(workspace: AirlockWorkspace) -> None:
    task.prepare(workspace.session)
    answers = [answer(number, step.command) for number, step in enumerate(task.STEPS)]
    final = Message(role="assistant", content=[TextContent(text=task.ANSWER)])
    heard: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, ObservationEvent) and isinstance(event.observation, TerminalObservation):
            heard.append(event.observation.text)

    agent = Agent(llm=TestLLM.from_messages([*answers, final]), tools=[Tool(name=AirlockTerminalTool.name)])
    conversation: Any = Conversation(agent, workspace=workspace, callbacks=[listen], visualizer=None)
    conversation.send_message("Fix the mean.")
    conversation.run()
    task.check(workspace.session, heard)
    conversation.close()


def test_commands_have_the_results_of_the_framework(workspace: AirlockWorkspace) -> None:
    result = workspace.execute_command("cat given.txt; echo err >&2; exit 3")
    assert (result.stdout, result.stderr, result.exit_code, result.timeout_occurred) == ("given\n", "err\n", 3, False)
    denied = workspace.execute_command("git push --force", cwd="/tmp")
    assert denied.exit_code == 125 and denied.stderr.startswith("airlock: policy requires an approval")
    expired = workspace.execute_command("sleep 600", timeout=1)
    assert expired.timeout_occurred and expired.exit_code == -1 and "timeout expired" in expired.stderr


def test_files_are_transferred(workspace: AirlockWorkspace, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x00")
    assert workspace.file_upload(tmp_path / "a", "d/a").success
    done = workspace.file_download("d/a", tmp_path / "b" / "a")
    assert done.success and done.file_size == 1 and (tmp_path / "b" / "a").read_bytes() == b"\x00"
    failed = workspace.file_download("none", tmp_path / "c")
    assert not failed.success and failed.error


def test_the_changes_of_a_repository_are_those_in_the_session(workspace: AirlockWorkspace) -> None:
    task.prepare(workspace.session)
    workspace.session.run("(cd project && echo '# end' >> sums.py && rm test_sums.py && touch 'a new')")
    changes = {str(change.path): change.status for change in workspace.git_changes(task.PROJECT)}
    assert changes == {
        "sums.py": GitChangeStatus.UPDATED,
        "test_sums.py": GitChangeStatus.DELETED,
        "a new": GitChangeStatus.ADDED,
    }
    diff = workspace.git_diff(f"{task.PROJECT}/sums.py")
    assert diff.original and diff.modified == diff.original + "# end\n"
    assert workspace.git_diff(f"{task.PROJECT}/test_sums.py").modified is None
    with pytest.raises(RuntimeError, match="failed"):
        workspace.git_changes("/tmp")
