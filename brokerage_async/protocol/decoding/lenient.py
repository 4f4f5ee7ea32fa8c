"""Lenient decoding: a value that does not fit the schema is kept, reported once, and never costs the row around it.

A value that is plainly the same in another JSON type is converted. Any other goes to the model's ``extra`` under its
wire key. Each (operation, path) is logged once to ``brokerage_async.decode``. In strict mode it is an error instead.
Unknown keys are kept without a warning.

Rows that their struct does not take are parsed as untyped JSON. The registry adapts the struct to them, and takes them,
and later bodies, in C. The values of widened fields are read one by one in the structs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

import msgspec

from ..._wire import Wire
from ...errors import ResponseDecodeError
from ..registry import wires
from .adaptive import Plan
from .fields import UNREADABLE, Kept, WireField, always_fields, keep, read, readings, wire_fields
from .issues import KEPT, LEFT_OUT, MISSING, Issues, describe

#: Raw rows that are converted together, between two turns of an event loop.
ROWS_PER_BATCH = 128


def parse(body: bytes | memoryview) -> Any:
    """Return a body as untyped JSON, numbers with a fraction as Decimals.

    Input that only the standard library takes (lone surrogates, bare NaN) is parsed the slower way. Numbers that
    Python cannot hold stay strings there. Raises ValueError for anything that is not JSON.
    """
    try:
        try:
            return _UNTYPED.decode(body)
        except (msgspec.DecodeError, ArithmeticError):
            return json.loads(
                bytes(body).decode(), parse_float=_or_text(Decimal), parse_int=_or_text(int), parse_constant=str
            )
    except RecursionError:
        raise ValueError("nested too deeply") from None


_UNTYPED = msgspec.json.Decoder(float_hook=Decimal)


def _or_text(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a reader that keeps a number which Python does not convert, such as one of 5,000 digits, as its text."""

    def read_number(digits: str) -> Any:
        try:
            return kind(digits)
        except (ArithmeticError, ValueError):
            return digits

    return read_number


# -- decoded rows -----------------------------------------------------------------------------------------------------


def build_rows(plan: Plan, rows: Sequence[Any], path: str, issues: Issues) -> list[Any]:
    """Return the models of decoded rows. Raises one of UNREADABLE when a row needs a closer look."""
    if not plan.is_typed:
        _settle(plan, rows, path, issues)
    models = list(plan.variant.build_all(rows))
    report_missing(plan.wire, models, path, issues)
    return models


def report_missing(wire: type[Wire], models: Sequence[Any], path: str, issues: Issues) -> None:
    """Report rows without a value that every recorded answer has."""
    for field, value_of in always_fields(wire):
        if not all(map(value_of, models)) and any(not value_of(one) and field.key not in one.extra for one in models):
            issues.report(f"{path}.{field.key}", *MISSING)


def _settle(plan: Plan, structs: Sequence[Any], path: str, issues: Issues) -> None:
    """Bring widened fields, also in nested structs, to the documented form. Mark and report values that do not fit."""
    fields, widened = wire_fields(plan.wire), dict(plan.widened)
    for field in fields.values():
        if field.alias_of is not None and field not in widened:
            both = (field.attribute, fields[field.alias_of].attribute)
            if any(all(getattr(each, attribute) is not None for attribute in both) for each in structs):
                raise ValueError("a key and its alias")  # Its raw JSON is needed.
    for field, nested in plan.widened:
        attribute, place, reported = field.attribute, f"{path}.{field.key}", set[bool]()
        proper = None if field.alias_of is None else fields[field.alias_of].attribute
        find = readings(field)
        nested_values = _read_nested(field, nested, structs)
        for struct in structs:
            raw = getattr(struct, attribute)
            if raw is None:
                continue
            if nested is not None:
                value = next(nested_values)
            else:
                value = find(raw) if raw.__class__ is str else read(field, raw)
            if proper is not None and (other := getattr(struct, proper)) is not None:
                is_needed = other.__class__ is Kept and other.value is None  # The proper key wins where it fits.
                value = keep(field, raw, _held(value) if is_needed else None)
            elif value.__class__ is Kept and bool(value.items) not in reported:
                reported.add(bool(value.items))  # All items of lists have one path, which is reported once.
                if value.items:
                    index, expected = value.items[0], "an object" if field.child else field.expected
                    reason, outcome = f"got {describe(value.raw[index])}", LEFT_OUT if field.child else KEPT
                    issues.report(f"{place}[{index}]", f"expected {expected}, {reason}", outcome)
                else:
                    issues.report(place, f"expected {field.expected}, got {describe(value.raw)}", KEPT)
            if value is not raw:
                setattr(struct, attribute, value)
    for field, below in plan.below:
        attribute, place = field.attribute, f"{path}.{field.key}"
        values = [_held(getattr(each, attribute)) for each in structs]
        if not field.many:
            _settle(below, [value for value in values if isinstance(value, Wire)], place, issues)
            continue
        if issues.strict:  # The first item with an issue is named.
            for some in values:
                for index, item in enumerate(some or ()):
                    _settle(below, [item], f"{place}[{index}]", issues)
        items = [item for some in values for item in some or ()]
        if not issues.strict:
            _settle(below, items, f"{place}[]", issues)
        models = iter(below.variant.build_all(items))  # All at once, because most lists are short.
        for struct in structs:
            value = getattr(struct, attribute)
            if value.__class__ is Kept:
                value.value = value.value and tuple(islice(models, len(value.value)))
            elif value:
                setattr(struct, attribute, tuple(islice(models, len(value))))


