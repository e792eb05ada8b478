"""A shell that keeps its state between commands: variables, functions, aliases, jobs and the directory.

It is one execution on a terminal. The policy decides about the shell when it starts, and does not see what is typed
into it. So `run` first asks the policy about each command, and types only a command that the policy allows.

It must not parse or run a command on this side.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Protocol, Unpack

from .._command import CommandOptions, Pty
from .._errors import AirlockError
from .._event import Event, Finished, Gap, Output
from .._result import Decision, Result
from .._text import PREFIX, escaped
from ._screen import Screen, Taken

# The time for the shell to start, or to return to its prompt, on a busy host.
PATIENCE = 60.0
# The shortest last wait after Ctrl+C, before the program is stopped and killed.
_INTERRUPT = 5.0
# The time for a program to end before Ctrl+C is typed again, in seconds.
_AGAIN = 1.0
_CTRL_C, _CTRL_Z = "\x03", "\x1a"


class FilesLike(Protocol):
    """The part of `AsyncFiles` that a shell uses."""

    async def write(self, path: str, content: bytes | str, *, mode: int = 0o644) -> None:
        """Write a file."""


class StdinLike(Protocol):
    """The part of `Stdin` that a shell uses."""

    async def write(self, data: bytes | str) -> None:
        """Write to the input."""


class ExecutionLike(Protocol):
    """The part of `AsyncExecution` that a shell uses."""

    @property
    def stdin(self) -> StdinLike:
        """The input."""

    def events(self) -> AsyncIterator[Event]:
        """Return the events."""

    async def kill(self) -> object:
        """End it."""


class SessionLike(Protocol):
    """The part of `AsyncSession` that a shell uses."""

    @property
    def files(self) -> FilesLike:
        """The files of the session."""

    async def check(self, command: str, *, directory: str = "") -> Decision:
        """Return the decision about a command."""

    async def start(self, command: str, **options: Unpack[CommandOptions]) -> ExecutionLike:
        """Start a command."""


class RefusedError(Exception):
    """The policy does not allow a command. The text is for the model."""


class ShellEndedError(Exception):
    """The shell has ended."""


class BusyError(Exception):
    """A program still runs in the shell."""


Vet = Callable[[str, Decision], Awaitable[None]]
"""Receives a command and the decision about it before it runs. It raises an exception to prevent the run."""


async def vet_nothing(_command: str, _decision: Decision) -> None:
    """Accept every command."""


def refusal(decision: Decision) -> str:
    """Return the text for a model about a command that the policy does not allow."""
    asks = decision.verdict == "ask"
    what = "policy requires an approval, which a command in a shell cannot wait for" if asks else "denied by policy"
    reason = f": {escaped(decision.reasons[0].message)}" if decision.reasons else ""
    return f"{PREFIX}{what}{reason}; it did not run\n"


class Shell:
    """A shell on a terminal. `start` creates it. It runs one command at a time."""

    def __init__(self, session: SessionLike, execution: ExecutionLike, token: str, vet: Vet) -> None:
        self._session = session
        self._execution = execution
        self._vet = vet
        self._script = f"/tmp/.airlock-shell-{token}"
        self._screen = Screen(token)
        self._news = asyncio.Event()
        self._turn = asyncio.Lock()
        self._reader = asyncio.create_task(self._read())
        self._reader.add_done_callback(lambda _: self._news.set())
        self._result: Result | None = None
        self._failure: AirlockError | None = None
        self._syncs = 0
        # Messages of the shell that came after an interrupt. The next command's output begins with them.
        self._late = ""
        self.busy = False
        """Whether a program runs in the shell, so that typed text is its input."""
        self.directory = ""
        """The directory of the shell at its last prompt."""

    @classmethod
    async def start(cls, session: SessionLike, vet: Vet = vet_nothing, **options: Unpack[CommandOptions]) -> Shell:
        """Start a shell, and wait for its prompt. Raise `DeniedError` if the policy does not allow it."""
        token = secrets.token_hex(8)
        # On a dumb terminal, programs write no colours.
        options = {"pty": Pty(rows=24, cols=1000, term="dumb"), "allow_concurrent": True, **options}
        shell = cls(session, await session.start("bash --norc --noprofile", **options), token, vet)
        try:
            prompt = f"PS0=; PS2=; PROMPT_COMMAND=; PS1=$'\\036{token}:$?:$PWD\\036'"
            # A pager would wait for a person.
            pager = "export PAGER=cat GIT_PAGER=cat"
            await shell._type(f" set +o emacs; set +o vi; HISTFILE=; {pager}; {prompt}\n")
            await shell._synchronize()
        except BaseException:
            await shell.close()
            raise
        return shell

    async def run(self, command: str, *, timeout: float | None = None, patterns: Sequence[str] = ()) -> Taken:
        """Run a command up to the next prompt, or to a pattern.

        Raise `RefusedError` if the policy does not allow it, and `TimeoutError` if it has not ended after `timeout`
        seconds. It then still runs; `interrupt` ends it.
        """
        async with self._turn:
            self._require_life()
            if self.busy:
                raise BusyError("a program still runs in the shell; quit or interrupt it first")
            await self._permit(command)
            # The terminal would cut long lines, and a program could read the lines after its own.
            await self._session.files.write(self._script, command + "\n", mode=0o600)
            self.busy = True
            await self._type(f" . {self._script}\n")
            taken = await self._expect(patterns, timeout)
            late, self._late = self._late, ""
            return Taken(late + taken.output, taken.pattern, taken.exit_code, taken.directory)

    async def type(self, text: str, *, timeout: float | None = None, patterns: Sequence[str] = ()) -> Taken:
        """Type a line into the program that runs. Return at a pattern, or at the prompt when the program has ended."""
        async with self._turn:
            self._require_life()
            await self._type(text + "\n")
            taken = await self._expect(patterns, timeout)
            if not self.busy:
                # The program may have changed the terminal, or left input for the shell.
                await self._synchronize()
            return taken

    async def interrupt(self, *, timeout: float = 0.2, tries: int = 3, patterns: Sequence[str] = ()) -> Taken:
        """Type Ctrl+C up to the prompt or a pattern. A program that ignores it is stopped and killed.

        Raise `TimeoutError` if the shell does not return to its prompt.
        """
        async with asyncio.timeout(PATIENCE):
            await self._interrupt_run()
            try:
                return await self._end_program(timeout, tries, patterns)
            finally:
                self._turn.release()

    async def _interrupt_run(self) -> None:
        """Take the turn. A call of `run` that has it waits for the prompt, so type Ctrl+C until it gets one."""
        while self._turn.locked():
            await self._type(_CTRL_C)
            # The shell drops a key that arrives before the command has started.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_AGAIN):
                    await self._turn.acquire()
                    return
        await self._turn.acquire()

    async def _end_program(self, timeout: float, tries: int, patterns: Sequence[str]) -> Taken:
        self._require_life()
        output = ""
        for left in reversed(range(tries if self.busy else 0)):
            await self._type(_CTRL_C)
            with contextlib.suppress(TimeoutError):
                taken = await self._expect(patterns, timeout if left else max(timeout, _INTERRUPT))
                output += taken.output
                if taken.pattern:
                    return Taken(output, taken.pattern)
                output += await self._synchronize()
                break
        if self.busy:
            await self._type(_CTRL_Z)
            output += (await self._expect((), PATIENCE)).output
            await self._type(" kill -KILL %+ 2>/dev/null\n")
            self._late += await self._synchronize()
        return Taken(output, "", 0, self.directory)

    async def close(self) -> None:
        """End the shell and all that runs in it."""
        if self._result is None:
            with contextlib.suppress(AirlockError):
                await self._execution.kill()
        self._reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reader

    async def _permit(self, command: str) -> None:
        decision = await self._session.check(command, directory=self.directory)
        await self._vet(command, decision)
        if decision.verdict != "allow":
            raise RefusedError(refusal(decision))

    async def _type(self, keys: str) -> None:
        async with asyncio.timeout(PATIENCE):
            await self._execution.stdin.write(keys)

    async def _synchronize(self) -> str:
        """Wait until the shell has read everything that was typed. Return the output up to that."""
        self._syncs += 1
        await self._type(f" stty -echo; printf '\\036%s\\036' {self._syncs}\n")
        async with asyncio.timeout(PATIENCE):
            while (output := self._screen.take_after(f"\x1e{self._syncs}\x1e")) is None:
                await self._more()
            # The shell reports the end of jobs before it prints a prompt.
            return output + (await self._expect((), None)).output

    async def _expect(self, patterns: Sequence[str], timeout: float | None) -> Taken:
        async with asyncio.timeout(timeout):
            while (taken := self._screen.take(patterns)) is None:
                await self._more()
        if not taken.pattern:
            self.busy, self.directory = False, taken.directory
        return taken

    async def _more(self) -> None:
        """Wait for more output. Raise `ShellEndedError` if there will be none."""
        if not self._news.is_set():
            self._require_life()
        await self._news.wait()
        self._news.clear()

    def _require_life(self) -> None:
        if self._result is not None:
            rest, why = self._screen.take_all(), self._result.cause.message or self._result.cause.code
            raise ShellEndedError(f"{rest}the shell has ended: {why}")
        if self._reader.done():
            raise ShellEndedError(f"the output of the shell is lost: {self._failure or 'its view was closed'}")

    async def _read(self) -> None:
        try:
            async for event in self._execution.events():
                match event:
                    case Output(data=data):
                        self._screen.feed(data)
                    case Gap(start=start, end=end):
                        self._screen.feed(f"\n[... {end - start} bytes lost ...]\n".encode())
                    case Finished(result=result):
                        self._result = result
                self._news.set()
        except AirlockError as error:
            self._failure = error
