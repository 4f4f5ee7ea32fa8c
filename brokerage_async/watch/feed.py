"""Polling loops: the latest states of collections, and the positions of their consumers within them."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
import math
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar

import attrs

from .._arguments import check_flag, check_function, check_number, check_seconds, running_loop, validator
from ..config import chance
from ..errors import BrokerageError, ConfigurationError
from ..http.shared import BACKGROUND
from ..protocol.retry import Backoff, Fault, verdict_of
from ..protocol.streams.timing import Doorbell, LookBudget
from .diff import UNCHANGED, Change, Derive, Unchanged, change_of, keyed

logger: logging.Logger = logging.getLogger("brokerage_async.watch")

T = TypeVar("T")

CHUNK = 1000  # items that are compared at a time: in between, the event loop runs
MAX_LATENESS = 0.25  # seconds that a poll may be late and still take place: a later one is skipped
MAX_RETRY_AFTER = 900.0  # maximum seconds of a ``Retry-After`` that is honoured
MAX_CONSECUTIVE_REJECTIONS = 10  # polls in a row whose access token is rejected, each after a fresh one, end polling

Pacing = Callable[[], Awaitable[float]]  # returns the current interval in seconds, and is called after every poll
# Fetches the whole collection, or returns `UNCHANGED`.
FetchItems = Callable[[], Awaitable[Iterable[T] | Literal[Unchanged.UNCHANGED]]]
OnError = Callable[[Exception], None]  # called with every failure that does not end the iteration, unless it raises


def awaitable(name: str, result: Any) -> Awaitable[Any]:
    """Return what the function ``name`` has returned, which has to be awaited."""
    if not inspect.isawaitable(result):
        kind = type(result).__name__
        raise ConfigurationError(f"{name} must be a coroutine function, got one that returns a value of type {kind}")
    return result


def utc_now() -> datetime:
    return datetime.now(UTC)


def _comparable(interval: float | Pacing) -> object:
    """Return what tells intervals apart. A pacing object may not be hashable, as one of a dataclass."""
    try:
        hash(interval)
    except TypeError:  # a frozen one tells only then that it holds a list
        return id(interval)
    return interval


@attrs.frozen(kw_only=True)
class Schedule:
    """Times of the polls of one loop, with the options of `poll`. Delays by ``jitter`` do not add up."""

    interval: float | Pacing = attrs.field(eq=_comparable)
    min_interval: float = attrs.field(default=0.0, validator=validator(check_number))
    jitter: float = attrs.field(default=0.0, validator=validator(check_number, maximum=1))
    max_backoff: float = attrs.field(default=60.0, validator=validator(check_number))

    def __attrs_post_init__(self) -> None:
        if not callable(self.interval) and check_seconds("interval", self.interval) < self.min_interval:
            logger.warning(
                "interval of %g s is below the minimum: polling every %g s", self.interval, self.min_interval
            )

    async def current(self) -> float:
        """Return the current interval. Raise ConfigurationError if the pacing function does not return seconds."""
        interval = self.interval
        if callable(interval):
            interval = check_seconds("result of the pacing function", await awaitable("interval", interval()))
        return max(interval, self.min_interval)

    def next_due(self, due: float, interval: float, now: float) -> float:
        """Return the time of the next poll, on the grid of the interval, for one that was ``due`` and ended ``now``.

        Polls late by more than `MAX_LATENESS` are skipped, so that no burst follows a stall.
        """
        following = due + interval
        if now - following <= MAX_LATENESS:
            return following
        return following + math.ceil((now - following) / interval) * interval

    def backoff(self, failures: int, interval: float, retry_after: float | None = None) -> float:
        """Return the pause after ``failures`` in a row, doubling up to ``max_backoff``."""
        backoff = Backoff(first=interval, maximum=self.max_backoff, max_wish=MAX_RETRY_AFTER)
        return max(interval, backoff.pause(failures, wish=retry_after))


def is_fatal(error: Exception, repeated: int) -> bool:
    """Return True if polling must end after this failure, one of ``repeated`` ones of its class in a row.

    Lost answers, 408, 425, 429, 5xx, undecodable bodies and transient token failures are worth another poll, and so are
    rejected tokens, up to `MAX_CONSECUTIVE_REJECTIONS` in a row. A missing permission or resource, a revoked grant, a
    closed client or a bug in the fetch itself are not.
    """
    verdict = verdict_of(error)
    return verdict.lasts or (verdict.fault is Fault.CREDENTIALS and repeated >= MAX_CONSECUTIVE_REJECTIONS)


class Listener:
    """What the feeds know of a watcher. It does not refer to the watcher, so that a dropped one is collected."""

    def __init__(self, on_error: OnError | None = None) -> None:
        if on_error is not None:
            check_function("on_error", on_error)
        self._on_error = on_error
        self._woken = asyncio.Event()
        self.wake: Callable[[], None] = self._woken.set
        self.raised: Exception | None = None  # by ``on_error``, which ends the iteration that way

    async def wait(self, seconds: float | None = None) -> None:
        """Wait until a `wake` since the last wait, at most ``seconds``. The caller may have looked before that."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        self._woken.clear()

    def on_failure(
        self, error: Exception, message: str = "poll failed and will be repeated", level: int = logging.WARNING
    ) -> None:
        """Report a failure to ``on_error``. Without one, log it."""
        if self._on_error is None:
            operation, status = getattr(error, "operation", None), getattr(error, "status", None)
            logger.log(level, "%s: %s %s %s", message, type(error).__name__, operation, status)
            return
        try:
            self._on_error(error)
        except Exception as raised:
            self.raised = raised
            self.wake()