def _held(value: Any) -> Any:
    """Return a value, or the part of it that fits."""
    return value.value if value.__class__ is Kept else value


def _read_nested(field: WireField, child: Plan | None, structs: Sequence[Any]) -> Iterator[Any]:
    """Yield the nested structs of each struct that has some, or a `Kept` where the raw value does not fit as a whole.

    All are converted together: a conversion costs as much as several rows.
    """
    if child is None:
        return
    raws = [raw for struct in structs if (raw := getattr(struct, field.attribute)) is not None]
    lists = [raw if field.many else [raw] for raw in raws]
    rows = [item for items in lists if items.__class__ is list for item in items if isinstance(item, dict)]
    nested = iter(child.convert(rows))
    for raw in raws:
        if field.many and raw.__class__ is list:
            others = tuple([index for index, item in enumerate(raw) if not isinstance(item, dict)])
            fitting = list(islice(nested, len(raw) - len(others)))
            yield keep(field, raw, fitting, others) if others else fitting
        elif not field.many and isinstance(raw, dict):
            yield next(nested)
        else:
            yield raw if isinstance(raw, str) and "str" in field.scalars else keep(field, raw)


# -- raw rows ---------------------------------------------------------------------------------------------------------


def structure_rows(model: type[Any], rows: list[Any], path: str, issues: Issues) -> list[Any]:
    """Return the models of raw rows. A row that is not an object is left out and reported."""
    return _result(structure_steps(model, rows, path, issues))


def structure_steps(
    model: type[Any], rows: list[Any], path: str, issues: Issues, offset: int = 0
) -> Generator[None, None, list[Any]]:
    """Return the same from short steps; ``offset`` is the index of the first row."""
    wire, models = wires()[model], list[Any]()
    for start in range(0, len(rows), ROWS_PER_BATCH):
        batch = dict(enumerate(rows[start : start + ROWS_PER_BATCH], offset + start))
        odd = [index for index, row in batch.items() if not isinstance(row, dict)]
        for index in odd[:1]:  # All have one path, which is reported once.
            issues.report(f"{path}[{index}]", f"expected an object, got {describe(batch[index])}", LEFT_OUT)
        for index in odd:
            del batch[index]
        try:
            models += yield from _structure(wire, list(batch.values()), f"{path}[]", issues)
        except UNREADABLE:  # In strict mode the row is named.
            for index, row in batch.items():
                models += yield from _structure(wire, [row], f"{path}[{index}]", issues)
        yield
    return models


def structure_one(model: type[Any], raw: Any, path: str, issues: Issues) -> Any:
    """Return the model of one raw object. Raises ResponseDecodeError when it is not an object."""
    if not isinstance(raw, dict):
        reason = f"expected an object, got {describe(raw)}"
        raise ResponseDecodeError(f"{path}: {reason}", json_path=path, operation=issues.operation)
    return _result(_structure(wires()[model], [raw], path, issues))[0]


def _result(steps: Generator[None, None, list[Any]]) -> list[Any]:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            models: list[Any] = end.value
            return models


def _structure(wire: type[Wire], rows: list[Any], path: str, issues: Issues) -> Generator[None, None, list[Any]]:
    """Return the models of raw objects, converted in C by a struct that was adapted to them. Each adaptation is a step.

    All rows may be odd in another way, and to look through them takes about a millisecond each time.
    """
    registry = issues.registry
    while True:
        plan = registry.plan(wire)
        try:
            return build_rows(plan, plan.convert(rows), path, issues)
        except UNREADABLE:
            if not registry.adapt(wire, rows, widen=False):
                for row in rows:
                    try:
                        build_rows(plan, plan.convert([row]), path, issues)
                    except UNREADABLE:
                        if registry.adapt(wire, [row], widen=True):
                            break
                else:
                    raise
        yield
