"""Seconds that a user waits for 10,000 equities behind a slow link: page by page, with prefetch, and with the PyPI SDK.

    python -m benchmarks.waiting [--rounds 7] [--rate 20] [--round-trip 50]

It writes waiting.json, its picture and RESULTS.md. The service answers from memory, plain or gzipped. The link has the
rate in megabits per second and the round trip in milliseconds. All contenders ask for the same 40 pages of 250 rows,
which is the page of the SDK, with a new connection each round, and take turns. The median round counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import platform
import time
from collections.abc import Iterator
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path

from brokerage_async import Client, Environment, StaticToken

from . import peers, report
from .rounds import Contender, Result, command, result, turns
from .service import FixedServer, answer, pages_of_equities, port_of, running

ROWS, PER_PAGE = 10_000, 250
FILE = Path(__file__).parent / "waiting.json"


# -- the link


CHUNK = 16 * 1024
IN_FLIGHT = 64
"""Chunks of one direction that may be on their way; beyond them the sender has to wait."""


class Link:
    """Proxy in front of a port: every byte takes its time on a link that all connections share.

    A connection costs one round trip before its first request leaves, as the handshake of TCP does. Its slow start and
    the handshake of TLS, which would add more, are left out.

    Args:
        port: port on loopback that the link leads to.
        rate: bytes per second, in each direction.
        round_trip: seconds from a request to its answer, if both are empty.
    """

    def __init__(self, port: int, *, rate: float, round_trip: float) -> None:
        self._port = port
        self._rate = rate
        self._round_trip = round_trip
        self._free = {"up": 0.0, "down": 0.0}
        self._server: asyncio.Server | None = None

    async def start(self) -> int:
        """Listen, and return the port."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return port_of(self._server)

    async def _connected(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        far, forth = await asyncio.open_connection("127.0.0.1", self._port)
        not_before = asyncio.get_running_loop().time() + self._round_trip
        with contextlib.suppress(ConnectionError):
            await asyncio.gather(self._carry(near, forth, "up", not_before), self._carry(far, back, "down", 0.0))

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: str, not_before: float
    ) -> None:
        """Carry one direction of a connection to its end."""
        under_way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(IN_FLIGHT)
        delivering = asyncio.create_task(self._deliver(under_way, writer))
        try:
            while chunk := await reader.read(CHUNK):
                await under_way.put((self._arrival(len(chunk), way, not_before), chunk))
            await under_way.put((0.0, b""))
            await delivering
        finally:
            delivering.cancel()
            writer.close()

    def _arrival(self, size: int, way: str, not_before: float) -> float:
        """Return when the last of ``size`` bytes arrives that are sent now, or when the link is free."""
        starts = max(asyncio.get_running_loop().time(), self._free[way], not_before)
        self._free[way] = starts + size / self._rate
        return self._free[way] + self._round_trip / 2

    async def _deliver(self, under_way: asyncio.Queue[tuple[float, bytes]], writer: asyncio.StreamWriter) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            due, chunk = await under_way.get()
            if not chunk:
                return
            await asyncio.sleep(max(0.0, due - clock()))
            writer.write(chunk)
            await writer.drain()


def serve(pipe: Connection, pages: list[bytes], rate: float, round_trip: float) -> None:
    """Serve the pages in both encodings, each behind its own link. Send the addresses and sizes."""

    async def main() -> None:
        found = {}
        for encoding, fields in {"plain": (), "gzip": ("Content-Encoding: gzip",)}.items():
            made = [gzip.compress(page, 6) if fields else page for page in pages]
            answers = {b"%d" % offset: answer(body, *fields) for offset, body in enumerate(made)}
            server = await FixedServer.start({b"": answers[b"0"], **answers})
            port = await Link(port_of(server), rate=rate, round_trip=round_trip).start()
            found[encoding] = (f"http://127.0.0.1:{port}", sum(map(len, made)))
        pipe.send(found)
        await asyncio.Event().wait()

    asyncio.run(main())


# -- the measure


def contenders(url: str) -> dict[str, Contender]:
    """Return the contenders by the name that the picture shows."""
    from tastytrade.instruments import Equity

    async def ours(ahead: int) -> None:
        async with Client(Environment.sandbox(url), StaticToken("t")) as client:
            pager = client.instruments.equities(per_page=PER_PAGE)
            assert len(await (pager.prefetch(ahead) if ahead else pager).collect()) == ROWS

    async def theirs() -> None:
        async with peers.peer_session(url) as session:
            assert len(await Equity.get(session, [], per_page=PER_PAGE, page_offset=None)) == ROWS

    return {"peer": theirs, "pages": lambda: ours(0), "prefetch": lambda: ours(8)}


def measure(rounds: int = 7, rate: float = 20.0, round_trip: float = 50.0) -> Iterator[Result]:
    """Measure both encodings, and write the report."""
    cases = {}
    bytes_per_second, seconds = rate * 1e6 / 8, round_trip / 1e3
    with running(serve, pages_of_equities(ROWS // PER_PAGE, PER_PAGE), bytes_per_second, seconds) as pipe:
        for encoding, (url, size) in pipe.recv().items():
            fetching = turns(contenders(url), rounds, clock=time.perf_counter, warm_up=0)
            taken = asyncio.run(asyncio.wait_for(fetching, 60 * rounds))
            limit = 2 * seconds + size / bytes_per_second  # connect, ask once, and let all bytes follow one another
            kept = {name: [round(each, 2) for each in found] for name, found in taken.items()}
            cases[encoding] = {"bytes": size, "limit": round(limit, 2), "seconds": kept}
            for name, found in kept.items():
                yield result(f"{encoding}, {name}", found, unit="s", note=f"limit of the link {limit:.2f} s")
    results = {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("aiohttp", "tastytrade")},
        "megabits": rate, "milliseconds": round_trip, "cases": cases,
    }  # fmt: skip
    FILE.write_text(json.dumps(results, indent=1) + "\n")
    report.write()


if __name__ == "__main__":
    command(measure)
