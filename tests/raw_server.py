"""Server of raw bytes that records requests and follows a script to the byte."""

import asyncio
import contextlib
import re
import ssl
from typing import Self

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]

HARMLESS = (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError, TimeoutError)


def answer(body: bytes = b"{}", status: int = 200, *headers: str, length: int | None = None) -> bytes:
    """Return the bytes of a response; ``length`` overrides the size of its body."""
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body) if length is None else length}", *headers]
    if not any(line.lower().startswith("content-type") for line in headers):
        lines.append("Content-Type: application/json")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def read_request(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Return the head and the body of the next request."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"\r\ncontent-length: *(\d+)", head.lower())
    return head, await reader.readexactly(int(length[1]) if length else 0)


class LoopbackServer:
    """Server that runs `serve` on a free port, and closes its connections on exit."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []

    async def serve(self, client: Streams) -> None:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            with contextlib.suppress(AttributeError):  # of one that is lost, under TLS before Python 3.11.4
                writer.transport.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0)

    async def connect(self, port: int) -> Streams:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        self._writers.append(writer)
        return reader, writer

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        self._tasks.add(task)
        self._writers.append(writer)
        with contextlib.suppress(asyncio.CancelledError, *HARMLESS):
            await self.serve((reader, writer))
        writer.close()
        with contextlib.suppress(asyncio.CancelledError, *HARMLESS):
            await writer.wait_closed()


class RawServer(LoopbackServer):
    """Server that follows ``script``, one entry per request over all connections. The last entry repeats.

    An entry is bytes (send them), None (close the connection once the request has been read), ``"stall"`` (read and
    never respond), or a tuple of bytes and None: send, then close. With ``tls`` it serves https.
    """

    def __init__(self, *script: bytes | tuple[bytes, None] | str | None, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(tls)
        self.script = list(script) or [answer()]
        self.requests: list[bytes] = []
        self.connections = 0
        self.arrived = asyncio.Event()

    @property
    def url(self) -> str:
        return f"{'http' if self._tls is None else 'https'}://127.0.0.1:{self.port}"

    @property
    def lines(self) -> list[str]:
        return [request.split(b"\r\n", 1)[0].decode() for request in self.requests]

    async def say(self, unasked: bytes) -> None:
        """Send unsolicited bytes over every open connection, and let them arrive."""
        for writer in self._writers:
            if not writer.is_closing():
                writer.write(unasked)
        await asyncio.sleep(0.02)

    async def serve(self, client: Streams) -> None:
        reader, writer = client
        self.connections += 1
        while True:
            self.requests.append(b"".join(await read_request(reader)))
            self.arrived.set()
            step = self.script[min(len(self.requests), len(self.script)) - 1]
            if step == "stall":
                await asyncio.sleep(3600)
            for part in step if isinstance(step, tuple) else (step,):
                if part is None:
                    return
                writer.write(part)
                await writer.drain()
