"""Validation of a call against the documented rules, before anything is sent.

The schema supplies the data: the parameters and rules of an ``Operation``, and the fields and rules of the request
models. All problems are reported, not only the first. Fields have their wire names and positions: ``to-date``,
``legs[1].quantity``.

The ``code`` of each problem is one of ``required``, ``forbidden``, ``wrong_type``, ``not_text``, ``not_finite``,
``out_of_range``, ``naive_date_time``, ``unknown_value``, ``unknown_parameter``, ``too_few_items``,
``too_many_items``, ``not_distinct``, ``exclusive``, ``value_not_allowed``, ``span_too_long``, ``unsafe_segment`` and,
if there are too many, ``more_problems``.
"""

from __future__ import annotations

import datetime as dt
import enum
import functools
import logging
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any, TypeGuard

from ..._generated.operations import REQUEST_MODELS
from ...errors import ErrorDetail, InvalidRequestError
from ...operation import BodyField, Operation, Parameter
from .rules import CompiledRule

logger: logging.Logger = logging.getLogger("brokerage_async.request")

MAX_PROBLEMS = 100


def check(
    operation: Operation[Any],
    path: Mapping[str, object] | None,
    query: Mapping[str, object] | None,
    body: object | None,
    *,
    strict: bool = False,
) -> None:
    """Validate one call. Raise unless the service could accept it.

    ``path`` and ``query`` are by wire name. A ``body`` of bytes was validated and encoded before. Unknown enumeration
    values pass with a logged warning unless ``strict``.

    Raises:
        InvalidRequestError: something is invalid, such as a path value that is missing, empty, ``.`` or ``..``;
            ``errors`` lists all problems.
    """
    found = _Problems(operation.name, strict)
    path, query, given = path or {}, query or {}, 0
    for parameter in operation.parameters:
        if parameter.location == "path":
            value = path.get(parameter.wire)
            if value is None:
                found.add("unsafe_segment", "is required in the path", parameter.wire)
            elif (problem := problem_of(parameter, value)) is not None:  # first: an array does not compare to a bool
                found.add(*problem, parameter.wire)
            elif value in ("", ".", ".."):
                found.add("unsafe_segment", f"must not be {value!r}", parameter.wire)
            continue
        value = query.get(parameter.wire)
        given += parameter.wire in query
        if value is not None or parameter.required:
            _check_value(found, parameter, value, parameter.wire)
    if given != len(query):
        known = {parameter.wire for parameter in operation.parameters if parameter.location != "path"}
        for wire in query:
            if wire not in known:
                found.add("unknown_parameter", "unknown parameter", str(wire))
    for rule in _compiled(operation, False) if operation.rules else ():  # the cache keeps its arguments
        for code, place in rule.broken(query):
            found.add(code, rule.rule.message, place)
    if body is None or (isinstance(body, bytes) and not body and operation.body is not None):
        if operation.body is not None and operation.body_required:
            found.add("required", f"{with_article(operation.body.__name__)} is required as the body", "")
    elif operation.body is None:
        found.add("forbidden", "must not have a body", "")
    elif not isinstance(body, bytes):
        _check_model(found, operation.body, body, "")
    if found.problems:
        raise InvalidRequestError("invalid request (nothing was sent)", errors=found.distinct(), **operation.place)


def problems_of(model: object, *, strict: bool = False, service: bool = False) -> tuple[ErrorDetail, ...]:
    """Return all problems of a request model such as ``NewOrder``, in the order of its fields.

    ``strict`` is as for :func:`check`; ``service`` adds the rules that `check` leaves to the service. Never raises.
    """
    found = _Problems(type(model).__name__, strict, service)
    _check_model(found, type(model), model, "")
    return found.distinct()


class _Problems:
    """Collector of the problems of one call."""

    __slots__ = ("name", "problems", "service", "strict")

    def __init__(self, name: str, strict: bool, service: bool = False) -> None:
        self.name = name
        self.strict = strict
        self.service = service
        self.problems: list[ErrorDetail] = []

    def add(self, code: str, message: str, domain: str) -> None:
        self.problems.append(ErrorDetail(code, message, domain or None))

    @property
    def enough(self) -> bool:
        """Whether the limit of listed problems is reached."""
        return len(self.problems) >= MAX_PROBLEMS

    def distinct(self) -> tuple[ErrorDetail, ...]:
        several = tuple(dict.fromkeys(self.problems))
        if len(several) <= MAX_PROBLEMS:
            return several
        rest = ErrorDetail("more_problems", f"only the first {MAX_PROBLEMS} problems are listed")
        return (*several[:MAX_PROBLEMS], rest)


