"""25 pages of 1,000 equities over HTTP: CPU of the client, the service being in another process."""

from __future__ import annotations

import ssl
import statistics
import sys
from functools import partial
from typing import Any

import aiohttp

from brokerage_async import Client, Environment, StaticToken, models

from . import peers
from .rounds import Contender, Result, ratios, result, turns
from .service import answer, each_way, pages_of_equities

PAGES = 25


def measure(rounds: int) -> list[Result]:
    """Start the service, let all contenders fetch in turns."""
    answers = {offset: answer(body) for offset, body in pages_of_equities(PAGES, 1000).items()}
    return each_way(answers, partial(_measure, max(3, rounds // 3)))


async def _measure(rounds: int, way: str, url: str, tls: ssl.SSLContext) -> list[Result]:
    from tastytrade.instruments import Equity

    decode = peers.struct_decoder(models.Equity)
    headers = {"User-Agent": "bench/1", "Authorization": "Bearer t"}
    async with (
        Client(Environment.sandbox(url), StaticToken("t"), ssl=tls) as client,
        aiohttp.ClientSession(headers=headers, connector=aiohttp.TCPConnector(ssl=tls)) as bare,
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
    return [
        result(f"{title}, x peer", ratios(taken["ours"], taken["peer"]), bound=0.25, aim=0.17, note=note),
        result(
            f"{title}, x bare aiohttp with msgspec.Struct", to_bare, bound=1.1 if sys.version_info >= (3, 13) else 1.4
        ),
    ]
