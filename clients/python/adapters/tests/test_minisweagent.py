"""mini-swe-agent: its own agent with its own scripted model, in the environment of Airlock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from minisweagent.agents.default import DefaultAgent
from minisweagent.environments import get_environment
from minisweagent.models.test_models import DeterministicModel, make_output

from airlock.adapters.minisweagent import AirlockEnvironment

from . import task

SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cd project && git show HEAD | cat"


@pytest.fixture
def environment() -> Iterator[AirlockEnvironment]:
    made = get_environment({
        "environment_class": "airlock.adapters.minisweagent.AirlockEnvironment", "state": task.STATE, "timeout": 60,
    })  # fmt: skip
    assert isinstance(made, AirlockEnvironment)
    with made:
        yield made


def test_a_scripted_agent_fixes_a_bug(environment: AirlockEnvironment) -> None:
    task.prepare(environment.session)
    commands = [step.command for step in task.STEPS] + [SUBMIT]
    scripted: Any = DeterministicModel
    model = scripted(outputs=[make_output("next", [{"command": command}]) for command in commands])
    agent = DefaultAgent(
        model, environment, system_template="Fix it on {{system}}.", instance_template="{{task}}", cost_limit=0.0
    )
    result = agent.run("Fix the mean.")
    assert result["exit_status"] == "Submitted"
    assert "Divide by the number of values" in result["submission"]
    heard = [message["content"] for message in agent.messages if "<returncode>" in message["content"]]
    task.check(environment.session, heard)
    assert agent.messages[0]["content"] == "Fix it on Linux."
    assert "airlock.adapters.minisweagent.AirlockEnvironment" in str(agent.serialize())


def test_a_denied_command_and_an_expired_timeout_have_the_form_of_the_framework(
    environment: AirlockEnvironment,
) -> None:
    denied = environment.execute({"command": "git push --force"})
    assert denied["returncode"] == -1 and denied["exception_info"] == "the command did not run"
    assert denied["output"].startswith("airlock: policy requires an approval")
    assert denied["extra"]["exception_type"] == "ApprovalRequiredError"
    expired = environment.execute({"command": "echo begin; sleep 600"}, timeout=1)
    assert expired["returncode"] == -1 and expired["output"].startswith("begin\nairlock: ended because its timeout")


def test_a_long_submission_is_whole(environment: AirlockEnvironment) -> None:
    from minisweagent.exceptions import Submitted

    with pytest.raises(Submitted) as submitted:
        environment.execute({"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; seq 1 50000"})
    assert submitted.value.messages[0]["content"].splitlines() == [str(n) for n in range(1, 50001)]


def test_a_directory_and_variables_are_used(environment: AirlockEnvironment) -> None:
    environment.config.env = {"A": "1"}
    assert environment.execute({"command": "echo $A; pwd"}, cwd="/tmp")["output"] == "1\n/tmp\n"
