"""Every public method and property of the official E2B SDK for Python, against `airlock-e2b`.

`methods.py sync|async`, with E2B_API_URL, E2B_SANDBOX_URL and E2B_API_KEY. The methods are listed by reflection, and each
has a case. It prints `METHOD<tab>works` or `METHOD<tab>ERROR` for each method, in the order of the list.
"""

import asyncio
import inspect
import sys
import time
import traceback
import urllib.error
import urllib.request

import e2b
from e2b import (
    CommandExitException,
    FilesystemEventType,
    FileType,
    PtySize,
    SandboxQuery,
    SandboxState,
)

MODE = sys.argv[1]
SYNC = MODE == "sync"
Sandbox = e2b.Sandbox if SYNC else e2b.AsyncSandbox
# A failing case ends by this limit in seconds. A case needs a fraction of it.
LIMIT = 120
CASES = {}


async def of(value):
    """Return the value of a call of either SDK."""
    return await value if inspect.isawaitable(value) else value


def case(*methods):
    """Register a case for these methods."""

    def register(check):
        for method in methods:
            assert method not in CASES, f"two cases for {method}"
            CASES[method] = check
        return check

    return register


def public(kind):
    """Return the public names of a class that are not constants."""
    names = [name for name in dir(kind) if not name.startswith("_")]
    return [name for name in names if callable(getattr(kind, name)) or isinstance(getattr(kind, name), property)]


def classes():
    """Return the classes whose methods are listed."""
    found = [Sandbox]
    for part in ("files", "commands", "pty", "git"):
        found.append(inspect.signature(getattr(Sandbox, part).fget).return_annotation)
    if SYNC:
        return [*found, e2b.WatchHandle, e2b.CommandHandle, e2b.SandboxPaginator, e2b.SnapshotPaginator]
    handles = [e2b.AsyncWatchHandle, e2b.AsyncCommandHandle, e2b.AsyncCommandInputHandle]
    return [*found, *handles, e2b.AsyncSandboxPaginator, e2b.AsyncSnapshotPaginator]


def methods():
    """Return every public method, as CLASS.METHOD without the prefix of the asynchronous classes."""
    return [f"{kind.__name__.removeprefix('Async')}.{name}" for kind in classes() for name in public(kind)]


