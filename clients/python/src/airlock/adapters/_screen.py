"""The output of a shell on a terminal, up to the next prompt."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence
from dataclasses import dataclass

# The number of characters that are kept until someone takes them: half from the beginning, half from the end.
LIMIT = 4 * 1024 * 1024
# Longer than any prompt.
_PROMPT_LENGTH = 16 * 1024
_CONTROL = re.compile(r"\x1b[@-_][0-?]*[ -/]*[@-~]")


@dataclass(frozen=True)
class Taken:
    """The output up to a prompt or to a pattern."""

    output: str
    pattern: str
    """The pattern that occurred, or an empty string at a prompt."""
    exit_code: int | None = None
    """The exit code of the last command. Set at a prompt."""
    directory: str = ""
    """The shell's directory. Set at a prompt."""


class Screen:
    """Output that was not taken yet. It is bounded: of a longer output, the middle is omitted."""

    def __init__(self, token: str, limit: int = LIMIT) -> None:
        self._prompt = re.compile(f"\x1e{token}:([0-9]+):([^\x1e]*)\x1e")
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._limit = limit
        self._head = ""
        self._text = ""
        self._omitted = 0
        # No prompt begins before this position.
        self._seen = 0

    def feed(self, data: bytes) -> None:
        """Add output."""
        self._text += self._decoder.decode(data)
        if len(self._text) > self._limit:
            half = self._limit // 2
            if not self._omitted:
                self._head, self._text = self._text[:half], self._text[half:]
            self._omitted += len(self._text) - half
            self._text = self._text[-half:]
            self._seen = 0

    def take(self, patterns: Sequence[str] = ()) -> Taken | None:
        """Take the output up to the first prompt or pattern, whichever is first. Return `None` if there is none."""
        prompt = self._prompt.search(self._text, self._seen)
        first = prompt
        name = ""
        for pattern in patterns:
            found = re.search(pattern, self._text)
            if found and (first is None or found.start() < first.start()):
                first, name = found, pattern
        if first is None:
            self._seen = max(0, len(self._text) - _PROMPT_LENGTH)
            return None
        output = self._cut(first.start(), first.end())
        if first is prompt:
            return Taken(output, "", int(first[1]), first[2])
        return Taken(output, name)

    def take_all(self) -> str:
        """Take all output."""
        return self._cut(len(self._text), len(self._text))

    def take_after(self, mark: str) -> str | None:
        """Take the output up to a text, without the text. Return `None` if it does not occur."""
        at = self._text.find(mark)
        return None if at < 0 else self._cut(at, at + len(mark))

    def _cut(self, end: int, rest: int) -> str:
        output = self._text[:end]
        if self._omitted:
            output = f"{self._head}\n[... {self._omitted} characters omitted ...]\n{output}"
        self._head, self._omitted, self._seen = "", 0, 0
        self._text = self._text[rest:]
        # A prompt before a pattern or a mark is no output.
        return self._prompt.sub("", output)


def plain(text: str) -> str:
    """Return the text without escape sequences and carriage returns at the ends of lines."""
    return _CONTROL.sub("", text).replace("\r\n", "\n")
