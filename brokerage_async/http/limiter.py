"""Bounds on concurrency and rate of requests: lanes, and their adaptation to 429.

A `Lane` admits calls strictly in order of arrival. It needs no task: a waiting call is a future, woken by the release
of a slot or by one timer per lane. Admission without waiting is a plain function call.
"""

from __future__ import annotations

import asyncio
import enum
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

from ..config import Limits
from ..operation import Effect, Operation

RECOVERY = 0.25
"""Share of a slot that a full round of successes returns to a lane whose bound a 429 has halved.

A whole slot, as in TCP, runs into the next 429 too soon, which pauses every call
(`python -m benchmarks.bulk --only throttled`)."""


MAX_DELAY = 1.0
"""Seconds after its send within which a request is taken to arrive, if no answer says so earlier."""


class LaneName(enum.StrEnum):
    """Lanes: bulk reads never hold up a cancel, and neither holds up a token."""

    READS = "reads"
    TRADES = "trades"
    TOKENS = "tokens"


@runtime_checkable
class SharedLimits(Protocol):
    """Limits of several processes together.

    Attributes:
        limits: bounds of each process.
    """

    limits: Limits

    async def acquire(self, lane: LaneName, operation: str) -> None:
        """Wait for the permission to send one request now."""
        ...

    def throttled(self, pause: float) -> None:
        """Note a 429 that makes this process pause."""
        ...


class Lane:
    """Admits calls in order of arrival, under a bound on concurrency, a rate, and a "not before" gate.

    The bound adapts: a 429 halves it (once for all the requests that were in flight together) and closes the gate for
    a while for every call of the lane, each success lets it grow back by a fraction.

    Args:
        capacity: most calls admitted at once, None for no bound.
        rate: most admissions per second, None for no bound.
        adaptive: whether 429 changes the bound.
        on_throttled: called with the seconds of each pause.

    Attributes:
        window: current bound on concurrency.
        in_flight: number of calls admitted now.
        streak: number of consecutive 429 answers.
    """

    __slots__ = ("_adaptive", "_capacity", "_gate", "_next_slot", "_on_throttled", "_spacing", "_timer", "_waiters",
                 "_window_since", "in_flight", "streak", "window")  # fmt: skip

    def __init__(
        self,
        capacity: int | None,
        rate: float | None = None,
        *,
        adaptive: bool = True,
        on_throttled: Callable[[float], None] | None = None,
    ) -> None:
        self._capacity = float("inf") if capacity is None else float(capacity)
        self.window: float = self._capacity
        self._window_since = float("-inf")
        self._spacing = 0.0 if rate is None else 1.0 / rate
        self._adaptive = adaptive
        self._gate = self._next_slot = float("-inf")
        self.streak: int = 0
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self.in_flight: int = 0
        self._on_throttled = on_throttled

    @property
    def waiting(self) -> int:
        """Number of calls that wait."""
        return sum(not waiter.done() for waiter in self._waiters)

    def try_acquire(self, now: float) -> bool:
        """Enter without waiting if no call is ahead. Return whether it did."""
        if self._waiters or self.in_flight + 1 > self.window or now < self._gate or now < self._next_slot:
            return False
        self.in_flight += 1
        self._next_slot = now + self._spacing
        return True

    async def acquire(self) -> None:
        """Enter when it is this call's turn. A cancelled wait frees its slot."""
        loop = asyncio.get_running_loop()
        waiter = loop.create_future()
        self._waiters.append(waiter)
        self._admit(loop)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self.release()
            else:
                self._admit(loop)
            raise

    def is_open(self, now: float) -> bool:
        """Return whether the gate is open. Check again after waiting for anything else."""
        return now >= self._gate

    def release(self) -> None:
        """Leave the lane and admit the next waiter."""
        self.in_flight -= 1
        if self._waiters:
            self._admit(asyncio.get_running_loop())

    def space(self, now: float) -> None:
        """Count the spacing from now, the moment of a send, rather than from its admission."""
        self._next_slot = now + self._spacing

    def succeeded(self, started: float) -> None:
        """Note that a call that was sent at ``started`` was not throttled. From before the last 429 it says nothing."""
        if started < self._window_since:
            return
        self.streak = 0
        if self.window < self._capacity:
            self.window = min(self._capacity, self.window + RECOVERY / self.window)

    def throttled(self, now: float, started: float, pause: Callable[[int], float]) -> None:
        """Note a 429 for a call that was sent at ``started`` and has not left the lane yet.

        ``pause(streak)`` returns the seconds to close the gate for. Requests that were in flight together are refused
        together and count as one event.
        """
        if started >= self._window_since:
            self.streak += 1
            self._window_since = now
            if self._adaptive:
                self.window = max(1.0, min(self.window, self.in_flight) / 2.0)
        seconds = pause(max(1, self.streak))
        self._gate = max(self._gate, now + seconds)
        if self._on_throttled is not None:
            self._on_throttled(seconds)

    def close(self, error: Callable[[], BaseException]) -> None:
        """Fail every queued waiter with ``error()``."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_exception(error())

    def _admit(self, loop: asyncio.AbstractEventLoop) -> None:
        """Admit the waiters that may enter now. Set the timer if only time holds up the next one."""
        while self._waiters:
            if self._waiters[0].done():
                self._waiters.popleft()
                continue
            if self.in_flight + 1 > self.window:
                return
            now = loop.time()
            opens = max(self._gate, self._next_slot)
            if now < opens:
                if self._timer is None or self._timer.cancelled() or self._timer.when() != opens:
                    if self._timer is not None:
                        self._timer.cancel()
                    self._timer = loop.call_at(opens, self._on_timer, loop)
                return
            self.in_flight += 1
            self._next_slot = now + self._spacing
            self._waiters.popleft().set_result(None)

    def _on_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        self._admit(loop)


class Rate:
    """Keeps the calls of one operation to a rate, by the clock of the service as well.

    Sends are spaced. Since each may be delayed by another time, of the network or of a busy service, they may yet
    arrive closer together. So each also has a place, which is free again a window after its answer: whatever arrives in
    one window had a place of its own.
    """

    __slots__ = ("places", "turn", "window")

    def __init__(self, rate: float) -> None:
        count = max(1, int(rate))
        self.turn: Lane = Lane(1, rate, adaptive=False)
        self.places: Lane = Lane(count, adaptive=False)
        self.window: float = count / rate

    def try_acquire(self, now: float) -> bool:
        """Enter without waiting if no call is ahead. Return whether it did."""
        if not self.turn.try_acquire(now):
            return False
        if self.places.try_acquire(now):
            return True
        self.turn.release()
        return False

    async def acquire(self) -> None:
        """Enter when it is this call's turn. A cancelled wait frees its turn."""
        await self.turn.acquire()
        try:
            await self.places.acquire()
        except BaseException:
            self.turn.release()
            raise

    def withdraw(self) -> None:
        """Leave without a send."""
        self.turn.release()
        self.places.release()

    def sent(self) -> asyncio.TimerHandle:
        """Let the next call have its turn. The place is kept as long as the request may be under way."""
        loop = asyncio.get_running_loop()
        self.turn.space(loop.time())
        self.turn.release()
        return loop.call_later(MAX_DELAY + self.window, self.places.release)

    def answered(self, place: asyncio.TimerHandle) -> None:
        """Free a place a window from now: its request has arrived, or never will."""
        loop = asyncio.get_running_loop()
        if loop.time() + self.window < place.when():
            place.cancel()
            loop.call_later(self.window, self.places.release)


