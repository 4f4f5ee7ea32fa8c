"""Rows to models, by structs that are adapted to them, with the values that do not fit in ``extra``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from operator import attrgetter
from typing import Any

import msgspec

from ..._decimals import MAX_CACHED_LENGTH
from ..._values import raw_object
from ..._wire import Wire, emptying
from ...errors import ResponseDecodeError
from ..registry import wires
from .adaptive import Plan
from .fields import UNREADABLE, Kept, keep, read, readings
from .issues import KEPT, LEFT_OUT, MISSING, Issues, describe

ROWS_PER_BATCH = 128  # raw rows that are converted together, between two turns of an event loop


def parse(body: bytes | memoryview) -> Any:
    """Return a body as untyped JSON, numbers with a fraction as Decimals.

    Input that only the standard library takes (lone surrogates, bare NaN) is parsed the slower way. Numbers that
    Python cannot hold stay strings there. Raises ValueError for anything that is not JSON.
    """
    try:
        try:
            return _UNTYPED.decode(body)
        except (msgspec.DecodeError, ArithmeticError):
            return json.loads(bytes(body).decode(), parse_float=_number, parse_int=_number, parse_constant=str)
    except RecursionError:
        raise ValueError("nested too deeply") from None


_UNTYPED = msgspec.json.Decoder(float_hook=Decimal)


def _number(digits: str) -> Any:
    """Return a number as Python has it. One that it does not convert, such as one of 5,000 digits, stays a string."""
    try:
        return int(digits) if digits.lstrip("-").isdecimal() else Decimal(digits)
    except (ArithmeticError, ValueError):
        return digits


def build_rows(plan: Plan, rows: list[Any], path: str, issues: Issues) -> list[Any]:
    """Return the models of raw objects, or of the structs that the plan decoded. Their list may be emptied.

    Raises one of UNREADABLE when a row needs a closer look.
    """
    if plan.variant is plan.wire and not (rows and isinstance(rows[0], dict)):  # most bodies: without the steps below
        models = list(plan.wire.build_all(emptying(rows) if plan.has_lists else rows))
    else:
        models = _build(plan, rows, path, issues)
    for key, value_of in plan.always:
        if not all(map(value_of, models)) and any(not value_of(one) and key not in one.extra for one in models):
            issues.report(f"{path}.{key}", *MISSING)
    return models


def _build(plan: Plan, rows: list[Any], path: str, issues: Issues) -> list[Any]:
    """Return the same for rows at any depth: loose values are read in the structs, nested models are set afterwards."""
    extras: dict[int, dict[str, Any]] = {}
    if rows and isinstance(rows[0], dict):
        if plan.has_spare:
            known = {*plan.variant.__struct_encode_fields__}
            extras = dict(enumerate([{key: row[key] for key in row if key not in known} for row in rows]))
            rows = [{key: row[key] for key in row if key in known} for row in rows]
        rows = msgspec.convert(rows, list[plan.variant])  # type: ignore[name-defined]
    if plan.variant is plan.wire:
        return list(plan.wire.build_all(emptying(rows) if plan.has_lists else rows))
    for attribute, key in plan.learned:
        for index, value in enumerate(map(attrgetter(attribute), rows)):
            if value is not msgspec.UNSET:
                extras.setdefault(index, {})[key] = value
    for field in plan.loose:
        attribute, proper, find, reported = field.attribute, field.alias_of, readings(field), set[bool]()
        for index, raw in enumerate(map(attrgetter(attribute), rows)):
            if raw is None:
                continue
            struct = rows[index]
            value = find(raw) if raw.__class__ is str and len(raw) <= MAX_CACHED_LENGTH else read(field, raw)
            if proper and (proper in extras.get(index, ()) or getattr(struct, field.target) is not None):
                value = value.value if value.__class__ is Kept else value  # The proper key wins where it fits.
                value = keep(field, raw, value if getattr(struct, field.target) is None else None)
            elif value.__class__ is Kept and bool(value.items) not in reported:
                reported.add(bool(value.items))  # All items of lists have one path, which is reported once.
                place, expected, outcome, odd = f"{path}.{field.key}", field.expected, KEPT, raw
                if value.items:
                    place, odd = f"{place}[{value.items[0]}]", raw[value.items[0]]
                    expected, outcome = ("an object", LEFT_OUT) if field.child else (expected, KEPT)
                issues.report(place, f"expected {expected}, got {describe(odd)}", outcome)
            if value.__class__ is Kept:
                extras[index] = {**extras[index], **value.extra} if index in extras else value.extra
                value = value.value
            setattr(struct, attribute, value)
    nested = list[tuple[int, str, Any]]()
    for field, below in plan.nested:
        attribute, place = field.attribute, f"{path}.{field.key}[]" if field.many else f"{path}.{field.key}"
        found = [(index, value) for index, value in enumerate(map(attrgetter(attribute), rows)) if value is not None]
        found = [(index, value) for index, value in found if not isinstance(value, str)]
        inner = [item for _, value in found for item in value] if field.many else [value for _, value in found]
        found = [(index, len(value) if field.many else 1) for index, value in found]
        for index, _ in found:
            setattr(rows[index], attribute, None)
        if field.many and issues.strict:  # The first item with an issue is named.
            places = [f"{path}.{field.key}[{at}]" for _, size in found for at in range(size)]
            models = iter([_build(below, [item], at, issues)[0] for item, at in zip(inner, places, strict=True)])
        else:  # All at once, because most lists are short.
            models = iter(_build(below, inner, place, issues))
        for index, size in found:
            nested.append((index, field.target, tuple(islice(models, size)) if field.many else next(models)))
    built: Any = plan.wire.build_new(emptying(rows) if plan.has_lists else rows)
    for index, target, value in nested:
        object.__setattr__(built[index], target, value)
    for index, extra in extras.items():
        own = built[index].extra
        object.__setattr__(built[index], "extra", raw_object({**own, **extra} if own else extra))
    return list(built)


def structure_rows(model: type[Any], rows: list[Any], path: str, issues: Issues) -> list[Any]:
    """Return the models of raw rows. A row that is not an object is left out and reported."""
    return [one for models in structure_steps(model, rows, path, issues) for one in models]


def structure_one(model: type[Any], raw: Any, path: str, issues: Issues) -> Any:
    """Return the model of one raw object. Raises ResponseDecodeError when it is not an object."""
    if not isinstance(raw, dict):
        reason = f"expected an object, got {describe(raw)}"
        raise ResponseDecodeError(f"{path}: {reason}", json_path=path, operation=issues.operation)
    return next(one for models in _structure(wires()[model], [raw], path, issues) for one in models)


def structure_steps(
    model: type[Any], rows: list[Any], path: str, issues: Issues, offset: int = 0
) -> Iterator[list[Any]]:
    """Yield the models of raw rows, some or none in each short step; ``offset`` is the index of the first row."""
    for start in range(0, len(rows), ROWS_PER_BATCH):
        batch = dict(enumerate(rows[start : start + ROWS_PER_BATCH], offset + start))
        for index in [index for index, row in batch.items() if not isinstance(row, dict)][:1]:  # All have one path.
            issues.report(f"{path}[{index}]", f"expected an object, got {describe(batch[index])}", LEFT_OUT)
        objects = {index: row for index, row in batch.items() if isinstance(row, dict)}
        try:
            yield from _structure(wires()[model], list(objects.values()), f"{path}[]", issues)
        except UNREADABLE:  # In strict mode the row is named.
            for index, row in objects.items():
                yield from _structure(wires()[model], [row], f"{path}[{index}]", issues)


def _structure(wire: type[Wire], rows: list[Any], path: str, issues: Issues) -> Iterator[list[Any]]:
    """Yield the models of raw objects. Each adaptation to them is a step, because it takes about a millisecond."""
    registry, models = issues.registry, None
    while models is None:
        plan = registry.plan(wire)
        try:
            models = build_rows(plan, rows, path, issues)
        except UNREADABLE:
            for row in rows:
                try:
                    build_rows(plan, [row], path, issues)
                except UNREADABLE:
                    registry.adapt(wire, rows, row)
                    if registry.plan(wire) is not plan:
                        break
            else:
                raise
        yield models or []
