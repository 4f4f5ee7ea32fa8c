"""Widened fields: those that were seen in an undocumented JSON form are decoded loosely and then read one by one.

A widened field costs itself, not its row: the rest of the row is decoded in C as before. The value of a widened field
is brought into the documented form, or replaced by a `Kept` mark, before the model is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, get_args

import attrs
import msgspec

from ..._decimals import MAX_CACHED_LENGTH, read_decimal
from ..._open_enums import OpenStrEnum
from ..._values import read_epoch
from ..._wire import DecimalText, Moment, Wire
from .fields import UNFIT, UNREADABLE, WireField, equivalents, fitting, wire_fields

__all__ = ["Column", "Kept", "Place", "needs_untyped", "places", "widened_type"]

Read = Callable[[Any], Any]

#: Invalid strings that a field remembers, so that each is examined once.
MAX_REJECTED = 64


class Kept(msgspec.Struct, gc=False):
    """Mark for a value that does not fit.

    Attributes:
        raw: the value as it arrived, which goes to ``extra``.
        value: the part of it that fits, if any.
        items: indexes of the items that do not fit, when it is a list of which only some do not.
    """

    raw: Any
    value: Any = None
    items: tuple[int, ...] = ()


@attrs.frozen
class Column:
    """A widened field and how its values are read, by the class of the decoded value.

    Attributes:
        field: the field.
        readers: for each class the function that returns the value to build from, which is a `Kept` when the decoded
            one does not fit; None for a class that always fits as it is.
        other: the function for all other classes.
    """

    field: WireField
    readers: Mapping[type[Any], Read | None]
    other: Read


@attrs.frozen
class Place:
    """A spot below the rows at which a struct with widened fields occurs.

    Attributes:
        steps: attributes that lead there from a row, each with whether it holds a list.
        path: the same as the end of a JSON path, such as ``.legs[]``.
        columns: the widened fields of the struct.
        aliases: pairs of attributes, a proper one and its alias.
    """

    steps: tuple[tuple[str, bool], ...]
    path: str
    columns: tuple[Column, ...]
    aliases: tuple[tuple[str, str], ...]

    def structs(self, rows: Sequence[Any]) -> Sequence[Any]:
        """Return the structs at this place of all rows, in their order."""
        found = rows
        for attribute, many in self.steps:
            values = [value for each in found if (value := getattr(each, attribute)) is not None]
            found = [item for value in values for item in _structs_of(value)] if many else _only_structs(values)
        return found


def _structs_of(value: Any) -> Iterable[Any]:
    """Return the structs of a list of them, also of one that did not fit as a whole."""
    return (value.value or ()) if value.__class__ is Kept else value


def _only_structs(values: list[Any]) -> list[Any]:
    return [value for value in values if value.__class__ is not Kept]


def places(
    wire: type[Wire], variant: type[Wire], widened: Mapping[type[Wire], Mapping[WireField, bool]]
) -> tuple[Place, ...]:
    """Return all places with widened fields below rows of ``variant``, outer ones first."""
    return tuple(_places(wire, variant, widened, (), ""))


def _places(
    wire: type[Wire],
    variant: type[Wire],
    widened: Mapping[type[Wire], Mapping[WireField, bool]],
    steps: tuple[tuple[str, bool], ...],
    path: str,
) -> Iterator[Place]:
    fields = wire_fields(wire)
    children = {field: _struct_in(variant, field) for field in fields.values() if field.child is not None}
    if loose := widened.get(wire):
        columns = [_column(wire, field, children.get(field)) for field in fields.values() if field in loose]
        aliases = [(fields[each.alias_of].attribute, each.attribute) for each in fields.values() if each.alias_of]
        yield Place(steps, path, tuple(columns), tuple(aliases))
    for field, child in children.items():
        if field.child is not None:
            end = f"{path}.{field.key}{'[]' if field.many else ''}"
            yield from _places(field.child, child, widened, (*steps, (field.attribute, field.many)), end)


def _struct_in(variant: type[Wire], field: WireField) -> Any:
    """Return the struct that the variant holds in a field, which may itself be a variant."""
    structs: Mapping[str, type[Wire]] = getattr(variant, "structs", {})
    return structs.get(field.attribute, field.child)


def widened_type(field: WireField, child: Any, *, untyped: bool) -> Any:
    """Return the type that takes the documented form and undocumented ones.

    Nested models and date-times stay typed next to other JSON types, so that they are still decoded in C. ``untyped``
    is for values that such a type would change (numbers with a fraction), hide (lists with other items) or reject.
    """
    if untyped or not (field.child or _is_moment(field)):
        return Any
    if field.many:
        return list[child] | dict[str, Any] | str | int | bool | None
    if field.child:
        return child | list[Any] | str | int | bool | None
    return datetime | dict[str, Any] | list[Any] | int | bool | None


def needs_untyped(field: WireField, raw: Any) -> bool:
    """Return whether the widened type would not take a raw value that does not fit."""
    return isinstance(raw, (Decimal, float)) or (isinstance(raw, str) and _is_moment(field))


def _is_moment(field: WireField) -> bool:
    return not field.array and Moment in get_args(field.type)


# -- readers ----------------------------------------------------------------------------------------------------------


def _column(wire: type[Wire], field: WireField, child: Any) -> Column:
    """Return the readers of a field. Those by class are shortcuts: each gives exactly the result of ``other``."""
    none: dict[type[Any], Read | None] = {type(None): None}
    if field.child is not None:
        readers = {list: _list_reader(child)} if field.many else {child: None, dict: _struct_reader(child)}
        return Column(field, {**none, **readers}, Kept)
    if field.array:
        return Column(field, {**none, list: _array_reader(wire, field)}, _thorough_reader(wire, field))
    thorough = _thorough_reader(wire, field)
    return Column(field, {**none, **_shortcuts(field, thorough)}, thorough)


def _shortcuts(field: WireField, thorough: Read) -> Mapping[type[Any], Read | None]:
    """Return readers by the class of the raw value; none for the rarer types, which are read thoroughly."""
    options = [each for each in get_args(field.type) if each is not type(None)]
    first, takes_int = options[0], int in options
    never: dict[type[Any], Read | None] = {dict: Kept, list: Kept, bool: Kept}
    if options == [bool]:
        return {**never, bool: None, str: Kept, int: Kept, Decimal: Kept}
    if options == [int]:
        return {**never, int: None, str: _equivalent_reader(field), Decimal: _equivalent_reader(field)}
    if options == [str]:
        return {**never, str: None, int: str, Decimal: Kept}
    if options == [str, int]:
        return {**never, str: None, int: None}
    if first == DecimalText:
        number = _number_reader(thorough)
        return {
            **never,
            str: _decimal_reader(thorough),
            int: None if takes_int else str,
            Decimal: number,
            float: number,
        }
    if first == Moment:
        epoch = {int: _epoch_reader} if takes_int else {int: Kept, Decimal: Kept}
        return {**never, str: _moment_reader(thorough), datetime: _zone_reader, **epoch}
    if options == [date]:
        return {**never, str: _date_reader, int: Kept, Decimal: Kept}
    if isinstance(first, type) and issubclass(first, OpenStrEnum):
        return {**never, str: first, int: Kept, Decimal: Kept}
    return {}


def _thorough_reader(wire: type[Wire], field: WireField) -> Read:
    def read(raw: Any) -> Any:
        candidate = fitting(wire, field, raw)
        return Kept(raw) if candidate is UNFIT else msgspec.convert(candidate, field.type)

    return read


def _equivalent_reader(field: WireField) -> Read:
    def read(raw: Any) -> Any:
        value = next(equivalents(field, raw), UNFIT)
        return Kept(raw) if value is UNFIT else value

    return read


def _decimal_reader(thorough: Read) -> Read:
    rejected: set[str] = set()

    def read(raw: str) -> Any:
        if raw in rejected:
            return Kept(raw)
        try:
            read_decimal(raw)
        except ValueError:
            value = thorough(raw)
            if value.__class__ is Kept and len(raw) <= MAX_CACHED_LENGTH:
                if len(rejected) >= MAX_REJECTED:
                    rejected.clear()
                rejected.add(raw)
            return value
        return raw

    return read


def _number_reader(thorough: Read) -> Read:
    def read(raw: Any) -> Any:
        digits = str(raw)
        try:
            read_decimal(digits)
        except ValueError:
            return thorough(raw)
        return digits

    return read


def _moment_reader(thorough: Read) -> Read:
    def read(raw: str) -> Any:
        if raw[4:5] != "-":  # Not a year: spares the exception.
            return thorough(raw) if raw.isascii() and raw.removeprefix("-").isdecimal() else Kept(raw)
        try:
            moment = msgspec.convert(raw, datetime)
        except UNREADABLE:
            return Kept(raw)
        return _zone_reader(moment)

    return read


def _zone_reader(moment: datetime) -> datetime:
    """Return a date-time without an offset as UTC; `combine` is several times faster than `replace`."""
    return moment if moment.tzinfo is not None else datetime.combine(moment, moment.time(), UTC)


def _epoch_reader(raw: int) -> Any:
    try:
        read_epoch(raw)
    except ValueError:
        return Kept(raw)
    return raw


def _date_reader(raw: str) -> Any:
    if raw[4:5] != "-":  # Not a year: spares the exception.
        return Kept(raw)
    try:
        return msgspec.convert(raw, date)
    except UNREADABLE:
        return Kept(raw)


def _struct_reader(child: Any) -> Read:
    def read(raw: Any) -> Any:
        return msgspec.convert(raw, child)

    return read


def _list_reader(child: Any) -> Read:
    def read(raw: list[Any]) -> Any:
        if set(map(type, raw)) <= {child}:
            return raw
        structs = msgspec.convert([item for item in raw if isinstance(item, dict)], list[child])
        others = tuple([index for index, item in enumerate(raw) if not isinstance(item, dict)])
        return Kept(raw, structs, others) if others else structs

    return read


def _array_reader(wire: type[Wire], field: WireField) -> Read:
    def read(raw: list[Any]) -> Any:
        values = [fitting(wire, field, item, as_item=True) for item in raw]
        fitted = msgspec.convert([value for value in values if value is not UNFIT], field.type)
        others = tuple([index for index, value in enumerate(values) if value is UNFIT])
        return Kept(raw, fitted, others) if others else fitted

    return read
