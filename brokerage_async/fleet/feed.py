"""Change feeds of a fleet: one process polls, any number of processes read."""

from __future__ import annotations

import asyncio
import contextlib
import re
import secrets
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

import attrs

from .._arguments import check_count, check_function, check_type, running_loop
from ..errors import ConfigurationError
from ..http.concurrency import end
from ..watch.market import MarketWatcher
from ..watch.poll import Watcher
from ..watch.state import ItemCodec, Standing, StoredChange, WatchState, WatchStateError
from .feed_reader import MARGIN, CursorReader, FeedKeys, GroupReader, LeaseLostError
from .fleet import EngineUnavailableError, Fleet, Script, logger

T = TypeVar("T")

RETRY_INTERVAL = 0.25  # seconds between two tries while the engine is away

PASSING = frozenset({"AWAY", "BUSY", "LOADING", "NOREPLICAS", "TRYAGAIN"})
"""Codes after which a command is tried again; any other refusal would come again, and nothing would be published."""

ELECT = Script.read("feed_elect")
RENEW = Script.read("feed_renew")
LOAD = Script.read("feed_load")
PUBLISH = Script.read("feed_common", "feed_publish")
STATUS = Script.read("feed_common", "feed_status")


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
