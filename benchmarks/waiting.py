"""Seconds that a user waits for 10,000 equities behind a slow link: page by page, with prefetch, and with the PyPI SDK.

    python -m benchmarks.waiting [--rounds 7] [--rate 20] [--round-trip 50]

It writes waiting.json, its picture and RESULTS.md. The service answers from memory, plain or gzipped. The link has the
rate in megabits per second and the round trip in milliseconds. All contenders ask for the same 40 pages of 250 rows,
which is the page of the SDK, with a new connection each round, and take turns. The median round counts.
"""

import asyncio
import gzip
import json
import platform
import time
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.metadata import version
from multiprocessing.connection import Connection
from typing import Any

from brokerage_async import Client, Environment, StaticToken

from . import peers, report
from .rounds import Contender, Result, command, result, turns
from .service import FixedServer, answer, listen, pages_of_equities, running

ROWS, PER_PAGE = 10_000, 250
CHUNK = 16 * 1024


class Link:
    """What all connections share: ``rate`` in bytes per second, ``round_trip`` in seconds if nothing else is sent."""

    def __init__(self, rate: float, round_trip: float) -> None:
        self.rate, self.round_trip = rate, round_trip
        self.free = 0.0


class DistantServer(FixedServer):
    """Its answers arrive as late as they do over a link.

    A connection costs one round trip before its first request leaves, as the handshake of TCP does. Its slow start and
    the handshake of TLS, which would add more, are left out. So is the time that requests need for being short.
    """

    def __init__(self, answers: Mapping[bytes, bytes], link: Link) -> None:
        super().__init__(answers)
        self._link = link

    def connection_made(self, transport: Any) -> None:
        loop, link = asyncio.get_running_loop(), self._link
        connected = loop.time() + link.round_trip

        def send(body: bytes) -> None:
            earliest = max(loop.time(), connected) + link.round_trip
            for start in range(0, len(body), CHUNK):
                chunk = body[start : start + CHUNK]
                link.free = max(link.free, earliest) + len(chunk) / link.rate
                loop.call_at(link.free, transport.write, chunk)

        self.send = send


def serve(pipe: Connection, pages: dict[bytes, bytes], rate: float, round_trip: float) -> None:
    """Serve the pages in both encodings, each over its own link. Send the addresses and sizes."""

    async def main() -> None:
        found = {}
        packed = {offset: gzip.compress(page, 6) for offset, page in pages.items()}
        for encoding, bodies, fields in (("plain", pages, ()), ("gzip", packed, ("Content-Encoding: gzip",))):
            answers = {offset: answer(body, *fields) for offset, body in bodies.items()}
            url = await listen(partial(DistantServer, answers, Link(rate, round_trip)))
            found[encoding] = url, sum(map(len, bodies.values()))
        pipe.send(found)
        await asyncio.Event().wait()

    asyncio.run(main())


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
    report.WAITING.write_text(json.dumps(results, indent=1) + "\n")
    report.write()


if __name__ == "__main__":
    command(measure)
