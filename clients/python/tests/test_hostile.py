"""The client against servers and connections that break: no byte is lost or doubled, no broken stream is an end."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

import airlock
from airlock import _methods as m
from airlock.v1 import common_pb2 as c
from airlock.v1 import execution_pb2 as pb
from airlock.v1 import file_pb2 as f
from airlock.v1 import session_pb2 as s

from .fake import BrokenError, Fake, RefusedError, connected


def opened(event: type[Any]) -> Any:
    return event(event=pb.Event(cursor=b"0", opened=pb.Opened(execution=pb.Execution(execution_id="e"))))


def output(event: type[Any], offset: int, data: bytes) -> Any:
    part = pb.Output(stream=c.OUTPUT_STREAM_STDOUT, offset=offset, data=data)
    return event(event=pb.Event(cursor=str(offset + len(data)).encode(), output=part))


def finished(event: type[Any]) -> Any:
    cause = c.Cause(code=c.CAUSE_CODE_EXITED, exited=c.Cause.Exited(code=0))
    result = c.Result(cause=cause, started=c.STARTED_YES)
    return event(
        event=pb.Event(cursor=b"z", finished=pb.Finished(execution=pb.Execution(execution_id="e", result=result)))
    )


RUN, ATTACH = pb.ExecutionServiceRunResponse, pb.ExecutionServiceAttachResponse


async def test_a_view_that_breaks_or_ends_is_never_the_end() -> None:
    fake, got = Fake(), bytearray()

    def run(_: Any, __: int) -> Iterator[Any]:
        yield opened(RUN)
        yield output(RUN, 0, b"abc")
        raise BrokenError

    def attach(_: Any, number: int) -> Iterator[Any]:
        yield opened(ATTACH)
        match number:
            case 1:
                # It repeats known bytes, and ends without a closing event.
                yield output(ATTACH, 1, b"bcde")
            case 2:
                raise BrokenError
            case 3:
                yield output(ATTACH, 5, b"fg")
                yield ATTACH(event=pb.Event(cursor=b"7"))
                yield finished(ATTACH)

    fake.on(m.RUN, run)
    fake.on(m.ATTACH, attach)
    async with connected(fake) as client:
        result = await client.run("x", on_stdout=got.extend)
    assert result.ok
    assert got == b"abcdefg"
    assert [request.cursor for request in fake.received(m.ATTACH)] == [b"3", b"5", b"5"]


async def test_a_start_without_an_answer_is_repeated_with_its_request_id() -> None:
    fake = Fake()

    def run(_: Any, number: int) -> Iterator[Any]:
        if number < 3:
            raise BrokenError
        yield opened(RUN)
        yield finished(RUN)

    fake.on(m.RUN, run)
    async with connected(fake) as client:
        assert (await client.run("x")).ok
    (request_id,) = {request.spec.request_id for request in fake.received(m.RUN)}
    assert request_id
    assert len(fake.received(m.RUN)) == 3


async def test_a_start_that_is_never_answered_is_unknown() -> None:
    fake = Fake()

    def broken(_: Any, __: int) -> Iterator[Any]:
        raise BrokenError
        yield

    fake.on(m.RUN, broken)
    fake.on(m.START, broken)
    async with connected(fake) as client:
        with pytest.raises(airlock.StartUnknownError) as caught:
            await client.run("x", request_id="mine")
        assert caught.value.request_id == "mine"
        with pytest.raises(airlock.StartUnknownError):
            await client.start("x")


async def test_a_view_that_cannot_be_resumed_is_lost_and_names_its_cursor() -> None:
    fake = Fake()

    def attach(_: Any, number: int) -> Iterator[Any]:
        yield opened(ATTACH)
        if number == 1:
            yield output(ATTACH, 0, b"abc")
        # Bytes are skipped, again and again.
        yield output(ATTACH, 9, b"x")

    fake.on(m.ATTACH, attach)
    got = b""
    async with connected(fake) as client:
        with pytest.raises(airlock.ViewLostError) as caught:
            async for event in client.attach("e").events():
                got += event.data if isinstance(event, airlock.Output) else b""
    assert got == b"abc"
    assert (caught.value.execution_id, caught.value.cursor) == ("e", b"3")
    assert "skipped bytes" in str(caught.value)


async def test_an_error_of_the_server_is_not_retried() -> None:
    fake = Fake()

    def refuse(_: Any, __: int) -> Iterator[Any]:
        raise RefusedError(grpc.StatusCode.INTERNAL, "INTERNAL")
        yield

    fake.on(m.WAIT, refuse)
    async with connected(fake) as client:
        with pytest.raises(airlock.RejectedError) as caught:
            await client.attach("e").wait()
    assert (caught.value.code, caught.value.reason, len(fake.received(m.WAIT))) == ("INTERNAL", "INTERNAL", 1)


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, "TOKEN_UNKNOWN", airlock.AuthenticationError),
        (grpc.StatusCode.PERMISSION_DENIED, "FORBIDDEN", airlock.ForbiddenError),
        (grpc.StatusCode.FAILED_PRECONDITION, "SESSION_LOST", airlock.SessionClosedError),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, "LIMIT_REACHED", airlock.LimitReachedError),
        (grpc.StatusCode.NOT_FOUND, "NOT_FOUND", airlock.NotFoundError),
        (grpc.StatusCode.ALREADY_EXISTS, "REQUEST_ID_REUSED", airlock.RejectedError),
    ],
)
async def test_each_error_has_its_exception(
    code: grpc.StatusCode, reason: str, kind: type[airlock.AirlockError]
) -> None:
    fake = Fake()

    def refuse(_: Any, __: int) -> Iterator[Any]:
        raise RefusedError(code, reason, limit="sessions")
        yield

    fake.on(m.CREATE_SESSION, refuse)
    async with connected(fake) as client:
        with pytest.raises(kind) as caught:
            await client.session()
    assert type(caught.value) is kind
    assert caught.value.reason == reason


CONTENT = bytes(range(256)) * 10


def download(cut: bool, wrong_hash: bool = False) -> Any:
    def answer(request: f.FileServiceDownloadRequest, number: int) -> Iterator[Any]:
        response = f.FileServiceDownloadResponse
        yield response(header=f.DownloadHeader(transfer_id="t", format=f.FILE_FORMAT_FILE))
        start = request.offset
        yield response(chunk=f.FileChunk(offset=start, data=CONTENT[start : start + 1000]))
        if cut and number < 3:
            raise BrokenError
        yield response(chunk=f.FileChunk(offset=start + 500, data=CONTENT[start + 500 :]))
        digest = b"x" * 32 if wrong_hash else hashlib.sha256(CONTENT).digest()
        yield response(done=f.DownloadDone(size=len(CONTENT), sha256=digest))

    return answer


async def session_of(fake: Fake, client: airlock.aio.AsyncClient) -> airlock.aio.AsyncSession:
    fake.on(m.CREATE_SESSION, lambda _, __: [s.SessionServiceCreateResponse(session=s.Session(session_id="s"))])
    return await client.session()


async def test_a_download_continues_and_returns_each_byte_once() -> None:
    fake = Fake()
    fake.on(m.DOWNLOAD, download(cut=True))
    async with connected(fake) as client:
        session = await session_of(fake, client)
        assert await session.files.read("x") == CONTENT
    assert [(one.transfer_id, one.offset) for one in fake.received(m.DOWNLOAD)] == [("", 0), ("t", 1000), ("t", 2000)]


async def test_a_download_with_a_wrong_hash_is_an_error_and_leaves_no_file(tmp_path: Path) -> None:
    fake = Fake()
    fake.on(m.DOWNLOAD, download(cut=False, wrong_hash=True))
    async with connected(fake) as client:
        session = await session_of(fake, client)
        with pytest.raises(airlock.ContractError, match="hash"):
            await session.files.download("x", tmp_path / "x")
        with pytest.raises(airlock.LocalError, match="longer than the limit"):
            await session.files.read("x", limit=100)
    assert not list(tmp_path.iterdir())


async def test_a_changed_token_is_used_without_a_new_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airlock._connection._LOOK", 0.0)
    fake, token = Fake(), tmp_path / "token"
    token.write_text("first-token")
    fake.on(m.LIST, lambda _, __: [pb.ExecutionServiceListResponse()])
    async with connected(fake, token_file=token) as client:
        await client.executions()
        token.write_text("second-token")
        await client.executions()
        # A token file that is being written is not used.
        token.write_text("")
        await client.executions()
    sent = [metadata["authorization"] for metadata in fake.metadata]
    assert sent == ["Bearer first-token", "Bearer second-token", "Bearer second-token"]


async def test_another_server_of_the_store_is_used_if_one_fails() -> None:
    fake = Fake()
    fake.on(m.LIST, lambda _, __: [pb.ExecutionServiceListResponse()])
    async with connected(fake) as client:
        address = f"http://127.0.0.1:1,{client.address}"
        async with await airlock.aio.connect(address, insecure_loopback=True, environment={}) as both:
            assert await both.executions() == []
            assert both.address == client.address


async def test_a_command_whose_caller_is_gone_is_killed_unless_it_may_stay() -> None:
    fake = Fake()

    def run(_: Any, __: int) -> Iterator[Any]:
        yield opened(RUN)
        yield output(RUN, 0, b"abc")

    def fails(_: bytes) -> None:
        raise ZeroDivisionError

    fake.on(m.RUN, run)
    fake.on(m.CANCEL, lambda _, __: [pb.ExecutionServiceCancelResponse()])
    async with connected(fake) as client:
        with pytest.raises(ZeroDivisionError):
            await client.run("x", on_stdout=fails, kill_on_cancel=False)
        assert not fake.received(m.CANCEL)
        with pytest.raises(ZeroDivisionError):
            await client.run("x", on_stdout=fails)
    assert [request.execution_id for request in fake.received(m.CANCEL)] == ["e"]


async def test_a_cancelled_start_without_an_answer_is_found_by_its_request_id_and_killed() -> None:
    fake, asked = Fake(), asyncio.Event()

    def run(_: Any, __: int) -> Iterator[Any]:
        asked.set()
        raise BrokenError
        yield

    fake.on(m.RUN, run)
    execution = pb.Execution(execution_id="e")
    fake.on(m.START, lambda _, __: [pb.ExecutionServiceStartResponse(execution=execution)])
    fake.on(m.CANCEL, lambda _, __: [pb.ExecutionServiceCancelResponse(execution=execution)])
    async with connected(fake) as client:
        task = asyncio.create_task(client.run("x", request_id="mine"))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert {request.spec.request_id for request in fake.received(m.START)} == {"mine"}
    assert [request.execution_id for request in fake.received(m.CANCEL)] == ["e"]


async def test_a_command_whose_view_is_lost_continues() -> None:
    fake = Fake()
    fake.on(m.RUN, lambda _, __: [opened(RUN), output(RUN, 5, b"x")])
    fake.on(m.ATTACH, lambda _, __: [opened(ATTACH), output(ATTACH, 5, b"x")])
    fake.on(m.CANCEL, lambda _, __: [pb.ExecutionServiceCancelResponse()])
    async with connected(fake) as client:
        with pytest.raises(airlock.ViewLostError):
            await client.run("x")
    assert not fake.received(m.CANCEL)
