"""Seconds that a user waits for 10,000 equities behind a slow link: page by page, with prefetch, and with the PyPI SDK.

    python -m benchmarks.waiting [--rounds 7] [--rate 20] [--round-trip 50]

It writes waiting.json, its picture and RESULTS.md. The service answers from memory, plain or gzipped; the link has the
rate in megabits per second and the round trip in milliseconds. All contenders ask for the same 40 pages of 250 rows,
which is the page of the SDK, with a new connection each round, and take turns. The median round counts.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import gzip
import json
import multiprocessing
import platform
import re
import time
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec

from brokerage_async import Client, Environment, StaticToken
from brokerage_async.simulator.api.wire import Slice

from . import bodies, peers, report
from .link import Link
from .rounds import in_turn

ROWS, PER_PAGE = 10_000, 250
ENCODINGS = ("plain", "gzip")
FILE = Path(__file__).parent / "waiting.json"
_OFFSET = re.compile(rb"page-offset=(\d+)")

Contender = Callable[[], Awaitable[None]]


def answers() -> list[bytes]:
    """Return the bodies of all pages, by offset."""
    [page] = [page for page in bodies.pages() if page.operation.name == "instruments.equities"]
    answer, rows = msgspec.json.decode(page.body), page.rows()
    made = []
    for offset in range(ROWS // PER_PAGE):
        first = offset * PER_PAGE
        numbers = range(first, first + PER_PAGE)
        own = [{**rows[n % len(rows)], "id": n, "symbol": f"{rows[n % len(rows)]['symbol']}{n}"} for n in numbers]
        answer["pagination"] = Slice(offset, PER_PAGE, ROWS).pagination()
        made.append(msgspec.json.encode({**answer, "data": {"items": own}}))
    return made


def _serve(pipe: Connection, pages: list[bytes], rate: float, round_trip: float) -> None:
    """Serve the pages in both encodings, each behind its own link; send the ports."""

    def handler(encoding: str, pages: list[bytes]) -> Callable[..., Awaitable[None]]:
        more = b"Content-Encoding: gzip\r\n" if encoding == "gzip" else b""
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n"

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while request := await reader.readuntil(b"\r\n\r\n"):
                    found = _OFFSET.search(request.partition(b"\r\n")[0])
                    body = pages[int(found[1]) if found else 0]
                    writer.write(head % (more, len(body)) + body)
                    await writer.drain()
            except (asyncio.IncompleteReadError, ConnectionError):
                writer.close()

        return handle

    async def main() -> None:
        ports = {}
        for encoding, made in {"plain": pages, "gzip": [gzip.compress(page, 6) for page in pages]}.items():
            server = await asyncio.start_server(handler(encoding, made), "127.0.0.1", 0)
            link = Link(server.sockets[0].getsockname()[1], rate=rate, round_trip=round_trip)
            ports[encoding] = (await link.start(), sum(map(len, made)))
        pipe.send(ports)
        await asyncio.Event().wait()

    asyncio.run(main())


def contenders(url: str) -> dict[str, Contender]:
    """Return what takes turns, by the name that the picture shows."""
    from tastytrade import Session
    from tastytrade.instruments import Equity

    peers.peer_models()  # fields that it requires and the bodies lack become optional

    async def ours(ahead: int) -> None:
        async with Client(Environment.sandbox(url), StaticToken("t")) as client:
            pager = client.instruments.equities(per_page=PER_PAGE)
            assert len(await (pager.prefetch(ahead) if ahead else pager).collect()) == ROWS

    async def theirs() -> None:
        async with Session("secret", json.dumps({}), is_test=True) as session:
            session._client.base_url = url  # type: ignore[assignment]
            session._client.headers["Authorization"] = "Bearer t"
            session.session_expiration = time.time() + 3600
            found: Any = await Equity.get(session, [], per_page=PER_PAGE, page_offset=None)
            assert len(found) == ROWS

    return {"peer": theirs, "pages": lambda: ours(0), "prefetch": lambda: ours(8)}


async def measure(urls: dict[str, str], rounds: int) -> dict[str, dict[str, list[float]]]:
    """Return the seconds of every contender in every round, by encoding."""
    taken: dict[str, dict[str, list[float]]] = {}
    for encoding, url in urls.items():
        competing = contenders(url)
        taken[encoding] = {name: [] for name in competing}
        for number in range(rounds):
            for name, contender in in_turn(competing, number):
                gc.collect()
                started = time.perf_counter()
                await contender()
                taken[encoding][name].append(time.perf_counter() - started)
                print(f"{encoding:6} {name:9} {taken[encoding][name][-1]:6.2f} s", flush=True)
    return taken


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rate", type=float, default=20, help="megabits per second")
    parser.add_argument("--round-trip", type=float, default=50, help="milliseconds")
    options = parser.parse_args()
    rate, round_trip = options.rate * 1e6 / 8, options.round_trip / 1e3
    mine, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    service = context.Process(target=_serve, args=(theirs, answers(), rate, round_trip), daemon=True)
    service.start()
    try:
        ports = mine.recv()
        urls = {encoding: f"http://127.0.0.1:{port}" for encoding, (port, _) in ports.items()}
        taken = asyncio.run(asyncio.wait_for(measure(urls, options.rounds), 120 * options.rounds))
    finally:
        service.kill()
        service.join()
    cases = {}
    for encoding, (_, size) in ports.items():
        limit = 2 * round_trip + size / rate  # connect, ask once, and let all bytes follow one another
        seconds = {name: [round(each, 2) for each in rounds] for name, rounds in taken[encoding].items()}
        cases[encoding] = {"bytes": size, "limit": round(limit, 2), "seconds": seconds}
    kept = {
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("aiohttp", "tastytrade")},
        "megabits": options.rate, "milliseconds": options.round_trip, "cases": cases,
    }  # fmt: skip
    FILE.write_text(json.dumps(kept, indent=1) + "\n")
    report.write()


if __name__ == "__main__":
    main()
