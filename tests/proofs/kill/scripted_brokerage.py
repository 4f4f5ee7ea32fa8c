"""A brokerage of two order lists over HTTP, with trouble by seed, whose books are the judge.

Orders are spread over many accounts, so that their lists stay short. An order is listed within `VISIBLE` seconds of
its arrival, those included whose client has long lost its connection.
"""

import asyncio
import itertools
import json
import random
import time
import zlib
from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import Any, Self

import attrs
from aiohttp import web

LEASE = 3.0
"""Lease of the workers: some waits that a 429 asks for are longer, by far."""
VISIBLE = 0.5
LATE, UNLISTED = 0.2, 0.3
"""Seconds after which a late order is booked, and for which an order is not listed."""
RATE_LIMITED = 0.2
"""Share of the submits that are turned away unread."""


@attrs.frozen
class BookedOrder:
    """An order of the books; ``arrived`` is on the monotonic clock that all processes of the machine share."""

    order_id: str
    account: str
    identifier: str
    sender: str
    arrived: float
    fields: dict[str, Any] = attrs.field(repr=False)


class ScriptedBrokerage:
    """Serves on a loopback port. ``calm`` ends all trouble; ``met`` counts what submits and dry-runs met."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._runner: web.ServerRunner | None = None
        self._late: set[asyncio.Task[None]] = set()
        self.books: defaultdict[tuple[str, str], list[BookedOrder]] = defaultdict(list)
        self._lists: defaultdict[str, list[BookedOrder]] = defaultdict(list)
        self._ids = itertools.count(1000)
        self.calm = False
        self.met: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        self._runner = web.ServerRunner(web.Server(self._answer))
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*self._late)
        await self._runner.cleanup()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _answer(self, http: web.BaseRequest) -> web.StreamResponse:
        arrived = time.monotonic()
        body = await http.read()
        submitted = http.path.endswith("/orders") and http.method == "POST"
        await asyncio.sleep(self._chance.uniform(0.01, 0.2 if submitted else 0.03))
        account = http.path.split("/")[2]
        if http.method == "GET":
            return self._list(account, arrived)
        fields = json.loads(body)
        sender = http.headers["User-Agent"]
        order = BookedOrder("", account, fields["external-identifier"], sender, arrived, fields)
        fortieth = zlib.crc32(order.identifier.encode()) % 40  # of all identifiers, one is refused at each step
        if http.path.endswith("/dry-run"):
            if fortieth == 0:
                return self._refuse("dry-run refused")
            shown = {"order": _shown(order), "warnings": []}
            return self._trouble("dry-run", {0.02: 429, 0.05: 503}) or _success(shown)
        if fortieth == 1:
            return self._refuse("submit refused")
        turned_away = self._trouble("submit", {RATE_LIMITED: 429})
        if turned_away is not None:
            return turned_away
        fate = "answered" if self.calm else self._chance.choices(*zip(*SUBMITS.items(), strict=True))[0]
        self.met[f"submit {fate}"] += 1
        if fate == "late":
            task = asyncio.create_task(self._book_late(order))
            self._late.add(task)
            task.add_done_callback(self._late.discard)
        elif fate != "lost before":
            order = self._book(order)
        if fate == "502 after":
            return web.Response(status=502, text="<html>Bad Gateway</html>", content_type="text/html")
        if fate != "answered" and http.transport is not None:
            http.transport.abort()
        return _success({"order": _shown(order)})

    def _refuse(self, what: str) -> web.Response:
        self.met[what] += 1
        return _failure(422, "preflight_check_failure")

    def _trouble(self, what: str, shares: dict[float, int]) -> web.Response | None:
        """Return an error of one of these statuses, keyed by cumulative shares. None: no trouble."""
        drawn = 1.0 if self.calm else self._chance.random()
        status = next((status for share, status in shares.items() if drawn < share), None)
        if status is None:
            return None
        self.met[f"{what} {status}"] += 1
        answer = _failure(status, None)
        if status == 429 and self._chance.random() < 0.1:
            answer.headers["Retry-After"] = str(int(3 * LEASE))
        return answer

    async def _book_late(self, order: BookedOrder) -> None:
        await asyncio.sleep(LATE)
        self._book(order)

    def _book(self, order: BookedOrder) -> BookedOrder:
        booked = attrs.evolve(order, order_id=str(next(self._ids)))
        self.books[order.account, order.identifier].append(booked)
        self._lists[order.account].append(booked)
        return booked

    def _list(self, account: str, now: float) -> web.Response:
        trouble = self._trouble("list", {0.02: 503})
        if trouble is not None:
            return trouble
        shown = [_shown(order) for order in self._lists[account] if now - order.arrived > UNLISTED]
        block = {"per-page": 200, "page-offset": 0, "item-offset": 0, "total-items": len(shown)}
        block |= {"total-pages": 1 if shown else 0, "current-item-count": len(shown)}
        return web.json_response({"data": {"items": shown[::-1]}, "context": "/", "pagination": block})


SUBMITS = {"answered": 84, "lost before": 4, "lost after": 6, "502 after": 3, "late": 3}
"""Fates of the submits that are not turned away, by weight."""


def _shown(order: BookedOrder) -> dict[str, Any]:
    received = datetime.now(UTC).timestamp() - (time.monotonic() - order.arrived)
    shown = {"account-number": order.account, "status": "Live", **order.fields}
    if order.order_id:
        moment = datetime.fromtimestamp(received, UTC).isoformat(timespec="milliseconds")
        shown |= {"id": int(order.order_id), "received-at": moment}
    return shown


def _success(data: dict[str, Any]) -> web.Response:
    return web.json_response({"data": data, "context": "/"}, status=201)


def _failure(status: int, code: str | None) -> web.Response:
    if code is None:
        return web.Response(status=status)
    return web.json_response({"error": {"code": code, "message": "no"}}, status=status)
