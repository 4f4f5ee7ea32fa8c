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

from ..._generated.converters import DecimalText, Moment, Wire
from ..._values import OpenStrEnum, read_decimal, read_epoch
from .fields import UNFIT, UNREADABLE, WireField, equivalents, fitting, wire_fields

__all__ = ["Column", "Kept", "Place", "places", "widened_type"]

Read = Callable[[Any], Any]

#: Invalid strings that a field remembers, so that they are examined once, and the longest that is remembered.
MAX_REJECTED, MAX_REJECTED_LENGTH = 64, 64


class Kept:
    """Mark for a value that does not fit.

    Attributes:
        raw: the value as it arrived, which goes to ``extra``.
        value: the part of it that fits, if any.
        items: indexes of the items that do not fit, when it is a list of which only some do not.
    """

    __slots__ = ("items", "raw", "value")

    def __init__(self, raw: Any, value: Any = None, items: tuple[int, ...] = ()) -> None:
        self.raw = raw
        self.value = value
        self.items = items


@attrs.frozen
class Column:
    """A widened field: ``read`` returns the value to build from, which is a `Kept` when the raw one does not fit."""

    field: WireField
    read: Read


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
        columns = [
            Column(field, _reader(wire, field, children.get(field))) for field in fields.values() if field in loose
        ]
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

    A nested model stays typed next to other JSON types, so that documented rows are still decoded in C. ``untyped``
    is for values that such a type would change (numbers with a fraction) or hide (lists with other items).
    """
    if field.child is None or untyped:
        return Any
    if field.many:
        return list[child] | dict[str, Any] | str | int | bool | None
    return child | list[Any] | str | int | bool | None


# -- readers ----------------------------------------------------------------------------------------------------------


def _reader(wire: type[Wire], field: WireField, child: Any) -> Read:
    """Return the function that brings a raw value of the field into the documented form, or marks it as `Kept`.

    The quick readers are shortcuts: each gives exactly the result of the thorough one.
    """
    if field.child is not None:
        return _list_reader(child) if field.many else _struct_reader(child)
    if field.array:
        return _array_reader(wire, field)
    thorough = _remembering(_thorough_reader(wire, field))
    quick = _quick_readers(field, thorough)
    return thorough if quick is None else _by_class({dict: Kept, list: Kept, **quick}, thorough)


def _quick_readers(field: WireField, thorough: Read) -> Mapping[type[Any], Read] | None:
    """Return readers by the class of the raw value, or None for the rarer types, which are read thoroughly."""
    options = [each for each in get_args(field.type) if each is not type(None)]
    first, takes_int = options[0], int in options
    if options == [bool]:
        return {bool: _same, str: Kept, int: Kept, Decimal: Kept}
    if options == [int]:
        return {int: _same, bool: Kept, str: _equivalent_reader(field), Decimal: _equivalent_reader(field)}
    if options == [str]:
        return {str: _same, int: str, bool: Kept, Decimal: Kept}
    if options == [str, int]:
        return {str: _same, int: _same, bool: Kept}
    if first == DecimalText:
        number = _number_reader(thorough)
        return {str: _decimal_reader(thorough), int: _same if takes_int else str, Decimal: number, float: number}
    if first == Moment:
        epoch: dict[type[Any], Read] = {int: _epoch_reader} if takes_int else {int: Kept, Decimal: Kept}
        return {str: _remembering(_moment_reader(thorough)), bool: Kept, **epoch}
    if options == [date] or (isinstance(first, type) and issubclass(first, OpenStrEnum)):
        return {str: _remembering(_typed_reader(first)), bool: Kept, int: Kept, Decimal: Kept}
    return None


def _same(raw: Any) -> Any:
    return raw


def _by_class(readers: Mapping[type[Any], Read], other: Read) -> Read:
    find = readers.get

    def read(raw: Any) -> Any:
        return find(raw.__class__, other)(raw)

    return read


def _thorough_reader(wire: type[Wire], field: WireField) -> Read:
    def read(raw: Any) -> Any:
        candidate = fitting(wire, field, raw)
        return Kept(raw) if candidate is UNFIT else msgspec.convert(candidate, field.type)

    return read


def _remembering(read: Read) -> Read:
    """Return the same reader, which remembers some short strings that do not fit."""
    rejected: set[str] = set()

    def remember(raw: Any) -> Any:
        if raw.__class__ is not str:
            return read(raw)
        if raw in rejected:
            return Kept(raw)
        value = read(raw)
        if value.__class__ is Kept and len(raw) <= MAX_REJECTED_LENGTH:
            if len(rejected) >= MAX_REJECTED:
                rejected.clear()
            rejected.add(raw)
        return value

    return remember


def _equivalent_reader(field: WireField) -> Read:
    def read(raw: Any) -> Any:
        value = next(equivalents(field, raw), UNFIT)
        return Kept(raw) if value is UNFIT else value

    return read


def _decimal_reader(thorough: Read) -> Read:
    def read(raw: str) -> Any:
        try:
            read_decimal(raw)
        except ValueError:
            return thorough(raw)
        return raw

    return _remembering(read)


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
    convert = msgspec.convert

    def read(raw: str) -> Any:
        try:
            moment: datetime = convert(raw, datetime)
        except UNREADABLE:
            return thorough(raw)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)

    return read


def _epoch_reader(raw: int) -> Any:
    try:
        read_epoch(raw)
    except ValueError:
        return Kept(raw)
    return raw


def _typed_reader(kind: Any) -> Read:
    convert = msgspec.convert

    def read(raw: str) -> Any:
        try:
            return convert(raw, kind)
        except UNREADABLE:
            return Kept(raw)

    return read


def _struct_reader(child: Any) -> Read:
    def read(raw: Any) -> Any:
        if raw.__class__ is child:
            return raw
        return msgspec.convert(raw, child) if isinstance(raw, dict) else Kept(raw)

    return read


def _list_reader(child: Any) -> Read:
    def read(raw: Any) -> Any:
        if not isinstance(raw, list):
            return Kept(raw)
        if all(item.__class__ is child for item in raw):
            return raw
        structs = msgspec.convert([item for item in raw if isinstance(item, dict)], list[child])
        others = tuple(index for index, item in enumerate(raw) if not isinstance(item, dict))
        return Kept(raw, structs, others) if others else structs

    return read


def _array_reader(wire: type[Wire], field: WireField) -> Read:
    def read(raw: Any) -> Any:
        if not isinstance(raw, list):
            candidate = fitting(wire, field, raw)
            return Kept(raw) if candidate is UNFIT else msgspec.convert(candidate, field.type)
        values = [fitting(wire, field, item, as_item=True) for item in raw]
        fitted = msgspec.convert([value for value in values if value is not UNFIT], field.type)
        others = tuple(index for index, value in enumerate(values) if value is UNFIT)
        return Kept(raw, fitted, others) if others else fitted

    return read
