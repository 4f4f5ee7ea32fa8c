"""Differences between two states of a collection: pure values and functions, without clock or I/O."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Generic, Self, TypeVar

import attrs

from ..errors import ConfigurationError

T = TypeVar("T")


class Unchanged(enum.Enum):
    """Type of `UNCHANGED`."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED
"""Returned by a fetch instead of a collection when nothing has changed since the last one."""


class ChangeKind(enum.StrEnum):
    """Kind of change of an item of a collection."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class AlertKind(enum.StrEnum):
    """Kind of change of a quote alert, in the order of its life."""

    CREATED = "created"
    TRIGGERED = "triggered"
    COMPLETED = "completed"
    EXPIRED = "expired"
    DISMISSED = "dismissed"


SILENT: Final = "silent"  # kind of a change that is not reported, and acknowledged when it is stored


@attrs.frozen(kw_only=True)
class Acknowledgeable:
    """A report of a watcher, which its consumer acknowledges.

    Attributes:
        idempotency_key: of a watcher with a state, equal for every report of the same thing, before and after a crash.
    """

    idempotency_key: str | None = None
    _acknowledge: Callable[[], Awaitable[None]] | None = attrs.field(
        default=None, alias="acknowledge", eq=False, repr=False
    )

    async def ack(self) -> None:
        """Record durably that the consumer is done with it. It is not reported again.

        Repeating it is harmless, and so is calling it without a state. The next change of the same key is reported only
        after this. When it is cancelled, the change is either still acknowledged or reported again.

        Raises:
            WatchStateError: the state cannot be written. The call may be repeated.
        """
        if self._acknowledge is not None:
            await self._acknowledge()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            await self.ack()


@attrs.frozen(kw_only=True)
class Change(Acknowledgeable, Generic[T]):
    """One item that was added, changed or removed.

    Attributes:
        kind: a member of `ChangeKind`, `AlertKind` or `MarketKind`, which equals its value, such as ``"added"``.
        key: identifies the item within the collection, such as the id of an order.
        before: the item as last reported, None if it never was.
        after: the item now, None if it is gone.
        at: when the answer that shows it was received, or when the market boundary was due, with time zone.
        idempotency_key: of a watcher with a state, equal for every report of this change, before and after a crash.

    With a state, ``async with change`` acknowledges it at the end of the block, unless that raises. So does `ack`.
    """

    kind: str
    key: Any
    before: T | None
    after: T | None
    at: datetime

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that differ, empty without before or after."""
        before, after = self.before, self.after
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            absent = object()
            return tuple(str(k) for k in {**before, **after} if before.get(k, absent) != after.get(k, absent))
        if type(before) is type(after) and attrs.has(cls := type(before)):
            names = (field.name for field in attrs.fields(cls))
            return tuple(name for name in names if getattr(before, name) != getattr(after, name))
        return ()

    @property
    def item(self) -> T:
        """The item now, or before it was removed."""
        found = self.before if self.after is None else self.after
        assert found is not None  # every change has a before or an after
        return found


Derive = Callable[[Change[Any]], Iterable[Change[Any]]]  # turns a change into those to report, several or none


def keyed(items: Iterable[T], key: Callable[[T], Hashable], previous: Mapping[Any, T] | None = None) -> dict[Any, T]:
    """Return the items by key, in their order.

    The last of several items with one key counts. Items whose key is None are left out. An item that equals the one in
    ``previous`` is replaced by that object, which makes the comparison of two such states cheap.
    """
    known = previous or {}
    state: dict[Any, T] = {}
    for item in items:
        if (name := key(item)) is not None:
            old = known.get(name)
            state[name] = item if old is None or (old is not item and old != item) else old
    return state


def state_of(seed: Iterable[T] | Mapping[Any, T] | None, key: Callable[[T], Hashable]) -> dict[Any, T] | None:
    """Return a ``seed`` (items, or the snapshot of a watcher) as a state."""
    if seed is None:
        return None
    try:
        return keyed(seed.values() if isinstance(seed, Mapping) else seed, key)
    except (AttributeError, LookupError, TypeError) as error:
        raise ConfigurationError(f"seed must hold items of the collection: {error}") from None


def change_of(key: Any, before: T | None, after: T | None, at: datetime) -> Change[T]:
    kind = ChangeKind.ADDED if before is None else ChangeKind.REMOVED if after is None else ChangeKind.CHANGED
    return Change(kind=kind, key=key, before=before, after=after, at=at)