@functools.lru_cache(maxsize=1024)
def _warn_unknown(name: str, domain: str, value: str, choices: type[enum.Enum]) -> None:
    """Log an unknown enumeration value, once per operation, field and value."""
    known = ", ".join(str(member.value) for member in choices)
    logger.warning("%s: %s has the unknown value %r, sent all the same; known values: %s", name, domain, value, known)


def _check_single(found: _Problems, field: Parameter | BodyField, value: object, domain: str) -> None:
    if isinstance(field, BodyField) and field.model is not None:
        _check_model(found, field.model, value, domain)
        return
    problem = problem_of(field, value)
    if problem is not None:
        found.add(*problem, domain)
    elif value == "" and (field.array or field.required):  # as a filter it would match everything
        found.add("required", "must not be empty", domain)
    elif field.choices is not None and value not in field.choices._value2member_map_:
        shown = str(value)[:40]
        if found.strict:
            found.add("unknown_value", f"unknown value {shown!r}, rejected in strict mode", domain)
        else:
            _warn_unknown(found.name, domain, shown, field.choices)


def _check_value(found: _Problems, field: Parameter | BodyField, value: object, domain: str) -> None:
    if value is None:
        if field.required:
            found.add("required", "is required", domain)
    elif not field.array:
        _check_single(found, field, value, domain)
    elif not is_array(value):
        found.add(*wrong_type("a list or tuple", value), domain)
    else:
        least = field.min_items if isinstance(field, BodyField) else 1
        if least is not None and len(value) < least:
            message = "must not be empty, which the service treats as unfiltered: omit it to get everything"
            if isinstance(field, BodyField) or field.required:
                message = f"must have at least {least} item{'s' if least > 1 else ''}"
            found.add("too_few_items", message, domain)
        stem = domain.removesuffix("[]")
        for index, item in enumerate(value):
            if found.enough:
                found.add("more_problems", "may have more problems than listed", stem)
                break
            _check_single(found, field, item, f"{stem}[{index}]")
            if isinstance(field, Parameter) and field.joined and isinstance(item, str) and "," in item:
                found.add("value_not_allowed", "must not contain a comma, which separates values", f"{stem}[{index}]")


def is_array(value: object) -> TypeGuard[Collection[object]]:
    """Return whether a value is accepted as an array.

    A str is not: ``"AAPL"`` would become A, A, P and L.
    """
    return isinstance(value, Collection) and not isinstance(value, (str, bytes, bytearray, memoryview, Mapping))


def with_article(name: str) -> str:
    """Return the name of a class with its article, such as "an OrderEdit"."""
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


# Single values: one function per kind, and bounds.

_INTEGER_BITS = 63
_IDENTIFIER_BITS = 128
_DECIMAL_DIGITS = 64

Problem = tuple[str, str]  # code and message of one problem


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


# Models.


@functools.cache
def _compiled(owner: Any, service: bool) -> tuple[CompiledRule, ...]:
    """Return the rules of an operation or of a request model, those that the client leaves to the ``service`` too."""
    described: Any = REQUEST_MODELS.get(owner, owner)
    rules = described.rules + described.service_rules if service else described.rules
    return tuple(map(CompiledRule.of, rules))


def _check_model(found: _Problems, expected: Any, model: object, prefix: str) -> None:
    described = REQUEST_MODELS.get(expected)
    if described is None or not isinstance(model, expected):
        found.add(*wrong_type(with_article(expected.__name__) if described else "a request model", model), prefix)
        return
    dot = f"{prefix}." if prefix else ""
    extra = kept if isinstance(kept := getattr(model, "extra", None), Mapping) else {}
    values: dict[str, object | None] = {}
    for field in described.fields:
        value = getattr(model, field.name)
        values[field.wire] = _by_wire(value) if field.model is not None else value
        if value is not None or field.required:
            _check_value(found, field, value, dot + field.wire)
        if field.wire in extra:  # it would be sent instead of the field
            found.add("wrong_type", "must not be set in extra", dot + field.wire)
    for rule in _compiled(expected, found.service):
        for code, place in rule.broken(values):
            found.add(code, rule.rule.message, dot + place)


def _by_wire(value: object) -> object:
    """Return the fields of a request model by wire name, and an array of models likewise. Anything else unchanged."""
    if isinstance(value, (list, tuple)):
        return tuple(map(_by_wire, value))
    described = REQUEST_MODELS.get(type(value))
    return value if described is None else {field.wire: getattr(value, field.name) for field in described.fields}
