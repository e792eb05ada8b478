"""The connections of a client: channels, credentials that are read again, and calls that are repeated."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, cast

import grpc
import grpc.aio

from ._errors import AirlockError, ContractError, SettingsError, UnreachableError, UntrustedError
from ._methods import A, Method, Q
from ._retry import Patience, retrying
from ._settings import Credentials, Settings, Target, targets
from ._status import from_rpc, one_line

# The largest response, in bytes. The server bounds a page of full executions below this.
_ANSWER_BYTES = 32 * 1024 * 1024
# The timeout for the first message of a stream, in seconds.
OPEN_TIMEOUT = 30.0
# The timeout of a call that does not wait.
CALL_TIMEOUT = 30.0
# The timeout of a call that waits for a runner.
SLOW_CALL_TIMEOUT = 90.0
_CONNECT_TIMEOUT = 5.0
# The number of attempts for a connection that is cut while it is established, and the first pause.
_CUT_TRIES = 5
_CUT_PAUSE = 0.05
# The interval between two checks of the credential files.
_LOOK = 1.0

_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("grpc.max_receive_message_length", _ANSWER_BYTES),
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    # The client repeats calls itself, because only it knows which are safe to repeat.
    ("grpc.enable_retries", 0),
    ("grpc.enable_http_proxy", 0),
    # Each channel has a connection of its own, so that unread output cannot block a Cancel.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
)


@dataclass
class _Pair:
    """The channels of one server: for unary calls, and for views."""

    calls: grpc.aio.Channel
    views: grpc.aio.Channel


class Connection:
    """The connections of a client. Belongs to one event loop."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._targets = targets(settings)
        self._credentials = settings.credentials()
        self._at = 0
        self._pairs: dict[int, _Pair] = {}
        self._retired: list[_Pair] = []
        self._looked = time.monotonic()
        self._closed = False
        self.knows_network = False
        """Whether the server is known to support network rules."""

    @property
    def patience(self) -> Patience:
        """The times to retry."""
        return self._settings.patience

    @property
    def address(self) -> str:
        """The address of the server in use."""
        return self._target.address

    @property
    def _target(self) -> Target:
        return self._targets[self._at % len(self._targets)]

    async def check(self) -> None:
        """Connect to a server and end the connection, to raise one clear error if that fails."""
        last: AirlockError | None = None
        for _ in self._targets:
            try:
                await asyncio.to_thread(probe, self._target, self._credentials, self._settings.server_name)
                return
            except AirlockError as error:
                last = error
                self._at += 1
        if last is not None:
            raise last

    async def close(self) -> None:
        """End all connections."""
        self._closed = True
        for pair in [*self._pairs.values(), *self._retired]:
            await pair.calls.close()
            await pair.views.close()
        self._pairs.clear()
        self._retired.clear()

    async def unary(self, method: Method[Q, A], request: Q, timeout: float = CALL_TIMEOUT) -> A:
        """Make a unary call, and repeat it while the server cannot be reached, for at most `Patience.call`."""
        return await retrying(self.patience, lambda: self.once(method, request, timeout))

    async def once(self, method: Method[Q, A], request: Q, timeout: float = CALL_TIMEOUT) -> A:
        """Make a unary call once."""
        pair = await self._pair()
        call = pair.calls.unary_unary(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        with self.errors():
            return await call(request, timeout=timeout, metadata=self._metadata())

    async def view(self, method: Method[Q, A], request: Q) -> View[A]:
        """Open a stream of responses on the connection that all views share."""
        pair = await self._pair()
        call = pair.views.unary_stream(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        return View(self, call(request, metadata=self._metadata()))

    async def sending(self, channel: grpc.aio.Channel, method: Method[Q, A], source: AsyncIterator[Q]) -> A:
        """Send a stream of requests, and return the response."""
        call = channel.stream_unary(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        with self.errors():
            return await call(source, metadata=self._metadata())

    def both(self, channel: grpc.aio.Channel, method: Method[Q, A]) -> grpc.aio.StreamStreamCall[Any, A]:
        """Open a stream in both directions."""
        call = channel.stream_stream(
            method.path,
            request_serializer=method.request.SerializeToString,
            response_deserializer=method.response.FromString,
        )
        return call(metadata=self._metadata())

    @contextlib.asynccontextmanager
    async def separate(self) -> AsyncIterator[grpc.aio.Channel]:
        """Return a channel for one stream that can block because the other side stops reading."""
        await self._refresh()
        channel = self._channel()
        try:
            yield channel
        finally:
            await channel.close()

    @contextlib.contextmanager
    def errors(self) -> Any:
        """Convert the errors of a call to exceptions of this package."""
        try:
            yield
        except grpc.aio.AioRpcError as error:
            raise self.error(error) from None
        except grpc.aio.UsageError as error:
            raise self.unreachable(one_line(str(error))) from None

    def error(self, error: grpc.aio.AioRpcError) -> AirlockError:
        """Return the exception for a failed call. The next call uses the next server."""
        made = from_rpc(self.address, error)
        if isinstance(made, UnreachableError):
            self._at += 1
        return made

    def unreachable(self, message: str) -> UnreachableError:
        """Return an error for a missing response."""
        return UnreachableError(f"no answer from {self.address}: {message}")

    def contract(self, message: str) -> ContractError:
        """Return an error for a response that violates the contract."""
        return ContractError(f"the server at {self.address} violated the contract: {message}")

    async def _pair(self) -> _Pair:
        if self._closed:
            raise SettingsError("the client is closed", remedy="connect again")
        await self._refresh()
        index = self._at % len(self._targets)
        if index not in self._pairs:
            self._pairs[index] = _Pair(self._channel(), self._channel())
        return self._pairs[index]

    async def _refresh(self) -> None:
        """Read the credential files again. Open calls keep their connections; invalid files change nothing."""
        if time.monotonic() - self._looked < _LOOK:
            return
        self._looked = time.monotonic()
        try:
            now = await asyncio.to_thread(self._settings.credentials)
        except SettingsError:
            return
        if now != self._credentials:
            self._credentials = now
            self._retired.extend(self._pairs.values())
            self._pairs.clear()

    def _channel(self) -> grpc.aio.Channel:
        target, options = self._target, list(_OPTIONS)
        host = f"[{target.host}]" if ":" in target.host else target.host
        where = f"{host}:{target.port}"
        if not target.secure:
            return grpc.aio.insecure_channel(where, options=options)
        if self._settings.server_name:
            options.append(("grpc.ssl_target_name_override", self._settings.server_name))
        credentials = self._credentials
        tls = grpc.ssl_channel_credentials(credentials.ca, credentials.key, credentials.certificate)
        return grpc.aio.secure_channel(where, tls, options=options)

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        metadata = []
        if self._credentials.token:
            metadata.append(("authorization", f"Bearer {self._credentials.token}"))
        if self._settings.traceparent:
            metadata.append(("traceparent", self._settings.traceparent))
        return tuple(metadata)


class View(AsyncIterator[A]):
    """A stream of responses. Its end is reported as an error unless the caller expects it."""

    def __init__(self, connection: Connection, call: grpc.aio.UnaryStreamCall[Any, A]) -> None:
        self._connection = connection
        self._call = call
        self._opened = False

    def __aiter__(self) -> View[A]:
        return self

    async def __anext__(self) -> A:
        return await self.next(None)

    async def next(self, silence: float | None) -> A:
        """Return the next response. Raise `UnreachableError` if the stream ends, or is silent for too long."""
        try:
            with self._connection.errors():
                if not self._opened:
                    async with asyncio.timeout(OPEN_TIMEOUT):
                        await self._call.initial_metadata()
                async with asyncio.timeout(silence):
                    message = await self._call.read()
        except TimeoutError:
            self.cancel()
            raise self._connection.unreachable("the connection is up, but no data arrives") from None
        if message is grpc.aio.EOF:
            raise self._connection.unreachable("the stream ended before its closing message")
        self._opened = True
        return cast(A, message)

    def cancel(self) -> None:
        """End the stream."""
        self._call.cancel()


def probe(target: Target, credentials: Credentials, server_name: str | None) -> None:
    """Connect to a server, and raise `UnreachableError` or `UntrustedError` if that fails. Blocks.

    An attempt that is cut while the connection is established is repeated. An unreachable server is an error at once.
    """
    for attempt in range(_CUT_TRIES):
        try:
            with socket.create_connection((target.host, target.port), _CONNECT_TIMEOUT) as plain:
                if target.secure:
                    _handshake(plain, server_name or target.host, credentials)
            return
        except ssl.SSLCertVerificationError as error:
            raise _untrusted(target, error.verify_message) from error
        except (ssl.SSLEOFError, ConnectionResetError, BrokenPipeError) as error:
            if attempt == _CUT_TRIES - 1:
                raise UnreachableError(f"no answer from {target.address}: the connection was cut") from error
            time.sleep(_CUT_PAUSE * 2**attempt)
        except ssl.SSLError as error:
            raise _untrusted(target, error.reason or str(error)) from error
        except OSError as error:
            message = one_line(str(error.strerror or error))
            raise UnreachableError(f"no answer from {target.address}: {message}") from error


def _untrusted(target: Target, message: str) -> UntrustedError:
    return UntrustedError(f"no secure connection to {target.address}: {message}")


def _handshake(plain: socket.socket, name: str, credentials: Credentials) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_alpn_protocols(["h2"])
    if credentials.ca:
        context.load_verify_locations(cadata=credentials.ca.decode("ascii", "ignore"))
    if credentials.certificate and credentials.key:
        # The standard library reads certificates from files only.
        with tempfile.NamedTemporaryFile() as file:
            file.write(credentials.certificate + b"\n" + credentials.key)
            file.flush()
            context.load_cert_chain(file.name)
    with context.wrap_socket(plain, server_hostname=name) as secure:
        # A server that refuses a client certificate says so after the handshake. Otherwise it sends its first frame.
        if not secure.recv(1):
            raise ssl.SSLEOFError
