"""Durable position of a watcher's consumer: its values, and the protocol of a place that keeps them.

A state holds the items that the consumer has acknowledged, as it saw them last, and the changes that were reported to
it and are not acknowledged yet. Changes are stored before they are reported, so that a consumer that crashed gets the
very same changes again. Items that left the list leave the state when that is acknowledged, and a key has one open
change at a time: the size of a state is bounded by the size of its list.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Protocol

import attrs

from ..errors import BrokerageError

__all__ = ["Standing", "StoredChange", "WatchState", "WatchStateError"]


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
