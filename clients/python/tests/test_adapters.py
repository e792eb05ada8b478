"""The logic that the adapters share, with a shell of this machine instead of a server.

It runs harmless commands only.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from airlock import Decision, DeniedError, Event, Finished, InvalidRequestError, Output, Result
from airlock._command import CommandOptions
from airlock._result import ExecutionInfo
from airlock.adapters import _commands
from airlock.adapters._screen import Screen, plain
from airlock.adapters._shell import BusyError, RefusedError, Shell, ShellEndedError
from airlock.v1 import common_pb2, execution_pb2, policy_pb2

TOKEN = "0123"


def prompt(code: int = 0, directory: str = "/w") -> str:
    return f"\x1e{TOKEN}:{code}:{directory}\x1e"


def result(**cause: Any) -> Result:
    execution = execution_pb2.Execution(execution_id="e")
    execution.result.cause.CopyFrom(common_pb2.Cause(**cause))
    execution.result.started = common_pb2.STARTED_YES
    execution.result.notes.add(code="output_shortened", text="short")
    execution.result.notes.add(code="refused", text="a refusal\n")
    return Result.of(execution)


def test_a_prompt_ends_the_output_of_a_command() -> None:
    screen = Screen(TOKEN)
    screen.feed(("one\ntwo\n" + prompt(3, "/a b")[:-4]).encode())
    assert screen.take() is None
    screen.feed((prompt(3, "/a b")[-4:] + "next").encode())
    taken = screen.take()
    assert taken is not None
    assert (taken.output, taken.exit_code, taken.directory, taken.pattern) == ("one\ntwo\n", 3, "/a b", "")
    assert screen.take() is None
    assert screen.take_all() == "next"


def test_the_first_of_prompt_and_patterns_counts() -> None:
    screen = Screen(TOKEN)
    screen.feed(("a >>> b" + prompt()).encode())
    taken = screen.take(["never", ">>> "])
    assert taken is not None and (taken.output, taken.pattern, taken.exit_code) == ("a ", ">>> ", None)
    taken = screen.take([">>> "])
    assert taken is not None and (taken.output, taken.pattern, taken.exit_code) == ("b", "", 0)


def test_a_prompt_of_another_shell_is_output() -> None:
    screen = Screen(TOKEN)
    screen.feed(prompt().replace(TOKEN, "4567").encode())
    assert screen.take() is None


def test_a_long_output_loses_its_middle() -> None:
    screen = Screen(TOKEN, limit=100)
    screen.feed(b"a" * 60)
    screen.feed(b"b" * 1000 + b"c" * 10)
    screen.feed(prompt().encode())
    taken = screen.take()
    assert taken is not None
    assert taken.output.startswith("a" * 50 + "\n[... ") and taken.output.endswith("c" * 10)
    assert len(taken.output) < 150


def test_split_characters_and_escape_sequences_are_read() -> None:
    screen = Screen(TOKEN)
    for byte in "é\x1b[1mx\x1b[0m\r\n".encode():
        screen.feed(bytes([byte]))
    assert plain(screen.take_all()) == "éx\n"


def test_a_directory_is_quoted() -> None:
    assert _commands.in_directory("ls", "") == "ls"
    assert _commands.in_directory("ls", "a b; x") == "cd -- 'a b; x' || exit\nls"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["sh", "-lc", "a | b"], "a | b"),
        (["bash", "--login", "-c", "a; b"], "a; b"),
        (["bash", "-x", "-c", "a"], "bash -x -c a"),
        (["sh", "-c", "a", "x"], "sh -c a x"),
        (["ls", "a b"], "ls 'a b'"),
    ],
)
def test_a_script_is_passed_as_text(words: list[str], line: str) -> None:
    assert _commands.line_of(words) == line


def test_options_bound_the_time_and_run_beside_other_commands() -> None:
    assert _commands.options_of(3, {"A": "b"}) == {
        "allow_concurrent": True,
        "on_ask": "fail",
        "separate_stderr": False,
        "timeout": 3,
        "env": {"A": "b"},
    }
    assert "timeout" not in _commands.options_of(0)
    assert _commands.options_of(None, on_ask="wait")["on_ask"] == "wait"


def test_a_command_that_cannot_run_has_a_text_on_one_line() -> None:
    error = InvalidRequestError("too\nlong", code="INVALID_ARGUMENT", remedy="shorten it")
    assert _commands.text_of(error) == "airlock: too\\u{a}long; shorten it; it did not run\n"
    assert _commands.text_of(DeniedError("no", code="PERMISSION_DENIED")) == "airlock: no; it did not run\n"


def test_both_streams_are_marked_and_the_notes_are_in_stderr() -> None:
    got = _commands.Collected(bytearray(b"airlock: fake\n\xff"), bytearray(b"err\n"))
    ended = result(code=common_pb2.CAUSE_CODE_EXITED, exited=common_pb2.Cause.Exited(code=7))
    assert got.texts(ended) == ("| airlock: fake\n\\xff", "err\nairlock: a refusal\\u{a}\n")
    lost = result(code=common_pb2.CAUSE_CODE_RUNNER_LOST)
    assert "airlock: its runner was lost" in got.texts(lost)[1]


def test_every_end_has_an_exit_code() -> None:
    exited = common_pb2.Cause.Exited(code=7)
    assert _commands.code_of(result(code=common_pb2.CAUSE_CODE_EXITED, exited=exited)) == 7
    signaled = common_pb2.Cause.Signaled(signal=9)
    assert _commands.code_of(result(code=common_pb2.CAUSE_CODE_SIGNALED, signaled=signaled)) == 137
    expired = common_pb2.Cause.TimedOut(kind=common_pb2.TIMEOUT_KIND_WALL)
    assert _commands.code_of(result(code=common_pb2.CAUSE_CODE_TIMED_OUT, timed_out=expired)) == 124
    assert _commands.code_of(result(code=common_pb2.CAUSE_CODE_RUNNER_LOST)) == 125


def test_notes_are_on_one_line_each_and_do_not_mention_a_shortened_text() -> None:
    assert _commands.notes_of(result(code=common_pb2.CAUSE_CODE_INTERNAL)) == "airlock: a refusal\\u{a}\n"


class Local:
    """A session, its files and its execution: bash on a terminal of this machine."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.refused: set[str] = set()
        self.files = self.stdin = self
        self.checked: list[tuple[str, str]] = []
        self.typed = asyncio.Event()
        self._output: asyncio.Queue[bytes] = asyncio.Queue()

    async def start(self, command: str, **options: Any) -> Local:
        assert cast(CommandOptions, options).get("pty") and options["allow_concurrent"]
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self.directory)
            words = command.split()
            os.execvpe(words[0], words, {"PATH": os.environ["PATH"], "TERM": "dumb"})
        asyncio.get_running_loop().add_reader(self.terminal, self._read)
        return self

    def _read(self) -> None:
        try:
            data = os.read(self.terminal, 65536)
        except OSError:
            data = b""
        if not data:
            asyncio.get_running_loop().remove_reader(self.terminal)
        self._output.put_nowait(data)

    async def check(self, command: str, *, directory: str = "") -> Decision:
        self.checked.append((command, directory))
        verdict = policy_pb2.VERDICT_DENY if command in self.refused else policy_pb2.VERDICT_ALLOW
        raw = policy_pb2.Decision(verdict=verdict, parse_complete=True)
        raw.reasons.add(code="deny_rule", message="a rule denies it")
        return Decision.of(raw)

    async def write(self, *arguments: Any, mode: int = 0) -> None:
        if len(arguments) == 1:
            os.write(self.terminal, arguments[0].encode())
            self.typed.set()
        else:
            Path(arguments[0]).write_text(arguments[1])
            self.script = Path(arguments[0])

    async def events(self) -> AsyncIterator[Event]:
        while data := await self._output.get():
            yield Output(b"", "stdout", 0, data)
        await asyncio.to_thread(os.waitpid, self.pid, 0)
        ended = result(code=common_pb2.CAUSE_CODE_EXITED, exited=common_pb2.Cause.Exited(code=0), message="exited")
        yield Finished(b"", ExecutionInfo.of(execution_pb2.Execution()), ended)

    async def kill(self) -> None:
        """Kill every process of the terminal. An interrupt during a fork leaves a job in the background."""
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                session = int(stat.read_text().rpartition(")")[2].split()[3])
                if session == self.pid:
                    os.kill(int(stat.parent.name), signal.SIGKILL)


