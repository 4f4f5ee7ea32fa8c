"""A process of the user's: its own event loop, clock, client and connection to the journal, and a program of calls."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import heapq
import itertools
import math
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import attrs

from brokerage_async import Client, Environment, RefreshToken, RetryPolicy, models, tickets
from brokerage_async.order_entry import OrderEntry, OrderGuard, ReconcilePolicy

from .journal import JournalLink
from .wire import CURRENT, Wire

if TYPE_CHECKING:
    from .world import World

ENVIRONMENT = Environment.sandbox("https://sandbox.explorer.invalid")
CREDENTIALS = RefreshToken(client_secret="explorer-secret", refresh_token="explorer-refresh")
ORDER = tickets.limit(tickets.buy_to_open("AAPL", 10), price="10")
MAX_HANDLES = 20_000
"""So many callbacks may run in one moment; more means that something spins."""
VALUE = 100
"""Dollars that one order is worth."""
EXIT = tickets.sell_to_close("AAPL", 10)
EDIT = models.OrderEdit.of(ORDER, price="11")
CLOSE = attrs.evolve(tickets.limit(EXIT, price="10"), advanced_instructions=None)
PROFIT, LOSS = tickets.limit(EXIT, price="900"), tickets.stop(EXIT, trigger="5")


@attrs.frozen
class Step:
    """One call of a program: ``place``, ``recover``, ``abandon``, ``halt``, ``wait``, or a change of the working order.

    ``is_complex``: it is about a complex order. ``waits``: a cancellation waits for the end of the order.
    """

    kind: str
    identifier: str = "X"
    resubmit: int = 0
    account: str = "A1"
    seconds: float = 0.0
    is_complex: bool = False
    waits: bool = False

    def __str__(self) -> str:
        again = f", resubmit={self.resubmit}" if self.resubmit else ""
        details = {
            "place": f"{self.identifier}{again}",
            "abandon": self.identifier,
            "wait": f"{self.seconds:g}",
            "cancel": "wait" if self.waits else "",
        }
        return f"{self.kind}{'_complex' if self.is_complex else ''}({details.get(self.kind, '')})"


@attrs.frozen(kw_only=True)
class Program:
    """Calls of a process: ``steps`` one after the other, starting at any moment, or at once if ``first``.

    It ``dies`` when its first submit is processed. If it is ``unheard``, the submit vanishes instead. Lists of orders
    are refused to one that is ``barred``.
    """

    steps: tuple[Step, ...]
    dies: bool = False
    unheard: bool = False
    barred: bool = False
    first: bool = False


@attrs.define(eq=False)
class Call:
    """One call of order entry, its result and its history."""

    process: Process
    step: Step
    began: float
    task: asyncio.Task[Any] | None = None
    result: Any = None
    error: BaseException | None = None
    cancelled: bool = False
    turned_away: bool = False
    unacknowledged: bool = False
    moves: int = 0
    earlier: int = 0
    sought: frozenset[tuple[str, str]] = frozenset()

    def __str__(self) -> str:
        return f"{self.process.name}.{self.step}"


class ProcessLoop(asyncio.AbstractEventLoop):
    """Runs callbacks in order of arrival and never waits.

    ``clock`` gives the time of this process. ``before_each`` is called before every callback: the place where a
    cancellation can come from another task of the same process. Sockets and threads do not exist here, but a blocking
    function given to `run_in_executor` goes to ``blocking``.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.time = clock  # type: ignore[method-assign]
        self.before_each: Callable[[], None] | None = None
        self.blocking: Callable[[Callable[[], Any]], asyncio.Future[Any]] | None = None
        self.uncaught: list[str] = []
        self.tasks: list[asyncio.Task[Any]] = []
        self._ready: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._number = itertools.count()

    def run_ready(self) -> None:
        ready, before_each = self._ready, self.before_each
        if not ready:
            return
        asyncio._set_running_loop(self)
        try:
            for _ in range(MAX_HANDLES):
                if not ready:
                    return
                if before_each is not None:
                    before_each()
                handle = ready.popleft()
                if not handle._cancelled:  # type: ignore[attr-defined]
                    handle._run()  # type: ignore[attr-defined]
            raise RuntimeError("time stands still: something spins")
        finally:
            asyncio._set_running_loop(None)

    def next_timer(self) -> float | None:
        """Return when the next timer is due, by this loop's clock."""
        timers = self._timers
        while timers and timers[0][2].cancelled():
            heapq.heappop(timers)
        return timers[0][0] if timers else None

    def fire_timers(self) -> bool:
        """Make every timer that is due ready. Return whether there was one."""
        fired, now = False, self.time()
        while (due := self.next_timer()) is not None and due <= now:
            self._ready.append(heapq.heappop(self._timers)[2])
            fired = True
        return fired

    def finish(self) -> None:
        """Cancel what still runs, until nothing does."""
        self.before_each = None
        for _ in range(100):
            going = [task for task in self.tasks if not task.done()]
            for task in going:
                task.cancel()
            self._ready.extend(heapq.heappop(self._timers)[2] for _ in range(len(self._timers)))
            self.run_ready()
            if not going:
                break
        self._timers.clear()

    # Methods that asyncio needs.

    def call_soon(self, callback: Any, *args: Any, context: Any = None) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_later(self, delay: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> asyncio.TimerHandle:
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._number), handle))
        return handle

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        pass  # dropped when its time comes

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=self, **options)
        self.tasks.append(task)
        return task

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:
        assert self.blocking is not None, "this process has no threads"
        return self.blocking(lambda: func(*args))

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.uncaught.append(f"{context.get('message')}: {context.get('exception')!r}")

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False


