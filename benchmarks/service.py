"""Servers in separate processes, so that only the client's work is measured."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import re
import ssl
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import trustme

from brokerage_async import Client, Environment, RefreshToken
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.api.wire import pagination

from . import bodies
from .rounds import Result

SYMBOLS = 10_000
_OFFSET = re.compile(rb"page-offset=(\d+)")


@contextmanager
def running(target: Callable[..., None], *arguments: Any) -> Iterator[Connection]:
    """Run a function in a separate process, with a pipe as its first argument. Yield the other end."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    try:
        yield ours
    finally:
        process.terminate()
        process.join()


# -- fixed answers


class FixedServer(asyncio.Protocol):
    """Answers every request on the spot, by the offset of its page or its method; ``b""`` is for all others."""

    def __init__(self, answers: Mapping[bytes, bytes]) -> None:
        self._answers = answers
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while b"\r\n\r\n" in self._buffer:
            head, _, rest = self._buffer.partition(b"\r\n\r\n")
            line, *fields = head.lower().split(b"\r\n")
            length = sum(int(field[15:]) for field in fields if field.startswith(b"content-length:"))
            if len(rest) < length:
                return
            self._buffer = rest[length:]
            found = _OFFSET.search(line)
            key = found[1] if found else line.partition(b" ")[0]
            self._transport.write(self._answers.get(key, self._answers[b""]))

    @classmethod
    async def start(cls, answers: Mapping[bytes, bytes], tls: ssl.SSLContext | None = None) -> asyncio.Server:
        """Listen on a free port."""
        return await asyncio.get_running_loop().create_server(lambda: cls(answers), "127.0.0.1", 0, ssl=tls)


def answer(body: bytes, *fields: str) -> bytes:
    """Return an answer with a JSON body, and with further header fields."""
    more = ("Date: Sat, 21 Nov 2026 11:00:00 GMT", "Server: nginx", "X-Request-Id: 0f8fad5b-d9cb", *fields)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    return (head + "".join(f"{field}\r\n" for field in more) + "\r\n").encode() + body


def serve_fixed(port: Connection, answers: Mapping[bytes, bytes], certificate: trustme.LeafCert | None = None) -> None:
    """Serve fixed answers, over TLS if there is a certificate. Send the base address first."""

    async def main() -> None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH) if certificate else None
        if certificate:
            certificate.configure_cert(tls)
        server = await FixedServer.start(answers, tls)
        port.send(f"{'https' if tls else 'http'}://127.0.0.1:{port_of(server)}")
        await server.serve_forever()

    asyncio.run(main())


def each_way(
    answers: Mapping[bytes, bytes], measure: Callable[[str, str, ssl.SSLContext], Coroutine[Any, Any, list[Result]]]
) -> list[Result]:
    """Measure fixed answers over HTTP, over TLS, and over HTTP in a client on uvloop.

    ``measure`` is called with the name of the way, the base address, and the TLS context of its clients.
    """
    authority, tls = trustme.CA(), ssl.create_default_context()
    authority.configure_trust(tls)
    loops: dict[str, Any] = {"over HTTP": None, "over TLS": None}
    try:
        import uvloop

        loops["on uvloop"] = uvloop.new_event_loop
    except ImportError:
        print("uvloop is not installed: its rows are left out")
    results = []
    for way, loop in loops.items():
        certificate = authority.issue_cert("127.0.0.1") if way == "over TLS" else None
        with running(serve_fixed, answers, certificate) as pipe, asyncio.Runner(loop_factory=loop) as runner:
            results += runner.run(measure(way, pipe.recv(), tls))
    return results


def port_of(server: asyncio.Server) -> int:
    """Return the port that a server listens on."""
    port: int = server.sockets[0].getsockname()[1]
    return port


def pages_of_equities(count: int, per_page: int) -> list[bytes]:
    """Return the bodies of ``count`` pages of equities, each row different."""
    [page] = [page for page in bodies.pages() if page.operation.name == "instruments.equities"]
    envelope, rows = msgspec.json.decode(page.body), page.rows()
    made = []
    for offset in range(count):
        numbers = range(offset * per_page, (offset + 1) * per_page)
        own = [{**rows[n % len(rows)], "id": n, "symbol": f"{rows[n % len(rows)]['symbol']}{n}"} for n in numbers]
        envelope["pagination"] = pagination(offset, per_page, count * per_page)
        made.append(msgspec.json.encode({**envelope, "data": {"items": own}}))
    return made


# -- the simulated brokerage


def serve(orders: Connection, equities: int) -> None:
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # killed clients hang up in mid-answer

    async def main() -> None:
        async with Simulator(equities=equities) as sim:
            table = sim.brokerage.state.catalogue.equities
            symbols = [row.symbol for row in table.definitions[:SYMBOLS]]
            for position in range(min(equities, SYMBOLS)):
                table.row(position)  # written once, before the first measurement
            orders.send((sim.base_url, sim.client_secret, sim.refresh_token, symbols))
            while True:
                name, value = await asyncio.get_running_loop().run_in_executor(None, orders.recv)
                found = None
                if name == "write_symbols":
                    Path(value).write_text("\n".join(row.symbol for row in table.definitions))  # noqa: ASYNC240
                elif name == "count":
                    found = sum(entry.operation == value for entry in sim.ledger.requests)
                    sim.ledger.requests.clear()
                else:
                    setattr(sim, name, value)
                orders.send(found)

    asyncio.run(main())


class Service:
    """The simulated brokerage in a process that is running, and how to reach it."""

    def __init__(self, orders: Connection) -> None:
        self._orders = orders
        self.base_url, self.client_secret, self.refresh_token, self.symbols = orders.recv()

    def tell(self, name: str, value: Any) -> Any:
        """Set an attribute of the simulator, or ask it to count or to write."""
        self._orders.send((name, value))
        return self._orders.recv()

    def client(self, **options: Any) -> Client:
        credentials = RefreshToken(client_secret=self.client_secret, refresh_token=self.refresh_token)
        return Client(Environment.sandbox(self.base_url), credentials, **options)

    @property
    def variables(self) -> dict[str, str]:
        return {
            "BROKERAGE_BASE_URL": self.base_url,
            "BROKERAGE_CLIENT_SECRET": self.client_secret,
            "BROKERAGE_REFRESH_TOKEN": self.refresh_token,
        }
