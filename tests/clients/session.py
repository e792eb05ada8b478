"""A complete session by a client that has only Airlock's address.

It gets all knowledge of the service by reflection. Run it with grpcio, grpcio-reflection
and protobuf in PYTHONPATH:

    session.py TARGET CA-FILE TOKEN-FILE DIRECTORY

It uploads DIRECTORY, runs a command in it, reads the output in three ways, searches it, downloads the
result into DIRECTORY.result, and prints its observations as one JSON object.
"""

import hashlib
import io
import json
import sys
import tarfile
import time

import grpc
from google.protobuf import descriptor_pool, json_format, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

CHUNK = 100_000
# SESSION_STATE_CLOSING
CLOSING = 3


class Service:
    """The methods of a service, from its descriptor."""

    def __init__(self, channel, pool, name, metadata):
        self._channel = channel
        self._service = pool.FindServiceByName(name)
        self._metadata = metadata

    def request(self, method, **fields):
        made = message_factory.GetMessageClass(self._service.FindMethodByName(method).input_type)
        return made(**fields)

    def __getattr__(self, name):
        method = self._service.FindMethodByName(name)
        answer = message_factory.GetMessageClass(method.output_type)
        shape = ("stream" if method.client_streaming else "unary") + "_" + (
            "stream" if method.server_streaming else "unary"
        )
        call = getattr(self._channel, shape)(
            f"/{self._service.full_name}/{name}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=answer.FromString,
        )
        metadata = self._metadata

        def invoke(message=None, **fields):
            if message is None:
                message = self.request(name, **fields)
            return call(message, metadata=metadata, timeout=120)

        return invoke


def packed(directory):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.add(directory, arcname=".")
    return out.getvalue()


def upload(files, session, archive):
    def parts():
        header = {"session_id": session, "path": "project", "format": 2, "size": len(archive)}
        header["sha256"] = hashlib.sha256(archive).digest()
        yield files.request("Upload", header=header)
        for offset in range(0, len(archive), CHUNK):
            chunk = {"offset": offset, "data": archive[offset : offset + CHUNK]}
            yield files.request("Upload", chunk=chunk)

    return files.Upload(parts())


def run(executions, **spec):
    output, end = b"", None
    for answer in executions.Run(spec=spec):
        kind = answer.event.WhichOneof("event")
        if kind == "output":
            output += answer.event.output.data
        elif kind == "finished":
            end = answer.event.finished.execution
    return output, end


def download(files, session):
    data, done = b"", None
    for answer in files.Download(session_id=session, path="/workspace/project"):
        part = answer.WhichOneof("part")
        if part == "chunk":
            assert answer.chunk.offset == len(data)
            data += answer.chunk.data
        elif part == "done":
            done = answer.done
    assert done is not None and done.size == len(data)
    assert done.sha256 == hashlib.sha256(data).digest()
    return data


def read(executions, execution, **selection):
    parts = list(executions.ReadOutput(execution_id=execution, **selection))
    assert parts[-1].WhichOneof("part") == "done"
    return parts


def whole_session(services, directory):
    sessions, executions, files = services
    session = sessions.Create(profile="sandboxed").session.session_id
    uploaded = upload(files, session, packed(directory))
    command = "cd project && seq 1 20000 | tee numbers.txt; echo written >> readme.txt"
    output, end = run(executions, command=command, session_id=session)
    execution = end.execution_id
    whole = read(executions, execution)
    tail = read(executions, execution, tail={"lines": 2})
    found = read(executions, execution, search={"pattern": "^1999[0-9]$"})
    with tarfile.open(fileobj=io.BytesIO(download(files, session))) as archive:
        archive.extractall(directory + ".result")
    try:
        executions.Get(execution_id="0190b0c0-0000-7000-8000-000000000000")
        raise AssertionError("an execution that is not there was found")
    except grpc.RpcError as error:
        missing = error.code().name
    closed = sessions.Close(session_id=session).session
    # The server stops waiting for its runner after some seconds.
    while closed.state == CLOSING:
        time.sleep(0.1)
        closed = sessions.Get(session_id=session).session
    return {
        "uploaded_files": uploaded.files,
        "output_sha256": hashlib.sha256(output).hexdigest(),
        "exit": json_format.MessageToDict(end.result.cause)["exited"],
        "read_again": b"".join(part.output.data for part in whole[:-1]) == output,
        "tail": b"".join(part.output.data for part in tail[:-1]).decode(),
        "found": [(part.line.number, part.line.data.decode()) for part in found[:-1]],
        "missing": missing,
        "closed": closed.state,
    }


def main():
    target, ca, token, directory = sys.argv[1:]
    with open(ca, "rb") as file:
        credentials = grpc.ssl_channel_credentials(file.read())
    with open(token, encoding="utf-8") as file:
        metadata = [("authorization", "Bearer " + file.read().strip())]
    with grpc.secure_channel(target, credentials) as channel:
        pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
        names = ["Session", "Execution", "File"]
        services = [Service(channel, pool, f"airlock.v1.{name}Service", metadata) for name in names]
        print(json.dumps(whole_session(services, directory)))


main()
