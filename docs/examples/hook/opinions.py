"""The opinions of three hooks, and the scan of a result. Pure functions without I/O.

They search the text of a command, and do not parse it. A text can hide what it does from such a search. Therefore the
rules of the profile stay the protection, and these hooks only add to them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from airlock.hooks.v1 import hook_pb2
from airlock.v1 import common_pb2

# The limit of the contract.
_REASON_BYTES = 1024
# A question that scores as much is denied or shown to a person.
_DENY_SCORE = 3
_ASK_SCORE = 1


@dataclass(frozen=True)
class Opinion:
    """An opinion, and the line that approvers and the audit show."""

    value: hook_pb2.HookOpinion
    reason: str = ""


NO_OPINION = Opinion(hook_pb2.HOOK_OPINION_NONE)


@dataclass(frozen=True)
class _Sign:
    pattern: re.Pattern[str]
    score: int
    reason: str


def _sign(pattern: str, score: int, reason: str) -> _Sign:
    return _Sign(re.compile(pattern), score, reason)


_SIGNS = (
    _sign(r"\b(?:curl|wget)\b[^|;&]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b", 3, "it runs a downloaded script"),
    _sign(r"\bbase64\s+(?:-d|--decode)\b[^;&]*\|\s*(?:ba|z|da)?sh\b", 3, "it runs an encoded script"),
    _sign(r"\b(?:npm|cargo|twine)\s+(?:publish|upload)\b", 1, "it publishes a package"),
    _sign(r"\b(?:drop|truncate)\s+table\b", 1, "it removes data of a database"),
)
# Commands that the stand-in for the model knows to be harmless.
_HARMLESS = re.compile(r"\A(?:make (?:check|lint|test)|cargo (?:check|test)|npm (?:run )?test|pytest)(?: [\w./=-]+)*\Z")


def classify(execution: hook_pb2.HookedExecution) -> Opinion:
    """Return the opinion of the classifier. A real hook would ask a model here, within the request's deadline."""
    text = command_text(execution)
    found = [sign for sign in _SIGNS if sign.pattern.search(text.lower())]
    score = sum(sign.score for sign in found)
    reason = one_line("classifier: " + "; ".join(sign.reason for sign in found))
    if score >= _DENY_SCORE:
        return Opinion(hook_pb2.HOOK_OPINION_DENY, reason)
    if score >= _ASK_SCORE:
        return Opinion(hook_pb2.HOOK_OPINION_ASK, reason)
    if _HARMLESS.match(text) and not execution.unsandboxed:
        return Opinion(hook_pb2.HOOK_OPINION_ALLOW, "classifier: it runs the checks of a project")
    return NO_OPINION


_CHANGES_PRODUCTION = re.compile(r"(?<![\w.-])(kubectl|terraform)(?![\w.-])")
_TICKET = re.compile(r"\bTICKET-[1-9]\d*\b")


def check_ticket(execution: hook_pb2.HookedExecution) -> Opinion:
    """Deny programs that change production without a ticket in the agent's description.

    The description is text from the agent. A real hook would look the ticket up, and compare it with the principal.
    """
    found = _CHANGES_PRODUCTION.search(command_text(execution))
    if found is None:
        return NO_OPINION
    ticket = _TICKET.search(execution.description)
    if ticket is None:
        reason = f"tickets: {found[1]} needs a ticket, such as TICKET-123, in the description"
        return Opinion(hook_pb2.HOOK_OPINION_DENY, reason)
    return Opinion(hook_pb2.HOOK_OPINION_NONE, f"tickets: {ticket[0]}")


_SECRET_FILE = re.compile(r"\.ssh/id_|\.aws/credentials|\.netrc\b|\.env\b|\.kube/config\b")
_SENDS = re.compile(r"\b(?:curl|wget|nc|ncat|scp|rsync)\b")


def scan_command(execution: hook_pb2.HookedExecution) -> Opinion:
    """Deny a command that names a file with secrets and a program that sends data."""
    text = command_text(execution)
    if _SECRET_FILE.search(text) and _SENDS.search(text):
        return Opinion(hook_pb2.HOOK_OPINION_DENY, "data_loss: it could send a file with secrets")
    return NO_OPINION


_LEAKS = {
    "a private key": re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    "an access key of AWS": re.compile(r"\bAKIA[0-9A-Z]{16}\b"),
    "a token of GitHub": re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36}\b"),
}


def scan_result(result: common_pb2.Result) -> list[str]:
    """Name the kinds of secrets in the output of a result. The secrets are not part of the names."""
    texts = (result.inline.stdout.text, result.inline.stderr.text)
    return [kind for kind, pattern in _LEAKS.items() if any(pattern.search(text) for text in texts)]


HOOKS: dict[str, Callable[[hook_pb2.HookedExecution], Opinion]] = {
    "classifier": classify,
    "tickets": check_ticket,
    "data_loss": scan_command,
}
"""The hooks by their names in the server's configuration."""


def command_text(execution: hook_pb2.HookedExecution) -> str:
    """Return the command as text. Bytes that are not UTF-8 become escapes."""
    if execution.command_bytes:
        return execution.command_bytes.decode("utf-8", errors="backslashreplace")
    return execution.command


def one_line(text: str) -> str:
    """Return a text as one line within the limit of the contract."""
    printable = "".join(character if character.isprintable() else " " for character in text)
    return printable.encode()[:_REASON_BYTES].decode(errors="ignore")
