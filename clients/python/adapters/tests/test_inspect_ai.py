"""Inspect: an evaluation with its own scripted model and its tool `bash`, in the sandbox `airlock`."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver, use_tools
from inspect_ai.tool import bash
from inspect_ai.util import OutputLimitExceededError, SandboxEnvironmentSpec, SandboxUserUnsupportedError, sandbox
from inspect_ai.util._sandbox.registry import registry_find_sandboxenv

from airlock.adapters.inspect_ai import AirlockConfig, AirlockSandboxEnvironment

from . import task

CONFIG = AirlockConfig(state=task.STATE)


@pytest.fixture
async def environment() -> AsyncIterator[AirlockSandboxEnvironment]:
    environments = await AirlockSandboxEnvironment.sample_init("task", CONFIG, {})
    made = environments["default"].as_type(AirlockSandboxEnvironment)
    yield made
    await AirlockSandboxEnvironment.sample_cleanup("task", CONFIG, environments, False)
    assert made.session.info.state == "closed"


@solver
def prepared() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        with task.session_of(sandbox().as_type(AirlockSandboxEnvironment).session.id) as session:
            task.prepare(session)
        return state

    return solve


@scorer(metrics=[accuracy()])
def fixed() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        heard = [
            message.error.message if message.error else message.text
            for message in state.messages
            if message.role == "tool"
        ]
        with task.session_of(sandbox().as_type(AirlockSandboxEnvironment).session.id) as session:
            task.check(session, heard)
        return Score(value=state.output.completion == target.text)

    return score


async def test_a_scripted_agent_fixes_a_bug(tmp_path: Path) -> None:
    answers = [
        *(ModelOutput.for_tool_call("mockllm/model", "bash", {"command": step.command}) for step in task.STEPS),
        ModelOutput.from_content("mockllm/model", task.ANSWER),
    ]
    for answer in answers:
        # Otherwise, the model would download a table to count its tokens.
        answer.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    model = get_model("mockllm/model", custom_outputs=answers)
    work = Task(
        dataset=[Sample(input="Fix the mean.", target=task.ANSWER)],
        solver=[prepared(), use_tools(bash(timeout=60)), generate()],
        scorer=fixed(),
        sandbox=SandboxEnvironmentSpec("airlock", CONFIG),
    )
    (log,) = await eval_async(work, model=model, log_dir=str(tmp_path))
    assert log.status == "success", log.error
    assert log.results and log.results.scores[0].metrics["accuracy"].value == 1


def test_the_package_registers_the_sandbox() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["inspect_ai"] == {"airlock": AirlockConfig.__module__}
    found = registry_find_sandboxenv("airlock")
    assert found is AirlockSandboxEnvironment


async def test_a_command_has_its_input_directory_and_variables(environment: AirlockSandboxEnvironment) -> None:
    result = await environment.exec(
        ["sh", "-c", "cat; pwd; echo $A >&2; exit 3"], input="in\n", cwd="/tmp", env={"A": "1"}
    )
    assert (result.success, result.returncode, result.stdout, result.stderr) == (False, 3, "in\n/tmp\n", "1\n")
    assert (await environment.exec(["echo", "a  b", "$HOME"])).stdout == "a  b $HOME\n"


async def test_the_ends_of_commands_are_the_exceptions_of_the_framework(
    environment: AirlockSandboxEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PermissionError, match="airlock: policy requires an approval"):
        await environment.exec(["git", "push", "--force"])
    with pytest.raises(TimeoutError, match="airlock: ended because its timeout expired"):
        await environment.exec(["sleep", "600"], timeout=1)
    with pytest.raises(SandboxUserUnsupportedError):
        await environment.exec(["true"], user="root")
    with pytest.raises(OutputLimitExceededError):
        await environment.exec(["sh", "-c", "yes | head -c 11000000"], timeout=60)


async def test_files_have_the_exceptions_of_python(environment: AirlockSandboxEnvironment) -> None:
    await environment.write_file("d/a", b"\xff\r\n")
    assert await environment.read_file("d/a", text=False) == b"\xff\r\n"
    with pytest.raises(UnicodeDecodeError):
        await environment.read_file("d/a")
    with pytest.raises(FileNotFoundError):
        await environment.read_file("none")
    with pytest.raises(IsADirectoryError):
        await environment.read_file("d")
    with pytest.raises(IsADirectoryError):
        await environment.write_file("d", "text")
    with pytest.raises(PermissionError):
        await environment.write_file("/etc/x", "text")
