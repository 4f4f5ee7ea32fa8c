"""Decoder of rows that come as arrays of values, in an order of columns that was announced before.

A struct with the columns in that order is made once. Then all rows are checked and converted in C, and built by the
generated code, like rows of objects. A value that does not fit is read like any other misfit (see `lenient`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..._wire import Wire
from ..decoding.adaptive import variant_methods
from ..decoding.fields import UNREADABLE, wire_fields
from ..decoding.issues import Issues
from ..decoding.lenient import report_missing, structure_rows
from ..registry import wires

__all__ = ["ColumnDecoder"]

#: Columns that one row may have. More of them are not decoded.
MAX_COLUMNS = 256


class ColumnDecoder:
    """Decoder of the rows of one model with one order of columns.

    A column that the model lacks goes to ``extra``, unless it is in ``ignored``.

    Raises:
        ValueError: there are no columns, or more than `MAX_COLUMNS`.
    """

    __slots__ = ("_ignored", "_model", "_rows", "_struct", "columns")

    def __init__(self, model: type[Any], columns: Sequence[str], *, ignored: frozenset[str] = frozenset()) -> None:
        if not 0 < len(columns) <= MAX_COLUMNS:
            raise ValueError(f"columns must be 1 to {MAX_COLUMNS}, got {len(columns)}")
        self.columns: tuple[str, ...] = tuple(columns)
        self._model = model
        self._ignored = ignored
        row: Any = _row_struct(wires()[model], self.columns, ignored)
        self._struct: type[Wire] = row
        self._rows: Any = list[row]

    def decode(self, values: list[Any], path: str, issues: Issues) -> list[Any]:
        """Return the models of concatenated rows. Raises ValueError when their values do not fill whole rows."""
        width = len(self.columns)
        if len(values) % width:
            raise ValueError(f"values must fill rows of {width} columns, got {len(values)}")
        rows = list(zip(*[iter(values)] * width, strict=False))
        try:
            models: list[Any] = self._struct.build_all(msgspec.convert(rows, self._rows))
            report_missing(wires()[self._model], models, f"{path}[]", issues)
        except UNREADABLE:
            objects = [
                {name: value for name, value in zip(self.columns, row, strict=True) if name not in self._ignored}
                for row in rows
            ]
            models = structure_rows(self._model, objects, path, issues)
        return models


def _row_struct(wire: type[Wire], columns: tuple[str, ...], ignored: frozenset[str]) -> type[Wire]:
    """Return the wire struct as an array of these columns. The other fields follow and stay None."""
    fields = dict(wire_fields(wire))
    unknown: list[str] = []
    definitions: list[Any] = []
    for number, name in enumerate(columns):
        field = fields.pop(name, None)
        if field is not None:
            definitions.append((field.attribute, field.type, None))
        elif name in ignored or name in columns[:number]:
            definitions.append((f"ignored_{number}", Any, None))
        else:
            definitions.append((f"learned_{len(unknown)}", Any, msgspec.UNSET))
            unknown.append(name)
    definitions += [(field.attribute, field.type, None) for field in fields.values()]
    row: type[Wire] = msgspec.defstruct(  # type: ignore[assignment]
        wire.__name__,
        definitions,
        bases=(Wire,),
        namespace=variant_methods(wire, unknown),
        module=wire.__module__,
        array_like=True,
        gc=False,
    )
    return row
