"""The request budget of a customer, shared by all workers over the engine."""

from __future__ import annotations

import asyncio
import itertools
import logging
import random

import attrs

from .._arguments import check_number, check_positive, running_loop
from ..config import Limits
from ..errors import ConfigurationError
from ..http.limiter import Lane, LaneName
from .ask import ASK, GRACE, LEAVE
from .budget import Budget, Grant, bucket_of, local_rate
from .connection import EngineUnavailableError, check_name
from .fleet import Fleet
from .pacer import LanePacer

__all__ = ["LimitsStatus", "RedisLimits"]

logger: logging.Logger = logging.getLogger("brokerage_async.fleet")

HORIZON = 0.04
"""Seconds for which reads book slots in advance: about a round trip, since a trade may have to wait behind them."""

HEARTBEAT = 2.0
"""Seconds between two calls of the engine by an idle worker; held tokens lapse without."""

PROBE = 0.5
"""Seconds between two calls while working locally."""

PATIENCE = 0.05
"""Seconds that a trade waits for an answer of the engine before it goes on the local share."""

PARTS = ("state", "seen", "lost", "queue", "due", "tags")
"""Ends of the names of the keys."""

MAX_BATCH = 64
"""Most tokens held, and most slots asked for at once."""

NUMBERS = itertools.count(1)
DEFAULT_LIMITS = Limits()
MIN_WAIT = 0.002


@attrs.frozen(kw_only=True)
class LimitsStatus:
    """State of the shared budget as this process sees it.

    Attributes:
        requests_per_second: the whole budget.
        rate: requests per second that the engine hands out now, after 429 and the shares of workers that work locally.
        workers: workers seen in the last minute.
        waiting_workers: workers whose reads wait for their turn.
        is_local: whether this process works with its local share.
        local_rate: that share, in requests per second.
        held: tokens that this process may use without asking.
        asks: calls of the engine that this process has made.
    """

    requests_per_second: float
    rate: float | None
    workers: int | None
    waiting_workers: int | None
    is_local: bool
    local_rate: float
    held: int
    asks: int


