"""The calls of the conformance cases, made with the synchronous client. Responses are values of JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import airlock
from airlock import Client

Json = Any
Args = dict[str, Any]


def of_bytes(data: bytes) -> Json:
    """Return bytes as the cases describe them."""
    known = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return known | {"text": data.decode("utf-8", "replace")} if len(data) <= 4096 else known


def of_result(result: airlock.Result) -> Json:
    """Return a result as the cases describe it."""
    return {
        "execution": result.execution_id,
        "exit_code": result.exit_code,
        "cause": result.cause.code,
        "cause_detail": result.cause.detail,
        "started": result.started,
        "ok": result.ok,
        "text": result.text,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "truncated": result.truncated,
        "notes": [note.code for note in result.notes],
    }


def of_error(error: airlock.AirlockError) -> Json:
    """Return an error as the cases describe it."""
    return {
        "kind": error.kind,
        "reason": error.reason,
        "remedy": error.remedy,
        "span": [error.span.start, error.span.end] if error.span else None,
        "text": getattr(error, "text", ""),
        "execution": error.execution_id,
    }


def kind_of(event: airlock.Event) -> str:
    """Return the name of an event's kind."""
    return "state_changed" if isinstance(event, airlock.StateChanged) else type(event).__name__.lower()


class Recorder:
    """The events of a view."""

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.data = {"stdout": bytearray(), "stderr": bytearray()}
        self.gaps: list[list[int]] = []
        self.states: list[str] = []
        self.cursor = b""
        self.approval = ""

    def record(self, event: airlock.Event) -> None:
        """Record an event."""
        self.kinds.append(kind_of(event))
        self.cursor = event.cursor
        match event:
            case airlock.Output(stream=stream, data=data):
                self.data[stream] += data
            case airlock.Gap(start=start, end=end):
                self.gaps.append([start, end])
            case airlock.StateChanged(state=state, approval_id=approval):
                self.states.append(state)
                self.approval = approval or self.approval
            case airlock.Opened(execution=info):
                self.states.append(info.state)
                self.approval = info.approval_id or self.approval

    def reached(self, until: Args) -> bool:
        """Report whether the view has what it was opened for."""
        if "bytes" in until:
            return sum(map(len, self.data.values())) >= int(until["bytes"])
        return "state" in until and until["state"] in self.states

    def json(self) -> Json:
        """Return the events as the cases describe them."""
        return {
            "first": self.kinds[0] if self.kinds else None,
            "last": self.kinds[-1] if self.kinds else None,
            "opened": self.kinds.count("opened"),
            "finished": self.kinds.count("finished"),
            "stdout": of_bytes(bytes(self.data["stdout"])),
            "stderr": of_bytes(bytes(self.data["stderr"])),
            "gaps": self.gaps,
            "cursor": self.cursor.hex(),
            "approval": self.approval,
        }


