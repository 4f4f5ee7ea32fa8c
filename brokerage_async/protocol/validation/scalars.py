"""What a single value of a request may be: one function per kind, each telling what is wrong with it, and bounds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal

from ...operation import BodyField, Parameter

__all__ = ["Fault", "fault_of", "wrong_type"]

_INTEGER_BITS = 63
_IDENTIFIER_BITS = 128
_DECIMAL_DIGITS = 64

Fault = tuple[str, str]
"""Code and message of one problem."""


def fault_of(field: Parameter | BodyField, value: object) -> Fault | None:
    """What is wrong with the value of a field, or with one item of it where it is an array; None when nothing is."""
    fault = _FAULTS[field.kind](value)
    if fault is None and isinstance(value, int):
        if field.minimum is not None and value < field.minimum:
            return "out_of_range", f"must be at least {field.minimum}, not {value}"
        if field.maximum is not None and value > field.maximum:
            return "out_of_range", f"must be at most {field.maximum}, not {value}"
    return fault


def wrong_type(expected: str, value: object) -> Fault:
    """The fault of a value that is nothing of the kind."""
    return "wrong_type", f"must be {expected}, not {type(value).__name__}"


def _string_fault(value: object) -> Fault | None:
    if not isinstance(value, str):
        return wrong_type("text (str)", value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return "not_text", "holds a lone surrogate, which no text on the wire can carry"
    return None


def _integer_fault(value: object) -> Fault | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return wrong_type("an integer (int)", value)
    return None if value.bit_length() <= _INTEGER_BITS else ("out_of_range", "does not fit into 64 bits")


def _identifier_fault(value: object) -> Fault | None:
    if isinstance(value, int) and not isinstance(value, bool):
        return None if value.bit_length() <= _IDENTIFIER_BITS else ("out_of_range", "is no identifier: too large")
    return _string_fault(value) if isinstance(value, str) else wrong_type("an identifier (str or int)", value)


def _boolean_fault(value: object) -> Fault | None:
    return None if isinstance(value, bool) else wrong_type("True or False", value)


def _date_fault(value: object) -> Fault | None:
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return None
    return wrong_type("a datetime.date", value)


def _date_time_fault(value: object) -> Fault | None:
    if not isinstance(value, dt.datetime):
        return wrong_type("a datetime.datetime", value)
    return None if value.utcoffset() is not None else ("naive_date_time", "needs a time zone (tzinfo)")


def _decimal_fault(value: object) -> Fault | None:
    if not isinstance(value, Decimal):
        # Whole numbers are exact too; a float is not, and text may be anything.
        return _integer_fault(value) and wrong_type("a decimal.Decimal or int", value)
    if not value.is_finite():
        return "not_finite", "must be a finite number"
    # Written without an exponent, an extreme one would become megabytes of zeros.
    exponent = value.as_tuple().exponent
    if value.adjusted() > _DECIMAL_DIGITS or (isinstance(exponent, int) and exponent < -_DECIMAL_DIGITS):
        return "out_of_range", f"has more than {_DECIMAL_DIGITS} digits before or after the point"
    return None


def _object_fault(value: object) -> Fault | None:
    return None if isinstance(value, Mapping) else wrong_type("a mapping", value)


_FAULTS: Mapping[str, Callable[[object], Fault | None]] = {
    "string": _string_fault,
    "integer": _integer_fault,
    "identifier": _identifier_fault,
    "boolean": _boolean_fault,
    "date": _date_fault,
    "date-time": _date_time_fault,
    "decimal": _decimal_fault,
    "object": _object_fault,
}
