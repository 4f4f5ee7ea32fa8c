"""The elected poller of a feed: its lease, and a state that publishes the changes stored in it."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from .._arguments import running_loop
from ..errors import ConfigurationError
from ..watch.market_watcher import MarketWatcher
from ..watch.poll import Watcher
from ..watch.state import Standing, StoredChange, WatchState, WatchStateError
from .connection import EngineUnavailableError
from .feed_keys import MARGIN, FeedKeys, LeaseLostError
from .feed_scripts import ELECT, LOAD, PUBLISH, RENEW

__all__ = ["FeedPoller", "PublishingState", "Turn"]

logger: logging.Logger = logging.getLogger("brokerage_async.fleet")

T = TypeVar("T")

RETRY_INTERVAL = 0.25
"""Seconds between two tries while the engine is away."""

PASSING = frozenset({"AWAY", "BUSY", "LOADING", "NOREPLICAS", "TRYAGAIN"})
"""Codes after which a command is tried again; any other refusal would come again, and nothing would be published."""


class Turn:
    """Lease of one poller. Its ``token`` fences the changes that it publishes.

    Attributes:
        token: belongs to this turn alone.
    """

    def __init__(self, feed: FeedKeys, worker: str) -> None:
        self._feed = feed
        self._key = feed.keys("lease")
        self._script = feed.connection.script
        self._valid_until = float("-inf")
        self.token: str = f"{worker}-{secrets.token_hex(4)}"

    async def elect(self) -> float | None:
        """Take the lease; return None, or the seconds for which another poller has it."""
        began = running_loop().time()
        won, number = await self._script(ELECT, self._key, [self.token, self._feed.lease_ms])
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
        try:
            await self._script(RENEW, self._key, [self.token, 0])
        except EngineUnavailableError:
            return  # it ends by itself


class PublishingState:
    """State of the watcher of a poller: changes that are stored are published, and thereby acknowledged."""

    def __init__(self, feed: FeedKeys, turn: Turn) -> None:
        self._feed = feed
        self._turn = turn
        self._sequence = 0
        self.is_open: bool = False

    async def open(self, feed: str) -> Standing:
        """Return the items published so far."""
        keys = self._feed.keys("lease", "meta", "begun", "items")
        match await self._feed.connection.script(LOAD, keys, [self._turn.token, feed, secrets.token_hex(16)]):
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
            self._turn.token, self._feed.lease_ms, self._sequence, self._feed.keep, self._feed.max_length, len(begun),
        ]  # fmt: skip
        for part, items in begun.items():
            arguments += [part, len(items), *(value for pair in items.items() for value in pair)]
        arguments.append(len(changes))
        for change in changes:
            arguments += [change.key, change.kind, change.at, *_optional(change.before), *_optional(change.after)]
        keys = self._feed.keys("lease", "meta", "begun", "items", "revisions", "stream")
        began = running_loop().time()
        outcome, *_ = await self._feed.connection.script(PUBLISH, keys, arguments)
        if outcome != b"ok":  # lost, or the engine has lost changes: the next turn starts from those that are left
            raise LeaseLostError(f"the lease of the feed {self._feed.name!r} was lost")
        self._turn.extended(began)
        self._sequence += len(changes)

    async def acknowledge(self, sequences: Iterable[int]) -> None:
        """Do nothing: published changes are acknowledged."""

    async def aclose(self) -> None:
        """Do nothing: the turn ends by itself."""


class FeedPoller:
    """Candidate for polling: waits for its election, then polls until its lease is lost.

    Args:
        feed: the feed.
        worker: name of this process.
        watch: returns the watcher, given its state.
    """

    def __init__(self, feed: FeedKeys, worker: str, watch: Callable[[WatchState], Watcher[Any]]) -> None:
        self._feed = feed
        self._worker = worker
        self._watch = watch
        self.is_elected: bool = False

    async def run(self) -> None:
        """Poll whenever elected, until cancelled or until the watcher ends with an error of its own."""
        while True:
            turn = Turn(self._feed, self._worker)
            try:
                wait = await self._elect(turn)
                if wait is None:
                    await self._lead(turn)
                else:
                    await asyncio.sleep(min(wait, self._feed.lease / 2))
            except EngineUnavailableError as error:
                if error.code not in PASSING:
                    raise
                await asyncio.sleep(RETRY_INTERVAL)
            except LeaseLostError:
                logger.warning("feed %s: the lease was lost; another process polls", self._feed.name)

    async def _elect(self, turn: Turn) -> float | None:
        try:
            return await turn.elect()
        except asyncio.CancelledError:
            await turn.resign()  # the engine may have given the lease to a process that no longer listens
            raise

    async def _lead(self, turn: Turn) -> None:
        """Poll while the lease is kept."""
        polling = asyncio.create_task(self._poll(turn), name="brokerage_async feed poller")
        keeping = asyncio.create_task(turn.keep(), name="brokerage_async feed lease")
        self.is_elected = True
        try:
            await asyncio.wait({polling, keeping}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.is_elected = False
            keeping.cancel()
            polling.cancel()
            await asyncio.wait({polling, keeping})
            await turn.resign()
        if not polling.cancelled():
            polling.result()

    async def _poll(self, turn: Turn) -> None:
        state = PublishingState(self._feed, turn)
        watcher = self._watch(state)
        if isinstance(watcher, MarketWatcher):
            raise ConfigurationError("market hours cannot be published: each process computes them by itself")
        if not isinstance(watcher, Watcher):
            raise ConfigurationError(f"watch must return a watcher, got {type(watcher).__name__}")
        async with watcher:
            while True:
                try:
                    change = await anext(watcher)
                except StopAsyncIteration:
                    return
                except EngineUnavailableError as error:
                    if error.code not in PASSING:
                        raise
                    await asyncio.sleep(RETRY_INTERVAL)
                else:
                    if not state.is_open:  # nothing was published, and nothing ever would be
                        raise ConfigurationError("watch must make its watcher with the state that it is given")
                    await change.ack()


def _optional(item: bytes | None) -> tuple[int, bytes]:
    return (0, b"") if item is None else (1, item)