@pytest.fixture
async def local(tmp_path: Path) -> AsyncIterator[Local]:
    made = Local(tmp_path)
    yield made
    if hasattr(made, "script"):
        made.script.unlink(missing_ok=True)


@pytest.fixture
async def shell(local: Local) -> AsyncIterator[Shell]:
    made = await Shell.start(cast(Any, local))
    yield made
    await made.close()


async def test_a_shell_keeps_its_state(shell: Shell, local: Local) -> None:
    taken = await shell.run("x=1; f() { echo f$x; }\nmkdir d && cd d\nfalse")
    assert (taken.output, taken.exit_code, taken.directory) == ("", 1, f"{local.directory}/d")
    taken = await shell.run("echo $?; f; cat <<E\n\ta\nE")
    assert (plain(taken.output), taken.exit_code) == ("1\nf1\n\ta\n", 0)
    # The policy decides with the directory of the shell.
    assert local.checked[1][1] == f"{local.directory}/d"
    assert plain((await shell.run("")).output) == ""


async def test_a_command_that_the_policy_refuses_is_not_typed(shell: Shell, local: Local) -> None:
    local.refused.add("touch made")
    with pytest.raises(RefusedError, match=r"^airlock: denied by policy: a rule denies it; it did not run\n$"):
        await shell.run("touch made")
    assert (await shell.run("ls")).output == ""


