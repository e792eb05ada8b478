"""Tests of the service over TLS, as a server calls it."""

from __future__ import annotations

import sqlite3
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import pytest
from airlock.hooks.v1 import hook_pb2
from airlock.v1 import common_pb2

from deliveries import Deliveries
from hook import SERVICE, Hook, credentials, start

SERVER = "server-1.airlock.example"
BINDING = bytes(range(32))


def openssl(directory: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


def issue(directory: Path, name: str, alternative: str) -> None:
    """Create `NAME.pem` and `NAME.key`, signed by the authority of the directory."""
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key"]
    subject = ["-subj", f"/CN={name}", "-addext", f"subjectAltName={alternative}"]
    signer = [] if name == "ca" else ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", "basicConstraints=CA:FALSE"]
    openssl(directory, "req", "-x509", "-days", "1", *key, *subject, *signer, "-out", f"{name}.pem")


@dataclass
class World:
    """A hook, and clients with the certificates of a directory."""

    directory: Path
    port: int
    results: Path

    def read(self, name: str) -> bytes:
        return (self.directory / name).read_bytes()

    def call(self, method: str, request: Any, response: Any, client: str | None = "server") -> Any:
        key, chain = (self.read(f"{client}.{end}") if client else None for end in ("key", "pem"))
        secure = grpc.ssl_channel_credentials(self.read("ca.pem"), key, chain)
        with grpc.secure_channel(f"127.0.0.1:{self.port}", secure) as channel:
            call: Any = channel.unary_unary(
                f"/{SERVICE}/{method}",
                request_serializer=type(request).SerializeToString,
                response_deserializer=response.FromString,
            )
            return call(request, timeout=60)

    def ask(self, request: hook_pb2.PreExecuteRequest, client: str | None = "server") -> Any:
        return self.call("PreExecute", request, hook_pb2.PreExecuteResponse, client)

    def deliver(self, request: hook_pb2.PostExecuteRequest) -> Any:
        return self.call("PostExecute", request, hook_pb2.PostExecuteResponse)

    def rows(self) -> list[Any]:
        with sqlite3.connect(self.results) as connection:
            return connection.execute("SELECT execution_id, hook, cause, found, attempt FROM results").fetchall()


@pytest.fixture(name="world")
def fixture_world(tmp_path: Path) -> Iterator[World]:
    issue(tmp_path, "ca", "DNS:ca.example")
    issue(tmp_path, "hook", "IP:127.0.0.1")
    issue(tmp_path, "server", f"DNS:{SERVER}")
    issue(tmp_path, "other", "DNS:other.example")
    results = tmp_path / "results.db"
    with Deliveries(results) as deliveries:
        secure = credentials(tmp_path / "hook.pem", tmp_path / "hook.key", tmp_path / "ca.pem")
        server, port = start(Hook(deliveries, frozenset([SERVER])), "127.0.0.1:0", secure)
        yield World(tmp_path, port, results)
        server.stop(None).wait()


def question(hook: str, command: str, **fields: Any) -> hook_pb2.PreExecuteRequest:
    execution = hook_pb2.HookedExecution(execution_id="e-1", command=command)
    values: dict[str, Any] = {"binding": BINDING, "allow_has_effect": True} | fields
    return hook_pb2.PreExecuteRequest(hook=hook, execution=execution, **values)


def result(hook: str, text: str, attempt: int) -> hook_pb2.PostExecuteRequest:
    request = hook_pb2.PostExecuteRequest(hook=hook, attempt=attempt, state=common_pb2.EXECUTION_STATE_FINISHED)
    request.execution.execution_id = "e-1"
    request.result.cause.code = common_pb2.CAUSE_CODE_EXITED
    request.result.inline.stdout.text = text
    return request


def test_an_answer_repeats_the_binding(world: World) -> None:
    answer = world.ask(question("tickets", "terraform apply"))
    assert (answer.binding, answer.opinion) == (BINDING, hook_pb2.HOOK_OPINION_DENY)
    assert "TICKET-123" in answer.reason
    answer = world.ask(question("classifier", "make check"))
    assert (answer.binding, answer.opinion) == (BINDING, hook_pb2.HOOK_OPINION_ALLOW)


def test_an_allow_without_effect_is_no_opinion(world: World) -> None:
    answer = world.ask(question("classifier", "make check", allow_has_effect=False))
    assert answer.opinion == hook_pb2.HOOK_OPINION_NONE


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        (question("unknown", "ls"), "no hook `unknown`"),
        (question("tickets", "ls", binding=b"short"), "binding"),
        (hook_pb2.PreExecuteRequest(hook="tickets", binding=BINDING), "execution_id"),
    ],
)
def test_an_invalid_request_is_refused(world: World, request_: hook_pb2.PreExecuteRequest, problem: str) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        world.ask(request_)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert problem in (refused.value.details() or "")


def test_only_servers_are_answered(world: World) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        world.ask(question("tickets", "ls"), client="other")
    assert refused.value.code() == grpc.StatusCode.PERMISSION_DENIED
    with pytest.raises(grpc.RpcError) as refused:
        world.ask(question("tickets", "ls"), client=None)
    assert refused.value.code() == grpc.StatusCode.UNAVAILABLE


def test_a_repeated_delivery_is_written_once(world: World, caplog: pytest.LogCaptureFixture) -> None:
    leak = "AKIA" + "B" * 16
    for attempt in (1, 2):
        world.deliver(result("data_loss", leak, attempt))
    world.deliver(result("tickets", leak, 1))
    assert world.rows() == [
        ("e-1", "data_loss", "CAUSE_CODE_EXITED", "an access key of AWS", 1),
        ("e-1", "tickets", "CAUSE_CODE_EXITED", "", 1),
    ]
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == ["data_loss: the output of e-1 has an access key of AWS"]


def test_an_unfinished_result_is_refused(world: World) -> None:
    unfinished = result("tickets", "", 1)
    unfinished.state = common_pb2.EXECUTION_STATE_RUNNING
    with pytest.raises(grpc.RpcError) as refused:
        world.deliver(unfinished)
    assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    assert world.rows() == []
