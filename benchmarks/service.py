"""Servers in separate processes, so that only the client's work is measured."""

import asyncio
import json
import logging
import multiprocessing
import os
import re
import ssl
import urllib.request
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any
from unittest import mock

import msgspec
import trustme

from brokerage_async import models
from brokerage_async._generated.operations import OAUTH_TOKEN
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
    """Answers every request on the spot, by the offset of its page or its method, others with the first one."""

    def __init__(self, answers: Mapping[bytes, bytes]) -> None:
        self._answers = answers
        self._otherwise = next(iter(answers.values()))
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        self.send: Callable[[bytes], None] = transport.write

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
            self.send(self._answers.get(key, self._otherwise))


async def listen(protocol: Callable[[], asyncio.Protocol], tls: ssl.SSLContext | None = None) -> str:
    """Listen on a free port, and return the base address."""
    server = await asyncio.get_running_loop().create_server(protocol, "127.0.0.1", 0, ssl=tls)
    return f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}"


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
        port.send(await listen(lambda: FixedServer(answers), tls))
        await asyncio.Event().wait()

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


def pages_of_equities(count: int, per_page: int) -> dict[bytes, bytes]:
    """Return the bodies of ``count`` pages of equities by their offset, each row different."""
    page = bodies.page_of(models.Equity)
    envelope, rows = msgspec.json.decode(page.body), page.rows()
    made = {}
    for offset in range(count):
        numbers = range(offset * per_page, (offset + 1) * per_page)
        own = [{**rows[n % len(rows)], "id": n, "symbol": f"{rows[n % len(rows)]['symbol']}{n}"} for n in numbers]
        envelope["pagination"] = pagination(offset, per_page, count * per_page)
        made[b"%d" % offset] = msgspec.json.encode({**envelope, "data": {"items": own}})
    return made


# -- the simulated brokerage


def serve(port: Connection, equities: int, written: int) -> None:
    """Simulate a brokerage with ``equities``, of which the first rows are ``written`` before anybody asks.

    Whatever comes through the pipe is set on the simulator, and answered with the requests since the last time.
    """
    logging.getLogger("aiohttp.server").setLevel(logging.CRITICAL)  # killed clients hang up in mid-answer

    async def main() -> None:
        async with Simulator(equities=equities) as sim:
            table = sim.brokerage.state.catalogue.equities
            for definition in table.definitions[:written]:
                table.row(definition)
            port.send((os.getpid(), sim.environ, [row.symbol for row in table.definitions]))
            while True:
                for name, value in (await asyncio.to_thread(port.recv)).items():
                    setattr(sim, name, value)
                port.send(Counter(entry.operation for entry in sim.ledger.requests))
                sim.ledger.requests.clear()

    asyncio.run(main())


class Service:
    """The simulated brokerage of `serve`. `simulated` has its address and secrets in the environment variables."""

    def __init__(self, port: Connection) -> None:
        self._port = port
        self.pid, self.environ, self.symbols = port.recv()

    def set(self, **attributes: Any) -> Counter[str]:
        """Set attributes of the simulator. Return the number of requests since the last time, by operation."""
        self._port.send(attributes)
        found: Counter[str] = self._port.recv()
        return found


@contextmanager
def simulated(equities: int = SYMBOLS, written: int = 0) -> Iterator[Service]:
    """Run `serve` in a separate process, for ``Client.from_env``."""
    with running(serve, equities, written) as port:
        service = Service(port)
        with mock.patch.dict(os.environ, service.environ):
            yield service


def authorization() -> dict[str, str]:
    """Return the header of requests to the simulated brokerage that are written by hand."""
    secrets = {name: os.environ[f"BROKERAGE_{name.upper()}"] for name in ("client_secret", "refresh_token")}
    body = json.dumps({"grant_type": "refresh_token", **secrets}).encode()
    headers = {"User-Agent": "bare/1", "Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["BROKERAGE_BASE_URL"] + OAUTH_TOKEN.path, body, headers)
    with urllib.request.urlopen(request) as answered:
        return {"Authorization": f"Bearer {json.load(answered)['access_token']}"}
