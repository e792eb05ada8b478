"""A hook for Airlock: a gRPC server with TLS that answers questions about commands and receives their results.

`python3 hook.py --help` lists the options. `docs/hooks.md` describes the configuration of the server.
"""

from __future__ import annotations

import argparse
import logging
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from airlock.hooks.v1 import hook_pb2
from airlock.v1 import common_pb2

from deliveries import Deliveries
from opinions import HOOKS, NO_OPINION, Opinion, one_line, scan_result

SERVICE = "airlock.hooks.v1.ExecutionHook"
# More calls than the threads, so that a short queue can form. Further calls fail with RESOURCE_EXHAUSTED.
THREADS = 8
CALLS = 32
# The time for current calls after a signal, in seconds.
STOP = 5.0
# The size of a SHA-256.
BINDING_BYTES = 32

log = logging.getLogger("hook")


class Hook:
    """The two calls of the contract. Both can run on several threads."""

    def __init__(self, deliveries: Deliveries, servers: frozenset[str]) -> None:
        self._deliveries = deliveries
        self._servers = servers

    def pre_execute(
        self, request: hook_pb2.PreExecuteRequest, context: grpc.ServicerContext
    ) -> hook_pb2.PreExecuteResponse:
        """Answer a question. The answer repeats the binding, so that it counts for this question only."""
        self._authorize(context)
        problem = _problem(request.hook, request.execution)
        if not problem and len(request.binding) != BINDING_BYTES:
            problem = "`binding` is not a SHA-256"
        if problem:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, problem)
        opinion = _effective(HOOKS[request.hook](request.execution), request)
        name = hook_pb2.HookOpinion.Name(opinion.value)
        log.info("%s: %s is %s", request.hook, request.execution.execution_id, name)
        return hook_pb2.PreExecuteResponse(
            binding=request.binding, opinion=opinion.value, reason=one_line(opinion.reason)
        )

    def post_execute(
        self, request: hook_pb2.PostExecuteRequest, context: grpc.ServicerContext
    ) -> hook_pb2.PostExecuteResponse:
        """Receive a result. The response follows the write to disk: after it, Airlock forgets the delivery."""
        self._authorize(context)
        problem = _problem(request.hook, request.execution)
        if not problem and request.state != common_pb2.EXECUTION_STATE_FINISHED:
            problem = "`state` is not FINISHED"
        if problem:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, problem)
        found = scan_result(request.result) if request.hook == "data_loss" else []
        is_new = self._deliveries.add(request, found)
        if is_new and found:
            log.warning("data_loss: the output of %s has %s", request.execution.execution_id, ", ".join(found))
        return hook_pb2.PostExecuteResponse()

    def _authorize(self, context: grpc.ServicerContext) -> None:
        """Refuse clients that have a certificate of the authority, but are no server of Airlock."""
        names: Any = context.auth_context().get("x509_subject_alternative_name", [])
        if not self._servers.intersection(name.decode() for name in names):
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "the certificate is not that of an Airlock server")


def _problem(hook: str, execution: hook_pb2.HookedExecution) -> str:
    """Return what is wrong with the common part of a request, or an empty text."""
    if hook not in HOOKS:
        return f"there is no hook `{one_line(hook)}`; the hooks are {', '.join(HOOKS)}"
    if not execution.execution_id:
        return "`execution.execution_id` is empty"
    return ""


def _effective(opinion: Opinion, request: hook_pb2.PreExecuteRequest) -> Opinion:
    """Return no opinion instead of an ALLOW that could have no effect."""
    is_allow = opinion.value == hook_pb2.HOOK_OPINION_ALLOW
    return NO_OPINION if is_allow and not request.allow_has_effect else opinion


def _method(
    function: Callable[[Any, grpc.ServicerContext], Any], request: Any, response: Any
) -> grpc.RpcMethodHandler[Any, Any]:
    return grpc.unary_unary_rpc_method_handler(
        function, request_deserializer=request.FromString, response_serializer=response.SerializeToString
    )


def start(hook: Hook, address: str, credentials: grpc.ServerCredentials) -> tuple[grpc.Server, int]:
    """Start a server, and return it with its port."""
    methods = {
        "PreExecute": _method(hook.pre_execute, hook_pb2.PreExecuteRequest, hook_pb2.PreExecuteResponse),
        "PostExecute": _method(hook.post_execute, hook_pb2.PostExecuteRequest, hook_pb2.PostExecuteResponse),
    }
    server = grpc.server(ThreadPoolExecutor(THREADS), maximum_concurrent_rpcs=CALLS)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
    port = server.add_secure_port(address, credentials)
    server.start()
    return server, port


def credentials(certificate: Path, key: Path, authority: Path) -> grpc.ServerCredentials:
    """Return credentials that require a client certificate of the authority."""
    return grpc.ssl_server_credentials(
        [(key.read_bytes(), certificate.read_bytes())],
        root_certificates=authority.read_bytes(),
        require_client_auth=True,
    )


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser(description="A hook for Airlock.")
    parser.add_argument("--listen", default="127.0.0.1:8450", help="the address, HOST:PORT")
    parser.add_argument("--certificate", type=Path, required=True, help="the hook's certificate, in PEM")
    parser.add_argument("--key", type=Path, required=True, help="the key of the certificate, in PEM")
    parser.add_argument("--client-ca", type=Path, required=True, help="the authority of client certificates, in PEM")
    parser.add_argument("--client", action="append", required=True, help="a name in the certificate of a server")
    parser.add_argument("--results", type=Path, required=True, help="the SQLite file for received results")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopping.set())
    with Deliveries(options.results) as deliveries:
        hook = Hook(deliveries, frozenset(options.client))
        secure = credentials(options.certificate, options.key, options.client_ca)
        server, port = start(hook, options.listen, secure)
        print(f"listening on port {port}", flush=True)
        stopping.wait()
        server.stop(STOP).wait()


if __name__ == "__main__":
    main()
