"""The OpenAI Agents SDK: its own agents with its own scripted model, in a sandbox session, and with the shell tool."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, RunConfig, Runner, ShellTool, set_tracing_disabled
from agents.sandbox import ExecTimeoutError, SandboxAgent, SandboxRunConfig, WorkspaceReadNotFoundError
from agents.sandbox.capabilities.shell import Shell
from agents.testing import ScriptedModel, assistant_message, function_call

import airlock
from airlock import aio
from airlock.adapters.openai_agents import (
    AirlockSandboxClient,
    AirlockSandboxClientOptions,
    AirlockSandboxSession,
    shell_executor,
)

from . import task

set_tracing_disabled(True)


@pytest.fixture
async def client() -> AsyncIterator[AirlockSandboxClient]:
    made = AirlockSandboxClient(state=task.STATE)
    yield made
    await made.close()


def outputs(result: Any) -> list[str]:
    return [str(item.output) for item in result.new_items if item.type == "tool_call_output_item"]


async def test_a_scripted_agent_fixes_a_bug(client: AirlockSandboxClient) -> None:
    calls = [
        [function_call("exec_command", {"cmd": step.command}, call_id=f"call-{number}")]
        for number, step in enumerate(task.STEPS)
    ]
    model = ScriptedModel([*calls, [assistant_message(task.ANSWER)]])
    agent = SandboxAgent(name="worker", model=model, capabilities=[Shell()])
    async with await client.create(options=AirlockSandboxClientOptions()) as session:
        inner = session._inner
        assert isinstance(inner, AirlockSandboxSession)
        with task.session_of(inner.session.id) as seen:
            task.prepare(seen)
            config = RunConfig(sandbox=SandboxRunConfig(session=session))
            result = await Runner.run(agent, "Fix the mean.", run_config=config, max_turns=20)
            assert result.final_output == task.ANSWER
            task.check(seen, outputs(result))
    assert (await inner.session.refresh()).state == "closed"


async def test_the_shell_tool_runs_commands() -> None:
    async with await aio.connect(state=task.STATE) as connected, await connected.session() as session:
        with task.session_of(session.id) as seen:
            task.prepare(seen)
            commands = [step.command for step in task.STEPS]
            call: Any = {
                "type": "shell_call", "id": "sh", "call_id": "call", "status": "completed",
                "action": {"commands": commands, "timeout_ms": 60_000, "max_output_length": None},
            }  # fmt: skip
            model = ScriptedModel([[call], [assistant_message(task.ANSWER)]])
            agent = Agent(name="worker", model=model, tools=[ShellTool(executor=shell_executor(session))])
            result = await Runner.run(agent, "Fix the mean.")
            assert result.final_output == task.ANSWER
            (text,) = outputs(result)
            for step in task.STEPS:
                assert all(part in text for part in step.shows), text


async def test_the_runner_creates_and_deletes_a_session(client: AirlockSandboxClient) -> None:
    call = function_call("exec_command", {"cmd": "hostname; pwd"}, call_id="call")
    model = ScriptedModel([[call], [assistant_message("done")]])
    agent = SandboxAgent(name="worker", model=model, capabilities=[Shell()])
    result = await Runner.run(agent, "Look.", run_config=RunConfig(sandbox=SandboxRunConfig(client=client)))
    assert "/workspace" in outputs(result)[0]


async def test_a_timeout_files_and_a_resumed_session(client: AirlockSandboxClient) -> None:
    session = await client.create(options=AirlockSandboxClientOptions(env={"A": "1"}))
    async with session:
        with pytest.raises(ExecTimeoutError):
            await session.exec("sleep 600", timeout=1)
        assert (await session.exec("echo $A; exit 3")).stdout == b"1\n"
        await session.write(Path("d/a"), io.BytesIO(b"\x00"))
        assert (await session.read(Path("d/a"))).read() == b"\x00"
        assert [entry.path.rsplit("/", 1)[-1] for entry in await session.ls("d")]
        with pytest.raises(WorkspaceReadNotFoundError):
            await session.read(Path("none"))
        archive = await session.persist_workspace()
        state = client.deserialize_session_state(client.serialize_session_state(session.state))
        resumed = await client.resume(state)
        await resumed.start()
        assert (await resumed.read(Path("d/a"))).read() == b"\x00"
    async with await client.resume(state) as another:
        assert not await another._inner.session.files.exists("d/a")  # type: ignore[attr-defined]
        await another.hydrate_workspace(archive)
        assert (await another.read(Path("d/a"))).read() == b"\x00"
        with pytest.raises(ValueError, match="one user"):
            await another.exec("true", user="root")


async def test_a_denied_command_is_an_answer(client: AirlockSandboxClient) -> None:
    async with await client.create() as session:
        result = await session.exec("git push --force")
        assert result.exit_code == 125 and result.stderr.startswith(b"airlock: policy requires an approval")
    with airlock.connect(state=task.STATE) as seen:
        assert all(one.id != session._inner.session.id for one in seen.sessions())  # type: ignore[attr-defined]
