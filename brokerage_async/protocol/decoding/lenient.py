"""What happens to JSON that does not fit the schema: it is kept, told once, and never costs the row around it.

A value that is plainly the same thing in another JSON type is taken for it. Anything else goes to the model's
``extra`` under its wire key. Each (operation, path) is told once on the logger ``brokerage_async.decode``; in strict
mode it is an error instead. Unknown keys are kept without a word.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Generator
from decimal import Decimal
from typing import Any

import attrs
import msgspec

from ..._generated.converters import WIRES, Wire
from ..._values import Extra
from ...errors import ResponseDecodeError
from .adaptive import current, learn, relax
from .fields import Slot, equivalents, layout

__all__ = ["UNREADABLE", "Findings", "kind_of", "parse", "structure_one", "structure_rows", "structure_steps"]

logger: logging.Logger = logging.getLogger("brokerage_async.decode")

#: Paths that are remembered as told; beyond that, told again rather than remembered.
_MOST_TOLD = 4096
_told: set[tuple[str, str]] = set()

_UNFIT: Any = object()

#: What decoding and building raise for values that do not fit.
UNREADABLE = (msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError)


@attrs.define
class Findings:
    """Where what does not fit is reported: to the log, or in strict mode as an exception."""

    operation: str
    strict: bool = False

    def report(self, path: str, reason: str, outcome: str = "") -> None:
        """Tell of one place: its exact JSON path, what is wrong there, what was done about it.

        Raises ResponseDecodeError in strict mode, where nothing is done about it.
        """
        if self.strict:
            raise ResponseDecodeError(f"{path}: {reason}", json_path=path, operation=self.operation)
        pattern = re.sub(r"\[\d+\]", "[]", path)
        if (self.operation, pattern) not in _told:
            if len(_told) < _MOST_TOLD:
                _told.add((self.operation, pattern))
            logger.warning("%s: %s: %s%s", self.operation, pattern, reason, outcome)


def parse(body: bytes | memoryview) -> Any:
    """A body as untyped JSON, numbers with a fraction as Decimals. Raises ValueError when it is none at all.

    What the fast parser refuses and the standard library takes (lone surrogates, bare NaN) is read the slower way.
    Numbers that Python cannot hold stay text there, so that they do not cost everything around them.
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


def _number(text: str) -> Decimal | str:
    try:
        return Decimal(text)
    except ArithmeticError:  # an exponent of 19 digits
        return text