async def test_a_program_is_typed_into_and_the_shell_continues(shell: Shell) -> None:
    taken = await shell.run("printf 'name? '; read name; echo hello $name", patterns=[r"\? "])
    assert (taken.output, taken.pattern, shell.busy) == ("name", r"\? ", True)
    with pytest.raises(BusyError):
        await shell.run("true")
    taken = await shell.type("you")
    assert (plain(taken.output).strip(), taken.exit_code, shell.busy) == ("hello you", 0, False)
    assert plain((await shell.run("echo on")).output) == "on\n"


async def test_a_program_is_interrupted(shell: Shell) -> None:
    with pytest.raises(TimeoutError):
        await shell.run("echo begin; sleep 600; echo end", timeout=0.5)
    assert "end" not in (await shell.interrupt()).output
    assert plain((await shell.run("echo on")).output) == "on\n"


async def test_a_program_that_ignores_the_interrupt_is_killed(shell: Shell) -> None:
    with pytest.raises(TimeoutError):
        await shell.run("(trap '' INT; exec sleep 600)", timeout=0.5)
    await shell.interrupt(timeout=0.1, tries=1)
    taken = await shell.run("echo on")
    # The shell reports the end of the job.
    assert "on" in taken.output and "Killed" in taken.output


async def test_an_interrupt_ends_a_run_that_waits(shell: Shell, local: Local) -> None:
    local.typed.clear()
    running = asyncio.create_task(shell.run("sleep 600"))
    await local.typed.wait()
    await shell.interrupt()
    assert (await running).exit_code == 130


async def test_a_shell_that_ended_says_so(shell: Shell) -> None:
    with pytest.raises(ShellEndedError, match="the shell has ended: exited"):
        await shell.run("exit 3")
    with pytest.raises(ShellEndedError):
        await shell.run("true")
