"""Commands that the adapters run: their directory, their whole output, and their exit code."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field

from .._command import CommandOptions
from .._errors import DeniedError, InvalidRequestError
from .._result import Result
from .._text import PREFIX, escaped, marked, sentence

WORKSPACE = "/workspace"
# The exit codes of a command that did not run, and of one whose timeout expired, as the `airlock` program has them.
NOT_RUN = 125
TIMED_OUT = 124


# The command did not run because of its text or its options. A model can use another one.
Refused = (DeniedError, InvalidRequestError)


def text_of(refused: DeniedError | InvalidRequestError) -> str:
    """Return the text for a model about a command that did not run."""
    if isinstance(refused, DeniedError):
        return refused.text
    return f"{PREFIX}{escaped(str(refused))}; it did not run\n"


@dataclass
class Collected:
    """The whole output of a command. A result can have a part of it only."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)

    def texts(self, result: Result) -> tuple[str, str]:
        """Return both streams as text. A line that looks like a note is marked, and stderr ends with the notes."""
        stdout, stderr = (marked(data.decode("utf-8", "backslashreplace")) for data in (self.stdout, self.stderr))
        # The text about a command that Airlock ended says why. Otherwise, the exit code is in the result.
        notes = notes_of(result) if result.cause.code in ("exited", "signaled") else f"{PREFIX}{sentence(result.raw)}\n"
        return stdout, stderr + notes


def in_directory(command: str, directory: str) -> str:
    """Return a command that runs in a directory, by default the directory of the session."""
    if directory in ("", "."):
        return command
    return f"cd -- {shlex.quote(directory)} || exit\n{command}"


def line_of(words: Sequence[str]) -> str:
    """Return words as the text of a command.

    The script of `sh -lc SCRIPT` and the like is the text itself, so that the policy reads it as a command, and not as
    the argument of a shell.
    """
    if len(words) >= 3 and words[0] in ("sh", "bash") and words[-2] in ("-c", "-lc"):
        only_login = set(words[1:-2]) <= {"-l", "--login"}
        return words[-1] if only_login else shlex.join(words)
    return shlex.join(words)


def options_of(
    timeout: float | None, env: dict[str, str] | None = None, *, on_ask: str = "fail", separate_stderr: bool = False
) -> CommandOptions:
    """Return the options of a command that runs beside the other commands of its session, and does not move them.

    Without a timeout, that of the profile applies.
    """
    options: CommandOptions = {
        "allow_concurrent": True,
        "on_ask": "wait" if on_ask == "wait" else "fail",
        "separate_stderr": separate_stderr,
    }
    if timeout and timeout > 0:
        options["timeout"] = timeout
    if env:
        options["env"] = env
    return options


def code_of(result: Result) -> int:
    """Return the exit code as a shell reports it, also for a command that did not exit by itself."""
    if result.exit_code is not None:
        return result.exit_code
    if result.cause.signal is not None:
        return 128 + result.cause.signal
    return TIMED_OUT if result.cause.code == "timed_out" else NOT_RUN


def notes_of(result: Result) -> str:
    """Return Airlock's notes about a run, for output that was collected as a whole: one line each."""
    return "".join(f"{PREFIX}{escaped(note.text)}\n" for note in result.notes if note.code != "output_shortened")
