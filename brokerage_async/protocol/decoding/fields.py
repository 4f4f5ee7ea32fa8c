"""Fields of the wire structs: which attribute holds the value of a JSON key, and which values fit there.

Read from the generated structs on first use, so that nothing is declared twice.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

import attrs
import msgspec

from ..._open_enums import OpenStrEnum
from ..._wire import Wire
from ..registry import wires

__all__ = ["UNFIT", "UNREADABLE", "WireField", "containing", "equivalents", "fitting", "nested_wires", "wire_fields"]

#: The exceptions of decoding and building for a value that does not fit.
UNREADABLE = (msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError)

#: Marks a value that no reading makes fit.
UNFIT: Any = object()


@attrs.frozen(kw_only=True)
class WireField:
    """One JSON key of a wire struct.

    Attributes:
        key, attribute: the JSON key, and the attribute of the wire struct.
        target: the attribute of the model; it differs from ``attribute`` for an alias.
        alias_of: the proper key, for an alias.
        type: the type that msgspec accepts there.
        child: the wire struct of a nested model, if any; ``many`` for a list of them.
        scalars: names of the scalar types that fit, such as ``str``, ``decimal`` or ``datetime``.
        array: whether it is a list of scalars.
        settled: whether the type alone decides that a value fits; otherwise the model has to be built to find out.
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
    def expected(self) -> str:
        """The expected type in the words of a warning."""
        if self.child is not None:
            return "a list" if self.many else "an object"
        return " or ".join(sorted(self.scalars)) or ("str" if self.settled else "an object")


@cache
def wire_fields(wire: type[Wire]) -> Mapping[str, WireField]:
    """Return the fields of a generated wire struct by JSON key, in its order."""
    fields = msgspec.structs.fields(wire)
    keys = {field.name: field.encode_name for field in fields}
    return {field.encode_name: _wire_field(field, keys) for field in fields}


@cache
def nested_wires(wire: type[Wire]) -> frozenset[type[Wire]]:
    """Return the wire structs directly inside this one, read from its annotations, which is quick."""
    names = {name for annotation in wire.__annotations__.values() for name in _WIRE_NAME.findall(str(annotation))}
    of_package = (each for each in wires().values() if each.__module__ == wire.__module__)
    return frozenset(each for each in of_package if each.__name__ in names)


@cache
def containing(wire: type[Wire]) -> frozenset[type[Wire]]:
    """Return the wire struct and every struct that contains it, directly or deeper."""
    found = {wire}
    while more := {each for each in wires().values() if each not in found and nested_wires(each) & found}:
        found |= more
    return frozenset(found)


_WIRE_NAME = re.compile(r"\w+Wire\b")


def _wire_field(field: msgspec.structs.FieldInfo, keys: Mapping[str, str]) -> WireField:
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
            settled = settled or option in _SETTLED or _is_enum(option)
    return WireField(
        key=field.encode_name, attribute=field.name, target=target, type=field.type, child=child, many=many,
        alias_of=None if target == field.name else keys[target],
        scalars=frozenset(scalars), array=array and child is None, settled=settled and not array and len(scalars) <= 1,
    )  # fmt: skip


def _options(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _is_wire(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, Wire)


def _is_enum(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, OpenStrEnum)


_SETTLED = (str, int, bool, date)
_NAMES = {str: "str", int: "int", bool: "bool", Decimal: "decimal", date: "date", datetime: "datetime"}


def _scalar(annotation: Any) -> str | None:
    if get_origin(annotation) is Annotated:
        base, meta = get_args(annotation)
        return str(meta.extra["kind"]) if meta.extra else _NAMES[base]
    return _NAMES.get(annotation)


def fitting(wire: type[Wire], field: WireField, raw: Any, *, as_item: bool = False) -> Any:
    """Return ``raw`` or an equivalent that fits the field, else UNFIT; ``as_item``: one item of its list."""
    for candidate in (raw, *equivalents(field, raw)):
        try:
            if field.settled:
                msgspec.convert(candidate, field.type)
            else:
                msgspec.convert({field.key: [candidate] if as_item else candidate}, wire).build()
        except UNREADABLE:
            continue
        return candidate
    return UNFIT


def equivalents(field: WireField, raw: Any) -> Iterator[Any]:
    """Yield the same value in other JSON types, where nothing can be lost or guessed."""
    kind = type(raw)
    if kind is int and ("str" in field.scalars or "decimal" in field.scalars):
        yield str(raw)
    elif kind in (Decimal, float):
        if "decimal" in field.scalars:
            yield str(raw)
        # Compared, never computed with: decimal arithmetic overflows far below the largest Decimal.
        if "int" in field.scalars and -(1 << 53) < raw < 1 << 53 and raw == int(raw):
            yield int(raw)
    elif kind is str:
        if "int" in field.scalars and "str" not in field.scalars and _DIGITS.fullmatch(raw):
            yield int(raw)
        if "datetime" in field.scalars:
            yield f"{raw}Z"  # A date-time without an offset is UTC.
    elif kind is datetime and raw.tzinfo is None and "datetime" in field.scalars:
        yield raw.replace(tzinfo=UTC)


_DIGITS = re.compile(r"-?[0-9]{1,18}")
