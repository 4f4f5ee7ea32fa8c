"""Lenient decoding: a value that does not fit the schema is kept, reported once, and never costs the row around it.

A value that is plainly the same in another JSON type is converted. Any other goes to the model's ``extra`` under its
wire key. Each (operation, path) is logged once to ``brokerage_async.decode``. In strict mode it is an error instead.
Unknown keys are kept without a warning.

The values of widened fields are read one by one in decoded structs. Raw rows that no struct takes are read key by key,
and the registry learns from them, so that the next body is decoded in C.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

import msgspec

from ..._values import Extra, Model
from ..._wire import Wire
from ...errors import ResponseDecodeError
from ..registry import wires
from .adaptive import Plan
from .fields import UNREADABLE, Kept, WireField, always_fields, keep, read, wire_fields
from .issues import KEPT, LEFT_OUT, MISSING, Issues, describe

__all__ = ["build_rows", "parse", "report_missing", "structure_one", "structure_rows", "structure_steps"]

#: Raw rows that are converted together, and those that are read value by value between two turns of an event loop.
ROWS_PER_BATCH, ROWS_PER_STEP = 128, 16


def parse(body: bytes | memoryview) -> Any:
    """Return a body as untyped JSON, numbers with a fraction as Decimals.

    Input that only the standard library takes (lone surrogates, bare NaN) is parsed the slower way. Numbers that
    Python cannot hold stay strings there. Raises ValueError for anything that is not JSON.
    """
    try:
        return _UNTYPED.decode(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except (msgspec.DecodeError, ArithmeticError):
        try:
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
    """Return the models of decoded rows. Raises one of UNREADABLE when a row needs a closer look.

    In strict mode that includes every issue: read in order, the first one is raised.
    """
    if not plan.is_typed:
        _settle(plan, rows, path, issues)
    models: list[Any] = plan.variant.build_all(rows)
    report_missing(plan.wire, models, path, issues)
    return models


def report_missing(wire: type[Wire], models: Sequence[Any], path: str, issues: Issues) -> None:
    """Report rows without a value that every recorded answer has. Raises ValueError in strict mode, as above."""
    for key in _missing(wire, models):
        if issues.strict:
            raise ValueError(key)
        issues.report(f"{path}.{key}", *MISSING)


def _missing(wire: type[Wire], models: Sequence[Any]) -> list[str]:
    return [
        field.key
        for field, value_of in always_fields(wire)
        if not all(map(value_of, models)) and any(not value_of(one) and field.key not in one.extra for one in models)
    ]


def _settle(plan: Plan, structs: Sequence[Any], path: str, issues: Issues) -> None:
    """Bring widened fields, also in nested structs, to the documented form. Mark and report values that do not fit."""
    fields = wire_fields(plan.wire)
    for alias in fields.values():
        if alias.alias_of is not None:
            proper = fields[alias.alias_of].attribute
            if any(
                getattr(each, proper) is not None and getattr(each, alias.attribute) is not None for each in structs
            ):
                raise ValueError("a key and its alias")  # Its raw JSON is needed.
    for field, nested in plan.widened:
        attribute, place, reported = field.attribute, f"{path}.{field.key}", False
        for struct in structs:
            raw = getattr(struct, attribute)
            if raw is None:
                continue
            value = read(field, raw) if nested is None else _read_nested(field, nested.variant, raw)
            if value is raw:
                continue
            setattr(struct, attribute, value)
            if value.__class__ is Kept and (value.items or not reported):
                if issues.strict:
                    raise ValueError(place)
                _report(field, value, place, issues)
                reported = reported or not value.items  # Items of a list have their own paths.
    for field, below in plan.below:
        attribute, place = field.attribute, f"{path}.{field.key}"
        values = [value for each in structs if (value := getattr(each, attribute)) is not None]
        if not field.many:
            _settle(below, [value for value in values if isinstance(value, Wire)], place, issues)
            continue
        items = [item for value in values for item in (value.value or () if value.__class__ is Kept else value)]
        _settle(below, items, f"{place}[]", issues)
        models = iter(below.variant.build_all(items))  # All at once, because most lists are short.
        for struct in structs:
            value = getattr(struct, attribute)
            if value.__class__ is Kept:
                value.value = value.value and tuple(islice(models, len(value.value)))
            elif value:
                setattr(struct, attribute, tuple(islice(models, len(value))))


def _read_nested(field: WireField, child: type[Wire], raw: Any) -> Any:
    """Return the structs of a field that holds nested models, or a `Kept` when ``raw`` does not fit as a whole."""
    if field.many and raw.__class__ is list:
        others = tuple([index for index, item in enumerate(raw) if not isinstance(item, dict)])
        fitting = [item for item in raw if isinstance(item, dict)] if others else raw
        structs = msgspec.convert(fitting, list[child])  # type: ignore[valid-type]
        return keep(field, raw, structs, others) if others else structs
    if not field.many and isinstance(raw, dict):
        return msgspec.convert(raw, child)
    return raw if isinstance(raw, str) and "str" in field.scalars else keep(field, raw)


def _report(field: WireField, kept: Kept, path: str, issues: Issues) -> None:
    if not kept.items:
        issues.report(path, f"expected {field.expected}, got {describe(kept.raw)}", KEPT)
    for index in kept.items:
        reason = f"expected {'an object' if field.child else field.expected}, got {describe(kept.raw[index])}"
        issues.report(f"{path}[{index}]", reason, LEFT_OUT if field.child else KEPT)


# -- raw rows ---------------------------------------------------------------------------------------------------------


def structure_rows(model: type[Any], rows: list[Any], path: str, issues: Issues) -> list[Any]:
    """Return the models of raw rows. A row that is not an object is left out and reported."""
    steps = structure_steps(model, rows, path, issues)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            models: list[Any] = end.value
            return models


def structure_steps(
    model: type[Any], rows: list[Any], path: str, issues: Issues, offset: int = 0
) -> Generator[None, None, list[Any]]:
    """Return the same from short steps; ``offset`` is the index of the first row."""
    wire, models = wires()[model], list[Any]()
    for start in range(0, len(rows), ROWS_PER_BATCH):
        batch = rows[start : start + ROWS_PER_BATCH]
        found = _convert(wire, batch, f"{path}[]", issues)
        if found is None:
            found = []
            for index, row in enumerate(batch, offset + start):
                found += _structure(wire, row, f"{path}[{index}]", issues)
                if index % ROWS_PER_STEP == 0:
                    yield
        models += found
        yield
    return models


def structure_one(model: type[Any], raw: Any, path: str, issues: Issues) -> Any:
    """Return the model of one raw object. Raises ResponseDecodeError when it is not an object."""
    if not isinstance(raw, dict):
        reason = f"expected an object, got {describe(raw)}"
        raise ResponseDecodeError(f"{path}: {reason}", json_path=path, operation=issues.operation)
    return _structure(wires()[model], raw, path, issues)[0]


def _convert(wire: type[Wire], rows: list[Any], path: str, issues: Issues) -> list[Any] | None:
    """Return the models of raw rows that are converted in C, None when one of them does not fit."""
    while True:
        plan = issues.registry.plan(wire)
        variant: Any = plan.variant
        try:
            return build_rows(plan, msgspec.convert(rows, list[variant]), path, issues)
        except UNREADABLE:
            if not issues.registry.learn(wire, rows):
                return None


def _structure(wire: type[Wire], row: Any, path: str, issues: Issues) -> list[Any]:
    """Return the model of one raw row, alone in a list. The list is empty when the row is not an object."""
    if not isinstance(row, dict):
        issues.report(path, f"expected an object, got {describe(row)}", LEFT_OUT)
        return []
    if (found := _convert(wire, [row], path, issues)) is not None:
        return found
    fields = wire_fields(wire)
    values: dict[str, Any] = {}
    extra = {key: raw for key, raw in row.items() if key not in fields}
    for key, field in fields.items():  # Aliases come last, so that the proper key wins.
        if (raw := row.get(key)) is None:
            continue
        value = _read_raw(field, raw, f"{path}.{key}", issues)
        if value.__class__ is Kept or row.get(field.alias_of) is not None:
            extra[key] = raw
        if value.__class__ is Kept:
            value = value.value
        if value is not None:
            values.setdefault(field.target, value)
    model = wire(**{key: value for key, value in values.items() if not isinstance(value, Model)}).build_new()
    for target, value in values.items():
        if isinstance(value, Model):
            object.__setattr__(model, target, value)
    if extra:
        object.__setattr__(model, "extra", Extra({**model.extra, **extra}))
    for key in _missing(wire, [model]):
        issues.report(f"{path}.{key}", *MISSING)
    return [model]


def _read_raw(field: WireField, raw: Any, path: str, issues: Issues) -> Any:
    """Return what `read` gives, models for nested rows. Widen the field where the form is not the documented one."""
    child, widen = field.child, issues.registry.widen
    if child is None:
        value = read(field, raw)
        try:
            msgspec.convert(raw, field.type)
        except UNREADABLE:
            widen(field)
    elif field.many and isinstance(raw, list):
        rows = [_structure(child, item, f"{path}[{index}]", issues) for index, item in enumerate(raw)]
        value = tuple([model for row in rows for model in row])
        if len(value) < len(raw):
            widen(field)
            return keep(field, raw, value)
    elif not field.many and isinstance(raw, dict):
        (value,) = _structure(child, raw, path, issues)
    elif "str" in field.scalars and isinstance(raw, str):
        value = raw
    else:
        value = keep(field, raw)
    if isinstance(value, Kept):
        widen(field)
        _report(field, value, path, issues)
    return value