@attrs.define(eq=False, repr=False)
class Feed(Generic[T]):
    """One polling loop: the latest state of a collection for all its cursors.

    It starts when a consumer first waits, and is cancelled as soon as the last cursor leaves, or when the client is
    closed. A feed that has ended never starts again.

    ``latest`` are the items by key, None before the first answer, received ``at`` that time. ``ended`` loops were
    stopped, or have ended with an ``error``. ``derive`` says what a change is reported as, and the last state of an
    item to ``keep`` is reported before its removal, even to a slow consumer.
    """

    _fetch: FetchItems[T]
    key: Callable[[T], Hashable]
    schedule: Schedule
    fatal: Callable[[Exception, int], bool] = is_fatal
    now: Callable[[], datetime] = utc_now
    derive: Derive = lambda change: (change,)
    keep: Callable[[T], bool] = lambda _: False
    doorbell: Doorbell | None = None
    on_poll: Callable[[float], None] = lambda _: None
    has_news: Callable[[], bool] = lambda: True
    cursors: set[Cursor[T]] = attrs.field(factory=set, init=False)
    latest: Mapping[Any, T] | None = attrs.field(default=None, init=False)
    at: datetime = attrs.field(init=False)
    ended: bool = attrs.field(default=False, init=False)
    error: BaseException | None = attrs.field(default=None, init=False)
    _traceback: TracebackType | None = attrs.field(default=None, init=False)
    _looks: LookBudget = attrs.field(factory=LookBudget, init=False)
    _early: asyncio.TimerHandle | None = attrs.field(default=None, init=False)
    _hastened: asyncio.Event = attrs.field(factory=asyncio.Event, init=False)
    _is_failing: bool = attrs.field(default=False, init=False)
    _task: asyncio.Task[None] | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        if not callable(self._fetch):
            raise ConfigurationError(f"fetch must be a coroutine function, got {self._fetch!r}")
        for name in ("key", "fatal", "now"):
            check_function(name, getattr(self, name))

    def begin(self) -> None:
        if self._task is None and not self.ended:
            self._task = running_loop().create_task(self._run(), name="brokerage_async poll")
            self._task.add_done_callback(self._done)

    def release(self, cursor: Cursor[Any]) -> bool:
        """Stop polling for ``cursor``, in any thread. Return whether it was polled for. The last one ends the loop."""
        was_polling = cursor in self.cursors and self._task is not None and not self.ended
        self.cursors.discard(cursor)
        if not self.cursors and self._task is not None:
            self._stop()
        return was_polling

    async def aclose(self) -> None:
        if not self.ended:
            self.error = ConfigurationError("the client is closed")
            self._stop()
            self._announce()
        await self.join()

    async def join(self) -> None:
        task = self._task
        if self.ended and task is not None and not task.done() and task is not asyncio.current_task():
            await asyncio.wait({task})

    def check(self) -> None:
        """Raise the error that ended the loop, with its original traceback."""
        if self.error is not None:
            raise self.error.with_traceback(self._traceback)

    def hasten(self) -> None:
        """Poll now rather than when the next poll is due. Consumers are woken after it, changed or not."""
        self._hastened.set()

    def ring(self) -> None:
        """Poll soon, because of an event, but not while polls fail and wait for the service to recover."""
        loop = running_loop()
        if not self._is_failing and (when := self._looks.ring(loop.time())) is not None:
            self._early = loop.call_at(when, self._hastened.set)

    def _announce(self) -> None:
        for cursor in tuple(self.cursors):  # a copy: the collector may release some
            cursor.listener.wake()

    def _stop(self) -> None:
        self.ended = True
        if self._task is not None and not (loop := self._task.get_loop()).is_closed():
            loop.call_soon_threadsafe(self._task.cancel)
            loop.call_soon_threadsafe(self._hastened.set)  # should ``fetch`` swallow the cancellation

    async def _run(self) -> None:
        BACKGROUND.set(weakref.ref(self))  # every client that ``fetch`` calls ends this loop when it is closed
        clock = asyncio.get_running_loop().time
        failures = repeated = 0  # in a row, and of the same class
        last: Exception | None = None
        before = None  # when the last poll that succeeded began
        async with contextlib.nullcontext() if self.doorbell is None else self.doorbell(self.ring) as found:
            due, delay = clock(), 0.0
            while not self.ended:
                if hastened := self._hastened.is_set():
                    self._hastened.clear()
                    due = clock()
                else:
                    self.on_poll(max(0.0, clock() - due - delay))
                if self._early is not None:
                    self._early.cancel()  # this poll comes after those events, too
                self._looks.polled()
                began = clock()
                try:
                    has_news = await self._poll()
                except Exception as error:
                    failures, repeated = failures + 1, repeated + 1 if type(error) is type(last) else 1
                    last = error
                else:
                    if has_news and found is not None and before is not None and not hastened:
                        found(before)
                    failures, repeated, last, before = 0, 0, None, began
                self._is_failing = last is not None
                if hastened:
                    self._announce()
                interval = await self.schedule.current()
                if last is None:
                    due = self.schedule.next_due(due, interval, clock())
                elif self.fatal(last, repeated):
                    raise last
                else:
                    for cursor in tuple(self.cursors):
                        cursor.listener.on_failure(last)
                    due = clock() + self.schedule.backoff(failures, interval, getattr(last, "retry_after", None))
                delay = chance() * self.schedule.jitter * interval
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(due + delay):
                        await self._hastened.wait()

    async def _poll(self) -> bool:
        """Fetch and publish the collection. Return whether items are new or other: those that left have no event."""
        known = self.latest or {}
        if (fetched := await awaitable("fetch", self._fetch())) is UNCHANGED:
            return False
        rows, latest = list(fetched), dict[Any, T]()
        for start in range(0, len(rows), CHUNK):
            if start:
                await asyncio.sleep(0)
            latest |= keyed(rows[start : start + CHUNK], self.key, known)
        has_other = any(known.get(name) is not item for name, item in latest.items())
        if has_other or len(latest) != len(known) or self.latest is None:
            self.latest, self.at = latest, self.now()
            removed = {name: item for name, item in known.items() if name not in latest and self.keep(item)}
            for cursor in tuple(self.cursors):
                cursor.kept |= removed
            self._announce()
        return has_other and self.has_news()

    def _done(self, task: asyncio.Task[None]) -> None:
        if self._early is not None:
            self._early.cancel()
        if task.cancelled():
            if not self.ended:
                self.error = BrokerageError("the polling loop was cancelled")
        elif self.error is None and (crash := task.exception()) is not None:
            self.error, self._traceback = crash, crash.__traceback__
        self.ended = True
        self._announce()


