"""A small HTTP proxy on loopback."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from urllib.parse import urlsplit

from tests.raw_server import HARMLESS, LoopbackServer, Streams, read_request


async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(*HARMLESS):
        while chunk := await source.read(65536):
            sink.write(chunk)
            await sink.drain()
    sink.close()


class ProxyServer(LoopbackServer):
    """HTTP proxy whose every destination is the port ``target`` of this machine, whatever name it is asked for.

    ``refusal`` returns for the first line of a request what to answer instead of passing it on, or None. With ``tls``,
    the proxy itself is reached by https.
    """

    def __init__(
        self,
        target: int,
        *,
        credentials: str | None = None,
        refusal: Callable[[str], bytes | None] = lambda line: None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(tls)
        self.heads: list[bytes] = []
        self._target = target
        self._credentials = credentials
        self._refusal = refusal

    @property
    def lines(self) -> list[str]:
        return [head.split(b"\r\n", 1)[0].decode() for head in self.heads]

    def url(self, user: str = "") -> str:
        scheme = "http" if self._tls is None else "https"
        return f"{scheme}://{user}{'@' if user else ''}127.0.0.1:{self.port}"

    async def serve(self, client: Streams) -> None:
        reader, writer = client
        while True:
            head, body = await read_request(reader)
            self.heads.append(head)
            line = head.split(b"\r\n", 1)[0].decode()
            refusal = self._unauthorized(head) or self._refusal(line)
            if refusal is None and line.startswith("CONNECT "):
                target = await self.connect(self._target)
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await asyncio.gather(pump(reader, target[1]), pump(target[0], writer))
                return
            writer.write(await self._forward(head, body) if refusal is None else refusal)
            await writer.drain()

    def _unauthorized(self, head: bytes) -> bytes | None:
        if self._credentials is None or f"\r\nProxy-Authorization: Basic {self._credentials}\r\n".encode() in head:
            return None
        challenge = b'Proxy-Authenticate: Basic realm="office"'
        return b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n" + challenge + b"\r\n\r\n"

    async def _forward(self, head: bytes, body: bytes) -> bytes:
        method, address, rest = head.split(b" ", 2)
        parts = urlsplit(address.decode())
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        fields = [field for field in rest.split(b"\r\n") if not field.lower().startswith((b"proxy-", b"connection:"))]
        reader, writer = await self.connect(self._target)
        rest = b"\r\n".join([fields[0], b"Connection: close", *fields[1:]])
        writer.write(b"%s %s %s%s" % (method, path.encode(), rest, body))
        answer = await reader.read()
        writer.close()
        return answer
