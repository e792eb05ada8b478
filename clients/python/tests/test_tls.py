"""TLS: client certificates, and one clear error if the two sides do not trust each other."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

import airlock
from airlock import _methods as m
from airlock import aio
from airlock.v1 import execution_pb2 as pb

from .fake import PATIENCE, Fake

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


class Pki:
    """A CA with a certificate for a server and one for a client, as files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.ca = directory / "ca.pem"
        self._openssl("-x509", "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")
        for name, alternative in (("server", "IP:127.0.0.1"), ("client", "DNS:client")):
            signed = ["-CA", "ca.pem", "-CAkey", "ca.key", "-addext", f"subjectAltName={alternative}"]
            signed += ["-addext", "basicConstraints=critical,CA:FALSE"]
            self._openssl("-x509", "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem", *signed)

    def pair(self, name: str) -> tuple[Path, Path]:
        """Return the files of a certificate and its key."""
        return self.directory / f"{name}.pem", self.directory / f"{name}.key"

    def _openssl(self, *arguments: str) -> None:
        command = ["openssl", "req", *CURVE, *arguments]
        subprocess.run(command, cwd=self.directory, check=True, capture_output=True)


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="session")
def other(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return Pki(tmp_path_factory.mktemp("other"))


@pytest.fixture
async def address(pki: Pki) -> AsyncIterator[str]:
    """Serve with TLS, for clients with a certificate of the CA."""
    fake = Fake()
    fake.on(m.LIST, lambda _, __: [pb.ExecutionServiceListResponse()])
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((fake,))
    certificate, key = (path.read_bytes() for path in pki.pair("server"))
    credentials = grpc.ssl_server_credentials([(key, certificate)], pki.ca.read_bytes(), True)
    port = server.add_secure_port("127.0.0.1:0", credentials)
    await server.start()
    yield f"https://127.0.0.1:{port}"
    await server.stop(None)


async def listed(address: str, ca: Path, identity: tuple[Path, Path] | None) -> list[Any]:
    cert, key = identity or (None, None)
    made = aio.connect(address, ca=ca, cert=cert, key=key, patience=PATIENCE, environment={})
    async with await made as client:
        return await client.executions()


async def test_a_certificate_of_the_ca_is_accepted(address: str, pki: Pki) -> None:
    assert await listed(address, pki.ca, pki.pair("client")) == []


async def test_a_server_of_another_ca_is_not_trusted(address: str, pki: Pki, other: Pki) -> None:
    with pytest.raises(airlock.UntrustedError, match=r"certificate.*check that the CA file"):
        await listed(address, other.ca, pki.pair("client"))


@pytest.mark.parametrize("identity", ["none", "other"])
async def test_a_client_that_the_server_refuses_is_told(identity: str, pki: Pki, other: Pki) -> None:
    # The servers of grpcio and asyncio end the connection without the alert that other servers send.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pki.pair("server"))
    context.load_verify_locations(pki.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            with server.accept()[0] as plain, contextlib.suppress(ssl.SSLError):
                context.wrap_socket(plain, server_side=True)

        refused = asyncio.create_task(asyncio.to_thread(refuse))
        address = f"https://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(airlock.UntrustedError, match=r"(?i)certificate|unknown"):
            await listed(address, pki.ca, other.pair("client") if identity == "other" else None)
        await refused


async def test_a_name_that_is_not_in_the_certificate_is_not_trusted(address: str, pki: Pki) -> None:
    with pytest.raises(airlock.UntrustedError, match=r"localhost"):
        await listed(address.replace("127.0.0.1", "localhost"), pki.ca, pki.pair("client"))
