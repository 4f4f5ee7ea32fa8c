"""Evaluates the declarative rules of a request: what must, or must not, be given together.

A rule is data (see ``Rule``); its addresses are wire names. ``price`` stands for one field, ``legs[].quantity`` for
that field of every leg. A condition inside an array holds for each item by itself, and what the rule then demands
inside the same array is demanded of that item only; a ``max_items`` then counts the items that meet it.
"""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable, Iterator, Mapping

import attrs

from ..operation import Rule

__all__ = ["CompiledRule"]

Read = Callable[[object, str], "object | None"]
"""Reads a field of an item of an array by wire name; None when it is not given, or the item has no such field."""

_Conditions = tuple[tuple[str, frozenset[str]], ...]


@attrs.frozen
class CompiledRule:
    """A rule with its addresses taken apart, ready to be applied to any number of requests."""

    rule: Rule
    _when: _Conditions
    _unless: _Conditions
    _array: str | None
    _when_item: _Conditions
    _unless_item: _Conditions

    @classmethod
    def of(cls, rule: Rule) -> CompiledRule:
        """Compile a rule. Its conditions may speak of the items of one array at most."""
        addresses = [address for address in (*rule.when, *rule.unless) if "[]." in address]
        array = addresses[0].partition("[].")[0] if addresses else None
        return cls(
            rule,
            _plain(rule.when),
            _plain(rule.unless),
            array,
            _inside(rule.when),
            _inside(rule.unless),
        )

    def broken(self, values: Mapping[str, object | None], read: Read) -> Iterator[tuple[str, str]]:
        """Code and place (such as ``legs[0].quantity``) of everything that breaks the rule.

        Values of a wrong type break no rule: they are somebody else's finding.

        Args:
            values: what is given, by wire name.
            read: reads the fields of the items of arrays.
        """
        places = self._places(values, read)
        if places:
            rule = self.rule
            for index in places:
                yield from _presence(rule, values, read, index)
                yield from _contents(rule, values, read, index)
            if rule.max_items is not None:
                array, most = rule.max_items
                count = len(places) if self._array is not None else len(_items(values, array))
                if count > most:
                    yield "too_many_items", array

    def _places(self, values: Mapping[str, object | None], read: Read) -> tuple[int | None, ...]:
        """Where the rule is switched on: once for all (None), or at the items that its conditions speak of."""
        for wire, allowed in self._when:
            if _text(values.get(wire)) not in allowed:
                return ()
        off = all(_text(values.get(wire)) in allowed for wire, allowed in self._unless)
        if self._array is None:
            return () if off and self._unless else (None,)
        return tuple(
            index
            for index, item in enumerate(_items(values, self._array))
            if all(_text(read(item, leaf)) in allowed for leaf, allowed in self._when_item)
            and not (
                off
                and (self._unless or self._unless_item)
                and all(_text(read(item, leaf)) in allowed for leaf, allowed in self._unless_item)
            )
        )


def _plain(conditions: Mapping[str, tuple[str, ...]]) -> _Conditions:
    return tuple((address, frozenset(values)) for address, values in conditions.items() if "[]." not in address)


def _inside(conditions: Mapping[str, tuple[str, ...]]) -> _Conditions:
    return tuple(
        (address.partition("[].")[2], frozenset(values)) for address, values in conditions.items() if "[]." in address
    )


def _text(value: object | None) -> str | None:
    """A value as conditions name it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else None


def _items(values: Mapping[str, object | None], array: str) -> tuple[object, ...]:
    value = values.get(array)
    return tuple(value) if isinstance(value, (tuple, list)) else ()


def _fields(
    values: Mapping[str, object | None], read: Read, address: str, index: int | None
) -> Iterator[tuple[str, object | None]]:
    """Place and value of every field that an address stands for; with an index, of that one item only."""
    array, inside, leaf = address.partition("[].")
    if not inside:
        yield address, values.get(address)
        return
    for position, item in enumerate(_items(values, array)):
        if index is None or position == index:
            yield f"{array}[{position}].{leaf}", read(item, leaf)


def _presence(
    rule: Rule, values: Mapping[str, object | None], read: Read, index: int | None
) -> Iterator[tuple[str, str]]:
    for address in rule.require:
        yield from (("required", place) for place, value in _fields(values, read, address, index) if value is None)
    for address in rule.forbid:
        yield from (("forbidden", place) for place, value in _fields(values, read, address, index) if value is not None)
    if rule.exclusive:
        given = [address for address in rule.exclusive if values.get(address) is not None]
        if len(given) > 1:
            yield "exclusive", given[-1]


def _contents(
    rule: Rule, values: Mapping[str, object | None], read: Read, index: int | None
) -> Iterator[tuple[str, str]]:
    for address, allowed in rule.require_value.items():
        for place, value in _fields(values, read, address, index):
            text = _text(value)
            if text is not None and text not in allowed:
                yield "value_not_allowed", place
    if rule.distinct is not None:
        seen: set[str] = set()
        for place, value in _fields(values, read, rule.distinct, index):
            if isinstance(value, str):
                if value in seen:
                    yield "not_distinct", place
                seen.add(value)
    if rule.span is not None:
        start, end, months = rule.span
        if _exceeds(values.get(start), values.get(end), months):
            yield "span_too_long", end


def _exceeds(start: object | None, end: object | None, months: int) -> bool:
    """Whether ``end`` lies more than so many calendar months after ``start``.

    A day that the last month does not have becomes its last day: 31 May and nine months end on 28 or 29 February.
    """
    if isinstance(start, dt.datetime) and isinstance(end, dt.datetime):
        comparable = start.utcoffset() is not None and end.utcoffset() is not None
    else:
        comparable = not isinstance(start, dt.datetime) and not isinstance(end, dt.datetime)
    if not comparable or not isinstance(start, dt.date) or not isinstance(end, dt.date):
        return False
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    if year > dt.MAXYEAR:
        return False
    last = calendar.monthrange(year, month + 1)[1]
    return end > start.replace(year=year, month=month + 1, day=min(start.day, last))
