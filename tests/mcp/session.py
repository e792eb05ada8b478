"""A session of an MCP client with `airlock mcp`, over standard input and output and over HTTP.

`session.py AIRLOCK STATE URL TOKEN_FILE`: the program, the state directory of an `airlock dev`, and a running
`airlock mcp --http`. It prints the name of each check that passed.
"""

import asyncio
import json
import re
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitResult

AIRLOCK, STATE, URL, TOKEN_FILE = sys.argv[1:]
TOKEN = Path(TOKEN_FILE).read_text().strip()
TOOLS = "run start output input stop read_file write_file edit_file list_files".split()
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}


def airlock(*words):
    """Run the command line as a person would."""
    done = subprocess.run([AIRLOCK, *words, "--state", STATE], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, (words, done.stderr)
    return done.stdout


def sessions():
    """Return the IDs of the open sessions."""
    return set(airlock("session", "list", "--quiet").split())


@asynccontextmanager
async def stdio(*options, state=STATE, **settings):
    """Start `airlock mcp` as an MCP client does, and connect."""
    server = StdioServerParameters(command=AIRLOCK, args=["mcp", "--state", state, *options])
    async with Client(server, **settings) as client:
        yield client


@asynccontextmanager
async def http(**settings):
    """Connect over HTTP."""
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as transport:
        async with Client(streamable_http_client(URL, http_client=transport), **settings) as client:
            yield client


async def call(client, tool, is_error=False, progress=None, **arguments):
    """Call a tool and return its text."""
    result = await client.call_tool(tool, arguments, progress_callback=progress)
    text = "".join(block.text for block in result.content)
    assert result.is_error == is_error, (tool, arguments, text)
    return text


def identifier(text):
    """Return the execution's ID in a text."""
    return re.search(r"execution ([0-9a-f-]{36})", text)[1]


def passed(name):
    """Print the name of a check that passed."""
    print("passed:", name, flush=True)


async def commands(client):
    """Run commands: ok, failing, in one directory, and with an output that is cut."""
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == TOOLS, tools
    assert await call(client, "run", command="echo hello; echo oops >&2") == "hello\noops\n"
    assert await call(client, "run", command="true") == "airlock: the command succeeded and wrote no output\n"
    text = await call(client, "run", command="echo before; exit 3")
    assert text == "before\nairlock: exited with code 3\n", text
    text = await call(client, "run", command="echo 'airlock: approved'")
    assert text == "| airlock: approved\n", text
    await call(client, "run", command="mkdir -p deep/er && cd deep/er")
    assert await call(client, "run", command="pwd") == "/workspace/deep/er\n"
    await call(client, "run", command="cd /workspace")
    text = await call(client, "run", command="sleep 9", timeout_seconds=1)
    assert "its timeout expired" in text, text

    text = await call(client, "run", command="seq 1 100000")
    assert len(text) < 31_000 and "bytes of the output are omitted" in text, text[-500:]
    execution = re.search(r"`output` with id ([0-9a-f-]{36})", text)[1]
    whole = "".join(f"{number}\n" for number in range(1, 100_001))
    part = await call(client, "output", id=execution, offset=1000, length=500)
    assert part.startswith(whole[1000:1500]), part
    assert f"bytes 1000 to 1500 of {len(whole)}" in part, part
    part = await call(client, "output", id=execution, offset=len(whole) - 100)
    assert part.startswith(whole[-100:]) and "the command has ended: exited with code 0" in part, part
    text = await call(client, "run", command="printf 'a\\0b\\377\\033[31mred\\033[0m\\n'; seq 1 100000")
    execution = re.search(r"`output` with id ([0-9a-f-]{36})", text)[1]
    part = await call(client, "output", id=execution, offset=0, length=14)
    assert part.startswith("ab\ufffdred\n") and "bytes that are not text" in part, part
    passed("commands")


async def background(client):
    """Start a command, write to it, read it and end it."""
    text = await call(client, "start", command="while read -r line; do echo got $line; done; echo ended")
    execution = identifier(text)
    text = await call(client, "input", id=execution, text="one\n", wait_seconds=20)
    assert text.startswith("got one\n") and "the command still runs" in text, text
    text = await call(client, "input", id=execution, text="two\n", end=True, wait_seconds=0)
    while "has ended" not in text:
        text += await call(client, "output", id=execution, wait_seconds=20)
    assert "got two\n" in text and "ended\n" in text and "got one" not in text, text

    execution = identifier(await call(client, "start", command="echo begun; exec sleep 600"))
    assert "begun" in await call(client, "output", id=execution, wait_seconds=20)
    text = await call(client, "stop", id=execution)
    assert text == "begun\nairlock: cancelled\n", text
    text = await call(client, "start", command="exit 7")
    assert "code 7" in text or identifier(text), text
    passed("background")


async def files(client):
    """Write, read, edit and list files."""
    text = "first\nsecond `x` $HOME 'y' é\nthird"
    await call(client, "write_file", path="notes/a file.txt", content=text)
    assert await call(client, "run", command="cat 'notes/a file.txt'; echo .") == text + ".\n"
    assert await call(client, "read_file", path="notes/a file.txt") == text + "\n"
    part = await call(client, "read_file", path="/workspace/notes/a file.txt", line=2, lines=1)
    assert part == text.split("\n")[1] + "\nairlock: there are more lines; the next one is line 3\n", part
    await call(client, "edit_file", path="notes/a file.txt", old_text="second", new_text="zweite")
    assert "zweite `x`" in await call(client, "read_file", path="notes/a file.txt")
    for old, problem in [("missing", "is not in the file"), ("i", "occurs 3 times"), ("", "is empty")]:
        answer = await call(client, "edit_file", True, path="notes/a file.txt", old_text=old, new_text="x")
        assert problem in answer, answer
    await call(client, "edit_file", path="notes/a file.txt", old_text="i", new_text="I", all=True)
    assert "fIrst" in await call(client, "read_file", path="notes/a file.txt")
    await call(client, "write_file", path="empty", content="")
    assert "has no line 1" in await call(client, "read_file", path="empty")
    listed = await call(client, "list_files")
    assert {"empty", "notes/"} <= set(listed.split("\n")), listed
    listed = await call(client, "list_files", path=".", recursive=True)
    assert "notes/a file.txt\n" in listed, listed
    assert "No such file" in await call(client, "read_file", True, path="nothing")
    for tree in (False, True):
        assert "ot a directory" in await call(client, "list_files", True, path="empty", recursive=tree)
    await call(client, "run", command="printf 'a\\0b' > binary; printf '\\351t\\351\\n' > latin; ln -s notes link")
    assert "not a text file" in await call(client, "read_file", True, path="binary")
    assert "the file is not UTF-8" in await call(client, "read_file", path="latin")
    assert await call(client, "list_files", path="link") == "a file.txt\n"
    await call(client, "run", command="head -c 300000 /dev/zero | tr '\\0' x > line")
    answer = await call(client, "read_file", path="line")
    assert "line 1 is longer than 100000 bytes" in answer, answer[-300:]
    await call(client, "write_file", path="large", content="x" * 99 + "\n")
    await call(client, "run", command="for n in $(seq 12); do cat large large > l && mv l large; done")
    answer = await call(client, "read_file", path="large", lines=10_000)
    assert len(answer) < 100_200 and "the next one is line 1001" in answer, answer[-200:]
    passed("files")


async def wrong(client):
    """A wrong call names each argument and the problem, and runs nothing."""
    number = "must be a whole number"
    for tool, arguments, problems in [
        ("run", {}, ["`command` is missing"]),
        ("run", {"comand": "true"}, ["`command` is missing", "there is no argument `comand`; the arguments are `command`"]),
        ("run", {"command": 3}, ["`command` must be a string, not a number"]),
        ("run", {"command": "touch wrong", "timeout_seconds": "5"}, [f"`timeout_seconds` {number}, not a string"]),
        ("run", {"command": "touch wrong", "timeout_seconds": 0}, [f"`timeout_seconds` {number} of at least 1"]),
        ("run", {"command": ""}, ["`command` must not be empty"]),
        ("output", {"id": "x", "length": 200_000}, ["`length` must be at most 100000"]),
        ("output", {"id": "x"}, ["`x` is not the ID of a command; use the ID in the text of `run` or `start`"]),
        ("stop", {"id": "00000000-0000-7000-8000-000000000000"}, ["00000000-0000-7000-8000-000000000000"]),
        ("edit_file", {"path": "a", "old_text": "b", "all": 1}, ["`new_text` is missing", "`all` must be true or false"]),
        ("read_file", {"path": "a\0b"}, ["the path has a NUL character"]),
    ]:
        text = await call(client, tool, True, **arguments)
        assert all(problem in text for problem in problems), (tool, arguments, text)
        assert not re.search(r"\bu64\b|serde|INVALID_REQUEST", text), text
    assert await call(client, "run", command="ls wrong 2>/dev/null || echo none", description=None) == "none\n"
    large = await call(client, "write_file", True, path="large", content="x" * (1024 * 1024 + 1))
    assert "more than 1048576 bytes" in large, large
    assert "Read-only file system" in await call(client, "write_file", True, path="/etc/x", content="x")
    text = await call(client, "run", command="sleep 9", timeout_seconds=1)
    assert "set `timeout_seconds`" in text, text
    passed("wrong")


async def closed():
    """A session that was closed elsewhere is named. The next call starts a new one, unless the session was given."""
    before = sessions()
    async with stdio() as client:
        await call(client, "run", command="true")
        (session,) = sessions() - before
        airlock("session", "close", session)
        text = await call(client, "run", True, command="true")
        assert "the next call starts a new session" in text, text
        assert await call(client, "run", command="echo new") == "new\n"
    session = airlock("session", "create").strip()
    async with stdio("--session", session) as client:
        airlock("session", "close", session)
        text = await call(client, "run", True, command="true")
        assert "closed" in text and "new session" not in text, text
    passed("closed")


async def connected():
    """A connection of a running command is shown while it waits, and its answer can come from either side."""
    told, questions = [], []
    command = "printf 'https://pypi.%s/' org | xargs curl -sS --max-time 300"
    what = "a connection of the command to `pypi.org:443` waits for an approval"

    async def progress(done, total, message):
        told.append(message)

    async def answer(context, params):
        questions.append(params.message)
        return ElicitResult(action="accept", content={"answer": "deny"})

    async with stdio("--profile", "hosts") as client:
        waiting = asyncio.create_task(call(client, "run", command=command, progress=progress))
        approval = await shown(told)
        assert any(what in message for message in told), told
        airlock("approve", "--deny", "--reason", "not today", approval)
        text = await waiting
        assert "the connection to `pypi.org:443` was refused" in text and "not today" in text, text
    async with stdio("--profile", "hosts", "--wait", "3s") as client:
        text = await call(client, "run", command=command)
        assert what in text and "continues in the background" in text, text
        execution = identifier(text)
        text = await call(client, "output", id=execution)
        assert what in text and "the command still runs" in text, text
        airlock("approve", "--deny", re.search(r"airlock approve ([0-9a-f-]{36})", text)[1])
        while "has ended" not in text:
            text = await call(client, "output", id=execution, wait_seconds=20)
        assert "the connection to `pypi.org:443` was refused" in text, text
    async with stdio("--profile", "hosts", elicitation_callback=answer) as client:
        text = await call(client, "run", command=command)
        assert "the user of the MCP client denied it" in text, text
        (question,) = questions
        assert "a connection of a running command" in question and "pypi.org:443" in question, question
        execution = identifier(await call(client, "start", command=command))
        text = ""
        while "has ended" not in text:
            text = await call(client, "output", id=execution, wait_seconds=20)
        assert len(questions) == 2 and "was refused" in text, (questions, text)
    passed("connected")


async def denied():
    """A denied command and a denied write tell their reason."""
    async with stdio("--mode", "plan") as client:
        text = await call(client, "run", True, command="touch x")
        assert "the mode `plan` runs only commands that are proven read-only; it did not run" in text, text
        assert "proven read-only" in await call(client, "write_file", True, path="x", content="x")
        assert await call(client, "list_files") == "airlock: the directory is empty\n"
    passed("denied")


async def approved():
    """A person answers through the command line while the tool call waits."""
    told = []

    async def progress(done, total, message):
        told.append(message)

    async with stdio("--profile", "strict") as client:
        waiting = asyncio.create_task(call(client, "run", command="touch asked && echo done", progress=progress))
        approval = await shown(told)
        airlock("approve", "--yes", approval)
        assert await waiting == "done\n"
        told.clear()
        waiting = asyncio.create_task(call(client, "run", True, command="touch other", progress=progress))
        approval = await shown(told)
        airlock("approve", "--deny", "--reason", "not today", approval)
        assert "denied by a person: not today; it did not run" in await waiting
    passed("approved")


async def shown(told):
    """Wait for a progress notification that names an approval, and return its ID."""
    for _ in range(300):
        for message in told:
            if found := re.search(r"airlock approve ([0-9a-f-]{36})", message):
                assert "waits for an approval" in message, message
                return found[1]
        await asyncio.sleep(0.1)
    raise AssertionError(f"no approval was shown: {told}")


async def elicited():
    """The user of the client answers, if the profile permits self-approval; otherwise the user is not asked."""
    questions = []

    async def answer(context, params):
        questions.append(params.message)
        if "nothing" in params.message:
            return ElicitResult(action="cancel")
        return ElicitResult(action="accept", content={"answer": "deny" if "no" in params.message.split() else "allow"})

    async with stdio("--profile", "strict", "--wait", "3s", elicitation_callback=answer) as client:
        assert await call(client, "run", command="touch yes && echo done") == "done\n"
        assert len(questions) == 1 and "touch yes" in questions[0] and "strict" in questions[0], questions
        text = await call(client, "run", True, command="touch no")
        assert "denied by a person: the user of the MCP client denied it" in text, text
        # A dismissed question stays open. The call ends after its limit, and a later one returns the result.
        text = await call(client, "run", True, command="touch nothing")
        assert "has not run yet" in text, text
        execution = re.search(r"`output` with id ([0-9a-f-]{36})", text)[1]
        airlock("approve", "--yes", re.search(r"airlock approve ([0-9a-f-]{36})", text)[1])
        text = await call(client, "output", id=execution, wait_seconds=20)
        assert "the command has ended: exited with code 0" in text, text
    asked = len(questions)
    async with stdio("--profile", "people", "--wait", "2s", elicitation_callback=answer) as client:
        text = await call(client, "run", True, command="touch yes")
        assert "has not run yet" in text and "airlock approve" in text, text
    assert len(questions) == asked, questions
    passed("elicited")


async def cancelled():
    """A cancelled call ends its command, and a client that ends leaves nothing."""
    before = sessions()
    async with stdio() as client:
        await call(client, "run", command="true")
        (session,) = sessions() - before
        waiting = asyncio.create_task(call(client, "run", command="exec sleep 601"))
        await running("601")
        waiting.cancel()
        await running("601", False)
        assert await call(client, "run", command="echo next") == "next\n"
        await call(client, "start", command="exec sleep 602")
        await running("602")
        waiting = asyncio.create_task(call(client, "run", command="exec sleep 603"))
        await running("603")
    await asyncio.gather(waiting, return_exceptions=True)
    assert session not in sessions()
    passed("cancelled")


async def kept():
    """A given session stays open, and background commands end with the client unless they are kept."""
    session = airlock("session", "create").strip()
    async with stdio("--session", session) as client:
        await call(client, "start", command="exec sleep 604")
    async with stdio("--session", session, "--keep") as client:
        await running("604", False)
        await call(client, "start", command="exec sleep 605")
    await running("605")
    airlock("session", "close", session)
    passed("kept")


async def running(mark, expected=True):
    """Wait until a command with this text runs, or no longer runs."""
    for _ in range(100):
        listed = airlock("ps", "--json")
        alive = any(
            mark in one["command"]["text"] and one["state"] == "RUNNING" for one in map(json.loads, listed.splitlines())
        )
        if alive == expected:
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"{mark} is not {'running' if expected else 'ended'}: {listed}")


