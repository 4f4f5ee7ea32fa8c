"""CPU of the client for pages, small GETs and unchanged polls, beside bare aiohttp with a msgspec decode.

A server process answers with fixed bodies as fast as it can. In this process rounds of the clients alternate, so that
a noisy machine troubles all alike. What counts is the CPU time of this process. Everything that makes the library
resilient is switched on. The library also does more with the answer: it keeps undocumented fields.
"""

import asyncio
import gc
import ssl
import statistics
import sys
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

import aiohttp
import msgspec

from brokerage_async import Client, Environment, RefreshToken, StaticToken, models
from brokerage_async._generated.converters import DividendWire, TokenResponseWire

from . import bodies, peers
from .rounds import Contender, Result, ratios, result, turns
from .service import answer, each_way, pages_of_equities, running, serve_fixed

HEADERS = {"User-Agent": "bare/1", "Accept": "application/json", "Authorization": "Bearer " + "a" * 400}
TIMEOUT = aiohttp.ClientTimeout(total=30)
TOKEN = StaticToken("a" * 400)


# -- pages: 25 of 1,000 equities

PAGES = 25


def paging(rounds: int) -> list[Result]:
    """Measure the client, bare aiohttp, and over HTTP the peer."""
    answers = {offset: answer(body) for offset, body in pages_of_equities(PAGES, 1000).items()}
    return each_way(answers, partial(_paging, max(3, rounds // 3)))


async def _paging(rounds: int, way: str, url: str, tls: ssl.SSLContext) -> list[Result]:
    from tastytrade.instruments import Equity

    decode = peers.struct_decoder(models.Equity)
    async with (
        Client(Environment.sandbox(url), TOKEN, ssl=tls) as client,
        aiohttp.ClientSession(headers=HEADERS, connector=aiohttp.TCPConnector(ssl=tls)) as bare,
        peers.peer_session(url) as peer,
    ):

        async def ours() -> None:
            assert len(await client.instruments.equities(per_page=1000).collect()) == PAGES * 1000

        async def theirs() -> None:
            assert len(await Equity.get(peer, [], per_page=1000, page_offset=None)) == PAGES * 1000

        async def barely() -> None:
            equities: list[Any] = []
            for offset in range(PAGES):
                query = {"per-page": "1000", "page-offset": str(offset)}
                async with bare.get(f"{url}/instruments/equities", params=query) as response:
                    equities += decode(await response.read())
            assert len(equities) == PAGES * 1000

        contenders: dict[str, Contender] = {"ours": ours, "bare": barely}
        if way == "over HTTP":  # the peer takes several times as long, and trusts other certificates by other options
            contenders["peer"] = theirs
        taken = await turns(contenders, rounds)
    title, to_bare = f"25 pages x 1,000 equities {way}, client CPU", ratios(taken["ours"], taken["bare"])
    if way != "over HTTP":
        return [result(f"    {title}, x bare aiohttp with msgspec.Struct", to_bare)]
    note = f"{statistics.median(taken['ours']) * 1e3:.0f} ms"
    bound = 1.1 if sys.version_info >= (3, 13) else 1.4
    return [
        result(f"{title}, x peer", ratios(taken["ours"], taken["peer"]), bound=0.25, aim=0.17, note=note),
        result(f"{title}, x bare aiohttp with msgspec.Struct", to_bare, bound=bound),
    ]


# -- small GETs

CALLS = 500
DIVIDEND = DividendWire(occurred_date=date(2025, 2, 10), amount=Decimal("0.25"))
DIVIDENDS = {"data": {"items": [DIVIDEND] * 4}, "context": "/dividends/AAPL"}
GRANTED = TokenResponseWire(access_token="a" * 400, token_type="Bearer", expires_in=900)
ANSWERS = {b"get": answer(msgspec.json.encode(DIVIDENDS)), b"post": answer(msgspec.json.encode(GRANTED))}


def many(call: Contender, calls: int, at_once: int) -> Contender:
    """Return a contender that makes ``calls`` calls, ``at_once`` at a time, without collecting garbage."""

    async def worker() -> None:
        for _ in range(calls // at_once):
            await call()

    async def run() -> None:
        gc.disable()
        await asyncio.gather(*(worker() for _ in range(at_once)))
        gc.enable()

    return run


def overhead(rounds: int) -> list[Result]:
    """Measure one call after the other, then 50 at once."""
    return each_way(ANSWERS, partial(_overhead, rounds))


async def _overhead(rounds: int, way: str, base_url: str, tls: ssl.SSLContext) -> list[Result]:
    decode = peers.struct_decoder(models.Dividend)
    url = f"{base_url}/market-metrics/historic-corporate-events/dividends/AAPL"
    environment, credentials = Environment.sandbox(base_url), RefreshToken(client_secret="s", refresh_token="t")
    results = []
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session,
        Client(environment, credentials, deadline=60, ssl=tls) as client,
        Client(environment, TOKEN, ssl=tls) as static,
    ):

        async def bare() -> Any:
            async with session.get(url, headers=HEADERS, timeout=TIMEOUT) as response:
                return decode(await response.read())

        for at_once, title in ((1, "one small GET"), (50, "one small GET at 50 at once")):
            calling: dict[str, Contender] = {
                "bare": bare,
                "ours": lambda: client.market_metrics.dividends("AAPL"),
                "static": lambda: static.market_metrics.dividends("AAPL"),
            }
            taken = await turns({name: many(call, CALLS, at_once) for name, call in calling.items()}, rounds, warm_up=2)
            each = {name: statistics.median(found) / CALLS * 1e6 for name, found in taken.items()}
            for name, which in (("static", ""), ("ours", ", with RefreshToken")):
                note = f"{each[name]:.1f} and {each['bare']:.1f} us"
                bound = 1.2 if (name, at_once, way) == ("static", 50, "over HTTP") else None
                line = f"{'' if bound else '    '}{title} {way}{which}, client CPU, x bare aiohttp with msgspec"
                results.append(result(line, ratios(taken[name], taken["bare"]), bound=bound, note=note))
    return results


# -- polls of a body that does not change: ``client.watch.orders`` on one kept-alive connection

ORDERS = 500
POLLS = 100


class Rounds(asyncio.Queue[None]):
    """A pace without waits that lets a watcher poll round by round."""

    polled = False

    async def __call__(self) -> float:
        if self.polled:
            self.task_done()
        await self.get()
        self.polled = True
        return 1e-9

    async def run(self) -> None:
        """Let the polls of a round happen."""
        for _ in range(POLLS):
            self.put_nowait(None)
        await self.join()


def polling(rounds: int) -> list[Result]:
    """Measure polls, bare GETs, and a loop by hand that decodes every body and compares it with the last one."""
    page = bodies.page_of(models.Order)
    body = page.with_rows([{**row, "id": str(number)} for number, row in enumerate(page.rows()[:ORDERS])]).body
    with running(serve_fixed, {b"": answer(body)}) as pipe:
        taken = asyncio.run(_polling(pipe.recv(), rounds))
    each = {name: statistics.median(found) / POLLS * 1e6 for name, found in taken.items()}
    title = f"unchanged poll of {ORDERS} orders, client CPU, x"
    return [
        result(
            f"{title} {other}", ratios(taken["poll"], taken[other]), bound=bound,
            note=f"{each['poll']:.1f} and {each[other]:.1f} us, {len(body):,} bytes",
        )
        for other, bound in (("bare GET", 1.3), ("loop by hand", 0.8))
    ]  # fmt: skip


async def _polling(base_url: str, rounds: int) -> dict[str, list[float]]:
    url = f"{base_url}/customers/me/orders/live?account-numbers[]=A1"
    watched, decode = Rounds(), peers.struct_decoder(models.Order)
    async with (
        aiohttp.ClientSession() as session,
        Client(Environment.sandbox(base_url), TOKEN) as client,
        client.watch.orders("me", ["A1"], interval=watched, min_interval=0.0, initial=False) as watcher,
    ):

        async def get() -> bytes:
            async with session.get(url, headers=HEADERS, timeout=TIMEOUT) as response:
                return await response.read()

        async def bare() -> None:
            for _ in range(POLLS):
                await get()

        async def by_hand() -> None:
            last: dict[str, Any] = {}
            for _ in range(POLLS):
                latest = {order.id: order for order in decode(await get())}
                changed = [order for name, order in latest.items() if last.get(name) != order]
                assert changed == [] or not last
                last = latest

        waiting = asyncio.ensure_future(anext(watcher))
        taken = await turns({"poll": watched.run, "bare GET": bare, "loop by hand": by_hand}, rounds, warm_up=2)
        waiting.cancel()
    return taken
