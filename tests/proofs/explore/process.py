"""A process of the user's: its own event loop, clock, client and connection to the journal, and a program of calls."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import math
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import attrs

from brokerage_async import Client, Environment, RefreshToken, RetryPolicy, models, tickets
from brokerage_async.order_entry import OrderEntry, OrderGuard, ReconcilePolicy

from .journal_link import JournalLink
from .loop import ProcessLoop
from .wire import Wire

if TYPE_CHECKING:
    from .world import World

CURRENT: contextvars.ContextVar[Call | None] = contextvars.ContextVar("CURRENT", default=None)

ENVIRONMENT = Environment.sandbox("https://sandbox.explorer.invalid")
CREDENTIALS = RefreshToken(client_secret="explorer-secret", refresh_token="explorer-refresh")
ORDER = tickets.limit(tickets.buy_to_open("AAPL", 10), price="10")
VALUE = 100
"""Dollars that one order is worth."""
EXIT = tickets.sell_to_close("AAPL", 10)
EDIT = models.OrderEdit.of(ORDER, price="11")
CLOSE = attrs.evolve(tickets.limit(EXIT, price="10"), advanced_instructions=None)
VERSION = "20261012"
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
        match self.kind:
            case "place":
                again = f", resubmit={self.resubmit}" if self.resubmit else ""
                return f"place{'_complex' if self.is_complex else ''}({self.identifier}{again})"
            case "abandon":
                return f"abandon({self.identifier})"
            case "wait":
                return f"wait({self.seconds:g})"
            case "cancel":
                return f"cancel{'_complex' if self.is_complex else ''}({'wait' if self.waits else ''})"
        return f"{self.kind}()"


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
    ended: float | None = None
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


class Process:
    """One process. Dead ones never run again."""

    def __init__(self, world: World, name: str, program: Program) -> None:
        self.world = world
        self.name = name
        self.posted = 0
        self.digest = 0
        self.lag = 0.0
        self.frozen_until: float | None = None
        self.outage_until = -1.0
        self.dies_after_submit = program.dies
        self.is_unheard = program.unheard
        self.is_barred = program.barred
        self.disturbed = False
        self.is_dead = False
        self.has_started = False
        self.call: Call | None = None
        self.calls: list[Call] = []
        self.rings_left = world.scope.rings
        self.rings: list[Callable[[], None]] = []
        self._heard_at = -1.0
        self._summary: int | None = None
        self._steps = deque(program.steps)
        self._handles = 0
        self._owned = 0
        self.loop = ProcessLoop(self.time)

    def time(self) -> float:
        """Return the monotonic clock of this process."""
        return self.world.now - self.lag

    def moment(self, time: float) -> float:
        """Return the time of the world when the clock of this process shows ``time``, never earlier."""
        moment = time + self.lag
        while moment - self.lag < time:
            moment = math.nextafter(moment, math.inf)
        return moment

    @property
    def is_frozen(self) -> bool:
        """Return whether the process does not run at the moment."""
        return self.frozen_until is not None

    @property
    def is_done(self) -> bool:
        """Return whether there is nothing left for it to do."""
        return self.is_dead or (self.has_started and self.call is None and not self._steps)

    @property
    def is_busy(self) -> bool:
        return self.call is not None and not self.is_dead

    def start(self) -> None:
        """Begin the first call."""
        self.has_started = True
        world, times, cap, push = self.world, self.world.scope.times, self.world.scope.cap, self.rings_left > 0
        retry = RetryPolicy(jitter=lambda: 0.5, max_attempts=times.attempts, max_retry_after=times.retry_after)
        options = {"transport": Wire(world, self), "retry": retry, "timeout": times.timeout, "accept_version": VERSION}
        client = Client(ENVIRONMENT, CREDENTIALS, **options)
        over = SimpleNamespace(session=client.session, environment=ENVIRONMENT, stream=Stream(self)) if push else client
        policy = ReconcilePolicy(
            visibility_delay=times.visibility_delay,
            first=times.first,
            factor=2.0,
            max_interval=times.max_interval,
            give_up=times.give_up,
        )
        link = JournalLink(world, self) if world.file is None else world.file.open(self)
        guard = OrderGuard(max_value_per_day=cap * VALUE) if cap else None
        self.entry = OrderEntry(over, link, guard=guard, reconcile=policy, lease=times.lease, push=push)
        if world.allows("cancel"):
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
        """Let the doorbell ring for every search under way."""
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

    def call_now(self) -> Call | None:
        """Return the call in whose context this code runs."""
        return CURRENT.get()

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
        call.ended = self.world.now
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


class Stream:
    """The account stream of a process: its searches hear what the world decides."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def check_account(self) -> None:
        """Do nothing: the stream can be used."""

    def doorbell(self, account_numbers: Any, events: frozenset[str]) -> Any:
        """Return a doorbell. The world makes it ring."""
        return self._listening

    @asynccontextmanager
    async def _listening(self, ring: Callable[[], None]) -> AsyncIterator[None]:
        self._process.rings.append(ring)
        try:
            yield
        finally:
            self._process.rings.remove(ring)


def summary(call: Call) -> tuple[object, ...]:
    """Return the facts that the judge needs of a call that has ended, or died."""
    reported = call.result if isinstance(call.result, list) else [call.result]
    error = call.error
    return (
        call.step,
        call.cancelled,
        call.unacknowledged,
        call.moves,
        call.earlier,
        tuple((getattr(p, "outcome", p), getattr(p, "order_id", None)) for p in reported),
        type(error),
        getattr(error, "code", None),
        tuple(getattr(error, "__notes__", ())),
        str(getattr(error, "placement", None)),
        str(getattr(error, "placements", None)),
    )


@functools.cache
def new_order(identifier: str, *, closing: bool) -> models.NewOrder:
    """Return an order that stays working: it buys, or closes a position without asking for validation."""
    return attrs.evolve(CLOSE if closing else ORDER, external_identifier=identifier)


@functools.cache
def new_complex_order(identifier: str) -> models.NewComplexOrder:
    return tickets.bracket(new_order(identifier, closing=False), profit=PROFIT, loss=LOSS)
