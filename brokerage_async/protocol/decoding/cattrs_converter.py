"""The cattrs converter: the wire structs, builders and leniency of bodies, behind the interface of cattrs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, get_args, get_origin

import cattrs
import msgspec

from ..._decimals import decimal_text, read_number
from ..._values import OpenStrEnum, as_tuple
from ..registry import wires
from .issues import Issues
from .lenient import structure_one, structure_rows


def make_converter() -> cattrs.Converter:
    """Return a converter between every model and JSON values.

    A value that does not fit is kept in ``extra`` and reported once, as in bodies. A value that is not an object
    raises ResponseDecodeError. ``unstructure`` writes the fields under their wire keys, then ``extra`` over them.
    """

    def is_model(kind: Any) -> bool:  # also of packages that are imported later
        return isinstance(kind, type) and kind in wires()

    def is_list(kind: Any) -> bool:
        return get_origin(kind) is list and get_args(kind)[0] in wires()

    def structure_list(value: Any, kind: Any) -> list[Any]:  # in one piece, which is faster than model by model
        (model,) = get_args(kind)
        return structure_rows(model, list(as_tuple(value)), "$", Issues(model.__name__))

    def structure_decimal(value: Any, _: Any) -> Decimal:  # a float has the digits of its repr, as in fields of models
        if isinstance(value, bool) or not isinstance(value, (str, int, float, Decimal)):
            raise TypeError(f"expected a decimal, got {type(value).__name__}")
        return read_number(value)

    converter = cattrs.Converter()
    structure, unstructure = converter.register_structure_hook_func, converter.register_unstructure_hook_func
    structure(is_model, lambda value, model: structure_one(model, value, "$", Issues(model.__name__)))
    structure(is_list, structure_list)
    structure(lambda kind: isinstance(kind, type) and issubclass(kind, OpenStrEnum), lambda value, enum: enum(value))
    unstructure(is_model, lambda model: msgspec.to_builtins(wires()[type(model)].of(model), builtin_types=(Decimal,)))
    converter.register_structure_hook(Decimal, structure_decimal)
    converter.register_unstructure_hook(Decimal, decimal_text)
    return converter
