"""Fields of the wire structs: which attribute holds the value of a JSON key, and how a single value is read.

The fields are derived from the generated structs on first use, so that nothing is declared twice.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from operator import attrgetter
from typing import Annotated, Any, Union, get_args, get_origin

import attrs
import msgspec

from ..._decimals import MAX_CACHED_LENGTH
from ..._open_enums import OpenStrEnum
from ..._values import Extra
from ..._wire import Moment, Wire

#: The exceptions of decoding and building for a value that does not fit.
UNREADABLE = (msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError)

#: Entries of the cache of one field. A full one starts over.
MAX_READINGS = 1024

_UNFIT: Any = object()


class Kept(msgspec.Struct, gc=False):
    """Mark for a value that does not fit.

    Attributes:
        raw: the value as it arrived.
        extra: what the model keeps of it, by wire key.
        value: the part of it that fits, if any.
        items: indexes of the items that do not fit, when the value is a list and other items fit.
    """

    raw: Any
    extra: Extra
    value: Any = None
    items: tuple[int, ...] = ()


@attrs.frozen(kw_only=True, eq=False)
class WireField:
    """One JSON key of a wire struct.

    Attributes:
        wire: the struct.
        key, attribute: the JSON key, and the attribute of the wire struct.
        target: the attribute of the model. It differs from ``attribute`` for an alias.
        alias_of: the proper key, for an alias.
        type: the type that msgspec accepts there.
        child: the wire struct of a nested model, if any; ``many`` for a list of them.
        scalars: names of the scalar types that fit, such as ``str``, ``decimal`` or ``datetime``.
        array: whether it is a list of scalars.
        always: whether every recorded answer has it, so that the model reads ``""`` without it.
        settled: whether the type alone decides that a value fits. Otherwise the model has to be built to find out.
    """

    wire: type[Wire]
    key: str
    attribute: str
    target: str
    type: Any
    alias_of: str | None = None
    child: type[Wire] | None = None
    many: bool = False
    scalars: frozenset[str] = frozenset()
    array: bool = False
    always: bool = False
    settled: bool = False

    @property
    def expected(self) -> str:
        """The expected type in the words of a warning."""
        if self.child is not None:
            return "a list" if self.many else "an object"
        return " or ".join(sorted(self.scalars)) or ("str" if self.settled else "an object")


_NAMES = {str: "str", int: "int", bool: "bool", Decimal: "decimal", date: "date", datetime: "datetime"}


@cache
def wire_fields(wire: type[Wire]) -> Mapping[str, WireField]:
    """Return the fields of a generated wire struct by JSON key, in its order."""
    keys = {field.name: field.encode_name for field in msgspec.structs.fields(wire)}
    found: dict[str, WireField] = {}
    for field in msgspec.structs.fields(wire):
        target = field.name.partition("__alias")[0]
        options = set(_options(field.type))
        arrays = {option for option in options if get_origin(option) in (list, tuple)}
        items = {item for array in arrays for item in _options(get_args(array)[0])}
        scalars = set[str]()
        for each in (options - arrays) | items:
            if get_origin(each) is Annotated:
                base, meta = get_args(each)
                scalars.add(str(meta.extra["kind"]) if meta.extra else _NAMES[base])
            elif each in _NAMES:
                scalars.add(_NAMES[each])
        child = next((each for each in options | items if _is_kind(each, Wire)), None)
        settled = any(each in (str, int, bool, date, Moment) or _is_kind(each, OpenStrEnum) for each in options)
        found[field.encode_name] = WireField(
            wire=wire, key=field.encode_name, attribute=field.name, target=target, type=field.type, child=child,
            alias_of=None if target == field.name else keys[target], many=child is not None and child in items,
            scalars=frozenset(scalars), array=bool(arrays) and child is None,
            always=field.default == "", settled=settled and not arrays and len(scalars) <= 1,
        )  # fmt: skip
    return found


@cache
def always_fields(wire: type[Wire]) -> tuple[tuple[WireField, Callable[[Any], str]], ...]:
    """Return the fields that every recorded answer has, each with what reads it from a model."""
    return tuple((field, attrgetter(field.target)) for field in wire_fields(wire).values() if field.always)


def _options(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _is_kind(annotation: Any, base: type[Any]) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, base)


# -- single values ----------------------------------------------------------------------------------------------------


def keep(field: WireField, raw: Any, value: Any = None, items: tuple[int, ...] = ()) -> Kept:
    """Return the mark for a value that does not fit its field."""
    return Kept(raw, Extra({field.key: raw}), value, items)


def fits(field: WireField, raw: Any) -> bool:
    """Return whether a value has the documented form. Nested rows only have to be objects."""
    if field.child is None:
        return _first_fitting(field, iter((raw,))) is not _UNFIT
    if isinstance(raw, str):
        return "str" in field.scalars
    if field.many:
        return isinstance(raw, list) and all(isinstance(item, dict) for item in raw)
    return isinstance(raw, dict)


def read(field: WireField, raw: Any) -> Any:
    """Return the value of a field without a nested model, or a `Kept` when ``raw`` does not fit as a whole."""
    kind = raw.__class__
    if kind is str or kind is int:
        return readings(field)(raw)
    if field.array and kind is list:
        lists = [_first_fitting(field, ([form] for form in forms(field, item))) for item in raw]
        fitted = tuple([item for one in lists if one is not _UNFIT for item in one])
        others = tuple([index for index, one in enumerate(lists) if one is _UNFIT])
        return keep(field, raw, fitted, others) if others else fitted
    if kind in _hopeless(field):
        return keep(field, raw)
    if kind is Decimal and "decimal" in field.scalars:
        value = read(field, str(raw))  # Equal decimals may differ in their digits.
        return value if value.__class__ is not Kept else _read(field, raw)
    return _read(field, raw)


def _read(field: WireField, raw: Any) -> Any:
    value = _first_fitting(field, forms(field, raw))
    return keep(field, raw) if value is _UNFIT else value


class _Readings(dict[str | int, Any]):
    """Cache of what odd values of one field were read as.

    They repeat like others, and the exceptions of one would take longer than the rest of its row.
    """

    def __init__(self, field: WireField) -> None:
        self._field = field

    def __missing__(self, raw: str | int) -> Any:
        value = _read(self._field, raw)
        if (len(raw) if isinstance(raw, str) else raw.bit_length()) <= MAX_CACHED_LENGTH:
            if len(self) >= MAX_READINGS:
                self.clear()
            self[raw] = value
        return value


@cache
def readings(field: WireField) -> Callable[[str | int], Any]:
    """Return what reads the strings and integers of a field without a nested model as `read` does."""
    return _Readings(field).__getitem__


@cache
def _hopeless(field: WireField) -> frozenset[type[Any]]:
    """Return the JSON types whose values never fit. Whole lists of scalars are left to `read`."""
    samples: tuple[Any, ...] = ({}, [], True)
    return frozenset(type(sample) for sample in samples if _first_fitting(field, forms(field, sample)) is _UNFIT)


def _first_fitting(field: WireField, candidates: Iterator[Any]) -> Any:
    """Return the first candidate that fits, as the wire struct holds it."""
    for candidate in candidates:
        try:
            value = msgspec.convert(candidate, field.type)
            if not field.settled:
                field.wire(**{field.attribute: value}).build()
        except UNREADABLE:
            continue
        return value
    return _UNFIT


def forms(field: WireField, raw: Any) -> Iterator[Any]:
    """Yield a value, then the same in other JSON types, where nothing can be lost or guessed."""
    yield raw
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