class RedisLimits:
    """Limits whose requests per second hold for all workers of a fleet together.

    Trades, and requests for tokens, go before the reads of all workers. Reads are shared fairly: each worker that
    waits gets as many as the others. A 429 slows all workers down. An idle worker holds a few tokens, so that the usual
    call asks nothing. While the engine is away, and a few seconds longer, each worker works with a local share.

    ``Client(environment, credentials, limits=RedisLimits(fleet, requests_per_second=50))``

    Args:
        fleet: the connection.
        requests_per_second: the budget; no second sees more requests, from all workers together.
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
        if not isinstance(fleet, Fleet):
            raise ConfigurationError(f"fleet must be a Fleet, got {type(fleet).__name__}")
        if not isinstance(limits, Limits):
            raise ConfigurationError(f"limits must be of type Limits, got {type(limits).__name__}")
        check_positive("requests_per_second", check_number("requests_per_second", requests_per_second))
        check_positive("local_share", check_number("local_share", local_share, maximum=1.0))
        self.limits: Limits = limits
        self._fleet = fleet
        self._number = next(NUMBERS)
        self._rate = float(requests_per_second)
        self._local_share = float(local_share)
        self._keys = [fleet.connection.key("limits", check_name(name), part) for part in PARTS]
        self._share = local_rate(self._rate, self._local_share, 1)
        self._budget = Budget(self._share)
        self._lanes: dict[LanePacer, Lane] = {}
        self._last: Grant | None = None
        self._asks = 0
        self._pause = 0.0
        self._is_away = False
        self._is_planned = False
        self._known_trades = 0
        self._asked_at = self._next_ask = float("-inf")
        self._asking: asyncio.Task[None] | None = None
        self._ask_timer: asyncio.TimerHandle | None = None
        self._wake_timer: asyncio.TimerHandle | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._closed = False
        fleet.add("limits", self)

    def __repr__(self) -> str:
        return f"RedisLimits({self._fleet.connection.name!r}, requests_per_second={self._rate:g})"

    @property
    def _worker(self) -> str:
        """Name in the engine: a process may have several limits."""
        return f"{self._fleet.worker}-{self._number}"

    def pacer(self, name: LaneName) -> LanePacer:
        """Return the pacer of one lane of a client."""
        return LanePacer(self, self._budget, is_trade=name is not LaneName.READS)

    async def status(self) -> LimitsStatus:
        """Return the state as of the last answer of the engine."""
        now, last = running_loop().time(), self._last
        known = last if last is not None and not self._is_away else None
        return LimitsStatus(
            requests_per_second=self._rate,
            rate=None if known is None else known.rate,
            workers=None if known is None else known.workers,
            waiting_workers=None if known is None else known.waiting,
            is_local=now < self._budget.local_until,
            local_rate=self._share,
            held=self._budget.current_held(now),
            asks=self._asks,
        )

    async def aclose(self) -> None:
        """Leave the fleet; calls that still come work with the local share."""
        if self._closed:
            return
        self._closed = True
        for timer in (self._ask_timer, self._wake_timer, self._patience):
            if timer is not None:
                timer.cancel()
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.wait({self._asking})
        self._budget.local_until = float("inf")
        self._wake()
        self._plan(running_loop())  # for calls that wait
        if self._asks:
            try:
                await self._fleet.connection.script(LEAVE, self._keys, [self._worker])
            except EngineUnavailableError as error:
                logger.debug("the fleet was left without a word: %s", error)

    # Lanes

    def attach(self, pacer: LanePacer, lane: Lane) -> None:
        """Wake ``lane`` whenever it may have permissions."""
        self._lanes[pacer] = lane

    def detach(self, pacer: LanePacer) -> None:
        """Stop waking the lane."""
        self._lanes.pop(pacer, None)

    def refused(self, *, is_trade: bool) -> None:
        """Note that a request has to wait for a permission."""
        if is_trade:
            self._budget.trade_waits = True
        loop = running_loop()
        if is_trade and not self._closed:
            self._be_patient(loop)
        if not self._is_planned:
            self._is_planned = True
            loop.call_soon(self._plan, loop)  # the call is not among the waiters of its lane yet

    def throttled(self, pause: float) -> None:
        """Note a 429 for all workers."""
        self._pause = max(self._pause, pause)
        self._budget.drop()
        self._ask_soon()

    def refill(self) -> None:
        """Ask for tokens to hold, in the background."""
        self._budget.refill_at = -1
        self._ask_soon()

    def _ask_soon(self) -> None:
        if self._asking is None and not self._closed:
            loop = running_loop()
            self._ask_at(loop, loop.time())

    def _queued(self, *, is_trade: bool) -> int:
        return sum(lane.queued for pacer, lane in self._lanes.items() if pacer.is_trade is is_trade)

    def _wake(self) -> None:
        """Let the lanes take the permissions that are due, trades first."""
        self._wake_timer = None
        lanes = list(self._lanes.items())
        self._budget.trade_waits = False  # until a trade is refused
        for wanted in (True, False):
            for pacer, lane in lanes:
                if pacer.is_trade is wanted:
                    lane.wake()

    def _plan(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the timers: when a permission is due, and when to ask the engine."""
        self._is_planned = False
        now, budget = loop.time(), self._budget
        trades, reads = self._queued(is_trade=True), self._queued(is_trade=False)
        due = budget.ready_at(now)
        if (trades or reads) and now < due < float("inf"):  # one that is due now waits for room in its lane
            self._wake_at(loop, due)
        if self._asking is not None or self._closed:
            return
        if now < budget.local_until:
            when = max(self._next_ask, now + PROBE) if self._ask_timer is None else float("inf")
        elif trades > max(len(budget.trades), self._known_trades):
            when = now
        elif trades > len(budget.trades) or reads > len(budget.reads) or self._pause:
            when = max(now, self._next_ask)
        else:
            when = now + HEARTBEAT
        self._ask_at(loop, when)

    def _wake_at(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        if self._wake_timer is not None:
            if self._wake_timer.when() <= when:
                return
            self._wake_timer.cancel()
        self._wake_timer = loop.call_at(when, self._on_wake_timer, loop)

    def _on_wake_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        self._wake()
        self._plan(loop)

    # The engine

    def _ask_at(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        if self._ask_timer is not None:
            if self._ask_timer.when() <= when:
                return
            self._ask_timer.cancel()
        if when < float("inf"):
            self._ask_timer = loop.call_at(when, self._start_asking, loop)

    def _start_asking(self, loop: asyncio.AbstractEventLoop) -> None:
        self._ask_timer = None
        if self._asking is None and not self._closed:
            self._asked_at = loop.time()
            if self._asked_at >= self._budget.local_until:
                self._budget.stagger(self._asked_at, random.random())  # noqa: S311 - spreads load, guards no secret
            self._asking = loop.create_task(self._ask(loop), name="brokerage_async shared limits")
            self._asking.add_done_callback(self._asked)
            self._be_patient(loop)

    def _be_patient(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._patience is None:
            self._patience = loop.call_later(PATIENCE, self._bridge, loop)

    def _bridge(self, loop: asyncio.AbstractEventLoop) -> None:
        """Let a trade go on the local share while the engine is slow to answer."""
        self._patience = None
        if self._asking is None or self._closed or loop.time() < self._budget.local_until:
            return
        waiting = [(pacer, lane) for pacer, lane in self._lanes.items() if pacer.is_trade and lane.queued]
        if loop.time() >= self._asked_at + PATIENCE and not self._budget.trades:  # none is booked
            for pacer, lane in waiting:
                pacer.bridges = True
                lane.wake()
                pacer.bridges = False
        if waiting and self._patience is None:
            self._patience = loop.call_later(PATIENCE / 2, self._bridge, loop)

    async def _ask(self, loop: asyncio.AbstractEventLoop) -> None:
        """Report to the engine and ask it for permissions."""
        budget, asked_at = self._budget, loop.time()
        pause, self._pause = self._pause, 0.0
        spent, budget.spent = budget.spent, 0
        self._known_trades = self._queued(is_trade=True)
        wanted = [
            min(MAX_BATCH, max(0, self._queued(is_trade=is_trade) - len(slots)))
            for is_trade, slots in ((True, budget.trades), (False, budget.reads))
        ]
        arguments: tuple[str | float, ...] = (
            self._worker, *bucket_of(self._rate), *wanted, budget.current_held(asked_at), MAX_BATCH,
            int(self._share * 1000), int(asked_at < budget.local_until), spent, int(pause * 1000), int(HORIZON * 1000),
        )  # fmt: skip
        self._asks += 1
        try:
            reply = await self._fleet.connection.script(ASK, self._keys, arguments)
        except EngineUnavailableError as error:
            self._pause, budget.spent = max(self._pause, pause), budget.spent + spent
            self._go_local(loop.time(), error)
            return
        grant = Grant.read(reply, asked_at, loop.time())
        self._receive(grant)

    def _receive(self, grant: Grant) -> None:
        self._last = grant
        self._share = local_rate(self._rate, self._local_share, grant.workers)
        if self._is_away:  # the others may not have noticed yet that the engine is back
            self._is_away = False
            self._budget.local_until = grant.received_at + GRACE
        self._budget.receive(grant, self._share)
        self._next_ask = grant.received_at + max(MIN_WAIT, grant.wait, grant.paused)

    def _go_local(self, now: float, error: EngineUnavailableError) -> None:
        if not self._is_away:
            logger.warning("the shared limits work with a local share of %.3g requests/s: %s", self._share, error)
        self._is_away = True
        self._budget.drop()
        self._budget.local_until = float("inf")
        self._next_ask = now + PROBE

    def _asked(self, task: asyncio.Task[None]) -> None:
        """Let the lanes go on, and plan the next call of the engine."""
        self._asking = None
        if task.cancelled() or self._closed:
            return
        loop = running_loop()
        if (error := task.exception()) is not None:
            logger.error("the shared limits failed with %s", type(error).__name__)
            self._go_local(loop.time(), EngineUnavailableError("the engine gave an unknown answer"))
        self._wake()
        self._plan(loop)