class Calls:
    """The calls of one client."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.sessions: dict[str, airlock.Session] = {}
        self.inputs: dict[str, airlock.Stdin] = {}

    def call(self, name: str, args: Args) -> Json:
        """Make a call."""
        method: Callable[[Args], Json] = getattr(self, name.replace(".", "_"))
        return method(args)

    def _session(self, args: Args) -> airlock.Session:
        return self.sessions[args.pop("session")]

    def session_create(self, args: Args) -> Json:
        session = self.client.session(**options(args))
        self.sessions[session.id] = session
        info = session.info
        return {"id": info.id, "state": info.state, "profile": info.profile}

    def session_list(self, args: Args) -> Json:
        wanted = args["labels"].items()
        return {"count": sum(wanted <= info.labels.items() for info in self.client.sessions())}

    def session_close(self, args: Args) -> Json:
        self._session(args).close()

    def run(self, args: Args) -> Json:
        recorder = Recorder()
        target = self._session(args) if "session" in args else self.client
        command = args.pop("command")
        result = target.run(command, on_event=recorder.record, **options(args))
        return of_result(result) | {"events": recorder.json()}

    def start(self, args: Args) -> Json:
        execution = self._session(args).start(args.pop("command"), **options(args))
        self.inputs[execution.id] = execution.stdin
        return {"execution": execution.id}

    def attach(self, args: Args) -> Json:
        recorder, until = Recorder(), args.get("until", {})
        execution = self.client.attach(args["execution"])
        offsets = tuple(args["offsets"]) if "offsets" in args else None
        events = execution.events(cursor=bytes.fromhex(args.get("cursor", "")), offsets=offsets)
        with closing(events):
            for event in events:
                recorder.record(event)
                if recorder.reached(until):
                    break
        return {"events": recorder.json()}

    def wait(self, args: Args) -> Json:
        return of_result(self.client.attach(args["execution"]).wait(deadline=args.get("deadline")))

    def kill(self, args: Args) -> Json:
        self.client.attach(args["execution"]).kill()

    def signal(self, args: Args) -> Json:
        self.client.attach(args["execution"]).signal(args["signal"])

    def resize(self, args: Args) -> Json:
        self.client.attach(args["execution"]).resize(args["rows"], args["cols"])

    def stdin_write(self, args: Args) -> Json:
        self.inputs[args["execution"]].write(args["data"])

    def stdin_end(self, args: Args) -> Json:
        self.inputs[args["execution"]].end()

    def output_read(self, args: Args) -> Json:
        selection: airlock.Selection | airlock.Search = (
            airlock.Search(**args["search"]) if "search" in args else airlock.Selection(**args.get("selection", {}))
        )
        data, gaps, lines, done = bytearray(), [], [], None
        for piece in self.client.attach(args["execution"]).read_output(selection, stderr=args.get("stderr", False)):
            match piece:
                case airlock.OutputBytes():
                    data += piece.data
                case airlock.OutputGap():
                    gaps.append([piece.start, piece.end])
                case airlock.OutputLine():
                    text = piece.data.decode("utf-8", "replace")
                    lines.append({"number": piece.number, "text": text, "context": piece.context})
                case airlock.OutputDone():
                    done = {
                        "total": piece.total,
                        "complete": piece.complete,
                        "matches": piece.matches,
                        "more": piece.more,
                    }
        return {"data": of_bytes(bytes(data)), "gaps": gaps, "lines": lines, "done": done}

    def watch(self, args: Args) -> Json:
        kinds, cursor, count = [], bytes.fromhex(args.get("cursor", "")), args["count"]
        events = self._session(args).watch(cursor)
        with closing(events):
            for event in events:
                # A watch that continues is confirmed, too.
                if cursor == b"" or event.execution is not None:
                    kinds.append(event.kind)
                if len(kinds) == count:
                    return {"kinds": kinds, "cursor": event.cursor.hex()}

    def file_write(self, args: Args) -> Json:
        self._session(args).files.write(args.pop("path"), args.pop("content"), **args)

    def file_read(self, args: Args) -> Json:
        return {"content": of_bytes(self._session(args).files.read(args["path"]))}

    def file_stat(self, args: Args) -> Json:
        file = self._session(args).files.stat(args["path"])
        return {"type": file.type, "size": file.size, "mode": file.mode}

    def file_list(self, args: Args) -> Json:
        return {"paths": [file.path for file in self._session(args).files.list(**args)]}

    def file_diff(self, args: Args) -> Json:
        changes = self._session(args).files.diff(**args)
        return {"changes": [{"kind": one.kind, "path": one.path, "patch": one.patch} for one in changes]}

    def directory_make(self, args: Args) -> Json:
        for name, content in args["files"].items():
            path = Path(args["at"], name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)

    def directory_upload(self, args: Args) -> Json:
        return {"files": self._session(args).files.upload(**args).files}

    def directory_download(self, args: Args) -> Json:
        return {"files": self._session(args).files.download(**args).files}

    def directory_read(self, args: Args) -> Json:
        return {"files": dict(_tree(Path(args["at"])))}

    def port_exchange(self, args: Args) -> Json:
        received = bytearray()
        with self._session(args).connect(args["port"]) as port:
            port.send(args["send"].encode())
            port.end()
            while data := port.receive():
                received += data
        return {"received": of_bytes(bytes(received))}

    def approval_list(self, args: Args) -> Json:
        found = self.client.approvals.list(args["session"])
        return {"approvals": [{"id": one.id, "state": one.state, "command": one.command} for one in found]}

    def approval_allow(self, args: Args) -> Json:
        return {"state": self.client.approvals.allow(self.client.approvals.show(args["approval"])).state}

    def approval_deny(self, args: Args) -> Json:
        approval = self.client.approvals.show(args["approval"])
        return {"state": self.client.approvals.deny(approval, args["reason"]).state}

    def approval_wait(self, args: Args) -> Json:
        approval = self.client.approvals.wait(self.client.approvals.show(args["approval"]))
        return {"state": approval.state, "reason": approval.reason}

    def connect(self, args: Args) -> Json:
        with airlock.connect(environment={}, **args) as client:
            client.sessions()


def options(args: Args) -> Any:
    """Return the options of a command or session, with the types of this client."""
    if "pty" in args:
        args["pty"] = airlock.Pty(**args["pty"])
    if "network" in args:
        args["network"] = airlock.NetworkRules(**args["network"])
    return args


def _tree(root: Path) -> Iterator[tuple[str, Json]]:
    for path in sorted(root.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(root)), of_bytes(path.read_bytes())
