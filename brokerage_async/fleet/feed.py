"""Change feeds of a fleet: one process polls, any number of processes read."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import attrs

from .._arguments import check_count, check_function
from ..errors import ConfigurationError
from ..watch.alerts import AlertKind
from ..watch.codec import ItemCodec
from ..watch.diff import Change, ChangeKind
from ..watch.poll import Watcher
from ..watch.state import StoredChange, WatchState
from .connection import EngineUnavailableError
from .feed_keys import FeedKeys
from .feed_poller import FeedPoller
from .feed_reader import CursorReader, GroupReader
from .feed_scripts import STATUS
from .fleet import Fleet

__all__ = ["FeedStatus", "RedisFeed"]

T = TypeVar("T")


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
        await feed.publish(lambda state: client.watch.orders("me", [account], state=state))  # in a task of its own

        async with feed.read_group("alerts") as changes:  # in any process
            async for change in changes:
                async with change:
                    ...

    Every group gets every change at least once, in order for each key, with the same ``idempotency_key`` whenever it is
    reported. What the next poller finds changed since the last one published is published, too.

    Args:
        fleet: the connection.
        name: name of the feed, the same in all processes.
        item_type: type of the items, as for `poll`; None for JSON values.
        key: returns the key of an item; by default it is what JSON makes of it, with tuples for lists.
        lease: seconds (0.01 to 86,400) after which a poller or consumer that died is replaced.
        keep: number of changes that are kept for readers without a group.
        max_length: most changes kept for the slowest group; a slower one gets a `FeedGapError`.

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
        if not isinstance(fleet, Fleet):
            raise ConfigurationError(f"fleet must be a Fleet, got {type(fleet).__name__}")
        if key is not None:
            check_function("key", key)
        self._fleet = fleet
        self._feed = FeedKeys(connection=fleet.connection, name=name, lease=lease, keep=keep, max_length=max_length)
        self._codec: EntryCodec[T] = EntryCodec(item_type, key)
        self._poller: FeedPoller | None = None
        fleet.add(f"feed {name}", self)

    def __repr__(self) -> str:
        return f"RedisFeed({self._feed.name!r})"

    async def publish(self, watch: Callable[[WatchState], Watcher[T]]) -> None:
        """Poll and publish whenever this process is elected; wait while another one is. Ends when it is cancelled.

        While the engine is away nothing is polled beyond the lease; it goes on by itself afterwards.

        Args:
            watch: makes the watcher, with the state that it is given.

        Raises:
            PermissionDeniedError, TokenError and others: the watcher ended with this error.
            EngineUnavailableError: the engine refuses the commands of the feed; ``code`` says why.
            WatchStateError: the feed publishes another list.
            ConfigurationError: ``watch`` made something else, or a watcher without its state.
        """
        check_function("watch", watch)
        if self._poller is not None:
            raise ConfigurationError(f"the feed {self._feed.name!r} is published by this process already")
        self._poller = FeedPoller(self._feed, self._fleet.worker, watch)
        try:
            await self._poller.run()
        finally:
            self._poller = None

    def read(self, *, start: str | int = "now") -> CursorReader[T]:
        """Return a reader with a cursor of its own; its changes need no acknowledgement.

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
            is_elected=self._poller is not None and self._poller.is_elected,
            poller=None if poller is None else poller.decode(),
            published=published,
            lag={name.decode(): lag for name, lag in zip(lags[::2], lags[1::2], strict=True)},
        )

    async def aclose(self) -> None:
        """Do nothing: a feed ends with the tasks that publish and read it."""


class EntryCodec(ItemCodec[T]):
    """Changes of a feed, whose keys are restored from their text unless ``key`` is given."""

    def __init__(self, item_type: Any, key: Callable[[T], Hashable] | None) -> None:
        super().__init__(key or (lambda item: None), item_type, (ChangeKind, AlertKind))
        self._restores_keys = key is None

    def restore(self, stored: StoredChange) -> Change[T]:
        """Return a stored change."""
        change = super().restore(stored)
        return attrs.evolve(change, key=_tupled(json.loads(stored.key))) if self._restores_keys else change


def _check_group(group: object) -> None:
    if not isinstance(group, str) or not group:
        raise ConfigurationError(f"group must be a non-empty str, got {group!r}")


def _tupled(key: Any) -> Any:
    return tuple(_tupled(part) for part in key) if isinstance(key, list) else key
