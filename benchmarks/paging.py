"""25 pages of 1,000 equities over HTTP, and a small GET: CPU of the client, the service being in another process."""

from __future__ import annotations

import asyncio
import gc
import json
import multiprocessing
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import date
from decimal import Decimal
from multiprocessing.connection import Connection
from typing import Any

import aiohttp
import msgspec

from brokerage_async import Client, Environment, StaticToken, models
from brokerage_async._generated.converters import DividendWire
from brokerage_async.simulator.api.wire import Slice

from . import bodies, peers
from .rounds import Result, in_turn, ratios, result

PAGES = 25
SMALL_CALLS = 200
_DIVIDEND = DividendWire(occurred_date=date(2025, 2, 10), amount=Decimal("0.25"))
SMALL = msgspec.json.encode({"data": {"items": [_DIVIDEND]}, "context": "/dividends"})
_OFFSET = re.compile(rb"page-offset=(\d+)")

Contender = Callable[[], Awaitable[Any]]


def measure(rounds: int) -> list[Result]:
    """Start the service, let all contenders fetch in turns."""
    ours, theirs = multiprocessing.Pipe()
    service = multiprocessing.get_context("spawn").Process(target=_serve, args=(theirs, _answers()), daemon=True)
    service.start()
    try:
        return asyncio.run(_measure(f"http://127.0.0.1:{ours.recv()}", max(3, rounds // 3)))
    finally:
        service.kill()
        service.join()


def _answers() -> list[bytes]:
    [page] = [page for page in bodies.pages() if page.operation.name == "instruments.equities"]
    answer = msgspec.json.decode(page.body)
    answers = []
    for offset in range(PAGES):
        answer["pagination"] = Slice(offset, 1000, PAGES * 1000).pagination()
        rows = [{**row, "id": row["id"] + offset * 1000, "symbol": f"{row['symbol']}{offset}"} for row in page.rows()]
        answers.append(msgspec.json.encode({**answer, "data": {"items": rows}}))
    return answers


def _serve(orders: Connection, answers: list[bytes]) -> None:
    """Answer every request with a prepared body, as fast as it can be written."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        while request := await reader.readuntil(b"\r\n\r\n"):
            found = _OFFSET.search(request.partition(b"\r\n")[0])
            body = answers[int(found[1])] if found else answers[0] if b"/equities" in request else SMALL
            writer.write(head % len(body) + body)
            await writer.drain()

    async def guarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await handle(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(guarded, "127.0.0.1", 0)
        orders.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(main())


async def _measure(url: str, rounds: int) -> list[Result]:
    from tastytrade import Session
    from tastytrade.instruments import Equity

    peers.peer_models()
    decode = peers.struct_decoder(models.Equity)
    headers = {"User-Agent": "bench/1", "Authorization": "Bearer t"}
    peer = Session("secret", json.dumps({}), is_test=True)
    peer._client.base_url = url  # type: ignore[assignment]
    peer.session_expiration = time.time() + 3600
    environment, token = Environment.sandbox(url), StaticToken("t")
    async with Client(environment, token) as client, aiohttp.ClientSession(headers=headers) as bare, peer:

        async def ours() -> None:
            assert len(await client.instruments.equities(per_page=1000).collect()) == PAGES * 1000

        async def theirs() -> None:
            parameters = {"per-page": 1000, "page-offset": None}
            assert len(await peer._paginate(Equity, "/instruments/equities", parameters)) == PAGES * 1000

        async def barely() -> None:
            equities: list[Any] = []
            for offset in range(PAGES):
                query = {"per-page": "1000", "page-offset": str(offset)}
                async with bare.get(f"{url}/instruments/equities", params=query) as response:
                    equities += decode(await response.read())
            assert len(equities) == PAGES * 1000

        pages = await _rounds({"ours": ours, "peer": theirs, "bare": barely}, rounds)
        small = await _rounds({"ours": _small_ours(client), "bare": _small_bare(bare, url)}, 2 * rounds)
    note = f"{sorted(pages['ours'])[len(pages['ours']) // 2] * 1e3:.0f} ms"
    return [
        result("25 pages x 1,000 equities over HTTP, client CPU, x peer", ratios(pages["ours"], pages["peer"]),
               bound=0.25, aim=0.17, note=note),
        result("the same, x bare aiohttp with msgspec.Struct", ratios(pages["ours"], pages["bare"]),
               bound=1.5, aim=1.2),
        result("    one small GET, client CPU, x bare aiohttp with msgspec", ratios(small["ours"], small["bare"])),
    ]  # fmt: skip


def _small_ours(client: Client) -> Contender:
    async def fetch() -> None:
        for _ in range(SMALL_CALLS):
            await client.market_metrics.dividends("AAPL")

    return fetch


def _small_bare(bare: aiohttp.ClientSession, url: str) -> Contender:
    decode = peers.struct_decoder(models.Dividend)

    async def fetch() -> None:
        for _ in range(SMALL_CALLS):
            async with bare.get(f"{url}/market-metrics/historic-corporate-events/dividends/AAPL") as response:
                decode(await response.read())

    return fetch


async def _rounds(contenders: Mapping[str, Contender], rounds: int) -> dict[str, list[float]]:
    for contender in contenders.values():
        await contender()
    gc.collect()
    gc.freeze()
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds):
        for name, contender in in_turn(contenders, number):
            started = time.process_time()
            await contender()
            taken[name].append(time.process_time() - started)
    gc.unfreeze()
    return taken
