"""Base of the generated wire structs, and the field types that have a special form in JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any

import msgspec

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
        [built] = self.build_all((self,))
        return built

    def build_new(self) -> Any:
        """Return the same, but never an object that is shared."""
        return self.build()

    @staticmethod
    def build_all(wires: Iterable[Any]) -> list[Any]:
        """Return the models of several structs of this class. Each subclass defines this or `build`."""
        return [wire.build() for wire in wires]

    @classmethod
    def of(cls, model: Any) -> Any:
        """Return the wire struct of a model, or a dict when raw JSON is to be written over it.

        Subclasses whose values have another form in the model define their own.
        """
        wire = cls(*[getattr(model, name) for name in cls.__struct_fields__ if "__alias" not in name])
        return with_extra(wire, model.extra) if model.extra else wire


def build_list(wires: Sequence[Any]) -> tuple[Any, ...]:
    """Return the models of the structs in a field. A tuple holds models already."""
    if type(wires) is tuple:
        return wires
    return tuple(wires[0].build_all(wires)) if wires else ()


def with_extra(wire: Wire, extra: Mapping[str, Any]) -> dict[str, Any]:
    """Return the wire struct as a dict with the raw JSON of the model written over it."""
    return {**msgspec.to_builtins(wire, builtin_types=(Decimal,)), **extra}
