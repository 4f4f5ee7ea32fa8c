"""25 pages of 1,000 equities over HTTP: CPU of the client, the service being in another process."""

from __future__ import annotations

import asyncio
import json
import statistics
import time
from typing import Any

import aiohttp

from brokerage_async import Client, Environment, StaticToken, models

from . import peers
from .rounds import Result, ratios, result, turns
from .service import answer, pages_of_equities, running, serve_fixed

PAGES = 25


def measure(rounds: int) -> list[Result]:
    """Start the service, let all contenders fetch in turns."""
    made = [answer(body) for body in pages_of_equities(PAGES, 1000)]
    answers = {b"": made[0], **{b"%d" % offset: page for offset, page in enumerate(made)}}
    with running(serve_fixed, answers) as pipe:
        return asyncio.run(_measure(pipe.recv(), max(3, rounds // 3)))


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

        taken = await turns({"ours": ours, "peer": theirs, "bare": barely}, rounds)
    note = f"{statistics.median(taken['ours']) * 1e3:.0f} ms"
    return [
        result("25 pages x 1,000 equities over HTTP, client CPU, x peer", ratios(taken["ours"], taken["peer"]),
               bound=0.25, aim=0.17, note=note),
        result("the same, x bare aiohttp with msgspec.Struct", ratios(taken["ours"], taken["bare"]),
               bound=1.5, aim=1.2),
    ]  # fmt: skip
