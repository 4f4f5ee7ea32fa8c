"""Checks what a request brings, by the parameters, fields and rules of its operation.

A malformed page or filter value is answered with 400; what is missing, or does not fit, with 422 and an entry for
every problem. Keys of a body that are not documented, or wrongly cased, are problems too.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

import attrs
import msgspec

from ..._values import aware, read_decimal
from ...models import converter
from ...operation import BodyField, Operation, Parameter, RequestModel, Rule, Shape
from ...protocol.validation.rules import CompiledRule
from .wire import Dialect, RefusedError, loads

__all__ = ["Intake", "Problem", "broken_query_rules", "decimal_of", "epoch_of"]

_BOOLEANS = {"true": True, "false": False}
_INTEGER = re.compile(r"-?[0-9]{1,18}")
_MOST_DIGITS = 9
"""Digits before the point that an amount may have, so that prices times quantities stay exact to the cent."""


@attrs.frozen
class Problem:
    """One thing that is wrong with a request; ``rule`` is the rule that it breaks, if it is about several fields."""

    code: str
    message: str
    domain: str
    malformed: bool = False
    rule: Rule | None = None


def epoch_of(text: str) -> float:
    """Epoch seconds of an ISO 8601 date-time; one without a zone is taken as UTC. ValueError for any other text."""
    try:
        return aware(msgspec.convert(text, datetime)).astimezone(UTC).timestamp()
    except (msgspec.ValidationError, OverflowError):
        raise ValueError("must be an ISO 8601 date-time") from None


def decimal_of(value: object) -> Decimal:
    """An amount out of its JSON text; ValueError for what is none, and for more than a brokerage counts with."""
    if not isinstance(value, str):
        raise ValueError("must be a decimal in a JSON string")
    try:
        amount = read_decimal(value)
    except ValueError:
        raise ValueError("is not a finite decimal") from None
    if not -_MOST_DIGITS <= amount.adjusted() < _MOST_DIGITS:
        raise ValueError("is larger, or smaller, than any amount that is dealt with")
    return amount


@lru_cache(maxsize=256)
def _values(choices: type[enum.Enum]) -> frozenset[str]:
    return frozenset(member.value for member in choices)


@lru_cache(maxsize=256)
def _query_parameters(operation: Operation[Any]) -> dict[str, Parameter]:
    return {parameter.wire: parameter for parameter in operation.parameters if parameter.location == "query"}


@lru_cache(maxsize=256)
def _required(operation: Operation[Any]) -> tuple[Parameter, ...]:
    return tuple(parameter for parameter in _query_parameters(operation).values() if parameter.required)


@lru_cache(maxsize=256)
def _query_rules(operation: Operation[Any]) -> tuple[CompiledRule, ...]:
    return tuple(map(CompiledRule.of, operation.rules))


def broken_query_rules(operation: Operation[Any], values: Mapping[str, Any]) -> list[Problem]:
    """The rules over its query that an operation's parameters, by name, break."""
    parameters = _query_parameters(operation)
    by_wire = {wire: values[one.name] for wire, one in parameters.items() if one.name in values}
    return _broken_rules(_query_rules(operation), by_wire)


def _broken_rules(rules: Iterable[CompiledRule], values: Mapping[str, Any]) -> list[Problem]:
    """What breaks rules over several fields, in values by wire name."""
    return [
        Problem(code, rule.rule.message, place, rule=rule.rule)
        for rule in rules
        for code, place in rule.broken(values, _get)
    ]


_Checked = tuple[Any, list[Problem], list[Problem]]
"""The model of a body, what is wrong with its fields, and the rules over several fields that it breaks."""


