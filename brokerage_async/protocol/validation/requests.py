"""Checks a call against the documented rules before anything is sent.

Everything is driven by data from the schema: the parameters and rules of an ``Operation``, and the fields and rules
of the request models. Every problem is found, not only the first. Fields are named as on the wire, with their
position: ``to-date``, ``legs[1].quantity``.

The ``code`` of each problem is one of ``required``, ``forbidden``, ``wrong_type``, ``not_text``, ``not_finite``,
``out_of_range``, ``naive_date_time``, ``unknown_value``, ``unknown_parameter``, ``too_few_items``,
``too_many_items``, ``not_distinct``, ``exclusive``, ``value_not_allowed``, ``span_too_long``, ``unsafe_segment`` and,
when there are absurdly many, ``more_problems``.
"""

from __future__ import annotations

import enum
import functools
import logging
from collections.abc import Collection, Mapping
from typing import Any, TypeGuard

import attrs

from ..._generated.operations import REQUEST_MODELS
from ...errors import ConfigurationError, ErrorDetail, InvalidRequestError
from ...operation import BodyField, Operation, Parameter
from .rules import CompiledRule
from .scalars import fault_of, wrong_type

__all__ = ["check", "is_array", "problems_of"]

logger: logging.Logger = logging.getLogger("brokerage_async.request")

_MOST_PROBLEMS = 100


def check(
    operation: Operation[Any],
    path: Mapping[str, object] | None,
    query: Mapping[str, object] | None,
    body: object | None,
    *,
    strict: bool = False,
) -> None:
    """Check one call; return only if the service could accept it.

    Args:
        operation: the operation called.
        path: values of the path template by wire name.
        query: query parameters by wire name; None values count as not given.
        body: request model, or bytes that were encoded (and checked) before.
        strict: treat values outside the known enumerations as problems; otherwise they pass with a logged warning.

    Raises:
        ConfigurationError: a path value is missing, empty, ``.`` or ``..``, so that no address can be built.
        InvalidRequestError: anything else is wrong. Either error lists every problem found in ``errors``.
    """
    findings = _Findings(operation.name, strict)
    _check_parameters(findings, operation, path or {}, query or {})
    _check_body(findings, operation, body)
    if findings.problems:
        problems = findings.distinct()
        unsafe = any(problem.code == "unsafe_segment" for problem in problems)
        raise (ConfigurationError if unsafe else InvalidRequestError)(
            "the call was not made: it breaks the rules listed",
            operation=operation.name,
            method=operation.method,
            path=operation.path,
            errors=problems,
        )


def problems_of(model: object, *, strict: bool = False) -> tuple[ErrorDetail, ...]:
    """Every problem of a request model such as ``NewOrder``, in the order of its fields; empty when it is sound.

    ``strict`` is as for :func:`check`. Never raises, whatever the fields hold.
    """
    findings = _Findings(type(model).__name__, strict)
    _check_model(findings, type(model), model, "")
    return findings.distinct()


class _Findings:
    """The problems of one call as they are found."""

    __slots__ = ("name", "problems", "strict")

    def __init__(self, name: str, strict: bool) -> None:
        self.name = name
        self.strict = strict
        self.problems: list[ErrorDetail] = []

    def add(self, code: str, message: str, domain: str) -> None:
        self.problems.append(ErrorDetail(code, message, domain or None))

    @property
    def enough(self) -> bool:
        """Whether looking further would only bury the reader."""
        return len(self.problems) >= _MOST_PROBLEMS

    def distinct(self) -> tuple[ErrorDetail, ...]:
        several = tuple(dict.fromkeys(self.problems))
        if len(several) <= _MOST_PROBLEMS:
            return several
        rest = ErrorDetail("more_problems", f"and more: only the first {_MOST_PROBLEMS} problems are listed")
        return (*several[:_MOST_PROBLEMS], rest)


@functools.lru_cache(maxsize=512)
def _known_values(choices: type[enum.Enum]) -> frozenset[object]:
    return frozenset(member.value for member in choices)


@functools.lru_cache(maxsize=1024)
def _warn_unknown(name: str, domain: str, value: str, choices: type[enum.Enum]) -> None:
    """Warn of a value outside the known enumeration, once per operation, field and value."""
    known = ", ".join(str(member.value) for member in choices)
    logger.warning("%s: %s has the value %r, which is not among the known ones: %s", name, domain, value, known)


def _check_single(findings: _Findings, field: Parameter | BodyField, value: object, domain: str) -> None:
    if isinstance(field, BodyField) and field.model is not None:
        _check_model(findings, field.model, value, domain)
        return
    fault = fault_of(field, value)
    if fault is not None:
        findings.add(*fault, domain)
    elif value == "" and field.required and not field.array:
        findings.add("required", "must not be empty", domain)
    elif field.choices is not None and value not in _known_values(field.choices):
        shown = str(value)[:40]
        if findings.strict:
            findings.add("unknown_value", f"{shown!r} is not among the known values", domain)
        else:
            _warn_unknown(findings.name, domain, shown, field.choices)


