"""Change feeds of a fleet: one process polls, any number of processes read, with their own cursors or in groups.

Entries of the stream have the ids ``1-0``, ``2-0`` and so on, without a hole: a hole that a reader finds was trimmed.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Generic, Self, TypeVar

import attrs

from .._arguments import check_count, check_function, check_type, running_loop
from ..errors import BrokerageError, ConfigurationError
from ..http.concurrency import GroupCommit, end
from ..observers import FeedLag
from ..watch.diff import Change
from ..watch.market import MarketWatcher
from ..watch.poll import Watcher
from ..watch.state import ItemCodec, Standing, StoredChange, WatchState, WatchStateError
from .fleet import Connection, EngineUnavailableError, Fleet, Script, check_lease, check_name, logger

T = TypeVar("T")

RETRY_INTERVAL = 0.25  # seconds between two tries while the engine is away

PASSING = frozenset({"AWAY", "BUSY", "LOADING", "NOREPLICAS", "TRYAGAIN"})
"""Codes after which a command is tried again; any other refusal would come again, and nothing would be published."""

MARGIN = 0.1  # part of a lease before whose end its holder stops: its clock and the engine's may differ in speed
BATCH = 16  # changes that are fetched at a time

MAX_WAITING = 1000
"""Changes of a group that may wait for others of their keys; beyond that, new ones stay in the stream."""

MAX_BLOCK = 0.5  # seconds after which a waiting reader looks by itself, for changes of consumers that died

ELECT = Script.read("feed_elect")
RENEW = Script.read("feed_renew")
LOAD = Script.read("feed_load")
PUBLISH = Script.read("feed_common", "feed_publish")
STATUS = Script.read("feed_common", "feed_status")
READ = Script.read("feed_common", "feed_read")
TAKE = Script.read("feed_common", "feed_group", "feed_take")
ACK = Script.read("feed_common", "feed_group", "feed_ack")
EXTEND = Script.read("feed_common", "feed_group", "feed_extend")


class FeedGapError(BrokerageError):
    """Changes are lost to this reader: trimmed, lost by the engine, or not to be decoded; ``anext`` goes on after them.

    ``lost`` is their number. Read the list itself to see the present state.
    """

    def __init__(self, message: str = "", *, lost: int = 0) -> None:
        super().__init__(message)
        self.lost = lost


class LeaseLostError(BrokerageError):
    """Another process polls by now, or reads these changes: work under the lease may be repeated."""


@attrs.frozen(kw_only=True)
class FeedKeys:
    """Keys and options of one feed in the engine, see `RedisFeed`."""

    connection: Connection
    name: str
    lease: float
    keep: int
    max_length: int

    def __attrs_post_init__(self) -> None:
        check_name(self.name)
        check_lease(self.lease)
        if check_count("max_length", self.max_length) < check_count("keep", self.keep):
            raise ConfigurationError(f"max_length must be at least keep ({self.keep}), got {self.max_length}")

    @property
    def lease_ms(self) -> int:
        return int(self.lease * 1000)

    def key(self, *parts: str) -> str:
        return self.connection.key("feed", self.name, *parts)

    def keys(self, *names: str) -> list[str]:
        return [self.key(name) for name in names]

    def group_keys(self, group: str) -> list[str]:
        return [*self.keys("stream", "meta"), *(self.key("group", group, part) for part in ("queues", "ready"))]


@attrs.frozen(kw_only=True)
class FeedStatus:
    """State of a feed.

    Attributes:
        is_elected: whether this process polls.
        poller: the process that polls, None if there is none or the engine is away.
        published: number of changes published so far, None while the engine is away.
        lag: by group, the number of changes that it has not acknowledged.
    """

    is_elected: bool
    poller: str | None
    published: int | None
    lag: dict[str, int]


class RedisFeed(Generic[T]):
    """Changes of one list for a whole fleet: one elected process polls it, any number of processes read.

    ::

        feed = RedisFeed(fleet, "orders", item_type=models.Order)
        await feed.publish(lambda state: client.watch.orders("me", [account], state=state))  # in a separate task

        async with feed.read_group("alerts") as changes:  # in any process
            async for change in changes:
                async with change:
                    ...

    Every group gets every change at least once, in order for each key, with the same ``idempotency_key`` whenever it is
    reported. What the next poller finds changed since the last one published is published, too.

    Args:
        fleet: the connection.
        name: name of the feed, the same in all processes.
        item_type: type of the items, as for `poll`. None for JSON values.
        key: returns the key of an item. By default it is what JSON makes of it, with tuples for lists.
        lease: seconds (0.01 to 86,400) until a poller or consumer that died is replaced.
        keep: number of changes that are kept for readers without a group.
        max_length: most changes kept for the slowest group. A slower one gets a `FeedGapError`.

    Raises:
        ConfigurationError: an argument is invalid.
    """

    def __init__(
        self,
        fleet: Fleet,
        name: str,
        *,
        item_type: type[T] | None = None,
        key: Callable[[T], Hashable] | None = None,
        lease: float = 5.0,
        keep: int = 10_000,
        max_length: int = 100_000,
    ) -> None:
        check_type("fleet", fleet, Fleet)
        if key is not None:
            check_function("key", key)
        self._fleet = fleet
        self._feed = FeedKeys(connection=fleet.connection, name=name, lease=lease, keep=keep, max_length=max_length)
        self._codec: ItemCodec[T] = ItemCodec(key, item_type)
        self._is_published = self._is_elected = False
        fleet.add(f"feed {name}", self)

    def __repr__(self) -> str:
        return f"RedisFeed({self._feed.name!r})"

    async def publish(self, watch: Callable[[WatchState], Watcher[T]]) -> None:
        """Poll and publish whenever this process is elected. Wait while another is. Ends when it is cancelled.

        While the engine is away nothing is polled beyond the lease. Polling resumes afterwards.

        Args:
            watch: makes the watcher, with the state that it is given.

        Raises:
            PermissionDeniedError, TokenError and others: the watcher ended with this error.
            EngineUnavailableError: the engine refuses the commands of the feed; ``code`` says why.
            WatchStateError: the feed publishes another list.
            ConfigurationError: ``watch`` made something else, or a watcher without its state.
        """
        check_function("watch", watch)
        if self._is_published:
            raise ConfigurationError(f"the feed {self._feed.name!r} is published by this process already")
        self._is_published = True
        try:
            while True:
                turn = Turn(self._feed, self._fleet.worker)
                try:
                    wait = await turn.elect()
                    if wait is None:
                        await self._lead(turn, watch)
                    else:
                        await asyncio.sleep(min(wait, self._feed.lease / 2))
                except EngineUnavailableError as error:
                    if error.code not in PASSING:
                        raise
                    await asyncio.sleep(RETRY_INTERVAL)
                except LeaseLostError:
                    logger.warning("feed %s: the lease was lost; another process polls", self._feed.name)
        finally:
            self._is_published = False

    async def _lead(self, turn: Turn, watch: Callable[[WatchState], Watcher[T]]) -> None:
        """Poll until the lease is lost."""

        async def poll() -> None:
            watcher = watch(turn)
            if isinstance(watcher, MarketWatcher):
                raise ConfigurationError("market hours cannot be published: each process computes them by itself")
            if not isinstance(watcher, Watcher):
                raise ConfigurationError(f"watch must return a watcher, got {type(watcher).__name__}")
            async with watcher:
                while True:
                    try:
                        async for change in watcher:
                            if not turn.is_open:  # nothing was published, and nothing ever would be
                                raise ConfigurationError("watch must make its watcher with the state that it is given")
                            await change.ack()
                        return
                    except EngineUnavailableError as error:
                        if error.code not in PASSING:
                            raise
                        await asyncio.sleep(RETRY_INTERVAL)

        polling = asyncio.create_task(poll(), name="brokerage_async feed poller")
        keeping = asyncio.create_task(turn.keep(), name="brokerage_async feed lease")
        self._is_elected = True
        try:
            await asyncio.wait({polling, keeping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._is_elected = False
            try:
                await end(polling, keeping)
            finally:
                await turn.resign()
        if not polling.cancelled():
            polling.result()

    def read(self, *, start: str | int = "now") -> CursorReader[T]:
        """Return a reader with its own cursor. Its changes need no acknowledgement.

        Args:
            start: ``now``, ``beginning`` (as far as changes are kept), or the ``cursor`` of an earlier reader. Where
                the engine has lost the change that it names, the reader gets a `FeedGapError`.
        """
        if start not in ("now", "beginning") and not re.fullmatch(r"\d+-[0-9a-f]{40}", str(start)):
            check_count("start", start, minimum=0)
        return CursorReader(self._fleet, self._feed, self._codec, start)

    def read_group(self, group: str, *, start: str = "now") -> GroupReader[T]:
        """Return one consumer of a group. The group goes on where it stood, whatever becomes of its consumers.

        Args:
            group: name of the group.
            start: ``now`` or ``beginning``, where a new group starts.
        """
        _check_group(group)
        if start not in ("now", "beginning"):
            raise ConfigurationError(f"start must be 'now' or 'beginning', got {start!r}")
        return GroupReader(self._fleet, self._feed, self._codec, group, start)

    async def remove_group(self, group: str) -> None:
        """Forget a group: nothing is kept for it any more."""
        _check_group(group)
        stream, meta, *own = self._feed.group_keys(group)
        with contextlib.suppress(EngineUnavailableError):  # nothing was ever published
            await self._feed.connection.command("XGROUP", "DESTROY", stream, group)
        await self._feed.connection.command("HDEL", meta, f"taken at {group}")
        await self._feed.connection.command("DEL", *own)

    async def status(self) -> FeedStatus:
        """Return the state of the feed, also while the engine is away."""
        poller, published, lags = None, None, []
        with contextlib.suppress(EngineUnavailableError):
            keys = self._feed.keys("stream", "meta", "lease")
            poller, published, lags = await self._feed.connection.script(STATUS, keys, [])
        return FeedStatus(
            is_elected=self._is_elected,
            poller=None if poller is None else poller.decode(),
            published=published,
            lag={name.decode(): lag for name, lag in zip(lags[::2], lags[1::2], strict=True)},
        )

    async def aclose(self) -> None:
        """Do nothing: a feed ends with the tasks that publish and read it."""


def _check_group(group: object) -> None:
    if not isinstance(group, str) or not group:
        raise ConfigurationError(f"group must be a non-empty str, got {group!r}")


class Turn:
    """Lease of one poller, and the state of its watcher, whose changes are published and thereby acknowledged."""

    def __init__(self, feed: FeedKeys, worker: str) -> None:
        self._feed = feed
        self._key = feed.keys("lease")
        self._script = feed.connection.script
        self._valid_until = float("-inf")
        self._sequence = 0
        self.token: str = f"{worker}-{secrets.token_hex(4)}"  # of this turn alone: it fences the changes
        self.is_open: bool = False  # True once a watcher has this state

    async def elect(self) -> float | None:
        """Take the lease. Return None, or the seconds that another poller still has it."""
        began = running_loop().time()
        try:
            won, number = await self._script(ELECT, self._key, [self.token, self._feed.lease_ms])
        except asyncio.CancelledError:
            await self.resign()  # the engine may have given the lease to a process that no longer listens
            raise
        if not won:
            return float(max(int(number), 1)) / 1000
        self.extended(began)
        return None

    def extended(self, began: float) -> None:
        """Note that a command sent at ``began`` has renewed the lease."""
        self._valid_until = max(self._valid_until, began + self._feed.lease * (1 - MARGIN))

    async def keep(self) -> None:
        """Renew the lease until it is lost, or may be."""
        clock = running_loop().time
        while (left := self._valid_until - clock()) > 0:
            await asyncio.sleep(min(left, self._feed.lease / 3))
            began = clock()
            try:
                async with asyncio.timeout(max(self._valid_until - began, 0)):
                    if not await self._script(RENEW, self._key, [self.token, self._feed.lease_ms]):
                        return
                self.extended(began)
            except (EngineUnavailableError, TimeoutError):
                await asyncio.sleep(min(RETRY_INTERVAL, max(self._valid_until - clock(), 0)))

    async def resign(self) -> None:
        """Give the lease to the next poller."""
        with contextlib.suppress(EngineUnavailableError, ConfigurationError):  # it ends anyway; the fleet may be closed
            await self._script(RENEW, self._key, [self.token, 0])

    async def open(self, feed: str) -> Standing:
        """Return the items published so far."""
        keys = self._feed.keys("lease", "meta", "begun", "items")
        match await self._script(LOAD, keys, [self.token, feed, secrets.token_hex(16)]):
            case [b"ok", identity, sequence, begun, items]:
                self._sequence = int(sequence)
                self.is_open = True
                pairs = zip(items[::2], items[1::2], strict=True)
                return Standing(
                    identity=identity.decode(),
                    begun=frozenset(part.decode() for part in begun),
                    items={key.decode(): bytes(item) for key, item in pairs},
                    sequence=self._sequence,
                )
            case [b"other", watched]:
                raise WatchStateError(
                    f"the feed {self._feed.name!r} publishes {watched.decode()}, not {feed}: give each its own name"
                )
        raise LeaseLostError(f"the lease of the feed {self._feed.name!r} was lost")

    async def report(self, changes: Sequence[StoredChange], begun: Mapping[str, Mapping[str, bytes]]) -> None:
        """Publish changes in one step, if the lease is still held."""
        arguments: list[bytes | str | float] = [
            self.token, self._feed.lease_ms, self._sequence, self._feed.keep, self._feed.max_length, len(begun),
        ]  # fmt: skip
        for part, items in begun.items():
            arguments += [part, len(items), *(value for pair in items.items() for value in pair)]
        arguments.append(len(changes))
        for change in changes:
            items_of_it = (change.before, change.after)
            arguments += [change.key, change.kind, change.at]
            arguments += [part for item in items_of_it for part in (int(item is not None), item or b"")]
        keys = self._feed.keys("lease", "meta", "begun", "items", "revisions", "stream")
        began = running_loop().time()
        outcome, *_ = await self._script(PUBLISH, keys, arguments)
        if outcome != b"ok":  # lost, or the engine has lost changes: the next turn starts from those that are left
            raise LeaseLostError(f"the lease of the feed {self._feed.name!r} was lost")
        self.extended(began)
        self._sequence += len(changes)

    async def acknowledge(self, sequences: Iterable[int]) -> None:
        """Do nothing: published changes are acknowledged."""

    async def aclose(self) -> None:
        """Do nothing: `publish` ends the turn."""


@attrs.frozen(kw_only=True)
class Entry(StoredChange):
    """One entry of the stream: the change, its idempotency key, and when it was published.

    ``published`` is in microseconds by the clock of the engine, None if an earlier version published it.
    """

    id: str
    published: int | None

    @classmethod
    def read(cls, entry: Any) -> Entry:
        """Return an entry as the engine gave it."""
        name, values = entry
        fields = {values[at].decode(): bytes(values[at + 1]) for at in range(0, len(values), 2)}
        texts = {field: fields.get(field, b"").decode() for field in ("key", "kind", "at", "id")}
        return cls(
            **texts,
            sequence=int(name.partition(b"-")[0]),
            before=fields.get("before"),
            after=fields.get("after"),
            published=int(fields["published"]) if "published" in fields else None,
        )


class FeedReader(AsyncIterator[Change[T]], ABC, Generic[T]):
    """Async iterator over the changes of a feed.

    ``anext`` raises `EngineUnavailableError` while the engine is away, and `FeedGapError` where changes were lost or
    one cannot be decoded. The iteration can continue after either.
    """

    def __init__(self, fleet: Fleet, feed: FeedKeys, codec: ItemCodec[T], group: str = "") -> None:
        self._fleet = fleet
        self._feed = feed
        self._codec = codec
        self._group = group
        self._ready: deque[tuple[Entry, float]] = deque()
        self._last = 0
        self._closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change[T]:
        while not self._closed:
            self._drop_expired()
            if self._ready:
                entry, published_at = self._ready[0]
                try:
                    change = self._codec.restore(entry)
                except Exception as error:  # a key function or a converter may raise anything
                    await self._skip(entry)
                    if self._ready and self._ready[0][0] is entry:
                        self._ready.popleft()
                    raise FeedGapError(
                        f"change {entry.sequence} of the feed {self._feed.name!r} cannot be decoded: {error}", lost=1
                    ) from error
                self._ready.popleft()
                if entry.published is not None:  # the clock of the engine may have been set back since
                    lag = max(0.0, running_loop().time() - published_at)
                    self._fleet.report(FeedLag(feed=self._feed.name, group=self._group, lag=lag))
                return self._handed_out(entry, change)
            lost, time, found = await self._fetch()
            now = running_loop().time()  # at ``time`` by the engine
            for entry in found:
                age = 0.0 if entry.published is None else (time - entry.published) / 1_000_000
                self._ready.append((entry, now - age))
            if lost:
                raise FeedGapError(f"{lost} changes of the feed {self._feed.name!r} are lost to this reader", lost=lost)
            if not found:
                await self._wait()
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End the iteration."""
        self._closed = True

    @abstractmethod
    async def _fetch(self) -> tuple[int, int, list[Entry]]:
        """Return how many changes were lost, the engine's time in microseconds, and the next entries."""

    def _drop_expired(self) -> None:
        """Drop fetched changes that may have gone to another consumer."""

    @abstractmethod
    async def _skip(self, entry: Entry) -> None:
        """Go on after a change that cannot be decoded."""

    @abstractmethod
    def _handed_out(self, entry: Entry, change: Change[T]) -> Change[T]:
        """Return the change to report."""

    async def _wait(self) -> None:
        """Wait for a change after the last one of the stream."""
        block = min(MAX_BLOCK, self._feed.lease / 2)
        stream, after = self._feed.key("stream"), f"{self._last}-0"
        command = ("XREAD", "COUNT", 1, "BLOCK", int(block * 1000), "STREAMS", stream, after)
        await self._feed.connection.command(*command, wait=block)


