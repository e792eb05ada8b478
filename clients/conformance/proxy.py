"""A TCP relay that injects faults: `proxy.py HOST:PORT`.

It prints the address to connect to, as `HOST:PORT`. Then it reads one command per line from standard input and answers
each with `ok`. It ends with its input. It needs only the standard library.

    cut              cut all connections
    cut_after BYTES  cut all connections once, after this number of further bytes in both directions
    every SECONDS    cut all connections again and again; 0 stops it
    down SECONDS     cut all connections, and refuse new ones for this time
    swallow SECONDS  drop everything from the server for this time, then cut all connections
    delay SECONDS    hold back each piece of data for this time
    left             answer with the number of bytes until the cut of `cut_after`, or `none`
    cuts             answer with the number of connections that were cut
"""

import asyncio
import contextlib
import sys

PIECE = 16 * 1024
CONNECTIONS = 64
# More bytes than a TLS handshake and the first frames of the server, so a response is among them.
ANSWERED = 1300
# On a busy host, connections may be cut before they receive a response. After this number of such cuts, the interval
# doubles until there is progress.
IN_VAIN = 2
LONGEST = 16


class Pair:
    """One relayed connection."""

    def __init__(self, client: asyncio.StreamWriter) -> None:
        self.client = client
        self.server: asyncio.StreamWriter | None = None
        self.answered = 0

    def cut(self) -> None:
        """Reset both sides."""
        for side in (self.client, self.server):
            if side is not None:
                side.transport.abort()


class Proxy:
    """The relay and its faults."""

    def __init__(self, host: str, port: int) -> None:
        self.host, self.port = host, port
        self.pairs: set[Pair] = set()
        self.left: int | None = None
        self.up_at = 0.0
        self.delay = 0.0
        self.swallows = False
        self.cuts = 0
        self.cutter: asyncio.Task[None] | None = None

    def cut(self) -> bool:
        """Cut all connections. Return true if there were some, and none had received a response."""
        pairs, self.pairs = self.pairs, set()
        for pair in pairs:
            pair.cut()
        self.cuts += len(pairs)
        return bool(pairs) and all(pair.answered < ANSWERED for pair in pairs)

    async def cut_again(self, every: float) -> None:
        """Cut all connections again and again."""
        vain, pause = 0, every
        while True:
            await asyncio.sleep(pause)
            vain = vain + 1 if self.cut() else 0
            if vain == 0:
                pause = every
            elif vain >= IN_VAIN:
                pause = min(pause * 2, every * LONGEST)

    async def relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Relay one connection."""
        pair = Pair(writer)
        now = asyncio.get_running_loop().time()
        if now < self.up_at or len(self.pairs) >= CONNECTIONS:
            pair.cut()
            return
        self.pairs.add(pair)
        try:
            back, pair.server = await asyncio.open_connection(self.host, self.port)
            copies = self.copy(reader, pair.server, pair, False), self.copy(back, writer, pair, True)
            await asyncio.gather(*copies)
        except OSError:
            pair.cut()
        finally:
            self.pairs.discard(pair)
            pair.cut()

    async def copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pair: Pair, answer: bool) -> None:
        """Copy in one direction."""
        while data := await reader.read(PIECE):
            if self.delay:
                await asyncio.sleep(self.delay)
            if answer and self.swallows:
                continue
            if self.left is not None:
                data = data[: self.left]
                self.left -= len(data)
            writer.write(data)
            await writer.drain()
            pair.answered += len(data) if answer else 0
            if self.left == 0:
                self.left = None
                self.cut()
                return
        if writer.can_write_eof():
            writer.write_eof()

    def end_swallow(self) -> None:
        """Cut all connections, because they lack data, and relay again."""
        self.swallows = False
        self.cut()

    def obey(self, line: str) -> str:
        """Carry out one command."""
        name, _, value = line.strip().partition(" ")
        loop = asyncio.get_running_loop()
        match name:
            case "cut":
                self.cut()
            case "cut_after":
                self.left = int(value)
            case "every":
                if self.cutter is not None:
                    self.cutter.cancel()
                self.cutter = loop.create_task(self.cut_again(float(value))) if float(value) else None
            case "down":
                self.up_at = loop.time() + float(value)
                self.cut()
            case "swallow":
                self.swallows = True
                loop.call_later(float(value), self.end_swallow)
            case "delay":
                self.delay = float(value)
            case "left":
                return "none" if self.left is None else str(self.left)
            case "cuts":
                return str(self.cuts)
            case _:
                return f"unknown command: {name}"
        return "ok"


async def main() -> None:
    """Relay until standard input ends."""
    host, _, port = sys.argv[1].rpartition(":")
    proxy = Proxy(host.strip("[]"), int(port))
    server = await asyncio.start_server(proxy.relay, "127.0.0.1", 0)
    address = server.sockets[0].getsockname()
    print(f"{address[0]}:{address[1]}", flush=True)
    commands = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    while line := await commands.readline():
        print(proxy.obey(line.decode()), flush=True)
    server.close()
    proxy.cut()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
