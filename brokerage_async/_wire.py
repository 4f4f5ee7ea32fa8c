"""Base of the generated wire structs, and the field types that have a special form in JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import repeat
from typing import Annotated, Any, TypeVar

import msgspec

from ._decimals import MAX_CACHED_LENGTH

T = TypeVar("T")

#: Entries of the cache of one class. A full one starts over.
MAX_SHARED = 4096

# Strings that are read further when the model is built. So are decimals that may be numbers, which decoders must read
# with ``float_hook=Decimal`` to keep their digits. Date-times with an offset.
DecimalText = Annotated[str, msgspec.Meta(extra={"kind": "decimal"})]
DecimalNumber = Annotated[Any, msgspec.Meta(extra={"kind": "decimal"})]
DateText = Annotated[str, msgspec.Meta(extra={"kind": "date"})]
MomentText = Annotated[str, msgspec.Meta(extra={"kind": "datetime"})]
Moment = Annotated[datetime, msgspec.Meta(tz=True)]


class Wire(msgspec.Struct, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """Base of the wire structs, each the wire form of one model."""

    def build(self) -> Any:
        """Return the model with these values. Raises ValueError when one of them cannot be read."""
        return self.build_all((self,))[0]

    @staticmethod
    def build_all(wires: Iterable[Any]) -> Sequence[Any]:
        """Return the models of several structs of this class. Each subclass defines this."""
        raise NotImplementedError

    @classmethod
    def build_new(cls, wires: Iterable[Any]) -> Sequence[Any]:
        """Return the same, but no models that are shared."""
        return cls.build_all(wires)

    @classmethod
    def of(cls, model: Any) -> Any:
        """Return the wire struct of a model, or a dict when raw JSON is to be written over it.

        Subclasses whose values have another form in the model define their own.
        """
        wire = cls(*[getattr(model, name) for name in cls.__struct_fields__ if "__alias" not in name])
        return with_extra(wire, model.extra) if model.extra else wire


def emptying(wires: list[T]) -> Iterator[T]:
    """Return the items of a list, which lets go of each, so that no two forms of all rows are in memory."""
    wires.reverse()
    return map(list.pop, repeat(wires, len(wires)))


class Shared(dict[tuple[Any, ...], tuple[T, ...]]):
    """Models by their frozen structs: equal tuples of structs become one tuple of models.

    A ``dict`` with `__missing__` finds a hit without entering Python code.
    """

    def __init__(self, build: Callable[[Iterable[Any]], Iterable[T]]) -> None:
        self._build = build

    def __missing__(self, wires: tuple[Any, ...]) -> tuple[T, ...]:
        models = tuple(self._build(wires))
        if _is_short(wires):
            if len(self) >= MAX_SHARED:
                self.clear()
            self[wires] = models
        return models


def _is_short(value: object) -> bool:
    """Return whether what stays in a cache is short, with everything in it."""
    if isinstance(value, Wire):
        value = msgspec.structs.astuple(value)
    if isinstance(value, tuple):
        return len(value) <= MAX_CACHED_LENGTH and all(map(_is_short, value))
    return not isinstance(value, str) or len(value) <= MAX_CACHED_LENGTH


def with_extra(wire: Wire, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wire struct as a dict with the raw JSON of the model written over it."""
    return {**msgspec.to_builtins(wire, builtin_types=(Decimal,)), **extra}
