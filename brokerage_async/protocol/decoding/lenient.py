"""Lenient decoding: a value that does not fit the schema is kept, reported once, and never costs the row around it.

A value that is plainly the same in another JSON type is converted. Any other goes to the model's ``extra`` under its
wire key. Each (operation, path) is logged once to ``brokerage_async.decode``; in strict mode it is an error instead.
Unknown keys are kept without a warning.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from decimal import Decimal
from typing import Any

import attrs
import msgspec

from ..._values import Extra
from ..._wire import Wire
from ...errors import ResponseDecodeError
from ..registry import wires
from .adaptive import Plan
from .fields import UNFIT, UNREADABLE, WireField, fitting, wire_fields
from .issues import KEPT, LEFT_OUT, Issues, describe
from .widening import Column, Kept, needs_untyped

__all__ = ["build_rows", "parse", "settle", "structure_one", "structure_rows", "structure_steps"]

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
            return json.loads(bytes(body).decode(), parse_float=_number, parse_int=_whole_number, parse_constant=str)
        except RecursionError:
            raise ValueError("nested too deeply") from None


_UNTYPED = msgspec.json.Decoder(float_hook=Decimal)


def _number(digits: str) -> Decimal | str:
    try:
        return Decimal(digits)
    except ArithmeticError:  # an exponent of 19 digits
        return digits


def _whole_number(digits: str) -> int | str:
    try:
        return int(digits)
    except ValueError:  # more digits than Python converts, see sys.set_int_max_str_digits
        return digits


# -- decoded rows -----------------------------------------------------------------------------------------------------


def build_rows(plan: Plan, rows: Sequence[Any], path: str, issues: Issues) -> list[Any]:
    """Return the models of decoded rows. Raises one of UNREADABLE when a row needs a closer look."""
    if plan.places:
        settle(plan, rows, path, issues)
    models: list[Any] = plan.variant.build_all(rows)
    return models


def settle(plan: Plan, rows: Sequence[Any], path: str, issues: Issues) -> None:
    """Bring the widened fields of decoded rows into the documented form, or mark and report them.

    Raises ValueError in strict mode, so that the rows are read in order and the first issue is the one raised.
    """
    for place in plan.places:
        structs = place.structs(rows)
        for proper, alias in place.aliases:
            if any(getattr(each, proper) is not None and getattr(each, alias) is not None for each in structs):
                raise ValueError("a key and its alias")  # Its raw JSON is needed.
        for column in place.columns:
            _settle_column(column, structs, f"{path}{place.path}.{column.field.key}", issues)


def _settle_column(column: Column, structs: Sequence[Any], path: str, issues: Issues) -> None:
    attribute, reader_of, other = column.field.attribute, column.readers.get, column.other
    reported = False
    for struct in structs:
        raw = getattr(struct, attribute)
        read = reader_of(raw.__class__, other)
        if read is None:
            continue
        value = read(raw)
        if value is raw:
            continue
        setattr(struct, attribute, value)
        if value.__class__ is Kept and (value.items or not reported):
            if issues.strict:
                raise ValueError(path)
            _report(column.field, value, path, issues)
            reported = reported or not value.items  # Items of a list have paths of their own.


def _report(field: WireField, kept: Kept, path: str, issues: Issues) -> None:
    if not kept.items:
        issues.report(path, f"expected {field.expected}, got {describe(kept.raw)}", KEPT)
    for index in kept.items:
        reason = f"expected {'an object' if field.child else field.expected}, got {describe(kept.raw[index])}"
        issues.report(f"{path}[{index}]", reason, LEFT_OUT if field.child else KEPT)


# -- raw rows ---------------------------------------------------------------------------------------------------------


def structure_rows(model: type[Any], rows: list[Any], path: str, issues: Issues) -> list[Any]:
    """Return the models of raw rows; a row that is not an object is left out and reported."""
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
    models: list[Any] = []
    for start in range(0, len(rows), ROWS_PER_BATCH):
        batch = rows[start : start + ROWS_PER_BATCH]
        models += yield from _structure_batch(wires()[model], batch, path, issues, offset + start)
        yield
    return models


def _structure_batch(
    wire: type[Wire], rows: list[Any], path: str, issues: Issues, offset: int
) -> Generator[None, None, list[Any]]:
    for _ in range(2):
        plan = issues.registry.plan(wire)
        variant: Any = plan.variant
        try:
            return build_rows(plan, msgspec.convert(rows, list[variant]), f"{path}[]", issues)
        except UNREADABLE:
            if not issues.registry.learn(wire, rows):
                break
    models = []
    for index, row in enumerate(rows, offset):
        if (built := _structure(wire, row, f"{path}[{index}]", issues)) is not UNFIT:
            models.append(built)
        if index % ROWS_PER_STEP == 0:
            yield
    return models


def structure_one(model: type[Any], raw: Any, path: str, issues: Issues) -> Any:
    """Return the model of one raw object. Raises ResponseDecodeError when it is not an object."""
    if not isinstance(raw, dict):
        reason = f"expected an object, got {describe(raw)}"
        raise ResponseDecodeError(f"{path}: {reason}", json_path=path, operation=issues.operation)
    wire, registry = wires()[model], issues.registry
    for _ in range(2):
        try:
            return _structure_fitting(wire, raw, path, issues)
        except UNREADABLE:
            if not registry.learn(wire, (raw,)):
                break
    return _structure(wire, raw, path, issues)


def _structure_fitting(wire: type[Wire], raw: Any, path: str, issues: Issues) -> Any:
    plan = issues.registry.plan(wire)
    return build_rows(plan, (msgspec.convert(raw, plan.variant),), path, issues)[0]


def _structure(wire: type[Wire], row: Any, path: str, issues: Issues) -> Any:
    if not isinstance(row, dict):
        issues.report(path, f"expected an object, got {describe(row)}", LEFT_OUT)
        return UNFIT
    try:
        return _structure_fitting(wire, row, path, issues)
    except UNREADABLE:
        return _structure_fields(wire, row, path, issues)


def _structure_fields(wire: type[Wire], row: dict[str, Any], path: str, issues: Issues) -> Any:
    """Return the model of a row some of whose values do not fit: those are kept in ``extra``."""
    fields = wire_fields(wire)
    parts = _Parts(wire=wire, issues=issues, extra={key: raw for key, raw in row.items() if key not in fields})
    for key, field in fields.items():  # Aliases come last, so that the proper key wins.
        if (raw := row.get(key)) is not None:
            parts.add(field, raw, f"{path}.{key}")
    return parts.build()


@attrs.define(kw_only=True)
class _Parts:
    """The values of one row, sorted into those that fit, nested models, and those to keep raw."""

    wire: type[Wire]
    issues: Issues
    extra: dict[str, Any]
    fitting: dict[str, Any] = attrs.field(factory=dict)
    nested: dict[str, Any] = attrs.field(factory=dict)

    def add(self, field: WireField, raw: Any, path: str) -> None:
        """Put the value of one key, or its equivalent, where it belongs."""
        if field.alias_of in self.extra:
            self.extra[field.key] = raw  # It fills the field, but the raw value under the proper key is written.
        if field.child is None:
            self._add_values(field, raw, path)
        elif field.target in self.nested:
            self.extra[field.key] = raw
        elif field.many and isinstance(raw, list):
            self._add_models(field, field.child, raw, path)
        elif not field.many and isinstance(raw, dict):
            self.nested[field.target] = _structure(field.child, raw, path, self.issues)
        elif "str" in field.scalars and isinstance(raw, str):  # documented as text as well
            self.nested[field.target] = raw
        else:
            self._reject(field, raw, path)

    def build(self) -> Any:
        """Return the model."""
        model = msgspec.convert(self.fitting, self.wire).build_new()
        for target, value in self.nested.items():
            object.__setattr__(model, target, value)
        if self.extra:
            object.__setattr__(model, "extra", Extra({**model.extra, **self.extra}))
        return model

    def _add_models(self, field: WireField, child: type[Wire], raw: list[Any], path: str) -> None:
        built = [_structure(child, row, f"{path}[{index}]", self.issues) for index, row in enumerate(raw)]
        self.nested[field.target] = tuple(each for each in built if each is not UNFIT)
        if len(self.nested[field.target]) < len(raw):
            self.extra[field.key] = raw
            self._widen(field, untyped=True)

    def _add_values(self, field: WireField, raw: Any, path: str) -> None:
        if not (field.array and isinstance(raw, list)):
            value = fitting(self.wire, field, raw)
            if value is UNFIT:
                self._reject(field, raw, path)
                return
            self.fitting[field.key] = value
            if value is not raw:
                self._widen(field, untyped=isinstance(raw, (Decimal, float)))
            return
        values = [fitting(self.wire, field, item, as_item=True) for item in raw]
        for index, value in enumerate(values):
            if value is UNFIT:
                reason = f"expected {field.expected}, got {describe(raw[index])}"
                self.issues.report(f"{path}[{index}]", reason, KEPT)
                self.extra[field.key] = raw
            if value is not raw[index]:
                self._widen(field)
        self.fitting[field.key] = [value for value in values if value is not UNFIT]

    def _reject(self, field: WireField, raw: Any, path: str) -> None:
        self.issues.report(path, f"expected {field.expected}, got {describe(raw)}", KEPT)
        self.extra[field.key] = raw
        self._widen(field, untyped=needs_untyped(field, raw))

    def _widen(self, field: WireField, *, untyped: bool = False) -> None:
        self.issues.registry.widen(self.wire, field, untyped=untyped)