class Cursor(Generic[T]):
    """Position of one consumer within a feed. It holds no queue: it compares the latest state with the last one seen.

    ``seen`` are the items by key after all changes taken so far, None until the first state decides it, and ``kept``
    the last states of items that left the list. Within ``max_wait`` seconds of the last look a change may be due
    without a new state.
    """

    listener: Listener
    max_wait: float | None = None

    def __init__(self, feed: Feed[Any], *, initial: bool = True, seed: Mapping[Any, T] | None = None) -> None:
        self.feed = feed
        begins_empty = check_flag("initial", initial)
        self.seen: dict[Any, T] | None = dict(seed) if seed is not None else ({} if begins_empty else None)
        self.kept: dict[Any, T] = {}
        self.keys: deque[Any] = deque()  # of items to compare
        self._latest: Mapping[Any, T] = {}

    def attach(self, listener: Listener) -> None:
        self.listener = listener
        self.feed.cursors.add(self)

    def refresh(self) -> bool:
        """Compare with a newer state from now on, if there is one. Return False before the first one."""
        if (latest := self.feed.latest) is None:
            return False
        if latest is not self._latest:
            if self.seen is None:
                self.seen, self.kept = dict(latest), {}
            others = [key for key, item in latest.items() if self.seen.get(key) is not item]
            self.keys = deque([*self.kept, *others, *(key for key in self.seen if key not in latest)])
            self._latest = latest
        return True

    def take(self, is_held: Callable[[Any], bool] = lambda _: False) -> Iterable[Change[Any]] | None:
        """Return the reports of the next difference, passing over keys that are held. None without one."""
        if not self.refresh():
            return None
        assert self.seen is not None
        while self.keys:
            key = self.keys.popleft()
            before, after = self.seen.get(key), self._latest.get(key, self.kept.get(key))
            is_change = before is not after and before != after
            if is_change and is_held(key):
                continue
            if self.kept.pop(key, None) is not None:
                self.keys.appendleft(key)  # it may be removed now
            if after is None:
                self.seen.pop(key, None)
            else:
                self.seen[key] = after
            if is_change:
                return self.reports(change_of(key, before, after, self.feed.at))
        return None

    def reports(self, change: Change[Any]) -> Iterable[Change[Any]]:
        return self.feed.derive(change)


def pull(
    parts: dict[str, Cursor[Any]], is_held: Callable[[Any], bool] = lambda _: False
) -> Iterable[Change[Any]] | None:
    """Return the reports of the next difference in one of the parts, which take turns. None without one."""
    for part, cursor in parts.items():
        if (changes := cursor.take(is_held)) is not None:
            parts[part] = parts.pop(part)  # the other parts are next
            return changes
    return None