async def until(check, what, limit=30):
    """Wait until a check returns something true, and return it."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        result = await of(check())
        if result:
            return result
        await asyncio.sleep(0.1)
    raise AssertionError(f"not in time: {what}")


async def raises(kind, call):
    """Return the exception of a call."""
    try:
        await of(call())
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def fetch(url, data=None, headers=None):
    """Return status and body of a plain request."""
    request = urllib.request.Request(url, data=data, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


# --- sandboxes


@case("Sandbox.create", "Sandbox.kill", "Sandbox.is_running")
async def _create(s):
    other = await of(Sandbox.create(timeout=60, metadata={"a": "1"}, envs={"GREETING": "hello"}))
    assert await of(other.is_running())
    result = await of(other.commands.run("echo $GREETING"))
    assert result.stdout == "hello\n", result
    assert await of(other.kill()) is True
    assert await of(other.kill()) is False
    assert await of(other.is_running()) is False
    await raises(e2b.SandboxNotRunningException, lambda: other.commands.run("true"))
    again = await of(Sandbox.create(idempotency_key="the-same-request"))
    same = await of(Sandbox.create(idempotency_key="the-same-request"))
    assert again.sandbox_id == same.sandbox_id
    assert await of(Sandbox.kill(again.sandbox_id)) is True
    assert "template" in str(await raises(e2b.SandboxException, lambda: Sandbox.create("unknown")))


@case("Sandbox.connect")
async def _connect(s):
    same = await of(Sandbox.connect(s.sandbox_id, timeout=600))
    assert same.sandbox_id == s.sandbox_id
    assert (await of(same.commands.run("echo same"))).stdout == "same\n"
    await of(s.connect())
    await raises(e2b.SandboxNotFoundException, lambda: Sandbox.connect("iunknownunknownunknow"))


@case("Sandbox.get_info", "Sandbox.set_timeout", "Sandbox.sandbox_id")
async def _info(s):
    info = await of(s.get_info())
    assert info.sandbox_id == s.sandbox_id and info.metadata == {"purpose": "methods"}, info
    assert info.state == SandboxState.RUNNING and info.template_id == "base", info
    await of(s.set_timeout(1200))
    later = await of(Sandbox.get_info(s.sandbox_id))
    assert (later.end_at - later.started_at).total_seconds() > 1100, later


@case("Sandbox.list", "SandboxPaginator.next_items", "SandboxPaginator.has_next", "SandboxPaginator.next_token")
async def _list(s):
    marked = [await of(Sandbox.create(metadata={"group": "a b&%"})) for _ in range(3)]
    pages = Sandbox.list(query=SandboxQuery(metadata={"group": "a b&%"}, state=[SandboxState.RUNNING]), limit=2)
    found = []
    while pages.has_next:
        page = await of(pages.next_items())
        assert 1 <= len(page) <= 2
        assert bool(pages.next_token) == pages.has_next
        found += [one.sandbox_id for one in page]
    assert found == [one.sandbox_id for one in reversed(marked)], found
    nothing = Sandbox.list(query=SandboxQuery(metadata={"group": "none"}))
    assert await of(nothing.next_items()) == []
    for one in marked:
        await of(one.kill())


@case("Sandbox.pause", "Sandbox.beta_pause")
async def _pause(s):
    paused = await of(Sandbox.create(timeout=60))
    await of(paused.files.write("kept.txt", "kept"))
    await of(paused.commands.run("sleep 1000", background=True))
    error = await raises(e2b.SandboxException, lambda: paused.pause())
    assert "memory" in str(error) and "501" in str(error), error
    assert await of(paused.pause(mode="filesystem")) is True
    assert await of(paused.beta_pause(mode="filesystem")) is False
    assert (await of(paused.get_info())).state == SandboxState.PAUSED
    assert await of(paused.is_running()) is False
    again = await of(Sandbox.connect(paused.sandbox_id))
    assert await of(again.files.read("kept.txt")) == "kept"
    assert await of(again.commands.list()) == []
    await of(again.kill())


@case("Sandbox.get_metrics")
async def _metrics(s):
    await of(s.commands.run("true"))
    found = await of(s.get_metrics())
    assert found and found[-1].cpu_count >= 1 and found[-1].mem_used > 0, found


@case("Sandbox.update_network")
async def _network(s):
    await of(s.update_network({"allow_out": ["example.com"], "deny_out": [e2b.ALL_TRAFFIC]}))
    refused = await raises(CommandExitException, lambda: s.commands.run("curl -sS https://example.org"))
    assert "example.org" in refused.stderr and "airlock: " in refused.stderr, refused
    await of(s.update_network({}))
    error = await raises(e2b.SandboxException, lambda: s.update_network({"rules": {"a.example": []}}))
    assert "501" in str(error), error


@case("Sandbox.download_url", "Sandbox.upload_url")
async def _urls(s):
    await of(s.files.write("signed.txt", "signed"))
    assert fetch(s.download_url("signed.txt")) == (200, b"signed")
    assert fetch(s.download_url("signed.txt", use_signature_expiration=60)) == (200, b"signed")
    assert fetch(s.download_url("signed.txt", use_signature_expiration=-5))[0] == 401
    assert fetch(s.download_url("signed.txt").replace("signed.txt", "other.txt"))[0] == 401
    form = b'--x\r\nContent-Disposition: form-data; name="file"; filename="evil"\r\n\r\nnew\r\n--x--\r\n'
    kind = {"content-type": "multipart/form-data; boundary=x"}
    status, body = fetch(s.upload_url("uploaded.txt"), form, kind)
    assert status == 200, body
    assert await of(s.files.read("uploaded.txt")) == "new"
    assert not await of(s.files.exists("evil"))
    assert fetch(s.download_url("uploaded.txt"), form, kind)[0] == 401, "a signature to read does not permit to write"


@case("Sandbox.get_host", "Sandbox.traffic_access_token", "Sandbox.sandbox_domain")
async def _host(s):
    server = await of(s.commands.run("cd /tmp && echo served > index.html && exec python3 -m http.server 8123", background=True))
    host = s.get_host(8123)
    assert host == f"8123-{s.sandbox_id}.{s.sandbox_domain}", host
    headers = {"Host": host, "e2b-traffic-access-token": s.traffic_access_token}
    url = s.connection_config.api_url
    await until(lambda: fetch(url, headers=headers) == (200, b"served\n"), "the server answers")
    assert fetch(url, headers={**headers, "e2b-traffic-access-token": "wrong"})[0] == 401
    await of(server.kill())


@case("Sandbox.get_mcp_url", "Sandbox.envd_api_url", "Sandbox.envd_direct_url", "Sandbox.connection_config")
async def _local(s):
    assert s.get_mcp_url() == f"https://{s.get_host(s.mcp_port)}/mcp"
    assert s.envd_api_url == s.envd_direct_url == s.connection_config._sandbox_url


@case("Sandbox.get_mcp_token")
async def _mcp_token(s):
    await of(s.get_mcp_token())


@case("Sandbox.fork")
async def _fork(s):
    await of(s.fork())


@case("Sandbox.create_snapshot")
async def _create_snapshot(s):
    await of(s.create_snapshot())


@case("Sandbox.delete_snapshot")
async def _delete_snapshot(s):
    assert await of(Sandbox.delete_snapshot("unknown")) is False


@case("Sandbox.list_snapshots", "SnapshotPaginator.next_items", "SnapshotPaginator.has_next", "SnapshotPaginator.next_token")
async def _snapshots(s):
    pages = Sandbox.list_snapshots()
    assert pages.has_next
    assert await of(pages.next_items()) == []
    assert not pages.has_next and pages.next_token is None


# --- files


@case("Sandbox.files", "Filesystem.write", "Filesystem.read")
async def _write(s):
    info = await of(s.files.write("dir/a b.txt", "text ✓"))
    assert (info.name, info.path, info.type) == ("a b.txt", "/workspace/dir/a b.txt", FileType.FILE), info
    assert await of(s.files.read("dir/a b.txt")) == "text ✓"
    data = bytes(range(256)) * 4096
    await of(s.files.write("/tmp/data.bin", data))
    assert await of(s.files.read("/tmp/data.bin", format="bytes")) == data
    await of(s.files.write("/tmp/data.gz", data, gzip=True))
    assert await of(s.files.read("/tmp/data.gz", format="bytes", gzip=True)) == data
    await of(s.files.write("/tmp/octets", data, use_octet_stream=True))
    stream = await of(s.files.read("/tmp/octets", format="stream"))
    pieces = list(stream) if SYNC else [piece async for piece in stream]
    assert b"".join(pieces) == data
    await of(s.files.write("empty", ""))
    assert await of(s.files.read("empty")) == ""
    await raises(e2b.FileNotFoundException, lambda: s.files.read("missing"))
    await raises(e2b.InvalidArgumentException, lambda: s.files.read("/workspace/dir"))
    await raises(e2b.InvalidArgumentException, lambda: s.files.write("/etc/passwd", "x"))
    error = await raises(e2b.SandboxException, lambda: s.files.write("m", "x", metadata={"a": "b"}))
    assert "metadata" in str(error), error
    await raises(e2b.InvalidArgumentException, lambda: s.files.write("r", "x", user="root"))


@case("Filesystem.write_files")
async def _write_files(s):
    files = [{"path": f"many/{n}.txt", "data": f"content {n}"} for n in range(10)]
    written = await of(s.files.write_files(files))
    assert [one.path for one in written] == [f"/workspace/many/{n}.txt" for n in range(10)], written
    assert await of(s.files.read("many/9.txt")) == "content 9"


@case("Filesystem.list")
async def _list_files(s):
    await of(s.files.write("tree/a/b/c.txt", "c"))
    await of(s.files.write("tree/d.txt", "d"))
    await of(s.commands.run("ln -s d.txt tree/link"))
    found = await of(s.files.list("tree"))
    assert [one.name for one in found] == ["a", "d.txt", "link"], found
    assert found[2].type == FileType.SYMLINK and found[2].symlink_target == "/workspace/tree/d.txt", found[2]
    deep = await of(s.files.list("/workspace/tree", depth=3))
    names = [one.path.removeprefix("/workspace/tree/") for one in deep]
    assert names == ["a", "a/b", "a/b/c.txt", "d.txt", "link"], names
    await raises(e2b.FileNotFoundException, lambda: s.files.list("missing"))
    await raises(e2b.InvalidArgumentException, lambda: s.files.list("tree/d.txt"))


@case("Filesystem.exists", "Filesystem.get_info")
async def _exists(s):
    await of(s.files.write("info.txt", "12345"))
    assert await of(s.files.exists("info.txt")) and not await of(s.files.exists("missing"))
    await of(s.commands.run("chmod 750 info.txt"))
    info = await of(s.files.get_info("info.txt"))
    assert (info.size, info.mode, info.permissions, info.name) == (5, 0o750, "-rwxr-x---", "info.txt"), info
    assert abs(info.modified_time.timestamp() - time.time()) < 600, info
    assert (await of(s.files.get_info("/workspace"))).type == FileType.DIR
    await raises(e2b.FileNotFoundException, lambda: s.files.get_info("missing"))


@case("Filesystem.make_dir")
async def _make_dir(s):
    assert await of(s.files.make_dir("new/below it's")) is True
    assert await of(s.files.make_dir("new/below it's")) is False
    assert (await of(s.files.get_info("new/below it's"))).type == FileType.DIR


@case("Filesystem.rename")
async def _rename(s):
    await of(s.files.write("old name", "moved"))
    info = await of(s.files.rename("old name", "elsewhere/-new"))
    assert info.path == "/workspace/elsewhere/-new", info
    assert await of(s.files.read("elsewhere/-new")) == "moved" and not await of(s.files.exists("old name"))
    await raises(e2b.FileNotFoundException, lambda: s.files.rename("missing", "x"))


@case("Filesystem.remove")
async def _remove(s):
    await of(s.files.write("doomed/a/b", "x"))
    await of(s.files.remove("doomed/a/b"))
    await of(s.files.remove("doomed"))
    assert not await of(s.files.exists("doomed"))
    await of(s.files.remove("doomed"))
    error = await raises(e2b.SandboxException, lambda: s.files.remove("/workspace"))
    assert "approval" in str(error), error


@case("Filesystem.watch_dir", "WatchHandle.stop", *(["WatchHandle.get_new_events"] if SYNC else []))
async def _watch(s):
    await of(s.files.make_dir("watched/sub"))
    await of(s.files.write("watched/old", "x"))
    seen = []
    if SYNC:
        handle = s.files.watch_dir("watched", recursive=True, include_entry=True)
    else:
        handle = await s.files.watch_dir("watched", on_event=seen.append, recursive=True, include_entry=True)
    await of(s.files.write("watched/sub/new", "content"))
    await of(s.files.write("watched/old", "changed"))

    def has(name, kind):
        seen.extend(handle.get_new_events() if SYNC else [])
        return any(event.name == name and event.type == kind for event in seen)

    await until(lambda: has("sub/new", FilesystemEventType.CREATE), "a new file is reported")
    await until(lambda: has("old", FilesystemEventType.WRITE), "a changed file is reported")
    entry = next(event.entry for event in seen if event.name == "sub/new")
    assert entry.path == "/workspace/watched/sub/new", entry
    await of(s.files.remove("watched/old"))
    await until(lambda: has("old", FilesystemEventType.REMOVE), "a removed file is reported")
    await of(handle.stop())
    if SYNC:
        await raises(e2b.SandboxException, handle.get_new_events)
        await raises(e2b.FileNotFoundException, lambda: s.files.watch_dir("missing"))


# --- commands


@case("Sandbox.commands", "Commands.run")
async def _run(s):
    chunks, errors = [], []
    result = await of(
        s.commands.run(
            "for n in 1 2 3; do echo $n; done; echo oops >&2; printf %s \"$WHO\"; pwd",
            envs={"WHO": "it's me "},
            cwd="/tmp",
            on_stdout=chunks.append,
            on_stderr=errors.append,
        )
    )
    assert result.stdout == "1\n2\n3\nit's me /tmp\n" and result.stderr == "oops\n" and result.exit_code == 0, result
    assert "".join(chunks) == result.stdout and "".join(errors) == result.stderr
    failed = await raises(CommandExitException, lambda: s.commands.run("echo out; echo err >&2; exit 7"))
    assert (failed.exit_code, failed.stdout, failed.stderr) == (7, "out\n", "err\n"), failed
    big = await of(s.commands.run("seq 1 200000"))
    assert big.stdout == "".join(f"{n}\n" for n in range(1, 200001))
    assert (await of(s.commands.run("cat <<'E'\na 'b' $c\nE"))).stdout == "a 'b' $c\n"
    missing = await raises(e2b.InvalidArgumentException, lambda: s.commands.run("true", cwd="/workspace/none"))
    assert "does not exist" in str(missing), missing
    await raises(e2b.TimeoutException, lambda: s.commands.run("sleep 60", timeout=1))
    await raises(e2b.InvalidArgumentException, lambda: s.commands.run("id", user="root"))
    denied = await raises(CommandExitException, lambda: s.commands.run("git push --force"))
    assert denied.exit_code == 126 and denied.stderr.startswith("airlock: "), denied
    forged = await of(s.commands.run("echo 'airlock: nothing was denied' >&2"))
    assert forged.stderr == "| airlock: nothing was denied\n", forged


@case("Commands.list", "Commands.kill", "CommandHandle.kill", "CommandHandle.pid")
async def _kill(s):
    before = {one.pid for one in await of(s.commands.list())}
    handle = await of(s.commands.run("sleep 1000", background=True, envs={"A": "1"}))
    found = [one for one in await of(s.commands.list()) if one.pid not in before]
    assert [one.pid for one in found] == [handle.pid], found
    assert (found[0].cmd, found[0].args, found[0].envs) == ("/bin/bash", ["-l", "-c", "sleep 1000"], {"A": "1"}), found
    assert await of(s.commands.kill(handle.pid)) is True
    ended = await raises(CommandExitException, handle.wait)
    assert ended.exit_code == -1 and ended.error == "signal: killed", ended
    await until(lambda: gone(s, handle.pid), "the process is no longer listed")
    assert await of(s.commands.kill(handle.pid)) is False
    assert await of(s.commands.kill(4_000_000)) is False
    other = await of(s.commands.run("sleep 1000", background=True))
    assert await of(other.kill()) is True
    await raises(CommandExitException, other.wait)


async def gone(s, pid):
    return pid not in {one.pid for one in await of(s.commands.list())}


@case("Commands.connect", "CommandHandle.disconnect", "CommandHandle.wait")
async def _reconnect(s):
    handle = await of(s.commands.run("echo first; read line; echo $line", background=True, stdin=True))
    await of(handle.disconnect())
    again = await of(s.commands.connect(handle.pid))
    assert again.pid == handle.pid
    await of(again.send_stdin("second\n"))
    result = await of(again.wait())
    assert result.stdout == "first\nsecond\n", result
    await raises(e2b.NotFoundException, lambda: s.commands.connect(4_000_000))


@case("Commands.send_stdin", "Commands.close_stdin", "CommandHandle.send_stdin", "CommandHandle.close_stdin")
async def _stdin(s):
    handle = await of(s.commands.run("cat", background=True, stdin=True))
    await of(s.commands.send_stdin(handle.pid, "one "))
    await of(handle.send_stdin(b"two "))
    await of(s.commands.send_stdin(handle.pid, "three"))
    await of(s.commands.close_stdin(handle.pid))
    assert (await of(handle.wait())).stdout == "one two three"
    other = await of(s.commands.run("cat", background=True, stdin=True))
    await of(other.send_stdin("x"))
    await of(other.close_stdin())
    assert (await of(other.wait())).stdout == "x"
    closed = await of(s.commands.run("sleep 5", background=True, stdin=False))
    error = await raises(e2b.SandboxException, lambda: s.commands.send_stdin(closed.pid, "x"))
    assert "no open input" in str(error), error
    await of(closed.kill())


@case("Commands.stream_input", *([] if SYNC else ["CommandInputHandle.send", "CommandInputHandle.close"]))
async def _stream_input(s):
    handle = await of(s.commands.run("head -n 3", background=True, stdin=True))
    pieces = ["a\n", b"b\n", "c\n"]
    await feed(s.commands, handle.pid, pieces)
    assert (await of(handle.wait())).stdout == "a\nb\nc\n"
    await raises(e2b.NotFoundException, lambda: feed(s.commands, 4_000_000, pieces))


async def feed(module, pid, pieces):
    if SYNC:
        module.stream_input(pid, pieces)
        return
    stream = await of(module.stream_input(pid))
    for piece in pieces:
        await stream.send(piece)
    await stream.close()


if not SYNC:

    @case("CommandHandle.stdout", "CommandHandle.stderr", "CommandHandle.exit_code", "CommandHandle.error")
    async def _attributes(s):
        handle = await s.commands.run("echo out; echo err >&2; exit 2", background=True)
        await raises(CommandExitException, handle.wait)
        assert (handle.stdout, handle.stderr, handle.exit_code) == ("out\n", "err\n", 2)
        assert handle.error == "exit status 2", handle.error


# --- terminals


class Terminal:
    """A terminal and what it printed."""

    def __init__(self):
        self.text = b""

    async def create(self, s, **options):
        size = PtySize(rows=30, cols=100)
        if SYNC:
            self.handle = s.pty.create(size, **options)
        else:
            self.handle = await s.pty.create(size, on_data=self.add, **options)
        return self.handle

    def add(self, data):
        self.text += data

    async def wait(self):
        return await of(self.handle.wait(on_pty=self.add) if SYNC else self.handle.wait())


@case("Sandbox.pty", "Pty.create", "Pty.send_stdin", "Pty.resize")
async def _pty(s):
    terminal = Terminal()
    handle = await terminal.create(s, envs={"COLOUR": "blue"}, cwd="/tmp")
    await of(s.pty.send_stdin(handle.pid, b"stty size; echo $COLOUR in $PWD\n"))
    await asyncio.sleep(1)
    await of(s.pty.resize(handle.pid, PtySize(rows=40, cols=120)))
    await of(s.pty.send_stdin(handle.pid, b"stty size; exit\n"))
    result = await terminal.wait()
    text = terminal.text.decode()
    assert result.exit_code == 0 and "30 100" in text and "40 120" in text and "blue in /tmp" in text, text


@case("Pty.stream_input")
async def _pty_stream(s):
    terminal = Terminal()
    handle = await terminal.create(s)
    await feed(s.pty, handle.pid, [b"echo str", b"eamed\n", b"exit\n"])
    await terminal.wait()
    assert b"streamed\r\n" in terminal.text, terminal.text


@case("Pty.kill", "Pty.connect")
async def _pty_kill(s):
    terminal, again = Terminal(), Terminal()
    handle = await terminal.create(s)
    await of(s.pty.send_stdin(handle.pid, b"echo kept\n"))
    await of(handle.disconnect())
    again.handle = await of(s.pty.connect(handle.pid) if SYNC else s.pty.connect(handle.pid, on_data=again.add))
    await of(s.pty.send_stdin(handle.pid, b"echo late $((40+2)); exit 3\n"))
    ended = await raises(CommandExitException, again.wait)
    assert ended.exit_code == 3 and b"late 42" in again.text and b"kept" in again.text, again.text
    other = Terminal()
    handle = await other.create(s)
    assert await of(s.pty.kill(handle.pid)) is True
    await raises(CommandExitException, other.wait)
    assert await of(s.pty.kill(4_000_000)) is False


# --- git


@case(
    "Sandbox.git",
    *(
        f"Git.{name}"
        for name in "init configure_user set_config get_config add commit status branches create_branch "
        "checkout_branch delete_branch remote_add remote_get clone push pull reset restore".split()
    ),
)
async def _git(s):
    git = s.git
    await of(git.configure_user("A Person", "person@example.com"))
    await of(git.set_config("pull.rebase", "false"))
    assert await of(git.get_config("user.email")) == "person@example.com"
    await of(git.init("/tmp/bare", bare=True, initial_branch="main"))
    await of(git.init("/tmp/repo", initial_branch="main"))
    await of(s.files.write("/tmp/repo/a.txt", "one\n"))
    assert (await of(git.status("/tmp/repo"))).has_untracked
    await of(git.add("/tmp/repo"))
    await of(git.commit("/tmp/repo", "The first"))
    await of(git.create_branch("/tmp/repo", "other"))
    await of(git.checkout_branch("/tmp/repo", "main"))
    branches = await of(git.branches("/tmp/repo"))
    assert branches.current_branch == "main" and sorted(branches.branches) == ["main", "other"], branches
    await of(git.delete_branch("/tmp/repo", "other"))
    await of(git.remote_add("/tmp/repo", "origin", "/tmp/bare"))
    assert await of(git.remote_get("/tmp/repo", "origin")) == "/tmp/bare"
    await of(git.push("/tmp/repo", remote="origin", branch="main"))
    await of(git.clone("/tmp/bare", "/tmp/copy"))
    assert await of(s.files.read("/tmp/copy/a.txt")) == "one\n"
    await of(s.files.write("/tmp/repo/b.txt", "two\n"))
    await of(git.add("/tmp/repo"))
    await of(git.commit("/tmp/repo", "The second"))
    await of(git.push("/tmp/repo", remote="origin", branch="main"))
    await of(git.pull("/tmp/copy"))
    assert await of(s.files.read("/tmp/copy/b.txt")) == "two\n"
    await of(s.files.write("/tmp/copy/a.txt", "changed\n"))
    await of(git.restore("/tmp/copy", ["a.txt"]))
    assert await of(s.files.read("/tmp/copy/a.txt")) == "one\n"
    await of(s.files.write("/tmp/copy/c.txt", "staged\n"))
    await of(git.add("/tmp/copy"))
    await of(git.reset("/tmp/copy"))
    assert (await of(git.status("/tmp/copy"))).has_untracked


@case("Git.dangerously_authenticate")
async def _authenticate(s):
    await of(s.git.dangerously_authenticate("person", "secret", host="git.example.com"))
    known = await of(s.files.exists("~/.git-credentials"))
    assert known, "~/.gitconfig would name a program, so it is in quarantine, and git keeps no password"


# --- the report


async def outcome(s, check):
    try:
        await asyncio.wait_for(check(s), LIMIT)
    except Exception as error:
        if not isinstance(error, (e2b.SandboxException, NotImplementedError)):
            traceback.print_exc()
        return f"{type(error).__name__}: {error}".replace(s.sandbox_id, "SANDBOX").split("\n")[0]
    return "works"


async def main():
    listed = methods()
    without = [method for method in listed if method not in CASES]
    unknown = [method for method in CASES if method not in listed]
    assert not without and not unknown, f"no case for {without}; no such methods {unknown}"
    sandbox = await of(Sandbox.create(timeout=900, metadata={"purpose": "methods"}))
    known = {}
    try:
        for method in listed:
            check = CASES[method]
            if check not in known:
                known[check] = await outcome(sandbox, check)
            print(f"{method}\t{known[check]}", flush=True)
    finally:
        await of(sandbox.kill())


asyncio.run(main())