class Process:
    """One process. Dead ones never run again."""

    def __init__(self, world: World, name: str, program: Program) -> None:
        self.world, self.name, self.program = world, name, program
        self.posted = self.digest = 0
        self.lag = 0.0
        self.frozen_until: float | None = None
        self.outage_until = -1.0
        self.disturbed = self.is_dead = self.has_started = False
        self.call: Call | None = None
        self.calls: list[Call] = []
        self.rings_left = world.scope.rings
        self.rings: list[Callable[[], None]] = []
        self._heard_at = -1.0
        self._summary: int | None = None
        self._steps = deque(program.steps)
        self._handles = self._owned = 0
        self.loop = ProcessLoop(self.time)

    def time(self) -> float:
        return self.world.now - self.lag

    def moment(self, time: float) -> float:
        """Return the time of the world when the clock of this process shows ``time``, never earlier."""
        moment = time + self.lag
        while moment - self.lag < time:
            moment = math.nextafter(moment, math.inf)
        return moment

    @property
    def is_frozen(self) -> bool:
        return self.frozen_until is not None

    @property
    def is_done(self) -> bool:
        return self.is_dead or (self.has_started and self.call is None and not self._steps)

    @property
    def is_busy(self) -> bool:
        return self.call is not None and not self.is_dead

    def start(self) -> None:
        self.has_started = True
        world, times, cap, push = self.world, self.world.scope.times, self.world.scope.cap, self.rings_left > 0
        retry = RetryPolicy(jitter=lambda: 0.5, max_attempts=times.attempts, max_retry_after=times.retry_after)
        settings = {"retry": retry, "timeout": times.timeout, "accept_version": "20261012"}
        client = Client(ENVIRONMENT, CREDENTIALS, transport=Wire(world, self), **settings)
        over = SimpleNamespace(session=client.session, environment=ENVIRONMENT, stream=self) if push else client
        shared = {name: getattr(times, name) for name in ("visibility_delay", "first", "max_interval", "give_up")}
        policy = ReconcilePolicy(factor=2.0, **shared)
        guard = OrderGuard(max_value_per_day=cap * VALUE) if cap else None
        link = JournalLink(world, self)
        self.entry = OrderEntry(over, link, guard=guard, reconcile=policy, lease=times.lease, push=push)
        if "cancel" in world.scope.kinds:
            self.loop.before_each = self._may_be_cancelled
        self._next()

    def observe(self, *what: Any) -> None:
        """Take note of something that this process has seen: two histories with equal notes go on equally."""
        self.digest = hash((self.digest, self.world.now, what))

    @property
    def state(self) -> int:
        """Return a hash of everything that the future of this process depends on, and of the reports to its callers.

        Once nothing of it is under way, it no longer matters when it has seen things.
        """
        if self._summary is None and self.is_done and (self.is_dead or self._is_idle()):
            self._summary = hash((self.is_dead, tuple([summary(call) for call in self.calls])))
        return self.digest if self._summary is None else self._summary

    def _is_idle(self) -> bool:
        return self.loop.next_timer() is None and all(task.done() for task in self.loop.tasks)

    @property
    def may_hear(self) -> bool:
        """Return True if a search is under way that can hear an event of the stream, the first of this moment."""
        hears = self.is_busy and not self.is_frozen and bool(self.rings_left and self.rings)
        return hears and self._heard_at < self.world.now

    def hear(self) -> None:
        self.rings_left -= 1
        self._heard_at = self.world.now
        self.observe("rings")
        for ring in self.rings:
            self.loop.call_soon(ring)

    def name_owner(self, owner: str | None) -> None:
        """Give the random name of an owner one that is the same in every run."""
        if owner is not None and owner not in self.world.owners:
            self._owned += 1
            self.world.owners[owner] = f"{self.name}{self._owned}"

    def _next(self) -> None:
        if not self._steps:
            self.call = None
            return
        world = self.world
        call = self.call = Call(self, self._steps.popleft(), world.now, moves=world.moves, earlier=len(world.sends))
        self.calls.append(call)
        self.disturbed = False
        if call.step.kind == "recover":
            call.sought = self.world.listed_open_entries()
            self.observe("recovers", call.sought)
        context = contextvars.copy_context()
        context.run(CURRENT.set, call)
        self._handles = 0
        call.task = self.loop.create_task(self._make(call.step), context=context)
        call.task.add_done_callback(self._end)
        self.world.say(f"{call} begins")

    async def _make(self, step: Step) -> Any:
        match step.kind:
            case "place" if step.is_complex:
                bracket = new_complex_order(step.identifier)
                return await self.entry.place_complex(step.account, bracket, resubmit=step.resubmit)
            case "place":
                order = new_order(step.identifier, closing=self.world.scope.adversary)
                return await self.entry.place(step.account, order, resubmit=step.resubmit)
            case "recover":
                return await self.entry.recover()
            case "halt":
                return await self.entry.halt("enough")
            case "abandon":
                return await self.entry.abandon(step.account, step.identifier, note="settled by hand")
            case "cancel" | "replace" if (life := self.world.life) is not None:
                if step.kind == "replace":
                    return await self.entry.replace(step.account, life.target, EDIT)
                cancel = self.entry.cancel_complex if step.is_complex else self.entry.cancel
                return await cancel(step.account, life.target, wait=step.waits)
        return await asyncio.sleep(step.seconds)

    def _end(self, task: asyncio.Task[Any]) -> None:
        call = self.call
        if call is None or call.task is not task or self.world.over:
            return
        try:
            call.result = task.result()
        except BaseException as error:
            call.error = error
        self.world.ended(call)
        self._next()

    def _may_be_cancelled(self) -> None:
        """Let the call be cancelled between any two callbacks of its loop, as another task of the process can."""
        call = self.call
        if call is None or self.world.budget < 1 or call.cancelled or call.step.kind == "wait":
            return
        self._handles += 1
        if self.world.choices.flip() and not call.task.done():
            self.world.budget -= 1
            call.cancelled = True
            self.observe("cancelled", self._handles)
            self.world.say(f"{call} is cancelled, before callback {self._handles}")
            call.task.cancel()

    # The account stream, whose searches hear what the world decides.

    def check_account(self) -> None:
        pass  # it can be used

    def doorbell(self, account_numbers: Any, events: frozenset[str]) -> Any:
        return self._listening

    @asynccontextmanager
    async def _listening(self, ring: Callable[[], None]) -> AsyncIterator[None]:
        self.rings.append(ring)
        try:
            yield
        finally:
            self.rings.remove(ring)


def summary(call: Call) -> tuple[object, ...]:
    """Return the facts that the judge needs of a call that has ended, or died."""
    reported = call.result if isinstance(call.result, list) else [call.result]
    error = call.error
    told = [(getattr(p, "outcome", p), getattr(p, "order_id", None)) for p in reported]
    carried = [str(getattr(error, name, None)) for name in ("code", "__notes__", "placement", "placements")]
    return call.step, call.cancelled, call.unacknowledged, call.moves, call.earlier, *told, type(error), *carried


@functools.cache
def new_order(identifier: str, *, closing: bool) -> models.NewOrder:
    """Return an order that stays working: it buys, or closes a position without asking for validation."""
    return attrs.evolve(CLOSE if closing else ORDER, external_identifier=identifier)


@functools.cache
def new_complex_order(identifier: str) -> models.NewComplexOrder:
    return tickets.bracket(new_order(identifier, closing=False), profit=PROFIT, loss=LOSS)