class Limiter:
    """Lanes of one client, the route of each operation through them, and the budget that several processes share."""

    __slots__ = ("_added", "_closed", "_lanes", "_paced", "_per_operation", "_routes", "_waits", "shared")

    def __init__(self, given: Limits | SharedLimits) -> None:
        self.shared: SharedLimits | None = None if isinstance(given, Limits) else given
        limits = given if isinstance(given, Limits) else given.limits
        bounds = {
            LaneName.READS: (limits.reads, limits.reads_per_second),
            LaneName.TRADES: (limits.trades, limits.trades_per_second),
            LaneName.TOKENS: (limits.tokens, None),
        }
        throttled = None if self.shared is None else self.shared.throttled
        self._lanes = {
            name: Lane(*bound, adaptive=limits.adaptive, on_throttled=throttled) for name, bound in bounds.items()
        }
        self._per_operation = {name: Rate(rate) for name, rate in limits.per_operation.items()}
        self._routes: dict[str, tuple[Lane, Rate | None]] = {}
        self._waits: set[asyncio.Timeout] = set()
        self._closed: Callable[[], BaseException] | None = None
        self._added: Mapping[str, Rate] = {}
        self._paced = 0

    def __getitem__(self, name: LaneName) -> Lane:
        return self._lanes[name]

    def route(self, operation: Operation[object]) -> tuple[Lane, Rate | None]:
        """Return the lane of ``operation`` and, if it has one, the rate to enter first."""
        found = self._routes.get(operation.name)
        if found is None:
            lane = self._lanes[_lane_name(operation)]
            found = self._routes[operation.name] = (lane, self._per_operation.get(operation.name))
        return found

    @contextmanager
    def paced(self, rates: Mapping[str, float]) -> Iterator[None]:
        """Keep operations that have no rate to these, until the last such context ends."""
        if not self._paced:
            self._added = {name: Rate(rate) for name, rate in rates.items()}
            self._per_operation = self._added | self._per_operation
            self._routes.clear()
        self._paced += 1
        try:
            yield
        finally:
            self._paced -= 1
            if not self._paced:
                for name, rate in self._added.items():
                    if self._per_operation[name] is rate:
                        del self._per_operation[name]
                self._routes.clear()

    async def permit(self, operation: Operation[Any]) -> None:
        """Wait for the permission of the shared limits, if there are any. It does not keep, so this comes last."""
        if self.shared is None:
            return
        scope = asyncio.timeout(None)
        self._waits.add(scope)
        try:
            async with scope:
                await self.shared.acquire(_lane_name(operation), operation.name)
        except TimeoutError:
            if self._closed is None:
                raise
            raise self._closed() from None
        finally:
            self._waits.discard(scope)

    def close(self, error: Callable[[], BaseException]) -> None:
        """Fail every queued waiter with ``error()``."""
        self._closed = error
        for scope in self._waits:
            scope.reschedule(asyncio.get_running_loop().time())
        rates = self._per_operation.values()
        for lane in (*self._lanes.values(), *(lane for rate in rates for lane in (rate.turn, rate.places))):
            lane.close(error)


def _lane_name(operation: Operation[object]) -> LaneName:
    if operation.scope is None:
        return LaneName.TOKENS
    return LaneName.READS if operation.effect is Effect.READ else LaneName.TRADES