def _check_value(findings: _Findings, field: Parameter | BodyField, value: object, domain: str) -> None:
    if value is None:
        if field.required:
            findings.add("required", "is required", domain)
    elif not field.array:
        _check_single(findings, field, value, domain)
    elif not is_array(value):
        findings.add(*wrong_type("a list or tuple", value), domain)
    else:
        least = field.min_items if isinstance(field, BodyField) else 1
        if least is not None and len(value) < least:
            findings.add("too_few_items", _too_few(field, least), domain)
        stem = domain.removesuffix("[]")
        for index, item in enumerate(value):
            if findings.enough:
                findings.add("more_problems", "may hold more problems than are listed", stem)
                break
            _check_single(findings, field, item, f"{stem}[{index}]")


def _too_few(field: Parameter | BodyField, least: int) -> str:
    if isinstance(field, BodyField) or field.required:
        return f"needs at least {least} item{'s' if least > 1 else ''}"
    return "is empty, which the service would take for no filter at all: leave it out to ask for everything"


def is_array(value: object) -> TypeGuard[Collection[object]]:
    """Whether a value may stand for an array.

    Text is a collection of its letters and does not count: ``"AAPL"`` would otherwise ask for A, A, P and L.
    """
    return isinstance(value, Collection) and not isinstance(value, (str, bytes, bytearray, memoryview, Mapping))


def _check_parameters(
    findings: _Findings, operation: Operation[Any], path: Mapping[str, object], query: Mapping[str, object]
) -> None:
    given = 0
    for parameter in operation.parameters:
        if parameter.location == "path":
            _check_segment(findings, parameter, path.get(parameter.wire))
            continue
        value = query.get(parameter.wire)
        given += parameter.wire in query
        if value is not None or parameter.required:
            _check_value(findings, parameter, value, parameter.wire)
    if given != len(query):
        known = {parameter.wire for parameter in operation.parameters if parameter.location != "path"}
        for wire in query:
            if wire not in known:
                findings.add("unknown_parameter", "is no parameter of this operation", str(wire))
    for rule in _query_rules(operation):
        for code, place in rule.broken(query, _no_item):
            findings.add(code, rule.rule.message, place)


@functools.cache
def _query_rules(operation: Operation[Any]) -> tuple[CompiledRule, ...]:
    return tuple(map(CompiledRule.of, operation.rules))


def _no_item(item: object, wire: str) -> None:
    """Items of a query have no fields."""


def _check_segment(findings: _Findings, parameter: Parameter, value: object) -> None:
    if value is None:
        findings.add("unsafe_segment", "is missing from the path", parameter.wire)
    elif (fault := fault_of(parameter, value)) is not None:  # first: what an array equals is no truth value
        findings.add(*fault, parameter.wire)
    elif value in ("", ".", ".."):
        findings.add("unsafe_segment", f"{value!r} cannot stand in a path", parameter.wire)


def _check_body(findings: _Findings, operation: Operation[Any], body: object | None) -> None:
    if body is None or (isinstance(body, bytes) and not body and operation.body is not None):
        if operation.body is not None and operation.body_required:
            findings.add("required", f"a request body ({operation.body.__name__}) is required", "")
    elif operation.body is None:
        findings.add("forbidden", "this operation takes no request body", "")
    elif not isinstance(body, bytes):
        _check_model(findings, operation.body, body, "")


# Models.


@attrs.frozen
class _Described:
    """What the schema says of a request model, ready for use."""

    fields: tuple[BodyField, ...]
    names: Mapping[str, str]
    rules: tuple[CompiledRule, ...]


@functools.cache
def _described(model: Any) -> _Described | None:
    """What the schema says of a class; None if it is no request model."""
    described = REQUEST_MODELS.get(model)
    if described is None:
        return None
    names = {field.wire: field.name for field in described.fields}
    return _Described(described.fields, names, tuple(map(CompiledRule.of, described.rules)))


def _check_model(findings: _Findings, expected: Any, model: object, prefix: str) -> None:
    described = _described(expected)
    if described is None or not isinstance(model, expected):
        findings.add(*wrong_type(f"a {expected.__name__}" if described else "a request model", model), prefix)
        return
    dot = f"{prefix}." if prefix else ""
    extra = kept if isinstance(kept := getattr(model, "extra", None), Mapping) else {}
    values: dict[str, object | None] = {}
    for field in described.fields:
        values[field.wire] = value = getattr(model, field.name)
        if value is not None or field.required:
            _check_value(findings, field, value, dot + field.wire)
        if field.wire in extra:  # which would be sent in place of the field
            findings.add("wrong_type", "stands in extra, as a value that it cannot have", dot + field.wire)
    for rule in described.rules:
        for code, place in rule.broken(values, _read):
            findings.add(code, rule.rule.message, dot + place)


def _read(model: object, wire: str) -> object | None:
    """The field of a model by wire name; None where there is none, or the model is not one."""
    kind: Any = type(model)
    described = _described(kind)
    name = None if described is None else described.names.get(wire)
    return None if name is None else getattr(model, name)