class CursorReader(FeedReader[T]):
    """A reader with its own cursor, which it may keep and pass as ``start`` to the next one."""

    def __init__(self, fleet: Fleet, feed: FeedKeys, codec: ItemCodec[T], start: str | int) -> None:
        super().__init__(fleet, feed, codec)
        self._cursor: str | int = start
        position, _, self._key = str(start).partition("-")
        self._position: str | int = position

    @property
    def cursor(self) -> str | int:
        """The position after the last change that was returned, to start from there later.

        It names that change, so that a reader that starts there notices when the engine has lost it since.
        """
        return self._cursor

    async def _fetch(self) -> tuple[int, int, list[Entry]]:
        keys = self._feed.keys("stream", "meta")
        reply = await self._feed.connection.script(READ, keys, [self._position, BATCH, self._key])
        self._position, lost, self._last, time, found, key = reply
        self._key = key.decode()
        self._cursor = f"{self._position}-{self._key}" if self._key else int(self._position)
        entries = [Entry.read(each) for each in found]
        if entries:
            self._position, self._key = entries[-1].sequence, entries[-1].id
        return int(lost), int(time), entries

    async def _skip(self, entry: Entry) -> None:
        self._cursor = f"{entry.sequence}-{entry.id}"

    def _handed_out(self, entry: Entry, change: Change[T]) -> Change[T]:
        self._cursor = f"{entry.sequence}-{entry.id}"
        return attrs.evolve(change, idempotency_key=entry.id)


