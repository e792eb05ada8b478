"""deepagents: its own agent with a scripted chat model, in the backend of Airlock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from deepagents import create_deep_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage

import airlock
from airlock.adapters.deepagents import AirlockBackend

from . import task


class ScriptedModel(GenericFakeChatModel):
    """A model that returns its messages in order. The agent gives it the tools."""

    def bind_tools(self, tools: Any, **_: Any) -> ScriptedModel:
        assert {"execute", "read_file", "edit_file"} <= {getattr(tool, "name", "") for tool in tools}
        return self


@pytest.fixture
def session() -> Iterator[airlock.Session]:
    with airlock.connect(state=task.STATE) as client, client.session() as session:
        yield session


def call(number: int, name: str, **arguments: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}"}])


def run(session: airlock.Session, calls: list[AIMessage]) -> list[str]:
    model = ScriptedModel(messages=iter([*calls, AIMessage(task.ANSWER)]))
    agent: Any = create_deep_agent(model=model, backend=AirlockBackend(session))
    messages = agent.invoke({"messages": [("user", "Fix the mean.")]}, {"recursion_limit": 100})["messages"]
    assert messages[-1].content == task.ANSWER
    return [str(message.content) for message in messages if isinstance(message, ToolMessage)]


def test_a_scripted_agent_fixes_a_bug(session: airlock.Session) -> None:
    task.prepare(session)
    calls = [call(number, "execute", command=step.command) for number, step in enumerate(task.STEPS)]
    task.check(session, run(session, calls))


def test_the_tools_for_files_work_in_the_session(session: airlock.Session) -> None:
    path = "/workspace/long.txt"
    heard = run(session, [
        call(1, "write_file", file_path=path, content="".join(f"line {n}\n" for n in range(9000))),
        call(2, "edit_file", file_path=path, old_string="line 8999\n", new_string="the end\n"),
        call(3, "read_file", file_path=path, offset=8998, limit=5),
        call(4, "grep", pattern="the end", path="/workspace", output_mode="content"),
        call(5, "glob", pattern="*.txt", path="/workspace"),
        call(6, "ls", path="/workspace"),
    ])  # fmt: skip
    assert "the end" in heard[2] and "line 8998" in heard[2]
    assert "the end" in heard[3]
    assert path in heard[4] and path in heard[5]


def test_a_denied_command_and_an_expired_timeout_are_answers(session: airlock.Session) -> None:
    backend = AirlockBackend(session, timeout=60)
    denied = backend.execute("git push --force")
    assert denied.exit_code == 125 and denied.output.startswith("airlock: policy requires an approval")
    expired = backend.execute("echo begin; sleep 600", timeout=1)
    assert expired.exit_code == 124 and expired.output.startswith("begin\nairlock: ended because its timeout expired")
    session.update(mode="plan")
    failed = backend.delete("/workspace")
    assert failed.path is None and "denied by policy" in (failed.error or "")


async def test_files_are_transferred_one_by_one(session: airlock.Session) -> None:
    backend = AirlockBackend(session)
    uploaded = await backend.aupload_files([("/workspace/a/b", b"\x00\xff"), ("relative", b""), ("/etc/x", b"")])
    assert [one.error is None for one in uploaded] == [True, False, False]
    downloaded = backend.download_files(["/workspace/a/b", "/workspace/none", "/workspace/a"])
    assert downloaded[0].content == b"\x00\xff"
    assert [one.error for one in downloaded] == [None, "file_not_found", "is_directory"]
    assert (await backend.als("/workspace")).entries
    assert (await backend.aread("/workspace/none")).error


def test_a_long_output_is_shortened_for_the_model_only(session: airlock.Session) -> None:
    response = AirlockBackend(session).execute("seq 1 50000")
    assert response.truncated and "ReadOutput returns all output" in response.output
