"""What differs between two states of a collection: pure values and functions, no clock and no I/O."""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, Generic, Protocol, TypeVar

import attrs

from ..errors import ConfigurationError

__all__ = [
    "UNCHANGED",
    "AlertKind",
    "Change",
    "ChangeKind",
    "MarketKind",
    "Unchanged",
    "alert_changes",
    "changed_fields",
    "diff",
    "keyed",
    "state_of",
]

T = TypeVar("T")


class Unchanged(enum.Enum):
    """Type of `UNCHANGED`."""

    UNCHANGED = "unchanged"


UNCHANGED: Final = Unchanged.UNCHANGED
"""What a fetch returns instead of a collection when it knows that nothing has changed since the last one."""


class ChangeKind(enum.StrEnum):
    """What happened to one item of a collection."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


class AlertKind(enum.StrEnum):
    """What happened to a quote alert, read off its timestamps, in the order of its life."""

    CREATED = "created"
    TRIGGERED = "triggered"
    COMPLETED = "completed"
    EXPIRED = "expired"
    DISMISSED = "dismissed"


class MarketKind(enum.StrEnum):
    """Which boundary of a market session has passed, in the order of a day.

    ``started`` and ``ended`` are those of the extended session around the regular one.
    """

    STARTED = "started"
    OPENED = "opened"
    CLOSED = "closed"
    ENDED = "ended"


@attrs.frozen(kw_only=True)
class Change(Generic[T]):
    """One item became known, became different, or went away.

    Attributes:
        kind: a member of `ChangeKind`, `AlertKind` or `MarketKind`; compares equal to its text.
        key: what tells the items of the collection apart, such as the id of an order.
        before: the item as it was handed out last, None if it never was.
        after: the item as it is now, None if it is gone.
        at: when the answer that shows it was received, or when the market boundary was due; with time zone.
    """

    kind: enum.StrEnum
    key: Any
    before: T | None
    after: T | None
    at: datetime

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that differ, in their order; empty unless there is a before and an after."""
        return changed_fields(self.before, self.after)

    @property
    def item(self) -> T:
        """The item as it is now, or as it was before it went away."""
        found = self.before if self.after is None else self.after
        assert found is not None  # a change is always one of something
        return found


def changed_fields(before: object, after: object) -> tuple[str, ...]:
    """Names of the fields in which two attrs values of one class, or two mappings, differ."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        absent = object()
        return tuple(str(k) for k in {**before, **after} if before.get(k, absent) != after.get(k, absent))
    if type(before) is type(after) and attrs.has(kind := type(before)):
        names = (field.name for field in attrs.fields(kind))
        return tuple(name for name in names if getattr(before, name) != getattr(after, name))
    return ()


def keyed(items: Iterable[T], key: Callable[[T], Hashable], previous: Mapping[Any, T] | None = None) -> dict[Any, T]:
    """The items by key, in their order; the last of several with one key counts, and none whose key is None.

    An item that equals the one in ``previous`` is replaced by that one, so that what stayed the same is the same
    object: comparing two such states costs next to nothing, and no matter how many watchers share them.
    """
    known = previous or {}
    state: dict[Any, T] = {}
    for item in items:
        name = key(item)
        if name is None:
            continue
        old = known.get(name)
        state[name] = item if old is None or old != item else old
    return state


def state_of(seed: Iterable[T] | Mapping[Any, T] | None, key: Callable[[T], Hashable]) -> dict[Any, T] | None:
    """A ``seed`` as a state: items, or the snapshot of a watcher as it is.

    Raises:
        ConfigurationError: it holds something that ``key`` cannot tell apart.
    """
    if seed is None:
        return None
    try:
        return keyed(seed.values() if isinstance(seed, Mapping) else seed, key)
    except (AttributeError, LookupError, TypeError) as error:
        raise ConfigurationError(f"seed must hold items of the collection: {error}") from None


def diff(before: Mapping[Any, T], after: Mapping[Any, T], at: datetime) -> Iterator[Change[T]]:
    """The changes that lead from one state to the other: first what is there, in its order, then what is gone."""
    for key, new in after.items():
        old = before.get(key)
        if old is None:
            yield Change(kind=ChangeKind.ADDED, key=key, before=None, after=new, at=at)
        elif old is not new and old != new:
            yield Change(kind=ChangeKind.CHANGED, key=key, before=old, after=new, at=at)
    for key, old in before.items():
        if key not in after:
            yield Change(kind=ChangeKind.REMOVED, key=key, before=old, after=None, at=at)


class Stamped(Protocol):
    """The timestamps that tell the life of a quote alert."""

    @property
    def created_at(self) -> datetime | None: ...
    @property
    def triggered_at(self) -> datetime | None: ...
    @property
    def completed_at(self) -> datetime | None: ...
    @property
    def expired_at(self) -> datetime | None: ...
    @property
    def dismissed_at(self) -> datetime | None: ...


A = TypeVar("A", bound=Stamped)


def alert_changes(change: Change[A]) -> tuple[Change[A], ...]:
    """``change`` of a quote alert as one change per timestamp that was set since, in the order of `AlertKind`.

    An alert that was unknown counts as created. What touches no timestamp, or takes the alert off the list, stays
    the change that it is.
    """
    before, after = change.before, change.after
    if after is None:
        return (change,)
    kinds = [
        kind
        for kind in AlertKind
        if (getattr(after, f"{kind}_at") is not None and (before is None or getattr(before, f"{kind}_at") is None))
        or (kind is AlertKind.CREATED and before is None)
    ]
    return tuple(attrs.evolve(change, kind=kind) for kind in kinds) or (change,)
