"""SWE-ReX: a scripted agent in one shell, and what its own runtime tests do not try."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from swerex import exceptions
from swerex.runtime.abstract import BashAction, BashInterruptAction, Command, CreateBashSessionRequest

from airlock.adapters.swerex import AirlockDeployment, AirlockDeploymentConfig, AirlockRuntime

from . import task


@pytest.fixture
async def runtime() -> AsyncIterator[AirlockRuntime]:
    deployment = AirlockDeploymentConfig(state=task.STATE).get_deployment()
    assert isinstance(deployment, AirlockDeployment)
    with pytest.raises(exceptions.DeploymentNotStartedError):
        await deployment.is_alive()
    await deployment.start()
    await deployment.runtime.create_session(CreateBashSessionRequest())
    yield deployment.runtime
    await deployment.stop()


async def test_a_scripted_agent_fixes_a_bug(runtime: AirlockRuntime) -> None:
    with task.session_of(runtime.session.id) as session:
        task.prepare(session)
        heard = []
        for step in task.STEPS:
            try:
                # The shell would end with `exit`.
                observation = await runtime.run_in_session(
                    BashAction(command=step.command.replace("exit 4", "(exit 4)"), check="silent", timeout=60)
                )
                heard.append(observation.output)
            except exceptions.SwerexException as error:
                heard.append(str(error))
        task.check(session, heard)


async def test_a_denied_command_is_an_exception_with_the_text_for_the_model(runtime: AirlockRuntime) -> None:
    with pytest.raises(exceptions.SwerexException, match="airlock: policy requires an approval"):
        await runtime.execute(Command(command="git push --force", shell=True))
    await runtime.session.update(mode="plan")
    with pytest.raises(exceptions.SwerexException, match="airlock: denied by policy"):
        await runtime.run_in_session(BashAction(command="touch made", timeout=60))
    assert not await runtime.session.files.exists("made")


async def test_a_shell_keeps_its_state_and_survives_a_timeout(runtime: AirlockRuntime) -> None:
    await runtime.run_in_session(BashAction(command="export A=1; cd /tmp; alias hi='echo hello'", timeout=60))
    with pytest.raises(exceptions.CommandTimeoutError):
        await runtime.run_in_session(BashAction(command="sleep 600", timeout=0.2))
    await runtime.run_in_session(BashInterruptAction())
    observation = await runtime.run_in_session(BashAction(command='hi "$A $PWD"', timeout=60))
    assert observation.output == "hello 1 /tmp\n"


async def test_the_notes_of_a_command_are_passed(runtime: AirlockRuntime) -> None:
    response = await runtime.execute(Command(command="curl -s https://example.com", shell=True))
    assert "the connection to `example.com:443` was refused" in response.stderr