class Intake:
    """Reads queries and bodies."""

    def __init__(self, models: Mapping[type, RequestModel], dialect: Dialect) -> None:
        self._rules_of = {  # not the library's own safeguards: the service judges signs in its preflight
            model: tuple(CompiledRule.of(rule) for rule in spec.rules if not rule.library)
            for model, spec in models.items()
        }
        self._dialect = dialect
        self._fields = {model: {field.wire: field for field in spec.fields} for model, spec in models.items()}
        # A dry-run and the submission after it carry the same bytes.
        self._checked = lru_cache(maxsize=256)(self._check)

    def query(self, operation: Operation[Any], text: str) -> dict[str, Any]:
        """The parsed values of a query, by parameter name; keys that are not documented are ignored."""
        values: dict[str, Any] = {}
        problems: list[Problem] = []
        parameters = _query_parameters(operation)
        for key, raw in parse_qsl(text, keep_blank_values=True) if text else ():
            parameter = parameters.get(key)
            if parameter is None:
                continue
            try:
                value = _parse(parameter, raw)
            except ValueError as error:
                malformed = operation.shape is Shape.PAGE or parameter.kind in ("integer", "boolean")
                problems.append(Problem("invalid", str(error), key, malformed=malformed))
                continue
            if parameter.array:
                values.setdefault(parameter.name, []).append(value)
            else:
                values[parameter.name] = value
        missing = (parameter.wire for parameter in _required(operation) if parameter.name not in values)
        problems += [Problem("required", "is missing", wire) for wire in missing]
        problems += broken_query_rules(operation, values)
        if problems:
            raise self.refusal(problems)
        return values

    def body(self, operation: Operation[Any], content: bytes | None) -> tuple[Any, Sequence[Problem]]:
        """The model of a body and the rules over several fields that it breaks; anything else wrong is 422.

        The model is shared with later requests of the same body.
        """
        if not content or operation.body is None:
            if operation.body_required:
                raise self.refusal([Problem("required", "is missing", "body")])
            return None, ()
        body, problems, broken_rules = self._checked(operation, content)
        if problems:
            raise self.refusal(problems)
        return body, broken_rules

    def _check(self, operation: Operation[Any], content: bytes) -> _Checked:
        model: Any = operation.body
        try:
            document = loads(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise RefusedError(400, "invalid_json", "The body is not JSON") from None
        problems = list(self._object(model, document, ""))
        if problems:
            return None, problems, []
        return converter.structure(document, model), [], list(self._rules(model, document))

    def refusal(self, problems: Sequence[Problem]) -> RefusedError:
        """The answer to ``problems``: 400 when a page or filter value is malformed, else 422."""
        status = 400 if any(problem.malformed for problem in problems) else 422
        entries = [self._dialect.problem(one.code, f"{one.domain} {one.message}", one.domain) for one in problems]
        return RefusedError.invalid(entries, status)

    def _object(self, model: type[Any], value: object, place: str) -> Iterator[Problem]:
        if not isinstance(value, dict):
            yield Problem("invalid", "must be an object", place or "body")
            return
        fields = self._fields[model]
        prefix = f"{place}." if place else ""
        for key in value:
            if key not in fields:
                yield Problem("unexpected", "is not a field of this request", f"{prefix}{key}")
        for wire, field in fields.items():
            given = value.get(wire)
            if given is not None:
                yield from self._field(field, given, f"{prefix}{wire}")
            elif field.required:
                yield Problem("required", "is missing", f"{prefix}{wire}")

    def _field(self, field: BodyField, value: object, place: str) -> Iterator[Problem]:
        if not field.array:
            yield from self._value(field, value, place)
        elif not isinstance(value, list):
            yield Problem("invalid", "must be an array", place)
        else:
            if field.min_items is not None and len(value) < field.min_items:
                yield Problem("too_few_items", f"must hold at least {field.min_items}", place)
            for position, entry in enumerate(value):
                yield from self._value(field, entry, f"{place}[{position}]")

    def _value(self, field: BodyField, value: object, place: str) -> Iterator[Problem]:
        if field.model is not None:
            yield from self._object(field.model, value, place)
            return
        message = _wrong(field.kind, value)
        if message is None and field.choices is not None and value not in _values(field.choices):
            message = "does not have a valid value"
        if message is not None:
            yield Problem("invalid", message, place)

    def _rules(self, model: type[Any], value: Mapping[str, Any]) -> Iterator[Problem]:
        yield from _broken_rules(self._rules_of[model], value)
        for field in self._fields[model].values():
            nested = value.get(field.wire)
            if field.model is not None and nested is not None:
                for entry in nested if field.array else (nested,):
                    yield from self._rules(field.model, entry)


def _get(subject: object, wire: str) -> object | None:
    return subject.get(wire) if isinstance(subject, dict) else None


def _parse(parameter: Parameter, raw: str) -> Any:
    """The value of a query parameter; ValueError says what is wrong with it."""
    match parameter.kind:
        case "integer":
            if _INTEGER.fullmatch(raw) is None:
                raise ValueError("must be an integer")
            return int(raw)
        case "boolean":
            if raw not in _BOOLEANS:
                raise ValueError("must be true or false")
            return _BOOLEANS[raw]
        case "date":
            return _date(raw)
        case "date-time":
            return epoch_of(raw)
    if parameter.choices is not None and raw not in _values(parameter.choices):
        raise ValueError("does not have a valid value")
    return raw


def _date(raw: str) -> date:
    try:
        if len(raw) == 10 and raw[4] == raw[7] == "-":
            return date.fromisoformat(raw)
    except ValueError:
        pass
    raise ValueError("must be a date of the form YYYY-MM-DD")


def _wrong(kind: str, value: object) -> str | None:
    """What is wrong with a JSON value of a body field, None when nothing is."""
    try:
        match kind:
            case "decimal":
                decimal_of(value)
            case "integer":
                return None if isinstance(value, int) and not isinstance(value, bool) else "must be an integer"
            case "boolean":
                return None if isinstance(value, bool) else "must be true or false"
            case "object":
                return None if isinstance(value, dict) else "must be an object"
            case "identifier":
                return None if isinstance(value, str | int) else "must be an identifier"
            case _ if not isinstance(value, str):
                return "must be text"
            case "date":
                _date(value)
            case "date-time":
                epoch_of(value)
    except ValueError as error:
        return str(error)
    return None
