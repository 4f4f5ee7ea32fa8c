"""A brokerage of two order lists over HTTP, with trouble by seed, whose books are the judge.

Orders are spread over many accounts, so that their lists stay short. An order is listed within `VISIBLE` seconds of
its arrival, those included whose client has long lost its connection. Answers are those of the explorer's brokerage.
"""

import asyncio
import json
import random
import time
import zlib
from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import Self

import attrs
from aiohttp import web

from brokerage_async.protocol.response import Response
from tests.proofs.explore.service import DRY_RUN, Books, error_answer, html_answer
from tests.proofs.kill.sharing_worker import LEASE
from tests.proofs.kill.verdict import BookedOrder

LATE, UNLISTED = 0.2, 0.3
"""Seconds after which a late order is booked, and for which an order is not listed."""
RATE_LIMITED = 0.2
"""Share of the submits that are turned away unread."""
SUBMITS = {"answered": 84, "lost before": 4, "lost after": 6, "502 after": 3, "late": 3}
"""Fates of the submits that are not turned away, by weight."""


class ScriptedBrokerage:
    """Serves on a loopback port. ``calm`` ends all trouble; ``met`` counts what submits and dry-runs met."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._runner: web.ServerRunner | None = None
        self._lists = Books()
        self.books: defaultdict[tuple[str, str], list[BookedOrder]] = defaultdict(list)
        self.calm = False
        self.met: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        self._runner = web.ServerRunner(web.Server(self._serve))
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _serve(self, http: web.BaseRequest) -> web.StreamResponse:
        found = await self._answer(http, time.monotonic())
        return web.Response(status=found.status, headers=found.headers, body=found.body)

    async def _answer(self, http: web.BaseRequest, arrived: float) -> Response:
        body = await http.read()
        submitted = http.path.endswith("/orders") and http.method == "POST"
        await asyncio.sleep(self._chance.uniform(0.01, 0.2 if submitted else 0.03))
        account = http.path.split("/")[2]
        if http.method == "GET":
            return self._trouble("list", {0.02: 503}) or self._lists.listing(account, arrived)
        identifier = json.loads(body)["external-identifier"]
        fortieth = zlib.crc32(identifier.encode()) % 40  # of all identifiers, one is refused at each step
        if not submitted:
            if fortieth == 0:
                return self._refuse("dry-run refused")
            return self._trouble("dry-run", {0.02: 429, 0.05: 503}) or DRY_RUN
        if fortieth == 1:
            return self._refuse("submit refused")
        turned_away = self._trouble("submit", {RATE_LIMITED: 429})
        if turned_away is not None:
            return turned_away
        fate = "answered" if self.calm else self._chance.choices(*zip(*SUBMITS.items(), strict=True))[0]
        self.met[f"submit {fate}"] += 1
        order, answer = BookedOrder("", account, identifier, http.headers["User-Agent"], arrived), DRY_RUN
        if fate == "late":
            asyncio.get_running_loop().call_later(LATE, self._book, order)
        elif fate != "lost before":
            answer = self._book(order)
        if fate == "502 after":
            return html_answer(502)
        if fate != "answered" and http.transport is not None:
            http.transport.abort()
        return answer

    def _refuse(self, what: str) -> Response:
        self.met[what] += 1
        return error_answer(422, "preflight_check_failure")

    def _trouble(self, what: str, shares: dict[float, int]) -> Response | None:
        """Return an error of one of these statuses, keyed by cumulative shares. None: no trouble."""
        drawn = 1.0 if self.calm else self._chance.random()
        status = next((status for share, status in shares.items() if drawn < share), None)
        if status is None:
            return None
        self.met[f"{what} {status}"] += 1
        asks = status == 429 and self._chance.random() < 0.1
        return Response(status=status, headers={"Retry-After": str(int(3 * LEASE))} if asks else {}, body=b"")

    def _book(self, order: BookedOrder) -> Response:
        received = datetime.fromtimestamp(time.time() - (time.monotonic() - order.arrived), UTC)
        listed = self._lists.book(
            order.account, order.identifier, 0.0, listed_at=order.arrived + UNLISTED, received=received.isoformat()
        )
        self.books[order.account, order.identifier].append(attrs.evolve(order, order_id=str(listed.id)))
        return self._lists.placed(listed)
