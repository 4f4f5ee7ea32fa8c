"""Validation of single values of a request: one function per kind, and bounds."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal

from ...operation import BodyField, Parameter

_INTEGER_BITS = 63
_IDENTIFIER_BITS = 128
_DECIMAL_DIGITS = 64

Problem = tuple[str, str]
"""Code and message of one problem."""


def problem_of(field: Parameter | BodyField, value: object) -> Problem | None:
    """Return the problem of a field's value, or of one item of an array. None if it is valid."""
    problem: Problem | None = None
    match field.kind:
        case "string":
            problem = _string_problem(value)
        case "integer":
            problem = _integer_problem(value)
        case "decimal":
            problem = decimal_problem(value)
        case "identifier" if isinstance(value, int) and not isinstance(value, bool):
            if value.bit_length() > _IDENTIFIER_BITS:
                problem = "out_of_range", "must fit into 128 bits"
        case "identifier":
            problem = _string_problem(value) if isinstance(value, str) else wrong_type("a str or an int", value)
        case "boolean" if not isinstance(value, bool):
            problem = wrong_type("True or False", value)
        case "date" if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
            problem = wrong_type("a datetime.date", value)
        case "date-time" if not isinstance(value, dt.datetime):
            problem = wrong_type("a datetime.datetime", value)
        case "date-time" if value.utcoffset() is None:  # type: ignore[attr-defined]
            problem = "naive_date_time", "must have a time zone (tzinfo)"
        case "object" if not isinstance(value, Mapping):
            problem = wrong_type("a mapping", value)
    if problem is None and isinstance(value, int):
        if field.minimum is not None and value < field.minimum:
            return "out_of_range", f"must be at least {field.minimum}, got {value}"
        if field.maximum is not None and value > field.maximum:
            return "out_of_range", f"must be at most {field.maximum}, got {value}"
    return problem


def wrong_type(expected: str, value: object) -> Problem:
    """Return the problem of a value of another type."""
    return "wrong_type", f"must be {expected}, got {type(value).__name__}"


def _string_problem(value: object) -> Problem | None:
    if not isinstance(value, str):
        return wrong_type("a str", value)
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return "not_text", "must be valid Unicode, got a lone surrogate"
    return None


def _integer_problem(value: object) -> Problem | None:
    if not isinstance(value, int) or isinstance(value, bool):
        return wrong_type("an int", value)
    return None if value.bit_length() <= _INTEGER_BITS else ("out_of_range", "must fit into 64 bits")


def decimal_problem(value: object) -> Problem | None:
    """Return the problem of a number that is not exact, not finite or extreme, None for any other."""
    if not isinstance(value, Decimal):
        # An int is exact as well. A float is not, and a str may be anything.
        return _integer_problem(value) and wrong_type("a Decimal or an int", value)
    if not value.is_finite():
        return "not_finite", "must be a finite number"
    # Written without an exponent, an extreme number would become megabytes of zeros.
    exponent = value.as_tuple().exponent
    if value.adjusted() > _DECIMAL_DIGITS or (isinstance(exponent, int) and exponent < -_DECIMAL_DIGITS):
        return "out_of_range", f"must have at most {_DECIMAL_DIGITS} digits before and after the point"
    return None
