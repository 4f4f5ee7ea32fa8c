"""Differences between two states of a collection: pure values and functions, without clock or I/O."""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

import attrs

from ..errors import ConfigurationError

__all__ = ["UNCHANGED", "Change", "ChangeKind", "Unchanged", "changed_fields", "diff", "keyed", "state_of"]

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


@attrs.frozen(kw_only=True)
class Change(Generic[T]):
    """One item that was added, changed or removed.

    Attributes:
        kind: a member of `ChangeKind`, `AlertKind` or `MarketKind`, which equals its value, such as ``"added"``.
        key: identifies the item within the collection, such as the id of an order.
        before: the item as last reported, None if it never was.
        after: the item now, None if it is gone.
        at: when the answer that shows it was received, or when the market boundary was due; with time zone.
    """

    kind: str
    key: Any
    before: T | None
    after: T | None
    at: datetime

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields that differ; empty without before or after."""
        return changed_fields(self.before, self.after)

    @property
    def item(self) -> T:
        """The item now, or before it was removed."""
        found = self.before if self.after is None else self.after
        assert found is not None  # every change has a before or an after
        return found


def changed_fields(before: object, after: object) -> tuple[str, ...]:
    """Return the names of the fields that differ.

    Both values must be attrs instances of one class, or mappings; otherwise there are none.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        absent = object()
        return tuple(str(k) for k in {**before, **after} if before.get(k, absent) != after.get(k, absent))
    if type(before) is type(after) and attrs.has(cls := type(before)):
        names = (field.name for field in attrs.fields(cls))
        return tuple(name for name in names if getattr(before, name) != getattr(after, name))
    return ()


def keyed(items: Iterable[T], key: Callable[[T], Hashable], previous: Mapping[Any, T] | None = None) -> dict[Any, T]:
    """Return the items by key, in their order.

    The last of several items with one key counts; items whose key is None are left out. An item that equals the one in
    ``previous`` is replaced by that object, which makes the comparison of two such states cheap.
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
    """Return a ``seed`` (items, or the snapshot of a watcher) as a state.

    Raises:
        ConfigurationError: it holds something that ``key`` does not accept.
    """
    if seed is None:
        return None
    try:
        return keyed(seed.values() if isinstance(seed, Mapping) else seed, key)
    except (AttributeError, LookupError, TypeError) as error:
        raise ConfigurationError(f"seed must hold items of the collection: {error}") from None


def diff(before: Mapping[Any, T], after: Mapping[Any, T], at: datetime) -> Iterator[Change[T]]:
    """Yield the changes that lead from ``before`` to ``after``.

    Items of ``after`` come first, in their order, then the removed ones.
    """
    for key, new in after.items():
        old = before.get(key)
        if old is None:
            yield Change(kind=ChangeKind.ADDED, key=key, before=None, after=new, at=at)
        elif old is not new and old != new:
            yield Change(kind=ChangeKind.CHANGED, key=key, before=old, after=new, at=at)
    for key, old in before.items():
        if key not in after:
            yield Change(kind=ChangeKind.REMOVED, key=key, before=old, after=None, at=at)
