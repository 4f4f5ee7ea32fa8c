"""Comparison of an answer of the service with the schema, for a report that holds nothing of its owner.

Decoding is lenient, so that it hides differences. `compare` names them: fields that are unknown, missing or of another
type, new values of enumerations, another status, pages where a list should come whole. A finding shows types, names of
fields and words like the schema's, and never a value of any other field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, get_args

import attrs

from .._generated.models import Pagination, PreflightCode
from .._generated.operations import OPERATIONS, REQUEST_MODELS
from .._values import OpenStrEnum
from .._wire import Wire
from ..operation import Operation, Shape
from .decoding.fields import WireField, fits, wire_fields
from .decoding.lenient import parse
from .registry import wires
from .response import KNOWN_CODES
from .retry import HOPELESS

PUBLIC: frozenset[str] = frozenset({"instruments", "market_metrics", "market_time", "option_chains", "search"})
"""Namespaces whose answers do not depend on who asks."""

CODES: frozenset[str] = frozenset(
    {
        *KNOWN_CODES, *HOPELESS, *(code.value for code in PreflightCode),
        "cannot_reconfirm_order", "invalid_session", "method_not_allowed", "quote_streamer.customer_not_found_error",
        "validation_error",
    }
)  # fmt: skip
"""Codes of errors that were recorded or published."""

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9 ._-]{0,47}")
_PART = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_ENVELOPE = frozenset({"data", "context"})


@attrs.frozen
class Finding:
    """One difference: the operation, the JSON path (without indices), what the schema says and what the answer has."""

    operation: str
    where: str
    expected: str
    seen: str


class Words:
    """Words of the service that a report may show: none that occurs in what an answer says about its owner.

    A word has the form of a field name, an enumeration value or a code. It is hidden if it is the value of any field
    that is not an enumeration, or if a part of it occurs in such a value of an account, a watchlist or an error. The
    schema's own words are no one's secret.
    """

    def __init__(self, answers: Iterable[tuple[Operation[Any], bytes]] = (), texts: Iterable[str] = ()) -> None:
        self._values: set[str] = set()
        self._parts: set[str] = set()
        for operation, body in answers:
            is_public = operation.name.partition(".")[0] in PUBLIC
            self._add(_texts_of(operation, body), with_parts=not is_public)
        self._add(texts)

    def _add(self, texts: Iterable[str], *, with_parts: bool = True) -> None:
        for text in texts:
            self._values.add(text.casefold())
            if with_parts:
                self._parts |= _parts(text) - _vocabulary()

    def shown(self, word: object, otherwise: str) -> str:
        """Return a word if it may be shown, ``otherwise`` if not."""
        if not isinstance(word, str) or not _WORD.fullmatch(word) or sum(map(str.isdigit, word)) > 2:
            return otherwise
        letters = re.sub("[^a-z]", "", word.casefold())
        hidden = word.casefold() in self._values or _parts(word) & self._parts
        return otherwise if hidden or any(len(part) > 3 and part in letters for part in self._parts) else word


def compare(operation: Operation[Any], status: int, body: bytes, words: Words | None = None) -> list[Finding]:
    """Return how a success differs from the schema, each difference once.

    By default it shows the ``words`` of the answer that occur in no other value of it.
    """
    comparison = _Comparison(operation, words or Words([(operation, body)]))
    if status != operation.status:
        comparison.add("status", str(operation.status), str(status))
    comparison.body(body)
    return list(comparison.found)


def compare_refusal(operation: Operation[Any], status: int, codes: Sequence[str | None], words: Words) -> list[Finding]:
    """Return the codes of an error that are neither recorded nor published."""
    if status >= 500 or status in (406, 429):  # a proxy may answer as well, a 406 has a number, a 429 has nothing
        return []
    unknown = {words.shown(code, "an unlisted code") for code in codes if code not in CODES}
    return [Finding(operation.name, "error.code", "a known code", f"{status} {code}") for code in sorted(unknown)]


_TYPES: Mapping[type[Any], str] = {
    str: "string", int: "integer", Decimal: "number", float: "number", bool: "boolean", list: "list", dict: "object",
    type(None): "null",
}  # fmt: skip
"""JSON types in words."""


class _Comparison:
    def __init__(self, operation: Operation[Any], words: Words) -> None:
        self.operation, self.words = operation, words
        self.found: dict[Finding, None] = {}

    def add(self, where: str, expected: str, seen: str) -> None:
        self.found[Finding(self.operation.name, where, expected, seen)] = None

    def body(self, body: bytes) -> None:
        operation = self.operation
        if operation.result is None:
            return
        try:
            raw = parse(body)
        except ValueError:
            self.add("$", "JSON", "something else")
            return
        if operation.shape is Shape.BARE:
            self.object(raw, _wire_of(operation), "$")
        elif operation.shape is Shape.BARE_MANY:
            self.rows(raw, "$")
        elif not isinstance(raw, dict):
            self.add("$", "an object", _TYPES[type(raw)])
        else:
            self.envelope(raw, raw.get("data"))

    def envelope(self, raw: dict[str, Any], data: Any) -> None:
        operation = self.operation
        for key in raw.keys() - _ENVELOPE - {"pagination"}:
            self.add(f"$.{self.words.shown(key, '*')}", "no such field", _TYPES[type(raw[key])])
        if (block := raw.get("pagination")) is not None:
            if operation.page_size is None:
                self.add("$.pagination", "a list that comes whole, or no list", "a page")
            self.object(block, wires()[Pagination], "$.pagination")
        has_items = isinstance(data, dict) and "items" in data
        if operation.shape is Shape.ONE if not operation.one_or_many else not has_items:
            self.object(data, _wire_of(operation), "$.data")
        elif has_items:
            for key in data.keys() - {"items"}:
                self.add(f"$.data.{self.words.shown(key, '*')}", "no such field", _TYPES[type(data[key])])
            self.rows(data["items"], "$.data.items")
        else:
            self.add("$.data.items", "a list", f"{_TYPES[type(data)]} under data")

    def rows(self, rows: Any, path: str) -> None:
        wire = _wire_of(self.operation)
        if not isinstance(rows, list):
            self.add(path, "a list", _TYPES[type(rows)])
            return
        for row in rows:
            if wire is not None:
                self.object(row, wire, f"{path}[]")
            elif not isinstance(row, str):
                self.add(f"{path}[]", "string", _TYPES[type(row)])
        fields = {} if wire is None else wire_fields(wire)
        keys = [key for key, field in fields.items() if field.target in self.operation.identity]
        if keys and any(isinstance(row, dict) and row.keys().isdisjoint(keys) for row in rows):
            self.add(f"{path}[].{keys[0]}", "present in every row", "absent")

    def object(self, raw: Any, wire: type[Wire], path: str) -> None:
        if not isinstance(raw, dict):
            self.add(path, "an object", _TYPES[type(raw)])
            return
        fields = wire_fields(wire)
        for key, value in raw.items():
            if key not in fields:
                self.add(f"{path}.{self.words.shown(key, '*')}", "no such field", _TYPES[type(value)])
            elif value is not None:
                self.field(fields[key], value, f"{path}.{key}")

    def field(self, field: WireField, value: Any, path: str) -> None:
        enum, items = _enum_of(field.type), value if isinstance(value, list) else [value]
        path = f"{path}[]" if isinstance(value, list) else path
        if field.child is not None and isinstance(value, list if field.many else dict):
            for item in items:
                self.object(item, field.child, path)
        elif not fits(field, value):
            for item in items:
                self.add(path, field.expected, f"{_TYPES[type(item)]}, which does not fit")
        elif enum is not None:
            for word in items:
                if isinstance(word, str) and word and not enum(word).is_known:
                    self.add(path, f"a value of {enum.__name__}", self.words.shown(word, "an unlisted value"))


def _wire_of(operation: Operation[Any]) -> Any:
    """Return the wire struct of a resource, None for a str and for nothing."""
    return wires().get(operation.result or str)


@cache
def _enum_of(annotation: Any) -> type[OpenStrEnum] | None:
    if isinstance(annotation, type) and issubclass(annotation, OpenStrEnum):
        return annotation
    return next(filter(None, map(_enum_of, get_args(annotation))), None)


# What an answer says about its owner.


def _texts_of(operation: Operation[Any], body: bytes) -> Iterator[str]:
    """Yield every string of an answer that is not the value of an enumeration."""
    try:
        raw = parse(body)
    except ValueError:
        yield body.decode(errors="replace")
        return
    wire = _wire_of(operation)
    if wire is not None and operation.shape not in (Shape.BARE, Shape.BARE_MANY) and isinstance(raw, dict):
        yield from _texts({key: value for key, value in raw.items() if key != "data"}, None)
        raw = raw.get("data")
        if isinstance(raw, dict) and "items" not in wire_fields(wire) and "items" in raw:
            raw = raw["items"]
    yield from _texts(raw, wire)


def _texts(raw: Any, wire: type[Wire] | None) -> Iterator[str]:
    if isinstance(raw, str):
        yield raw
    elif isinstance(raw, list):
        for item in raw:
            yield from _texts(item, wire)
    elif isinstance(raw, dict):
        fields = {} if wire is None else wire_fields(wire)
        for key, value in raw.items():
            field = fields.get(key)
            if field is None or _enum_of(field.type) is None:
                yield from _texts(value, None if field is None else field.child)


def _parts(text: str) -> set[str]:
    return {part.casefold() for part in _PART.findall(text) if len(part) > 1}


@cache
def _vocabulary() -> frozenset[str]:
    """Return the parts of all names and values in the schema."""
    known: set[str] = {*CODES, *OPERATIONS, *(each.path for each in OPERATIONS.values())}
    for wire in wires().values():
        for key, field in wire_fields(wire).items():
            known.add(key)
            known.update(_enum_of(field.type) or ())
    known.update(rule.code for each in REQUEST_MODELS.values() for rule in each.service_rules if rule.code)
    return frozenset().union(*map(_parts, known))
