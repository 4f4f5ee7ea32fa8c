"""CPU of a small GET in the client: this library beside bare aiohttp with a msgspec decode, in one run.

    python -m benchmarks.overhead [--rounds 40] [--calls 500]

A server process answers with a fixed body as fast as it can. In this process rounds of the clients alternate, so that
a noisy machine troubles all alike. What counts is the CPU time of this process per call. Everything that makes the
library resilient is switched on. The library also does more with the answer: it keeps undocumented fields.
"""

from __future__ import annotations

import asyncio
import gc
import ssl
import statistics
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

import aiohttp
import msgspec

from brokerage_async import Client, Environment, RefreshToken, StaticToken, models
from brokerage_async._generated.converters import DividendWire, TokenResponseWire

from . import peers
from .rounds import Contender, Result, command, ratios, result, turns
from .service import answer, each_way

DIVIDEND = DividendWire(occurred_date=date(2025, 2, 10), amount=Decimal("0.25"))
DIVIDENDS = {"data": {"items": [DIVIDEND] * 4}, "context": "/dividends/AAPL"}
TOKEN = TokenResponseWire(access_token="a" * 400, token_type="Bearer", expires_in=900)
ANSWERS = {b"": answer(msgspec.json.encode(DIVIDENDS)), b"post": answer(msgspec.json.encode(TOKEN))}


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


def measure(rounds: int = 40, calls: int = 500) -> list[Result]:
    """Measure one call after the other, then 50 at once."""
    return each_way(ANSWERS, partial(_measure, rounds, calls))


async def _measure(rounds: int, calls: int, way: str, base_url: str, tls: ssl.SSLContext) -> list[Result]:
    decode = peers.struct_decoder(models.Dividend)
    url = f"{base_url}/market-metrics/historic-corporate-events/dividends/AAPL"
    headers = {"User-Agent": "bare/1", "Accept": "application/json", "Authorization": "Bearer " + "a" * 400}
    timeout = aiohttp.ClientTimeout(total=30)
    environment, credentials = Environment.sandbox(base_url), RefreshToken(client_secret="s", refresh_token="t")
    results = []
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session,
        Client(environment, credentials, deadline=60, ssl=tls) as client,
        Client(environment, StaticToken("a" * 400), ssl=tls) as static,
    ):

        async def bare() -> Any:
            async with session.get(url, headers=headers, timeout=timeout) as response:
                return decode(await response.read())

        for at_once, title in ((1, "one small GET"), (50, "one small GET at 50 at once")):
            calling: dict[str, Contender] = {
                "bare": bare,
                "ours": lambda: client.market_metrics.dividends("AAPL"),
                "static": lambda: static.market_metrics.dividends("AAPL"),
            }
            taken = await turns({name: many(call, calls, at_once) for name, call in calling.items()}, rounds, warm_up=2)
            each = {name: statistics.median(found) / (calls // at_once * at_once) for name, found in taken.items()}
            for name, which in (("static", ""), ("ours", ", with RefreshToken")):
                note = f"{each[name] * 1e6:.1f} and {each['bare'] * 1e6:.1f} us"
                bound = 1.2 if (name, at_once, way) == ("static", 50, "over HTTP") else None
                line = f"{'' if bound else '    '}{title} {way}{which}, client CPU, x bare aiohttp with msgspec"
                results.append(result(line, ratios(taken[name], taken["bare"]), bound=bound, note=note))
    return results


if __name__ == "__main__":
    command(measure)
