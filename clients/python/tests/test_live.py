"""The client with a real server, beyond the conformance cases. `AIRLOCK_STATE` names its state directory."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing
from pathlib import Path

import pytest

import airlock
from airlock import aio

STATE = {"state": os.environ.get("AIRLOCK_STATE", "")}
FOREVER = "echo on; while :; do sleep 0.1; done"


@pytest.fixture
def session() -> Iterator[airlock.Session]:
    with airlock.connect(**STATE) as client, client.session() as session:  # type: ignore[arg-type]
        yield session


@pytest.fixture
async def concurrent() -> AsyncIterator[aio.AsyncSession]:
    async with await aio.connect(**STATE) as client, await client.session() as session:  # type: ignore[arg-type]
        yield session


async def test_callbacks_can_be_coroutine_functions(concurrent: aio.AsyncSession) -> None:
    got: asyncio.Queue[bytes] = asyncio.Queue()
    result = await concurrent.run("echo out; echo err >&2", separate_stderr=True, on_stdout=got.put, on_stderr=got.put)
    assert sorted([got.get_nowait(), got.get_nowait()]) == [b"err\n", b"out\n"]
    assert (result.stdout, result.stderr) == ("out\n", "err\n")


async def test_commands_run_at_the_same_time(concurrent: aio.AsyncSession) -> None:
    results = await asyncio.gather(*(concurrent.run(f"echo {i}", allow_concurrent=True) for i in range(8)))
    assert [result.stdout for result in results] == [f"{i}\n" for i in range(8)]


async def test_a_cancelled_run_ends_its_command(concurrent: aio.AsyncSession) -> None:
    began: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def on_event(event: airlock.Event) -> None:
        if isinstance(event, airlock.Output):
            began.set_result("")
        elif isinstance(event, airlock.Opened):
            ids.append(event.execution.id)

    ids: list[str] = []
    task = asyncio.create_task(concurrent.run(FOREVER, on_event=on_event))
    await began
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    result = await concurrent.attach(ids[0]).wait(deadline=30)
    assert (result.cause.code, result.cause.detail) == ("cancelled", "client")


def test_ctrl_c_ends_the_command(session: airlock.Session) -> None:
    ids: list[str] = []

    def on_event(event: airlock.Event) -> None:
        if isinstance(event, airlock.Opened):
            ids.append(event.execution.id)
        elif isinstance(event, airlock.Output):
            # While the main thread waits for the next event.
            threading.Timer(0.2, signal.raise_signal, [signal.SIGINT]).start()

    with pytest.raises(KeyboardInterrupt):
        session.run(FOREVER, on_event=on_event)
    assert session.attach(ids[0]).wait(deadline=30).cause.code == "cancelled"


def test_a_command_in_the_background_is_followed_to_its_end(session: airlock.Session) -> None:
    result = session.run("echo on; until [ -e go ]; do sleep 0.1; done; echo off", yield_after=0.3)
    assert (result.cause.code, result.exit_code, result.ok) == ("backgrounded", None, False)
    assert result.execution_id in result.text
    execution = session.attach(result.execution_id)
    assert execution.info().background
    session.run("touch go")
    assert execution.wait(deadline=30).stdout == "on\noff\n"
    assert execution.output() == b"on\noff\n"


def test_an_approval_is_answered_while_the_run_waits(session: airlock.Session) -> None:
    with airlock.connect(**STATE) as approver:  # type: ignore[arg-type]

        def on_approval(approval_id: str) -> None:
            approval = approver.approvals.show(approval_id)
            assert approval.decision.reasons[0].span
            approver.approvals.deny(approval, "no")

        with pytest.raises(airlock.DeniedError) as caught:
            session.run("git push --force", on_ask="wait", on_approval=on_approval)
    error = caught.value
    assert not isinstance(error, airlock.ApprovalRequiredError)
    assert (error.reason, error.span) == ("DENIED", airlock.Span(0, 16))
    assert "denied by a person: no" in error.text
    with pytest.raises(airlock.NotFoundError):
        approver = airlock.connect(**STATE)  # type: ignore[arg-type]
        approver.approvals.show("none")


def test_changes_of_files_are_watched(session: airlock.Session) -> None:
    session.files.write("old", "1")
    with closing(session.files.watch(interval=0.2)) as events:
        first = threading.Timer(0.5, session.files.write, ["new/file", "2"])
        first.start()
        event = next(events)
        assert (event.kind, event.path) == ("added", "/workspace/new/file")
        first.join()
        session.run("rm old; echo more >> new/file")
        assert {(e.kind, e.path) for e in (next(events), next(events))} == {
            ("modified", "/workspace/new/file"),
            ("deleted", "/workspace/old"),
        }


def test_a_port_is_forwarded(session: airlock.Session) -> None:
    server = "import socket; s = socket.create_server(('127.0.0.1', 8000)); print(1, flush=True)"
    loop = "\nwhile True:\n c = s.accept()[0]; d = c.recv(9); c.sendall(d.upper()); c.close()"
    execution = session.start(f'exec python3 -c "{server}{loop}"', background=True)
    with closing(execution.events()) as events:
        assert any(isinstance(event, airlock.Output) for event in events)
    with session.forward(8000) as forward:
        for text in (b"one", b"two"):
            with socket.create_connection(forward.address, 10) as connection:
                connection.sendall(text)
                assert connection.recv(9) == text.upper()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(forward.address, 10)


async def test_a_watch_ends_with_its_reader(concurrent: aio.AsyncSession) -> None:
    async with aclosing(concurrent.watch()) as events:
        assert (await anext(events)).kind == "unspecified"
        await concurrent.run("true")
        kinds = [(await anext(events)).kind, (await anext(events)).kind]
    assert kinds == ["started", "finished"]


def test_sessions_and_executions_are_listed(session: airlock.Session) -> None:
    with airlock.connect(**STATE) as client:  # type: ignore[arg-type]
        result = session.run("true", labels={"task": "7"})
        assert session.id in [info.id for info in client.sessions()]
        (execution,) = client.executions(session.id)
        assert (execution.id, execution.state, execution.labels) == (result.execution_id, "finished", {"task": "7"})
        assert session.update(mode="plan").mode == "plan"
        with pytest.raises(airlock.DeniedError):
            client.open_session(session.id).run("touch x")
        assert session.refresh().state == "open"


def test_files_that_are_not_text_keep_their_bytes(session: airlock.Session, tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff name")
    session.files.write(name, b"\x00\xff")
    assert session.files.read(name) == b"\x00\xff"
    assert [file.path for file in session.files.list()] == ["/workspace/" + name]
    session.files.download(name, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"\x00\xff"
    session.files.upload(tmp_path / "copy", "again")
    assert session.files.exists("again") and not session.files.exists("none")
    assert session.files.read_text("again") == "\x00\ufffd"


def test_network_rules_narrow_a_command(session: airlock.Session) -> None:
    result = session.run("echo $HTTPS_PROXY | wc -c", network=airlock.NetworkRules())
    assert result.ok
    assert result.raw.stdout_bytes > 0
    assert session.attach(result.execution_id).info().raw.HasField("network")


def test_unknown_options_are_errors(session: airlock.Session) -> None:
    with pytest.raises(TypeError, match="unknown option: tiemout"):
        session.run("true", tiemout=1)  # type: ignore[call-arg]
    with pytest.raises(airlock.SettingsError, match="use one of: plan"):
        session.run("true", mode="loose")  # type: ignore[arg-type]


def test_a_decision_is_asked_for_without_a_run(session: airlock.Session) -> None:
    asked = session.check("git push --force")
    assert (asked.verdict, asked.reasons[0].span) == ("ask", airlock.Span(0, 16))
    assert session.check("touch made", mode="plan").verdict == "deny"
    assert session.check(b"touch made").verdict == "allow"
    assert session.check("cat made", directory="/tmp").read_only
    assert not session.files.exists("made")


def test_a_directory_is_transferred_as_an_archive(session: airlock.Session) -> None:
    session.run("mkdir -p d/e; echo a > d/e/f; chmod 755 d/e/f; ln -s e/f d/link")
    archive = session.files.read_archive("d")
    session.files.write_archive(archive, "copy")
    assert session.run("cat copy/link; stat -c %a copy/e/f").stdout == "a\n755\n"
    with pytest.raises(airlock.AirlockError):
        session.files.read_archive("d", limit=100)
