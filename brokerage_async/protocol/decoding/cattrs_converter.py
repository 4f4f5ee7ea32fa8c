"""The cattrs converter: the same wire structs, builders and tolerance as for bytes, behind cattrs' interface."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, get_args, get_origin

import cattrs
import msgspec

from ..._generated.converters import WIRES
from ..._values import OpenStrEnum, as_tuple, decimal_text, finite, read_decimal
from .adaptive import current
from .lenient import UNREADABLE, Findings, structure_one, structure_rows

__all__ = ["make_converter"]


def make_converter() -> cattrs.Converter:
    """A converter that structures every model from JSON values and unstructures it into them.

    What does not fit is kept in ``extra`` and told once, as with bodies; only what is no object at all raises
    ResponseDecodeError. ``unstructure`` writes the fields under their wire keys, then ``extra`` over them.
    """
    converter = cattrs.Converter()
    for model in WIRES:
        converter.register_structure_hook(model, _structure_hook(model))
        converter.register_unstructure_hook(model, _unstructure)
    converter.register_structure_hook_func(_is_list_of_models, _structure_list)
    converter.register_structure_hook(Decimal, _structure_decimal)
    converter.register_unstructure_hook(Decimal, decimal_text)
    converter.register_structure_hook_func(_is_open_enum, lambda value, enum: enum(value))
    return converter


def _structure_hook(model: type[Any]) -> Callable[[Any, Any], Any]:
    wire = WIRES[model]

    def structure(value: Any, _: Any) -> Any:
        try:
            return msgspec.convert(value, current(wire)).build()
        except UNREADABLE:
            return structure_one(model, value, "$", Findings(model.__name__))

    return structure


def _structure_decimal(value: Any, _: Any) -> Decimal:
    """A decimal from what JSON holds; a float has the digits that it is written with, as in the fields of models."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
        raise TypeError(f"expected a decimal, got {type(value).__name__}")
    return finite(value) if isinstance(value, Decimal) else read_decimal(str(value))


def _is_open_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, OpenStrEnum)


def _is_list_of_models(kind: Any) -> bool:
    return get_origin(kind) is list and get_args(kind)[0] in WIRES


def _structure_list(value: Any, kind: Any) -> list[Any]:
    """A list goes through in one piece, which is faster than model by model."""
    (model,) = get_args(kind)
    rows = value if isinstance(value, list) else list(as_tuple(value))
    return structure_rows(model, rows, "$", Findings(model.__name__))


def _unstructure(model: Any) -> Any:
    return msgspec.to_builtins(WIRES[type(model)].of(model), builtin_types=(Decimal,))
