"""Fields of the wire structs, derived from the generated structs on first use, and how single values are read."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, Union, get_args, get_origin

import attrs
import msgspec

from ..._decimals import MAX_CACHED_LENGTH
from ..._values import Extra
from ..._wire import DateText, DecimalNumber, DecimalText, Moment, MomentText, Wire

UNREADABLE = (msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError)  # raised for a value that does not fit

MAX_READINGS = 1024  # entries of the cache of one field, which holds short values only


class Kept(msgspec.Struct, gc=False):
    """Mark for a value that does not fit."""

    extra: Extra  # its raw JSON by wire key, for the ``extra`` of the model
    value: Any = None  # the part of it that fits, if any
    items: tuple[int, ...] = ()  # indexes of the items that do not fit, where others of a list do


@attrs.frozen(kw_only=True, eq=False)
class WireField:
    """One JSON key of a wire struct."""

    wire: type[Wire]
    key: str
    attribute: str  # of the wire struct
    target: str  # attribute of the model, which differs for an alias
    alias_of: str | None  # the proper key, for an alias
    type: Any  # that msgspec accepts there
    child: type[Wire] | None  # the wire struct of a nested model
    many: bool  # whether it is a list of nested models, or of scalars
    scalars: frozenset[str]  # names of the scalar types that fit, such as ``str``, ``decimal`` or ``datetime``
    always: bool  # whether every recorded answer has it, so that the model reads ``""`` without it
    settled: bool  # whether the type alone decides that a value fits, and the model need not be built to find out

    @property
    def expected(self) -> str:
        """The expected type in the words of a warning."""
        if self.child is not None:
            return "a list" if self.many else "an object"
        return " or ".join(sorted(self.scalars)) or ("str" if self.settled else "an object")


_SCALARS: Mapping[Any, str] = {
    str: "str", int: "int", bool: "bool", Decimal: "decimal", DecimalText: "decimal", DecimalNumber: "decimal",
    date: "date", DateText: "date", Moment: "datetime", MomentText: "datetime",
}  # fmt: skip


@cache
def wire_fields(wire: type[Wire]) -> Mapping[str, WireField]:
    """Return the fields of a generated wire struct by JSON key, in its order."""
    keys, found = dict[str, str](), dict[str, WireField]()
    for each in msgspec.structs.fields(wire):  # Aliases come last. All types are optional.
        keys[each.name] = key = each.encode_name
        target = each.name.partition("__alias")[0]
        options, many = _options(each.type), any(get_origin(kind) in (list, tuple) for kind in get_args(each.type))
        kinds = [option for option in options if isinstance(option, type)]
        scalars = frozenset(_SCALARS[option] for option in options if option in _SCALARS)
        plain = Moment in options or any(issubclass(kind, (str, int, date)) for kind in kinds)
        found[key] = WireField(
            wire=wire, key=key, attribute=each.name, target=target, type=each.type, many=many, scalars=scalars,
            alias_of=None if target == each.name else keys[target],
            child=next((kind for kind in kinds if issubclass(kind, Wire)), None),
            always=each.default == "", settled=plain and not many and len(scalars) <= 1,
        )  # fmt: skip
    return found


def _options(annotation: Any) -> set[Any]:
    """Return the types that a field takes, alone or as items of a list."""
    if get_origin(annotation) not in (Union, types.UnionType, list, tuple):
        return {annotation}
    return {option for each in get_args(annotation) for option in _options(each)}


def keep(field: WireField, raw: Any, value: Any = None, items: tuple[int, ...] = ()) -> Kept:
    """Return the mark for a value that does not fit its field."""
    return Kept(Extra({field.key: raw}), value, items)


def fits(field: WireField, raw: Any) -> bool:
    """Return whether a value has the documented form. Nested rows only have to be objects."""
    found = _fitting(field, raw, (raw,)) if field.child is None else read(field, raw)
    return found.__class__ is not Kept


def read(field: WireField, raw: Any) -> Any:
    """Return the value of a field, or a `Kept` when ``raw`` does not fit as a whole. Nested rows stay raw objects."""
    kind = raw.__class__
    if field.child is not None:
        if field.many and isinstance(raw, (list, tuple)):
            others = tuple([index for index, item in enumerate(raw) if not isinstance(item, dict)])
            return keep(field, raw, [item for item in raw if isinstance(item, dict)], others) if others else raw
        is_fitting = "str" in field.scalars if isinstance(raw, str) else isinstance(raw, dict) and not field.many
        return raw if is_fitting else keep(field, raw)
    if (kind is str and len(raw) <= MAX_CACHED_LENGTH) or (kind is int and raw.bit_length() <= MAX_CACHED_LENGTH):
        return readings(field)(raw)
    if field.many and kind is list:
        lists = [_fitting(field, raw, ([form] for form in forms(field, item))) for item in raw]
        fitted = tuple([item for one in lists if one.__class__ is not Kept for item in one])
        others = tuple([index for index, one in enumerate(lists) if one.__class__ is Kept])
        return keep(field, raw, fitted, others) if others else fitted
    if kind in _hopeless(field):
        return keep(field, raw)
    if kind is Decimal and "decimal" in field.scalars:
        value = read(field, str(raw))  # Equal decimals may differ in their digits.
        return value if value.__class__ is not Kept else _fitting(field, raw)
    return _fitting(field, raw)


@cache
def readings(field: WireField) -> Callable[[str | int], Any]:
    """Return what reads strings and integers of a field, and remembers those it has read last.

    Odd values repeat like others, and the exceptions of one take longer than the rest of its row.
    """
    return lru_cache(MAX_READINGS)(lambda raw: _fitting(field, raw))


@cache
def _hopeless(field: WireField) -> frozenset[type[Any]]:
    """Return the JSON types whose values never fit. Whole lists of scalars are left to `read`."""
    return frozenset(kind for kind in (dict, list, bool) if _fitting(field, kind()).__class__ is Kept)


def _fitting(field: WireField, raw: Any, candidates: Iterable[Any] = ()) -> Any:
    """Return the first candidate that fits, as the wire struct holds it, or a `Kept`. By default they are the forms."""
    for candidate in candidates or forms(field, raw):
        try:
            value = msgspec.convert(candidate, field.type)
            if not field.settled:
                field.wire(**{field.attribute: value}).build()
        except UNREADABLE:
            continue
        return value
    return keep(field, raw)


def forms(field: WireField, raw: Any) -> Iterator[Any]:
    """Yield a value, then the same in other JSON types, where nothing can be lost or guessed."""
    yield raw
    kind, scalars = type(raw), field.scalars
    if (kind is int and "str" in scalars) or (kind in (int, float, Decimal) and "decimal" in scalars):
        yield str(raw)
    # Compared, never computed with: decimal arithmetic overflows far below the largest Decimal.
    if kind in (float, Decimal) and "int" in scalars and -(1 << 53) < raw < 1 << 53 and raw == int(raw):
        yield int(raw)
    if kind is str and "int" in scalars and "str" not in scalars and _DIGITS.fullmatch(raw):
        yield int(raw)
    if kind is str and "datetime" in scalars:
        yield f"{raw}Z"  # A date-time without an offset is UTC.
    if kind is datetime and raw.tzinfo is None and "datetime" in scalars:
        yield raw.replace(tzinfo=UTC)


_DIGITS = re.compile(r"-?[0-9]{1,18}")
