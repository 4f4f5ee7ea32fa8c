"""The request budget of a customer, shared by all workers over the engine: one bucket, asked for each request.

The bucket hands out slots (GCRA): moments that lie ``1 / rate`` apart. A worker books one read at a time, so that reads
get their turns worker by worker. A trade goes ahead of the slots that were booked: it takes one of a few reserved
places, which is free again once the trade's slot or a second has passed.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import random
from contextlib import nullcontext

import attrs

from .._arguments import check_number, check_positive, check_type, running_loop
from ..config import Limits
from ..errors import ConfigurationError
from ..http.concurrency import end
from ..http.limiter import LaneName
from .fleet import EngineUnavailableError, Fleet, Script, check_name, logger

GRACE = 2.5  # seconds in which every worker keeps to its local share, after the engine came back or has begun
HEARTBEAT, PROBE = 2.0, 0.5  # seconds between two reports of an idle worker, and of one that works locally
PATIENCE = 0.05  # seconds that a trade waits for an answer of the engine before it goes on the local share
SAFE_SHARE = 0.7  # share of the budget that all workers together use while they work locally
MAX_DELAY = 0.05  # seconds after its moment at which an unused slot lapses

MIN_WAIT = 0.002

NUMBERS = itertools.count(1)
DEFAULT_LIMITS = Limits()

BUCKET = Script.read("bucket", GRACE=int(GRACE * 1000))


@attrs.frozen(kw_only=True)
class LimitsStatus:
    """State of the shared budget as this process sees it.

    Attributes:
        requests_per_second: the whole budget.
        rate: requests per second that the engine hands out now, after 429 and the shares of workers that work locally.
        workers: workers seen in the last minute.
        is_local: whether this process works with its local share.
        local_rate: that share, in requests per second.
        asks: calls of the engine that this process has made.
    """

    requests_per_second: float
    rate: float | None
    workers: int | None
    is_local: bool
    local_rate: float
    asks: int


@attrs.frozen
class Grant:
    """Answer of the engine. Moments are times of the event loop. Without a slot, ask again at ``again_at``."""

    workers: int
    rate: float
    again_at: float
    slot: float | None


def bucket_of(budget: float) -> tuple[float, int]:
    """Return the slots per second, and the places of trades that go ahead of theirs.

    Both together never exceed ``budget`` in any second (below 1: one request), whose end belongs to the next one. From
    a budget of 50 on they leave a little room for requests that are late by a turn of a scheduler.
    """
    places = max(1, int(0.12 * budget)) if budget >= 2 else 0
    return min(0.86 * budget, max(1, int(budget)) - places), places


class RedisLimits:
    """Limits whose requests per second hold for all workers of a fleet together.

    Trades, and requests for tokens, go before the reads of all workers. Reads are shared fairly: each worker that
    waits gets as many as the others. The rates of ``limits.per_operation`` hold for all workers together, too. A 429
    slows all workers down. While the engine is away, and a few seconds longer, each worker works with a local share.

    ``Client(environment, credentials, limits=RedisLimits(fleet, requests_per_second=50))``

    Args:
        fleet: the connection.
        requests_per_second: the budget. No second sees more requests, from all workers together.
        limits: bounds of each worker, which apply as well.
        name: name of the budget, the same in all workers.
        local_share: share of the budget that one worker may use while the engine is away. It should be 0.7 divided by
            the number of workers, which also bounds it once the engine has counted them.

    Raises:
        ConfigurationError: an argument is invalid.
    """

    def __init__(
        self,
        fleet: Fleet,
        *,
        requests_per_second: float,
        limits: Limits = DEFAULT_LIMITS,
        name: str = "requests",
        local_share: float = 0.035,
    ) -> None:
        check_type("fleet", fleet, Fleet)
        check_positive("requests_per_second", check_number("requests_per_second", requests_per_second))
        check_positive("local_share", check_number("local_share", local_share, maximum=1.0))
        self.limits: Limits = check_type("limits", limits, Limits)
        self._fleet = fleet
        self._number = next(NUMBERS)
        self._rate = float(requests_per_second)
        self._local_share = float(local_share)
        self._keys = [fleet.connection.key("limits", check_name(name), part) for part in ("state", "seen", "early")]
        self._grant: Grant | None = None
        self._asks = 0
        self._pause = 0.0
        self._asked_at = self._local_until = self._next_local = float("-inf")
        self._next_of: dict[str, float] = {}
        self._read_turn, self._local_trade = asyncio.Lock(), asyncio.Lock()
        self._under_way: set[asyncio.Task[Grant | None]] = set()
        self._heartbeat: asyncio.Task[None] | None = None
        self._closed = False
        fleet.add("limits", self)

    def __repr__(self) -> str:
        return f"RedisLimits({self._fleet.connection.name!r}, requests_per_second={self._rate:g})"

    @property
    def _worker(self) -> str:
        """Name in the engine: a process may have several limits."""
        return f"{self._fleet.worker}-{self._number}"

    @property
    def _share(self) -> float:
        """Part of a rate that this worker uses while it works locally."""
        return min(self._local_share, SAFE_SHARE / max(1, self._grant.workers if self._grant else 1))

    async def status(self) -> LimitsStatus:
        """Return the state as of the last answer of the engine."""
        known = None if self._local_until == float("inf") else self._grant
        return LimitsStatus(
            requests_per_second=self._rate,
            rate=None if known is None else known.rate,
            workers=None if known is None else known.workers,
            is_local=running_loop().time() < self._local_until,
            local_rate=self._rate * self._share,
            asks=self._asks,
        )

    async def aclose(self) -> None:
        """Leave the fleet. Calls that still come work with the local share."""
        if self._closed:
            return
        self._closed = True
        self._local_until = float("inf")
        tasks = {*self._under_way, *({self._heartbeat} if self._heartbeat else ())}
        await end(*tasks)
        if tasks:
            try:
                await self._fleet.connection.command("ZREM", self._keys[1], self._worker)
            except EngineUnavailableError as error:
                logger.debug("the fleet was left without a word: %s", error)

    async def acquire(self, lane: LaneName, operation: str) -> None:
        """Wait for the permission to send one request now."""
        if self._heartbeat is None and not self._closed:
            self._heartbeat = running_loop().create_task(self._beat(), name="brokerage_async shared limits")
        if lane is LaneName.READS and operation not in self.limits.per_operation:
            async with self._read_turn:
                await self._acquire("read", operation)
        else:  # one with a rate waits for that, and holds up no other. A client asks for one at a time
            await self._acquire("read" if lane is LaneName.READS else "trade", operation)

    def throttled(self, pause: float) -> None:
        """Note a 429 for all workers."""
        self._pause = max(self._pause, pause)
        if not self._closed:
            self._ask("")

    async def _acquire(self, kind: str, operation: str) -> None:
        loop = running_loop()
        while True:
            now = loop.time()
            if now < self._local_until:
                if await self._take_local(kind, operation):
                    return
                continue
            if self._next_local <= now:  # should the engine be away: others lose it, too, and not all go at once
                self._next_local = now + random.random() / (self._rate * self._share)  # noqa: S311 - spreads load
            asking = self._ask(kind, operation)
            await asyncio.wait({asking}, timeout=PATIENCE if kind == "trade" else None)
            if not asking.done() and await self._take_local(kind, operation, asking):  # the engine is slow
                return
            grant = None if asking.cancelled() else asking.result()
            if grant is None:
                continue
            if grant.slot is not None:
                if grant.slot > loop.time():
                    await asyncio.sleep(grant.slot - loop.time())
                if loop.time() <= grant.slot + MAX_DELAY:
                    self._next_local = loop.time() + 1 / (self._rate * self._share)  # this second has seen a request
                    return
            elif loop.time() >= self._local_until:
                await asyncio.sleep(max(MIN_WAIT, grant.again_at - loop.time()))

    async def _take_local(self, kind: str, operation: str, asking: asyncio.Task[Grant | None] | None = None) -> bool:
        """Wait for a request of the local share, trades first. Return False if the engine answers before."""
        loop, is_trade = running_loop(), kind == "trade"
        async with self._local_trade if is_trade else nullcontext():
            while True:
                now = loop.time()
                if now >= self._local_until if asking is None else asking.done():
                    return False
                left = max(self._next_local, self._next_of.get(operation, now)) - now
                if left <= 0 and (is_trade or not self._local_trade.locked()):
                    break
                pause = min(max(left, MIN_WAIT if is_trade else 10 * MIN_WAIT), PROBE)
                if asking is None:  # whoever overslept the end would leave the first slots to the others
                    await asyncio.sleep(min(pause, self._local_until - now))
                else:
                    await asyncio.wait({asking}, timeout=pause)
        self._next_local = now + 1 / (self._rate * self._share)
        if (rate := self.limits.per_operation.get(operation)) is not None:
            self._next_of[operation] = now + 1 / (rate * self._share)
        return True

    # The engine

    def _ask(self, kind: str, operation: str = "") -> asyncio.Task[Grant | None]:
        """Begin to ask the engine. The call goes on when its caller is cancelled, or loses patience."""
        task = running_loop().create_task(self._report(kind, operation), name="brokerage_async shared limits")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def _report(self, kind: str, operation: str = "") -> Grant | None:
        """Report to the engine and book a slot. Return None if it is away."""
        loop, rate = running_loop(), self.limits.per_operation.get(operation, 0.0)
        pause, self._pause = self._pause, 0.0
        key = f"{self._keys[0]}:{operation}" if rate else self._keys[0]
        is_local = loop.time() < self._local_until < float("inf")  # away: it is back, if it answers
        was_away, self._asks = self._local_until == float("inf"), self._asks + 1
        self._asked_at = loop.time()
        arguments = (
            self._worker, int(is_local or was_away), kind, *bucket_of(self._rate),
            self._rate * self._local_share, self._rate * SAFE_SHARE, math.ceil(pause * 1000), rate,
        )  # fmt: skip
        try:
            reply = await self._fleet.connection.script(BUCKET, [*self._keys, key], arguments)
            grace, workers, per_second, wait, slot = (int(each) for each in reply)
        except Exception as error:
            if not isinstance(error, EngineUnavailableError | ConfigurationError):  # the fleet may be closed
                logger.error("the shared limits failed with %s", type(error).__name__)
            self._pause = max(self._pause, pause)
            if self._local_until < float("inf"):
                rate = self._rate * self._share
                logger.warning("the shared limits work with a local share of %.3g requests/s: %s", rate, error)
            self._local_until = float("inf")
            return None
        now = loop.time()
        self._grant = Grant(workers, per_second / 1e3, now + wait / 1e4, None if slot < 0 else now + slot / 1e4)
        if was_away:  # the others may not have noticed yet that the engine is back
            self._local_until = now + GRACE
        elif grace:
            self._local_until = max(self._local_until, now + grace / 1e3)
        return self._grant

    async def _beat(self) -> None:
        """Report now and then, so that the engine knows of this worker, and this worker of the engine."""
        loop = running_loop()
        while True:
            await asyncio.sleep(PROBE)
            if loop.time() - self._asked_at >= (PROBE if loop.time() < self._local_until else HEARTBEAT) * 0.9:
                await self._report("")
