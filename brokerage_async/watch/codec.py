"""Changes of a watcher as a state stores them, and back."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

from ..errors import ConfigurationError
from .diff import AlertKind, Change, ChangeKind
from .state import StoredChange, WatchStateError

__all__ = ["ItemCodec", "key_text", "read_json", "write_json"]

T = TypeVar("T")


KINDS: Mapping[str, str] = {kind.value: kind for kinds in (ChangeKind, AlertKind) for kind in kinds}
"""Kinds by their values, so that those of restored changes are members of their enumerations."""


class ItemCodec(Generic[T]):
    """Changes of items as JSON.

    A *position* is what acknowledging a change leaves behind for its key: here the item as acknowledged last.

    Args:
        key: returns the identity of an item.
        item_type: type of the items, for the converter of the models. None for JSON values.
    """

    def __init__(self, key: Callable[[T], Hashable], item_type: Any = None) -> None:
        self._key = key
        self._type = item_type

    def key_of(self, change: Change[T]) -> Any:
        """Return the key whose changes are reported one after another."""
        return change.key

    def position_of(self, change: Change[T]) -> Any:
        """Return the position of the key after ``change``, None if it has none."""
        return change.after

    def encode_position(self, key: Any, position: Any) -> tuple[str, bytes]:
        """Return the stored form of a position, with its key."""
        return key_text(key), write_json(position, self._type)

    def decode_position(self, key: str, data: bytes) -> tuple[Any, Any]:
        """Return a stored position, with its key."""
        item = read_json(data, self._type)
        return self._key(item), item

    def store(self, change: Change[T], sequence: int) -> StoredChange:
        """Return the stored form of ``change``."""
        before, after = (
            None if item is None else write_json(item, self._type) for item in (change.before, change.after)
        )
        key, at = key_text(change.key), change.at.isoformat()
        return StoredChange(sequence=sequence, key=key, kind=str(change.kind), at=at, before=before, after=after)

    def restore(self, stored: StoredChange) -> Change[T]:
        """Return a stored change."""
        before, after = (
            None if data is None else read_json(data, self._type) for data in (stored.before, stored.after)
        )
        item = before if after is None else after
        if item is None:
            raise WatchStateError(f"change {stored.sequence} of the watch state holds no item: {DAMAGED}")
        kind = KINDS.get(stored.kind, stored.kind)
        at = datetime.fromisoformat(stored.at)
        return Change(kind=kind, key=self._key(item), before=before, after=after, at=at)


ADVICE = "pass item_type, a type that brokerage_async.models.converter can structure"
DAMAGED = "restore the state from a backup, or delete it for a fresh start"


def key_text(key: Any) -> str:
    """Return a key as a str that distinguishes it from all others of its list.

    Raises:
        ConfigurationError: the key has no lasting form.
    """
    try:
        return json.dumps(key, default=lambda part: part.isoformat(), separators=(",", ":"))
    except (AttributeError, TypeError):
        raise ConfigurationError(
            f"keys of a watcher with a state must be str, int, date or tuple, got {key!r}"
        ) from None


def write_json(value: Any, kind: Any) -> bytes:
    """Return a value of this type as JSON. With None it must be a JSON value.

    Raises:
        ConfigurationError: it is not.
    """
    from ..models import converter  # made when it is first needed

    plain, reason = value if kind is None else converter.unstructure(value, kind), ""
    try:
        data = json.dumps(plain, separators=(",", ":"), allow_nan=False).encode()
        if kind is not None or json.loads(data) == value:
            return data
    except (TypeError, ValueError) as error:
        reason = f" ({error})"
    raise ConfigurationError(f"items must be JSON values, got {type(plain).__name__}{reason}: {ADVICE}") from None


def read_json(data: bytes, kind: Any) -> Any:
    """Return the value of this type that `write_json` has written, or with None the plain JSON value.

    Raises:
        WatchStateError: it cannot be read.
    """
    from ..models import converter

    try:
        value = json.loads(data)
        return value if kind is None else converter.structure(value, kind)
    except Exception as error:  # structuring raises groups of any kind
        reason = type(error).__name__
        raise WatchStateError(f"an item of the watch state cannot be read ({reason}): {DAMAGED}") from error
