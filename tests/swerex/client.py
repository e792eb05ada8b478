"""One Airlock session over gRPC: commands, terminals and files.

It uses nothing of Airlock except the contract, and contains nothing of SWE-ReX.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from pathlib import Path

import grpc
from airlock.v1 import common_pb2, execution_pb2, execution_pb2_grpc, file_pb2, file_pb2_grpc
from airlock.v1 import policy_pb2, policy_pb2_grpc, session_pb2, session_pb2_grpc
from google.protobuf.duration_pb2 import Duration

CHUNK_BYTES = 256 * 1024
# For a call that returns one message. A command has a timeout of its own.
CALL_SECONDS = 120
# How often a call is repeated after the connection was lost, and the pause before each.
RETRIES = 60
RETRY_SECONDS = 0.5


@dataclass(frozen=True)
class Connection:
    """The address of a server, and the credentials for it."""

    target: str
    authority: bytes
    token: str

    @classmethod
    def from_state(cls, state: Path) -> "Connection":
        """Reads the connection from the state directory of a running `airlock dev`."""
        written = json.loads((state / "connection.json").read_text())
        return cls(
            target=written["address"].removeprefix("https://"),
            authority=(state / written["ca"]).read_bytes(),
            token=(state / written["token_file"]).read_text().strip(),
        )

    def credentials(self) -> grpc.ChannelCredentials:
        """Returns channel credentials that add the token to each call."""
        tls = grpc.ssl_channel_credentials(self.authority)
        return grpc.composite_channel_credentials(tls, grpc.access_token_call_credentials(self.token))


@dataclass
class Run:
    """The output and the result of an execution that has ended."""

    stdout: str
    stderr: str
    result: common_pb2.Result


def upload_requests(header: file_pb2.UploadHeader, data: bytes) -> Iterator[file_pb2.FileServiceUploadRequest]:
    """Yields the messages of one upload."""
    yield file_pb2.FileServiceUploadRequest(header=header)
    for offset in range(0, len(data), CHUNK_BYTES):
        chunk = file_pb2.FileChunk(offset=offset, data=data[offset : offset + CHUNK_BYTES])
        yield file_pb2.FileServiceUploadRequest(chunk=chunk)


def lost(error: grpc.aio.AioRpcError, retries: int) -> bool:
    """Returns whether a call failed because of the connection and may be tried again."""
    return error.code() == grpc.StatusCode.UNAVAILABLE and retries < RETRIES


class Session:
    """An Airlock session. `create` opens it, and `close` ends it with all that runs in it."""

    def __init__(self, channel: grpc.aio.Channel, session_id: str, timeout_max: float) -> None:
        self.session_id = session_id
        self._channel = channel
        self._timeout_max = timeout_max
        self._sessions = session_pb2_grpc.SessionServiceStub(channel)
        self._executions = execution_pb2_grpc.ExecutionServiceStub(channel)
        self._files = file_pb2_grpc.FileServiceStub(channel)
        self._policy = policy_pb2_grpc.PolicyServiceStub(channel)

    @classmethod
    async def create(cls, connection: Connection, profile: str) -> "Session":
        """Connects to a server and creates a session."""
        channel = grpc.aio.secure_channel(connection.target, connection.credentials())
        wanted = policy_pb2.PolicyServiceGetProfileRequest(name=profile)
        found = await policy_pb2_grpc.PolicyServiceStub(channel).GetProfile(wanted, timeout=CALL_SECONDS)
        request = session_pb2.SessionServiceCreateRequest(profile=profile, request_id=str(uuid.uuid4()))
        created = await session_pb2_grpc.SessionServiceStub(channel).Create(request, timeout=CALL_SECONDS)
        return cls(channel, created.session.session_id, found.profile.timeout_max.ToSeconds())

    async def is_open(self, timeout: float | None) -> bool:
        request = session_pb2.SessionServiceGetRequest(session_id=self.session_id)
        response = await self._sessions.Get(request, timeout=timeout or CALL_SECONDS)
        return bool(response.session.state == session_pb2.SESSION_STATE_OPEN)

    async def close(self) -> None:
        request = session_pb2.SessionServiceCloseRequest(session_id=self.session_id)
        await self._sessions.Close(request, timeout=CALL_SECONDS)
        await self._channel.close()

    def timeout(self, seconds: float | None) -> Duration:
        """Returns the timeout of a command. It is at most the profile's maximum, which is also the default."""
        duration = Duration()
        duration.FromNanoseconds(int(min(seconds or self._timeout_max, self._timeout_max) * 1e9))
        return duration

    async def is_parsed(self, command: str) -> bool:
        """Returns whether the policy could parse all of a command."""
        request = policy_pb2.PolicyServiceCheckRequest(session_id=self.session_id, command=command)
        response = await self._policy.Check(request, timeout=CALL_SECONDS)
        return bool(response.decision.parse_complete)

    async def start(self, spec: execution_pb2.ExecutionSpec) -> str:
        """Starts an execution and returns its ID. The request ID keeps a retry from starting it twice."""
        spec.session_id, spec.request_id = self.session_id, str(uuid.uuid4())
        request, retries = execution_pb2.ExecutionServiceStartRequest(spec=spec), 0
        while True:
            try:
                response = await self._executions.Start(request, timeout=CALL_SECONDS)
                return str(response.execution.execution_id)
            except grpc.aio.AioRpcError as error:
                if not lost(error, retries):
                    raise
            retries += 1
            await asyncio.sleep(RETRY_SECONDS)

    async def events(self, execution_id: str, cursor: bytes = b"") -> AsyncGenerator[execution_pb2.Event, None]:
        """Yields the events after a cursor, up to the end of the execution. A lost stream is attached again."""
        retries = 0
        while True:
            request = execution_pb2.ExecutionServiceAttachRequest(execution_id=execution_id)
            if cursor:
                request.cursor = cursor
            stream = self._executions.Attach(request)
            try:
                async for response in stream:
                    cursor, retries = response.event.cursor, 0
                    yield response.event
                    if response.event.HasField("finished"):
                        return
            except grpc.aio.AioRpcError as error:
                if not lost(error, retries):
                    raise
            finally:
                stream.cancel()
            retries += 1
            await asyncio.sleep(RETRY_SECONDS)

    async def finish(self, execution_id: str) -> Run:
        """Waits for the end of an execution and collects its output."""
        output = {common_pb2.OUTPUT_STREAM_STDOUT: bytearray(), common_pb2.OUTPUT_STREAM_STDERR: bytearray()}
        result = common_pb2.Result()
        async for event in self.events(execution_id):
            if event.HasField("output"):
                output[event.output.stream] += event.output.data
            elif event.HasField("finished"):
                result = event.finished.execution.result
        stdout, stderr = (data.decode(errors="backslashreplace") for data in output.values())
        return Run(stdout, stderr, result)

    async def write_stdin(self, execution_id: str, offset: int, data: bytes) -> None:
        """Writes to the input of an execution, at an offset from its start. Ignores an execution that has ended."""
        request = execution_pb2.ExecutionServiceWriteStdinRequest(
            execution_id=execution_id, offset=offset, data=data
        )
        try:
            await self._executions.WriteStdin(iter([request]), timeout=CALL_SECONDS)
        except grpc.aio.AioRpcError as error:
            if error.code() != grpc.StatusCode.FAILED_PRECONDITION:
                raise

    async def cancel(self, execution_id: str) -> None:
        """Cancels an execution and waits for its end."""
        request = execution_pb2.ExecutionServiceCancelRequest(execution_id=execution_id)
        await self._executions.Cancel(request, timeout=CALL_SECONDS)
        await self.finish(execution_id)

    async def upload(self, path: str, data: bytes, file_format: file_pb2.FileFormat, mode: int = 0) -> None:
        """Uploads a file, or the contents of a tar archive into a directory."""
        header = file_pb2.UploadHeader(
            session_id=self.session_id, path=path, format=file_format, size=len(data), mode=mode
        )
        await self._files.Upload(upload_requests(header, data))

    async def download(self, path: str) -> bytes:
        """Downloads a file. A stream that ends without `done` was cut."""
        request = file_pb2.FileServiceDownloadRequest(
            session_id=self.session_id, path=path, format=file_pb2.FILE_FORMAT_FILE
        )
        data, done = bytearray(), False
        async for response in self._files.Download(request):
            data += response.chunk.data
            done = done or response.HasField("done")
        if not done:
            raise OSError(f"the download of {path!r} was cut")
        return bytes(data)