def _whole_number(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:  # more digits than Python converts, see sys.set_int_max_str_digits
        return text


def structure_rows(model: type[Any], rows: list[Any], path: str, findings: Findings) -> list[Any]:
    """The models of raw rows; what is no object is left out and reported."""
    steps = structure_steps(model, rows, path, findings)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            models: list[Any] = end.value
            return models


def structure_steps(
    model: type[Any], rows: list[Any], path: str, findings: Findings, offset: int = 0
) -> Generator[None, None, list[Any]]:
    """The same in short steps; ``offset`` is the number of the first row."""
    wire = WIRES[model]
    for _ in range(2):
        variant: Any = current(wire)
        try:
            return [row.build() for row in msgspec.convert(rows, list[variant])]
        except UNREADABLE:
            if not learn(model, rows):
                break
    models = []
    for index, row in enumerate(rows, offset):
        if (built := _structure(wire, row, f"{path}[{index}]", findings)) is not _UNFIT:
            models.append(built)
        if index % _ROWS_PER_STEP == 0:
            yield
    return models


#: Rows whose values are looked at one by one between two turns of an event loop.
_ROWS_PER_STEP = 16


def structure_one(model: type[Any], raw: Any, path: str, findings: Findings) -> Any:
    """The model of one raw object. Raises ResponseDecodeError when it is no object."""
    if not isinstance(raw, dict):
        reason = f"expected an object, got {kind_of(raw)}"
        raise ResponseDecodeError(f"{path}: {reason}", json_path=path, operation=findings.operation)
    wire = WIRES[model]
    for _ in range(2):
        try:
            return msgspec.convert(raw, current(wire)).build()
        except UNREADABLE:
            if not learn(model, (raw,)):
                break
    return _structure(wire, raw, path, findings)


def _structure(wire: type[Wire], row: Any, path: str, findings: Findings) -> Any:
    if not isinstance(row, dict):
        findings.report(path, f"expected an object, got {kind_of(row)}", "; left out")
        return _UNFIT
    try:
        return msgspec.convert(row, current(wire)).build()
    except UNREADABLE:
        return _repair(wire, row, path, findings)


def _repair(wire: type[Wire], row: dict[str, Any], path: str, findings: Findings) -> Any:
    """The model of a row some of whose values do not fit: those are kept in ``extra``."""
    slots = layout(wire)
    parts = _Parts(wire=wire, findings=findings, extra={key: raw for key, raw in row.items() if key not in slots})
    for key, slot in slots.items():  # Aliases come last, so that the proper key wins.
        if (raw := row.get(key)) is not None:
            parts.add(slot, raw, f"{path}.{key}")
    return parts.built()


_KEPT = "; kept as raw JSON in extra"


@attrs.define(kw_only=True)
class _Parts:
    """The values of one row, sorted: what fits as it is, the nested models, and what does not fit."""

    wire: type[Wire]
    findings: Findings
    extra: dict[str, Any]
    fitting: dict[str, Any] = attrs.field(factory=dict)
    nested: dict[str, Any] = attrs.field(factory=dict)

    def add(self, slot: Slot, raw: Any, path: str) -> None:
        """Put the value of one key, or what it plainly stands for, where it belongs."""
        if slot.alias_of in self.extra:
            self.extra[slot.key] = raw  # It fills the field, but what is kept under the proper key will be written.
        if slot.child is None:
            self._add_values(slot, raw, path)
        elif slot.target in self.nested:
            self.extra[slot.key] = raw
        elif slot.many and isinstance(raw, list):
            self._add_models(slot, slot.child, raw, path)
        elif not slot.many and isinstance(raw, dict):
            self.nested[slot.target] = _structure(slot.child, raw, path, self.findings)
        else:
            self._reject(slot, raw, path, "a list" if slot.many else "an object")

    def built(self) -> Any:
        """The model."""
        model = msgspec.convert(self.fitting, self.wire).build_new()
        for target, value in self.nested.items():
            object.__setattr__(model, target, value)
        if self.extra:
            object.__setattr__(model, "extra", Extra({**model.extra, **self.extra}))
        return model

    def _add_models(self, slot: Slot, child: type[Wire], raw: list[Any], path: str) -> None:
        built = [_structure(child, row, f"{path}[{index}]", self.findings) for index, row in enumerate(raw)]
        self.nested[slot.target] = tuple(each for each in built if each is not _UNFIT)
        if len(self.nested[slot.target]) < len(raw):
            self.extra[slot.key] = raw

    def _add_values(self, slot: Slot, raw: Any, path: str) -> None:
        if not (slot.array and isinstance(raw, list)):
            value = _fitted(self.wire, slot, raw)
            if value is _UNFIT:
                self._reject(slot, raw, path, _expected(slot))
                return
            self.fitting[slot.key] = value
            if value is not raw:
                relax(self.wire, slot)
            return
        values = [_fitted(self.wire, slot, item, as_list=True) for item in raw]
        for index, value in enumerate(values):
            if value is _UNFIT:
                self.findings.report(
                    f"{path}[{index}]", f"expected {_expected(slot)}, got {kind_of(raw[index])}; {_KEPT}"
                )
                self.extra[slot.key] = raw
        self.fitting[slot.key] = [value for value in values if value is not _UNFIT]

    def _reject(self, slot: Slot, raw: Any, path: str, expected: str) -> None:
        self.findings.report(path, f"expected {expected}, got {kind_of(raw)}", _KEPT)
        self.extra[slot.key] = raw


def _fitted(wire: type[Wire], slot: Slot, raw: Any, *, as_list: bool = False) -> Any:
    """The value, or what it plainly stands for, if it can be read; else _UNFIT."""
    for candidate in (raw, *equivalents(slot, raw)):
        try:
            if slot.settled:
                msgspec.convert(candidate, slot.type)
            else:
                msgspec.convert({slot.key: [candidate] if as_list else candidate}, wire).build()
        except UNREADABLE:
            continue
        return candidate
    return _UNFIT


def _expected(slot: Slot) -> str:
    return " or ".join(sorted(slot.scalars)) or "an object"


def kind_of(raw: Any) -> str:
    """What a raw value is, without saying what is in it."""
    names = {str: "text", bool: "a boolean", dict: "an object", list: "a list", type(None): "null"}
    return names.get(type(raw), "a number")
