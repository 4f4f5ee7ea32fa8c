"""What the wire structs are made of: which JSON key goes to which attribute, and what fits it.

Read off the generated structs themselves, on first use, so that nothing has to be declared twice.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

import attrs
import msgspec

from ..._generated.converters import WIRES, Wire
from ..._values import OpenStrEnum

__all__ = ["Slot", "equivalents", "layout", "nested"]


@attrs.frozen(kw_only=True)
class Slot:
    """Where the value of one JSON key goes.

    Attributes:
        key, attribute: the key, and the attribute of the wire struct.
        target: the attribute of the model; it differs from ``attribute`` for an alias.
        alias_of: the proper key, for an alias.
        type: what msgspec accepts there.
        child: the wire struct of a nested model, if it is one; ``many`` when there is a list of them.
        scalars: names of the scalar types that fit, such as ``str``, ``decimal`` or ``datetime``.
        array: whether it is a list of scalars.
        settled: whether a value of the right type is readable for sure; otherwise only building the model tells.
    """

    key: str
    attribute: str
    target: str
    type: Any
    alias_of: str | None = None
    child: type[Wire] | None = None
    many: bool = False
    scalars: frozenset[str] = frozenset()
    array: bool = False
    settled: bool = False

    @property
    def native(self) -> type[Any] | None:
        """The JSON type that is expected, when it is plain text or an integer; None for anything else."""
        if self.scalars == {"int"}:
            return int
        return str if self.scalars in ({"str"}, {"decimal"}) and self.type != Decimal | None else None


@cache
def layout(wire: type[Wire]) -> Mapping[str, Slot]:
    """The slots of a wire struct by JSON key, in its order."""
    fields = msgspec.structs.fields(wire)
    keys = {field.name: field.encode_name for field in fields}
    return {field.encode_name: _slot(field, keys) for field in fields}


@cache
def nested(wire: type[Wire]) -> frozenset[type[Wire]]:
    """The wire structs that occur directly inside this one; read off the text of the annotations, which is quick."""
    names = {name for text in wire.__annotations__.values() for name in _WIRE_NAME.findall(str(text))}
    return frozenset(each for each in WIRES.values() if each.__name__ in names)


_WIRE_NAME = re.compile(r"\w+Wire\b")


def _slot(field: msgspec.structs.FieldInfo, keys: Mapping[str, str]) -> Slot:
    target = field.name.partition("__alias")[0]
    child: type[Wire] | None = None
    many = array = settled = False
    scalars: set[str] = set()
    for option in _options(field.type):
        if get_origin(option) in (list, tuple):
            array = True
            inner = _options(get_args(option)[0])
            child = next((each for each in inner if _is_wire(each)), None)
            many = child is not None
            scalars.update(filter(None, map(_scalar, inner)))
        elif _is_wire(option):
            child = option
        else:
            scalars.update(filter(None, [_scalar(option)]))
            settled = settled or option in _SETTLED or (isinstance(option, type) and issubclass(option, OpenStrEnum))
    return Slot(
        key=field.encode_name, attribute=field.name, target=target, type=field.type, child=child, many=many,
        alias_of=None if target == field.name else keys[target],
        scalars=frozenset(scalars), array=array and child is None, settled=settled and not array and len(scalars) <= 1,
    )  # fmt: skip


def _options(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _is_wire(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Wire)


_SETTLED = (str, int, bool, date)
_NAMES = {str: "str", int: "int", bool: "bool", Decimal: "decimal", date: "date", datetime: "datetime"}


def _scalar(annotation: Any) -> str | None:
    if get_origin(annotation) is Annotated:
        base, meta = get_args(annotation)
        return str(meta.extra["kind"]) if meta.extra else _NAMES[base]
    return _NAMES.get(annotation)


def equivalents(slot: Slot, raw: Any) -> Iterator[Any]:
    """The same value in other JSON types, where nothing can be lost or guessed."""
    kind = type(raw)
    if kind is int and ("str" in slot.scalars or "decimal" in slot.scalars):
        yield str(raw)
    elif kind in (Decimal, float):
        if "decimal" in slot.scalars:
            yield str(raw)
        # Compared, never computed with: the arithmetic of decimals overflows far below what they can hold.
        if "int" in slot.scalars and -(1 << 53) < raw < 1 << 53 and raw == int(raw):
            yield int(raw)
    elif kind is str:
        if "int" in slot.scalars and "str" not in slot.scalars and _DIGITS.fullmatch(raw):
            yield int(raw)
        if "datetime" in slot.scalars:
            yield f"{raw}Z"  # A moment without an offset is UTC.


_DIGITS = re.compile(r"-?[0-9]{1,18}")