class GroupReader(FeedReader[T]):
    """One consumer of a group. Every change goes to one of them, and to another if the first dies.

    Leases are renewed in the background while changes are held. One that was lost raises `LeaseLostError` in ``ack``.
    """

    def __init__(self, fleet: Fleet, feed: FeedKeys, codec: ItemCodec[T], group: str, start: str) -> None:
        super().__init__(fleet, feed, codec, group)
        self._start = "0" if start == "beginning" else "$"
        self._has_joined = False
        self._keys = feed.group_keys(group)
        self._consumer = f"{fleet.worker}-{secrets.token_hex(4)}"
        self._held: dict[int, Entry] = {}
        self._late: set[int] = set()
        self._valid_until = float("-inf")
        self._freed = False
        self._waiting: asyncio.Timeout | None = None
        self._acknowledgements = GroupCommit(self._acknowledge, self._held.__contains__)
        self._keeping: asyncio.Task[None] | None = None

    async def aclose(self) -> None:
        """End the iteration. Unacknowledged changes go to another consumer when their lease ends."""
        await super().aclose()
        await self._acknowledgements.finish()
        if self._keeping is not None:
            await end(self._keeping)

    async def _fetch(self) -> tuple[int, int, list[Entry]]:
        if self._keeping is None:
            self._keeping = asyncio.create_task(self._keep(), name="brokerage_async feed consumer")
        self._freed = False
        began = running_loop().time()
        reply = await self._run(TAKE, self._feed.lease_ms, BATCH, MAX_WAITING, self._start, int(not self._has_joined))
        self._has_joined, self._start = True, "0"  # if the engine loses the group, all entries in the stream are new
        lost, self._last, time, found = reply
        entries = [Entry.read(each) for each in found]
        self._held.update((entry.sequence, entry) for entry in entries)
        if entries:
            self._valid_until = began + self._feed.lease * (1 - MARGIN)
        return int(lost), int(time), entries

    async def _skip(self, entry: Entry) -> None:
        await self._acknowledgements.add(entry.sequence)
        self._late.discard(entry.sequence)

    def _handed_out(self, entry: Entry, change: Change[T]) -> Change[T]:
        sequence = entry.sequence

        async def acknowledge() -> None:
            held = self._held.get(sequence)
            if held is None or held.id == entry.id:  # else the engine lost it, and another took its place
                await self._acknowledgements.add(sequence)
            if sequence in self._late:
                self._late.discard(sequence)
                raise LeaseLostError(f"change {sequence} of the feed {self._feed.name!r} went to another consumer")

        return attrs.evolve(change, idempotency_key=entry.id, acknowledge=acknowledge)

    async def _wait(self) -> None:
        """Wait for a new change, or for an acknowledgement that frees a key."""
        if self._freed:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None) as self._waiting:
                await super()._wait()

    def _drop_expired(self) -> None:
        if self._ready and running_loop().time() >= self._valid_until:
            for entry, _ in self._ready:
                self._held.pop(entry.sequence, None)
            self._ready.clear()

    async def _acknowledge(self, sequences: AbstractSet[int]) -> None:
        entries = [self._held[number] for number in sorted(sequences)]
        named = [part for entry in entries for part in (entry.sequence, entry.id, entry.key)]
        self._late.update(int(sequence) for sequence in await self._run(ACK, *named))
        for sequence in sequences:
            self._held.pop(sequence, None)
        self._freed = True
        if self._waiting is not None and not self._waiting.expired():
            with contextlib.suppress(RuntimeError):  # it has ended
                self._waiting.reschedule(running_loop().time())

    async def _keep(self) -> None:
        """Renew the leases of the changes that are held."""
        while True:
            await asyncio.sleep(self._feed.lease / 3)
            if self._closed:  # while the first call waited, or by a call that was cancelled
                return
            if held := sorted(self._held):
                began = running_loop().time()
                with contextlib.suppress(EngineUnavailableError):
                    if await self._run(EXTEND, *held) == len(held):
                        self._valid_until = began + self._feed.lease * (1 - MARGIN)

    async def _run(self, script: Script, *arguments: str | float) -> Any:
        return await self._feed.connection.script(script, self._keys, [self._group, self._consumer, *arguments])
