"""A server with the contract of v0.2.0, for the cases about servers that are older than the client: `old_server.py`.

It prints the address to connect to, as `http://HOST:PORT`, and ends with its standard input. It creates sessions and
lists the invalid fields of a start, as a server does. It knows neither network rules nor `SessionService.Forward`.
"""

from __future__ import annotations

import sys
from concurrent import futures

import grpc
from google.rpc import error_details_pb2, status_pb2

from airlock.v1 import execution_pb2, session_pb2

CREATE = "/airlock.v1.SessionService/Create"
CLOSE = "/airlock.v1.SessionService/Close"
START = "/airlock.v1.ExecutionService/Start"


def create(_request: bytes, _context: grpc.ServicerContext) -> bytes:
    """Create a session, and ignore unknown fields."""
    session = session_pb2.Session(session_id="old", state=session_pb2.SESSION_STATE_OPEN)
    return session_pb2.SessionServiceCreateResponse(session=session).SerializeToString()


def close(_request: bytes, _context: grpc.ServicerContext) -> bytes:
    """Close the session."""
    session = session_pb2.Session(session_id="old", state=session_pb2.SESSION_STATE_CLOSED)
    return session_pb2.SessionServiceCloseResponse(session=session).SerializeToString()


def start(request: bytes, context: grpc.ServicerContext) -> bytes:
    """Refuse a start without a command. Its network rules are an unknown field."""
    spec = execution_pb2.ExecutionServiceStartRequest.FromString(request).spec
    if spec.command:
        context.abort(grpc.StatusCode.INTERNAL, "this server runs nothing")
    status = status_pb2.Status(code=grpc.StatusCode.INVALID_ARGUMENT.value[0], message="no command")
    status.details.add().Pack(error_details_pb2.ErrorInfo(reason="INVALID_REQUEST", domain="airlock"))
    bad = error_details_pb2.BadRequest()
    bad.field_violations.add(field="spec.command", description="is empty")
    status.details.add().Pack(bad)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    context.abort(grpc.StatusCode.INVALID_ARGUMENT, "no command")
    return b""


class Old(grpc.GenericRpcHandler):
    """The methods of the server. A method that is not here is UNIMPLEMENTED."""

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes] | None:
        """Return the handler of a method."""
        known = {CREATE: create, CLOSE: close, START: start}.get(handler_call_details.method)
        return grpc.unary_unary_rpc_method_handler(known) if known else None


def main() -> None:
    """Serve until standard input ends."""
    server = grpc.server(futures.ThreadPoolExecutor(4), handlers=[Old()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(f"http://127.0.0.1:{port}", flush=True)
    sys.stdin.read()
    server.stop(None)


if __name__ == "__main__":
    main()
