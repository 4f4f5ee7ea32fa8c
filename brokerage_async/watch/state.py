"""Durable position of a watcher's consumer: its values, their form, and the protocol of a place that keeps them.

A state holds the items that the consumer has acknowledged, as it saw them last, and the changes that were reported to
it and are not acknowledged yet. Changes are stored before they are reported, so that a consumer that crashed gets the
very same changes again. Items that left the list leave the state when that is acknowledged, and a key has one open
change at a time: the size of a state is bounded by the size of its list.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import attrs

from ..errors import BrokerageError, ConfigurationError
from .diff import AlertKind, Change, ChangeKind

T = TypeVar("T")


class WatchStateError(BrokerageError):
    """The state of a watcher cannot be read or written, or belongs to another watcher. The message says why.

    A change whose acknowledgement raised it may be acknowledged again.
    """

    default_code: ClassVar[str | None] = "watch_state_unavailable"


@attrs.frozen(kw_only=True)
class StoredChange:
    """One change as a state keeps it until it is acknowledged.

    Attributes:
        sequence: counts the changes of one state, from 1.
        key: the item, as a str.
        kind: the kind of change.
        at: the time of the change, in ISO format.
        before: the item before it, encoded. None for a new one.
        after: the item that becomes the acknowledged one, encoded. None if it is removed.
    """

    sequence: int
    key: str
    kind: str
    at: str
    before: bytes | None
    after: bytes | None

    def idempotency_key(self, identity: str) -> str:
        """Return a key that is the same whenever this change of the state ``identity`` is reported.

        It covers the content: a state that was restored from a backup counts from an earlier change.
        """
        digest = hashlib.blake2b(digest_size=16)
        for part in (identity, str(self.sequence), self.key, self.kind, self.before, self.after):
            data = b"-" if part is None else b"+" + (part if isinstance(part, bytes) else part.encode())
            digest.update(len(data).to_bytes(8, "big") + data)
        return digest.hexdigest()


@attrs.frozen(kw_only=True)
class Standing:
    """Content of a state when a watcher opens it.

    Attributes:
        identity: distinguishes this state from all others.
        begun: the parts of the collection whose first state is in ``items``.
        items: the acknowledged items by key, encoded.
        reported: changes that are not acknowledged, oldest first.
        sequence: number of the last change that was ever reported.
    """

    identity: str
    begun: frozenset[str] = frozenset()
    items: Mapping[str, bytes] = attrs.field(factory=dict)
    reported: tuple[StoredChange, ...] = ()
    sequence: int = 0


class WatchState(Protocol):
    """A place that keeps the state of one watcher. Every method is atomic, and durable when it returns.

    Every method raises `WatchStateError` if the state cannot be read or written. It may be repeated then.
    """

    async def open(self, feed: str) -> Standing:
        """Take possession of the state for the watcher of ``feed``, and return its content.

        Raises:
            WatchStateError: the state belongs to another feed, or a watcher has it open.
        """
        ...

    async def report(self, changes: Sequence[StoredChange], begun: Mapping[str, Mapping[str, bytes]]) -> None:
        """Store changes before they are reported, and the first items of parts of the collection."""
        ...

    async def acknowledge(self, sequences: Iterable[int]) -> None:
        """Move changes to the acknowledged items. Those that are acknowledged already are left out."""
        ...

    async def aclose(self) -> None:
        """Release the state for the next watcher. Repeating it is harmless."""
        ...


KINDS: Mapping[str, str] = {kind.value: kind for kinds in (ChangeKind, AlertKind) for kind in kinds}
"""Kinds by their values, so that those of restored changes are members of their enumerations."""

DAMAGED = "restore the state from a backup, or delete it for a fresh start"


class ItemCodec(Generic[T]):
    """Changes of items as JSON.

    Without a ``key`` function JSON restores the keys, with tuples for lists. Without an ``item_type``, which the
    converter of the models can structure, items are JSON values.
    """

    def __init__(self, key: Callable[[T], Hashable] | None, item_type: Any = None) -> None:
        self._key = key
        self._type = item_type

    def encode(self, item: T) -> bytes:
        """Return an item as JSON, or raise ConfigurationError if it cannot be restored from that."""
        from ..models import converter  # made when it is first needed

        kind, reason = self._type, ""
        plain = item if kind is None else converter.unstructure(item, kind)
        try:
            data = json.dumps(plain, separators=(",", ":"), allow_nan=False).encode()
            if kind is not None or json.loads(data) == item:
                return data
        except (TypeError, ValueError) as error:
            reason = f" ({error})"
        raise ConfigurationError(
            f"items must be JSON values, got {type(plain).__name__}{reason}: "
            "pass item_type, a type that brokerage_async.models.converter can structure"
        )

    def decode(self, key: str, data: bytes) -> T:
        """Return the item that was encoded, given the text of its key. It may raise anything."""
        from ..models import converter

        value = json.loads(data)
        item: T = value if self._type is None else converter.structure(value, self._type)
        return item

    def text_of(self, key: Any) -> str:
        """Return a key as a str that distinguishes it from all others of its list."""
        try:
            return json.dumps(key, default=lambda part: part.isoformat(), separators=(",", ":"))
        except (AttributeError, TypeError):
            raise ConfigurationError(
                f"keys of a watcher with a state must be str, int, date or tuple, got {key!r}"
            ) from None

    def read(self, key: str, data: bytes) -> tuple[Any, T]:
        """Return a stored item, with its key, or raise WatchStateError."""
        try:
            item = self.decode(key, data)
            return (_tupled(json.loads(key)) if self._key is None else self._key(item)), item
        except Exception as error:  # structuring raises groups of any kind
            reason = type(error).__name__
            raise WatchStateError(f"an item of the watch state cannot be read ({reason}): {DAMAGED}") from error

    def store(self, change: Change[T], sequence: int) -> StoredChange:
        """Return the stored form of ``change``."""
        before, after = (None if item is None else self.encode(item) for item in (change.before, change.after))
        key, at = self.text_of(change.key), change.at.isoformat()
        return StoredChange(sequence=sequence, key=key, kind=str(change.kind), at=at, before=before, after=after)

    def restore(self, stored: StoredChange) -> Change[T]:
        """Return a stored change, or raise WatchStateError."""
        items = [None if data is None else self.read(stored.key, data) for data in (stored.before, stored.after)]
        key = next((item[0] for item in reversed(items) if item is not None), None)
        if key is None:
            raise WatchStateError(f"change {stored.sequence} of the watch state holds no item: {DAMAGED}")
        before, after = (item and item[1] for item in items)
        at = datetime.fromisoformat(stored.at)
        return Change(kind=KINDS.get(stored.kind, stored.kind), key=key, before=before, after=after, at=at)


def _tupled(key: Any) -> Any:
    return tuple(map(_tupled, key)) if isinstance(key, list) else key
