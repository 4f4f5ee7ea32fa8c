"""Evaluation of declarative rules over the fields of a request.

A rule is data (see ``Rule``). Its addresses are wire names: ``price`` is one field, ``legs[].quantity`` that field of
each leg. A condition inside an array applies to each item separately, and a demand inside the same array applies to
the matching items only; ``max_items`` counts them.
"""

from __future__ import annotations

import calendar
import datetime as dt
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

import attrs

from ...operation import Rule

Values = Mapping[str, object | None]
"""Values of a request by wire name; the items of an array are such mappings too, or single values."""

Broken = tuple[str, str]  # code of a problem and its place, such as ``legs[0].quantity``

_Conditions = tuple[tuple[str, frozenset[str]], ...]


@attrs.frozen
class CompiledRule:
    """Rule with parsed addresses, applicable to any number of requests."""

    rule: Rule
    _when: _Conditions
    _unless: _Conditions
    _array: str | None
    _when_item: _Conditions
    _unless_item: _Conditions

    @classmethod
    def of(cls, rule: Rule) -> CompiledRule:
        """Compile a rule, whose conditions may concern the items of at most one array."""
        addresses = [address for address in (*rule.when, *rule.unless) if "[]." in address]
        array = addresses[0].partition("[].")[0] if addresses else None
        when, unless = rule.when, rule.unless
        plain = _conditions(when, in_array=False), _conditions(unless, in_array=False)
        return cls(rule, *plain, array, _conditions(when, in_array=True), _conditions(unless, in_array=True))

    def broken(self, values: Values) -> list[Broken]:
        """Return everything that breaks the rule.

        Values of a wrong type are ignored: they are reported as such.
        """
        if not _hold(self._when, values.get):
            return []
        off, places = _hold(self._unless, values.get), list[int | None]()  # None stands for the whole request
        if self._array is None:
            places = [] if off and self._unless else [None]
        else:
            exempts = off and bool(self._unless or self._unless_item)
            for index, item in enumerate(_items(values, self._array)):
                get = functools.partial(_field, item)
                if _hold(self._when_item, get) and not (exempts and _hold(self._unless_item, get)):
                    places.append(index)
        found: list[Broken] = []
        for place in places:
            found.extend(_unmet(self.rule, values, place))
        if places and self.rule.max_items is not None:
            array, most = self.rule.max_items
            if (len(_items(values, array)) if self._array is None else len(places)) > most:
                found.append(("too_many_items", array))
        return found


def _hold(conditions: _Conditions, get: Callable[[str], object | None]) -> bool:
    return not conditions or all(_text(get(wire)) in allowed for wire, allowed in conditions)


def _text(value: object | None) -> str | None:
    """Return a value in the form that conditions use."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else None


def _conditions(conditions: Mapping[str, tuple[str, ...]], *, in_array: bool) -> _Conditions:
    """Return the conditions on the fields of a request, or on those in an array."""
    found = ((address.rpartition("[]."), frozenset(values)) for address, values in conditions.items())
    return tuple((field, values) for (array, _, field), values in found if bool(array) is in_array)


def _items(values: Values, array: str) -> Sequence[object]:
    value = values.get(array)
    return value if isinstance(value, (tuple, list)) else ()


def _field(item: object, wire: str) -> object | None:
    return item.get(wire) if isinstance(item, Mapping) else None


def _fields(values: Values, addresses: Iterable[str], index: int | None) -> list[tuple[str, object | None]]:
    """Return place and value of each field at the addresses. With an index, of that item only."""
    found: list[tuple[str, object | None]] = []
    for address in addresses:
        array, inside, leaf = address.partition("[].")
        if not inside:
            found.append((address, values.get(address)))
            continue
        for position, item in enumerate(_items(values, array)):
            if index is None or position == index:
                found.append((f"{array}[{position}].{leaf}", _field(item, leaf)))
    return found


def _unmet(rule: Rule, values: Values, index: int | None) -> Iterator[Broken]:
    """Yield the demands that are not met; ``max_items`` counts over all places and is checked separately."""
    for place, value in _fields(values, rule.require, index) if rule.require else ():
        if value is None:
            yield "required", place
    for place, value in _fields(values, rule.forbid, index) if rule.forbid else ():
        if value is not None:
            yield "forbidden", place
    for address, allowed in rule.require_value.items():
        for place, value in _fields(values, (address,), index):
            if (text := _text(value)) is not None and text not in allowed:
                yield "value_not_allowed", place
    if rule.require_any and all(values.get(address) is None for address in rule.require_any):
        yield "required", rule.require_any[0]
    if rule.min_items is not None:
        array, least = rule.min_items
        if values.get(array) is not None and len(_items(values, array)) < least:
            yield "too_few_items", array
    if rule.max_total is not None:
        arrays, most = rule.max_total
        sizes = {array: len(_items(values, array)) for array in arrays}
        if sum(sizes.values()) > most:
            yield "too_many_items", [array for array, size in sizes.items() if size][-1]
    if rule.exclusive:
        given = [address for address in rule.exclusive if values.get(address) is not None]
        if len(given) > 1:
            yield "exclusive", given[-1]
    if rule.distinct:
        seen: set[str] = set()
        for place, value in _fields(values, (rule.distinct,), index):
            if isinstance(value, str):
                if value in seen:
                    yield "not_distinct", place
                seen.add(value)
    if rule.span is not None:
        start, end, months = rule.span
        if _exceeds(values.get(start), values.get(end), months):
            yield "span_too_long", end
    amounts = rule.positive or rule.not_negative
    for place, value in _fields(values, amounts, index) if amounts else ():
        number = Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(number, Decimal) or not number.is_finite():
            continue
        if number <= 0 if rule.positive else number.is_signed():  # "-0" as well: its sign would be sent
            yield "out_of_range", place


def _exceeds(start: object | None, end: object | None, months: int) -> bool:
    """Return True if ``end`` lies more than ``months`` calendar months after ``start``."""
    if isinstance(start, dt.datetime) and isinstance(end, dt.datetime):
        comparable = start.utcoffset() is not None and end.utcoffset() is not None
    else:
        comparable = not isinstance(start, dt.datetime) and not isinstance(end, dt.datetime)
    if not comparable or not isinstance(start, dt.date) or not isinstance(end, dt.date):
        return False
    last = add_months(start, months)
    return last < dt.date.max and end > start.replace(year=last.year, month=last.month, day=last.day)


def add_months(day: dt.date, months: int) -> dt.date:
    """Return the same day ``months`` later, or the last day of a shorter month. At most ``date.max``.

    31 May and nine months give 28 or 29 February.
    """
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    if year > dt.MAXYEAR:
        return dt.date.max
    return dt.date(year, month + 1, min(day.day, calendar.monthrange(year, month + 1)[1]))
