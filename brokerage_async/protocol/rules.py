"""Evaluates the declarative rules of a request: what must, or must not, be given together.

A rule is data (see ``Rule``); its addresses are wire names. ``price`` stands for one field, ``legs[].quantity`` for
that field of every leg. A condition inside an array holds for each item by itself, and what the rule then demands
inside the same array is demanded of that item only; a ``max_items`` then counts the items that meet it.
"""

from __future__ import annotations

import calendar
import datetime as dt
from collections.abc import Callable, Iterator

from ..operation import Rule

__all__ = ["broken"]

Read = Callable[[object, str], "object | None"]
"""Reads a field of an object by wire name; None when the field is not given, or the object has no such field."""


def broken(rule: Rule, subject: object, read: Read) -> Iterator[tuple[str, str]]:
    """Code and place (such as ``legs[0].quantity``) of everything in ``subject`` that breaks the rule.

    ``read`` is used on the subject and on the items of its arrays. Values of a wrong type break no rule: they are
    somebody else's finding.
    """
    scope = _Scope(subject, read)
    places = tuple(scope.places(rule))
    for index in places:
        yield from _presence(rule, scope, index)
        yield from _values(rule, scope, index)
    if rule.max_items is not None:
        array, most = rule.max_items
        # With a condition inside the array, only the items that meet it are counted.
        if sum(len(scope.items(array)) if index is None else 1 for index in places) > most:
            yield "too_many_items", array


class _Scope:
    """The fields of one request, as the addresses of rules name them."""

    __slots__ = ("read", "subject")

    def __init__(self, subject: object, read: Read) -> None:
        self.subject = subject
        self.read = read

    def get(self, wire: str) -> object | None:
        return self.read(self.subject, wire)

    def items(self, array: str) -> tuple[object, ...]:
        value = self.get(array)
        return tuple(value) if isinstance(value, (tuple, list)) else ()

    def fields(self, address: str, index: int | None) -> Iterator[tuple[str, object | None]]:
        """Place and value of every field that an address stands for; with an index, of that one item only."""
        array, inside, leaf = address.partition("[].")
        if not inside:
            yield address, self.get(address)
            return
        for position, item in enumerate(self.items(array)):
            if index is None or position == index:
                yield f"{array}[{position}].{leaf}", self.read(item, leaf)

    def places(self, rule: Rule) -> Iterator[int | None]:
        """Where the rule is switched on: once for all (None), or at the items that its conditions speak of."""
        arrays = [address.partition("[].")[0] for address in (*rule.when, *rule.unless) if "[]." in address]
        places: tuple[int | None, ...] = tuple(range(len(self.items(arrays[0])))) if arrays else (None,)
        for index in places:
            off = bool(rule.unless) and all(self.holds(*condition, index) for condition in rule.unless.items())
            if not off and all(self.holds(*condition, index) for condition in rule.when.items()):
                yield index

    def holds(self, address: str, values: tuple[str, ...], index: int | None) -> bool:
        return any(_one_of(value, values) for _, value in self.fields(address, index))


def _one_of(value: object | None, values: tuple[str, ...]) -> bool:
    if isinstance(value, bool):
        value = "true" if value else "false"
    return isinstance(value, str) and value in values


def _presence(rule: Rule, scope: _Scope, index: int | None) -> Iterator[tuple[str, str]]:
    for address in rule.require:
        yield from (("required", place) for place, value in scope.fields(address, index) if value is None)
    for address in rule.forbid:
        yield from (("forbidden", place) for place, value in scope.fields(address, index) if value is not None)
    given = [address for address in rule.exclusive if scope.get(address) is not None]
    if len(given) > 1:
        yield "exclusive", given[-1]


def _values(rule: Rule, scope: _Scope, index: int | None) -> Iterator[tuple[str, str]]:
    for address, allowed in rule.require_value.items():
        for place, value in scope.fields(address, index):
            if isinstance(value, (str, bool)) and not _one_of(value, allowed):
                yield "value_not_allowed", place
    if rule.distinct is not None:
        seen: set[str] = set()
        for place, value in scope.fields(rule.distinct, index):
            if isinstance(value, str):
                if value in seen:
                    yield "not_distinct", place
                seen.add(value)
    if rule.span is not None:
        start, end, months = rule.span
        if _exceeds(scope.get(start), scope.get(end), months):
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
