"""A fake server: each method is a function of the request and the call's number."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import grpc
import grpc.aio
from google.rpc import error_details_pb2, status_pb2

from airlock import Patience, aio
from airlock._methods import Method

PATIENCE = Patience(call=0.5, view=0.5, silence=2.0, backoff_first=0.01, backoff_max=0.05)


class BrokenError(Exception):
    """Ends a call as a broken connection does."""


class RefusedError(Exception):
    """Ends a call with an error of the server."""

    def __init__(self, code: grpc.StatusCode, reason: str, **metadata: str) -> None:
        super().__init__(reason)
        self.code, self.reason, self.metadata = code, reason, metadata


class Fake(grpc.GenericRpcHandler):
    """The methods of the fake server, and the requests that they received."""

    def __init__(self) -> None:
        self.methods: dict[str, tuple[Method[Any, Any], Callable[..., Iterable[Any]]]] = {}
        self.requests: dict[str, list[Any]] = {}
        self.metadata: list[dict[str, Any]] = []

    def on(self, method: Method[Any, Any], answer: Callable[[Any, int], Iterable[Any]]) -> None:
        """Answer a method with the messages that the function returns."""
        self.methods[method.path] = (method, answer)

    def received(self, method: Method[Any, Any]) -> list[Any]:
        """Return the requests of a method."""
        return self.requests.get(method.path, [])

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Any:
        """Return the handler of a method."""
        known = self.methods.get(handler_call_details.method)
        if known is None:
            return None
        method, answer = known

        async def handle(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> AsyncIterator[Any]:
            received = self.requests.setdefault(method.path, [])
            received.append(request)
            self.metadata.append(dict(context.invocation_metadata() or ()))
            try:
                for message in answer(request, len(received)):
                    yield message
            except BrokenError:
                await context.abort(grpc.StatusCode.UNAVAILABLE, "broken")
            except RefusedError as refused:
                info = error_details_pb2.ErrorInfo(reason=refused.reason, domain="airlock", metadata=refused.metadata)
                status = status_pb2.Status(code=refused.code.value[0], message="refused")
                status.details.add().Pack(info)
                context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
                await context.abort(refused.code, "refused")

        async def handle_one(request: Any, context: grpc.aio.ServicerContext[Any, Any]) -> Any:
            async for message in handle(request, context):
                return message

        streams = method.path.rsplit("/", 1)[1] in ("Run", "Attach", "ReadOutput", "Download", "Watch")
        make = grpc.unary_stream_rpc_method_handler if streams else grpc.unary_unary_rpc_method_handler
        return make(
            handle if streams else handle_one,
            request_deserializer=method.request.FromString,
            response_serializer=method.response.SerializeToString,
        )


@contextlib.asynccontextmanager
async def connected(fake: Fake, **given: Any) -> AsyncIterator[aio.AsyncClient]:
    """Return a client of the fake server."""
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((fake,))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    address = f"http://127.0.0.1:{port}"
    settings: dict[str, Any] = {"patience": PATIENCE, "environment": {}} | given
    async with await aio.connect(address, insecure_loopback=True, **settings) as client:
        yield client
    await server.stop(None)