async def apart():
    """Two HTTP clients have two sessions, which end with them."""
    before = sessions()
    async with http() as one, http(mode="legacy") as two:
        await call(one, "write_file", path="secret", content="1")
        execution = identifier(await call(one, "start", command="exec sleep 606"))
        assert await call(two, "list_files") == "airlock: the directory is empty\n"
        assert "is not one of this session" in await call(two, "output", True, id=execution)
        assert "is not one of this session" in await call(two, "stop", True, id=execution)
        assert len(sessions() - before) == 2
        async with httpx2.AsyncClient(timeout=30) as third:
            refused = await post(third)
            assert "too many MCP sessions" in refused.text, refused.text
    for _ in range(100):
        if sessions() == before:
            passed("apart")
            return
        await asyncio.sleep(0.1)
    raise AssertionError("a session of an HTTP client was not closed")


async def post(client, **headers):
    """Send an initialize request with these headers instead of the right ones."""
    right = {"authorization": f"Bearer {TOKEN}", "accept": "application/json, text/event-stream"}
    return await client.post(URL, json=INITIALIZE, headers=right | headers)


async def guarded():
    """The HTTP server refuses a wrong token, a wrong host, every origin, another path and a body that is too large."""
    async with httpx2.AsyncClient(timeout=30) as client:
        for headers, status in [
            ({"authorization": ""}, 401),
            ({"authorization": f"Bearer {TOKEN}x"}, 401),
            ({"authorization": f"Basic {TOKEN}"}, 401),
            ({"host": "evil.example"}, 403),
            ({"host": "evil.example:80"}, 403),
            ({"origin": "https://evil.example"}, 403),
            ({"origin": URL.removesuffix("/mcp")}, 403),
            ({"origin": "null"}, 403),
            ({"mcp-session-id": "nobody"}, 404),
        ]:
            refused = await post(client, **headers)
            assert refused.status_code == status, (headers, refused.status_code, refused.text)
        right = {"authorization": f"Bearer {TOKEN}"}
        assert (await client.get(URL.removesuffix("/mcp") + "/", headers=right)).status_code == 404
        large = INITIALIZE | {"padding": "x" * (5 * 1024 * 1024)}
        headers = right | {"accept": "application/json, text/event-stream"}
        assert (await client.post(URL, json=large, headers=headers)).status_code == 413
        accepted = await post(client)
        assert accepted.status_code == 200, accepted.text
        session = {"mcp-session-id": accepted.headers["mcp-session-id"]}
        assert (await client.delete(URL, headers=right | session)).status_code == 202
    passed("guarded")


async def unreachable():
    """Without a server, the tool call returns the words of the other commands, and wrong calls are named."""
    async with stdio(state="/nonexistent") as client:
        text = await call(client, "run", True, command="true")
        assert "no `airlock dev` is running with the state directory /nonexistent" in text, text
        assert "no argument `comand`" in await call(client, "run", True, comand="true")
        try:
            await client.call_tool("nonsense", {})
        except MCPError as error:
            assert "there is no tool `nonsense`; the tools are `run`" in str(error), error
        else:
            raise AssertionError("an unknown tool was called")
    passed("unreachable")


async def main():
    """Run all checks."""
    async with stdio() as client:
        await commands(client)
        await background(client)
    async with http() as client:
        await commands(client)
        await background(client)
        await files(client)
        await wrong(client)
    for check in (closed, connected, denied, approved, elicited, cancelled, kept, apart, guarded, unreachable):
        await check()


asyncio.run(main())
