"""Requests: their routes to the generated operations, the validation of queries and bodies, what handlers get of them.

A malformed page or filter value gives 400. Missing and invalid values give 422 with an entry for every problem.
Wrongly cased keys of a body are problems too. Unknown ones are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from functools import lru_cache, partial
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote

import attrs
import msgspec

from ..._decimals import read_decimal
from ..._generated.converters import ErrorDetailWire
from ..._values import aware
from ...models import converter
from ...operation import BodyField, Operation, Parameter, RequestModel, Rule, Shape
from ...protocol.response import Response
from ...protocol.validation.rules import CompiledRule
from ..ledger import RequestRecord
from ..state import State
from ..trading.accounts import Account, Customer
from ..trading.preflight import notice, preflight_error
from .wire import Dialect, RefusedError, bare, dumps, found, loads, pagination

T = TypeVar("T")


def split_target(url: str) -> tuple[str, str]:
    """Return path and query, still encoded, of an absolute address or a request target."""
    if not url.startswith("/"):
        _, _, rest = url.partition("://")
        url = "/" + rest.partition("/")[2]
    path, _, query = url.partition("?")
    return path, query


def request_target(url: str) -> str:
    path, query = split_target(url)
    return f"{path}?{query}" if query else path


class Router:
    """Operations by path and method. Fixed segments win over variables: ``/orders/live`` over ``/orders/{id}``."""

    def __init__(self, operations: Iterable[Operation[Any]]) -> None:
        by_path: dict[str, dict[str, Operation[Any]]] = {}
        for operation in operations:
            path = operation.path if operation.host is None else f"/{operation.host}{operation.path}"
            by_path.setdefault(path.strip("/"), {})[operation.method] = operation
        fixed_first = sorted(by_path, key=lambda path: [part.startswith("{") for part in path.split("/")])
        as_pattern = partial(re.sub, r"\\{(\w+)\\}", r"(?P<\1>[^/]*)")
        self._routes = [(re.compile(as_pattern(re.escape(path))), by_path[path]) for path in fixed_first]

    def find(self, method: str, path: str) -> tuple[Operation[Any], Mapping[str, str]] | None:
        """Return the operation of an encoded path and its decoded path values, or None."""
        for pattern, operations in self._routes:
            if method in operations and (found := pattern.fullmatch(path.strip("/"))):
                return operations[method], {name: unquote(value) for name, value in found.groupdict().items()}
        return None

    def methods(self, path: str) -> list[str]:
        """Return the methods of the path that fits best, sorted. None for an unknown path."""
        fitting = (operations for pattern, operations in self._routes if pattern.fullmatch(path.strip("/")))
        return sorted(next(fitting, ()))


_BOOLEANS = {"true": True, "false": False}
_AMOUNT = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"-?[0-9]+")
_MAX_INTEGER_LENGTH = 18
"""Maximum characters of an integer, so that times and offsets stay within 64 bits."""
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "number": ((int, float), "a number"),
    "integer": ((int,), "an integer"),
    "boolean": ((bool,), "true or false"),
    "object": ((dict,), "an object"),
    "identifier": ((str, int, bool), "an identifier"),
    "decimal": ((str,), "a decimal in a JSON string"),
}
"""JSON types of the kinds of fields; the others are strings."""
_MAX_DIGITS = 9
"""Maximum digits before the decimal point, so that price times quantity stays exact to the cent."""


@attrs.frozen
class RequestProblem:
    """One problem of a request; ``rule`` is the broken rule, if it spans several fields: its message is a sentence."""

    code: str
    message: str
    domain: str
    malformed: bool = False
    rule: Rule | None = None


@lru_cache(maxsize=256)
def _query_of(operation: Operation[Any]) -> tuple[dict[str, Parameter], list[CompiledRule]]:
    """Return the parameters of a query by wire name, and the rules over several of them."""
    parameters = {parameter.wire: parameter for parameter in operation.parameters if parameter.location == "query"}
    return parameters, [CompiledRule.of(rule) for rule in (*operation.rules, *operation.service_rules)]


def broken_query_rules(operation: Operation[Any], values: Mapping[str, Any]) -> list[RequestProblem]:
    """Return the rules of an operation that its query, by parameter name, breaks."""
    parameters, rules = _query_of(operation)
    return _broken_rules(rules, {wire: values[one.name] for wire, one in parameters.items() if one.name in values})


def _broken_rules(rules: Iterable[CompiledRule], values: Mapping[str, Any]) -> list[RequestProblem]:
    """Return the broken rules over several fields; ``values`` are by wire name."""
    return [
        RequestProblem(code, rule.rule.message, place, rule=rule.rule)
        for rule in rules
        for code, place in rule.broken(values)
    ]


class RequestParser:
    """Parses queries and bodies."""

    def __init__(self, models: Mapping[type, RequestModel], dialect: Dialect, has: Callable[[str], bool]) -> None:
        self._rules_of = {  # not the library's own safeguards: the service judges signs in its preflight
            model: tuple(
                CompiledRule.of(rule)
                for rule in (*spec.rules, *spec.service_rules)
                if not rule.library and (rule.behaviour is None or has(rule.behaviour))
            )
            for model, spec in models.items()
        }
        self._dialect = dialect
        self._has = has
        self._page_maxima = has("pages_have_maxima")
        self._fields = {model: {field.wire: field for field in spec.fields} for model, spec in models.items()}
        # A dry-run and the submission that follows carry the same bytes.
        self._cached_check = lru_cache(maxsize=256)(self._check)

    def query(self, operation: Operation[Any], encoded: str) -> dict[str, Any]:
        """Return the parsed query by parameter name, ignoring undocumented keys."""
        values: dict[str, Any] = {}
        problems: list[RequestProblem] = []
        parameters, _ = _query_of(operation)
        for key, raw in parse_qsl(encoded, keep_blank_values=True) if encoded else ():
            parameter = parameters.get(key)
            if parameter is None:
                continue
            if parameter.name == "per_page" and not self._page_maxima:
                parameter = attrs.evolve(parameter, maximum=None)
            try:
                read = [_parse(parameter, part) for part in (raw.split(",") if parameter.joined else [raw])]
            except ValueError as error:
                malformed = operation.shape is Shape.PAGE or parameter.kind in ("integer", "boolean")
                problems.append(RequestProblem("invalid", str(error), key, malformed=malformed))
                continue
            if parameter.array:
                values.setdefault(parameter.name, []).extend(read)
            else:
                values[parameter.name] = read[-1]
        missing = (each.wire for each in parameters.values() if each.required and each.name not in values)
        problems += [RequestProblem("required", "is missing", wire) for wire in missing]
        for broken in broken_query_rules(operation, values):
            if broken.rule is None or broken.rule.behaviour is None or self._has(broken.rule.behaviour):
                problems.append(broken)
        if problems:
            raise self.error(problems)
        return values

    def body(self, operation: Operation[Any], content: bytes | None) -> Any:
        """Return the model of a body, which is shared with later requests of the same body."""
        if not content or operation.body is None:
            if operation.body_required:
                raise self.error([RequestProblem("required", "is missing", "body")])
            return None
        body, problems = self._cached_check(operation, content)
        if problems:
            raise self.error(problems)
        return body

    def _check(self, operation: Operation[Any], content: bytes) -> tuple[Any, list[RequestProblem]]:
        """Return the model of a body, and the problems of its fields or else the broken rules over several fields."""
        model: Any = operation.body
        try:
            document = loads(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise self.error([RequestProblem("invalid", "is not JSON", "body", malformed=True)]) from None
        problems = list(self._object(model, document, "")) or list(self._rules(model, document))
        return None if problems else converter.structure(document, model), problems

    def error(self, problems: Sequence[RequestProblem]) -> RefusedError:
        """Return the error for ``problems``: the preflight's if all have codes, 400 if one is malformed, else 422."""
        coded = [(each.rule.code, each.message) for each in problems if each.rule and each.rule.code]
        if len(coded) == len(problems):
            return preflight_error([notice(*each) for each in dict.fromkeys(coded)])
        status = 400 if any(problem.malformed for problem in problems) else 422
        entries = []
        for one in problems:
            message = f"{one.domain} {one.message}" if one.rule is None else one.message
            entries.append(self._dialect.problem(one.code, message, one.domain))
        return RefusedError.invalid(entries, status)

    def _object(self, model: type[Any], value: object, place: str) -> Iterator[RequestProblem]:
        if not isinstance(value, dict):
            yield RequestProblem("invalid", "must be an object", place or "body")
            return
        fields = self._fields[model]
        prefix = f"{place}." if place else ""
        meant = {_uncased(wire): wire for wire in fields}
        for key in value:
            if key not in fields and (wire := meant.get(_uncased(key))) is not None:
                yield RequestProblem("unexpected", f"is wrongly cased, the field is {wire}", f"{prefix}{key}")
        for wire, field in fields.items():
            here, given = f"{prefix}{wire}", value.get(wire)  # null is a value of the wrong type, as any other
            if wire not in value:
                if field.required:
                    yield RequestProblem("required", "is missing", here)
                continue
            entries = {here: given}
            if field.array:
                if not isinstance(given, list):
                    yield RequestProblem("invalid", "must be an array", here)
                    continue
                if field.min_items is not None and len(given) < field.min_items:
                    yield RequestProblem("too_few_items", f"must hold at least {field.min_items}", here)
                entries = {f"{here}[{position}]": entry for position, entry in enumerate(given)}
            for at, entry in entries.items():
                if field.model is not None:
                    yield from self._object(field.model, entry, at)
                    continue
                try:
                    _read(field, entry)
                except ValueError as error:
                    yield RequestProblem("invalid", str(error), at)

    def _rules(self, model: type[Any], value: Mapping[str, Any]) -> Iterator[RequestProblem]:
        yield from _broken_rules(self._rules_of[model], value)
        for field in self._fields[model].values():
            nested = value.get(field.wire)
            if field.model is not None and nested is not None:
                for entry in nested if field.array else (nested,):
                    yield from self._rules(field.model, entry)


def _uncased(key: str) -> str:
    """Return a key without its case and separators: ``pricelimit`` for ``priceLimit`` and ``Price-Limit``."""
    return key.replace("-", "").replace("_", "").lower()


def _parse(parameter: Parameter, raw: str) -> Any:
    """Return the value of a query parameter. Raise ValueError with the problem."""
    value: object = raw
    if parameter.kind == "boolean":
        value = _BOOLEANS.get(raw)
    elif parameter.kind == "integer" and _INTEGER.fullmatch(raw):
        if len(raw) > _MAX_INTEGER_LENGTH:
            raise ValueError("is out of range")
        value = int(raw)
    return _read(parameter, value)


def _read(field: Parameter | BodyField, value: object) -> Any:
    """Return what a JSON value stands for, such as the epoch seconds of a date-time. Raise ValueError if it is none."""
    kind = "number" if isinstance(field, BodyField) and field.number else field.kind
    types, name = _TYPES.get(kind, ((str,), "a string"))
    if type(value) not in types:
        raise ValueError(f"must be {name}")
    text = str(value)
    match kind:
        case "number" if abs(value) >= 10**_MAX_DIGITS:  # type: ignore[arg-type]
            raise ValueError("is out of range")
        case "decimal":
            try:
                amount = read_decimal(text)
            except ValueError:
                problem = "is out of range" if _AMOUNT.fullmatch(text) else "is not a finite decimal"
                raise ValueError(problem) from None
            if not -_MAX_DIGITS <= amount.adjusted() < _MAX_DIGITS:
                raise ValueError("is out of range")
            return amount
        case "date-time":  # UTC without a zone
            with suppress(msgspec.ValidationError, OverflowError):
                return aware(msgspec.convert(text, datetime)).astimezone(UTC).timestamp()
            raise ValueError("must be an ISO 8601 date-time")
        case "date":
            if re.fullmatch("....-..-..", text):
                with suppress(ValueError):
                    return date.fromisoformat(text)
            raise ValueError("must be a date of the form YYYY-MM-DD")
    if isinstance(value, int):
        if field.minimum is not None and value < field.minimum:
            raise ValueError(f"must be at least {field.minimum}")
        if field.maximum is not None and value > field.maximum:
            raise ValueError(f"must be at most {field.maximum}")
    if field.choices is not None and value not in field.choices.__members__.values():
        raise ValueError("does not have a valid value")
    return value


@attrs.define(kw_only=True)
class ParsedRequest:
    """Validated request.

    ``query`` holds parsed values by the Python names of the parameters (integers, booleans, dates, epoch seconds for
    date-times, lists for arrays), ``body`` the validated request model (None without a body), ``record`` the ledger's
    record of the request. ``behaviours`` are in force in the interface version that serves it.
    """

    operation: Operation[Any]
    now: float
    context: str
    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any
    customer: Customer
    behaviours: Collection[str]
    record: RequestRecord
    asked_version: str | None = None

    def window(self, total: int) -> slice:
        """Return the place of the page that is asked for, in a list of ``total`` rows."""
        size = self.query.get("per_page", self.operation.page_size)
        start = self.query.get("page_offset", 0) * size
        return slice(start, min(start + size, total))

    def response(self, data: Any) -> Response:
        """Return what a handler gave as the operation sends it: nothing, bare JSON, a list or a resource."""
        if isinstance(data, Response):
            return data
        if data is None:
            return Response(status=self.operation.status, headers={}, body=b"")
        if self.operation.shape in (Shape.BARE, Shape.BARE_MANY):
            return bare(data, self.operation.status)
        if isinstance(data, Iterable) and not isinstance(data, bytes | dict):
            return self.items(data)
        rendered = data if isinstance(data, bytes) else dumps(data)
        return bare(b'{"data":%b,"context":%b}' % (rendered, dumps(self.context)), self.operation.status)

    def items(self, rows: Iterable[Any], total: int | None = None) -> Response:
        """Return a list in its envelope, as a page of ``total`` rows if given. Bytes are rendered already."""
        rendered = b",".join(row if isinstance(row, bytes) else dumps(row) for row in rows)
        offset, size = self.query.get("page_offset", 0), self.query.get("per_page", self.operation.page_size)
        tail = b"" if total is None else b',"pagination":' + dumps(pagination(offset, size, total))
        return bare(b'{"data":{"items":[%b]},"context":%b%b}' % (rendered, dumps(self.context), tail))

    def page(self, rows: Sequence[T], render: Callable[[T], Any], *, paged: bool = True) -> Response:
        """Return the page of a list that is asked for, or the whole list; only its rows are rendered."""
        if not paged:
            return self.items(map(render, rows))
        return self.items(map(render, rows[self.window(len(rows))]), len(rows))

    def admits(self, **row: Any) -> bool:
        """Return whether a row has each value that the query asks for, or one of them where it asks for several."""
        asked = ((value, self.query[name]) for name, value in row.items() if name in self.query)
        return all(value in each if isinstance(each, list) else value == each for value, each in asked)

    def spans(self, day: Any, at: float) -> bool:
        """Return whether a day and a time are within the range of the query."""
        get = self.query.get
        return bool(
            get("start_date", day) <= day <= get("end_date", day) and get("start_at", at) <= at <= get("end_at", at)
        )

    def problem(self, name: str, reason: str) -> ErrorDetailWire:
        return ErrorDetailWire(domain=self.wire(name), reason=reason)

    def wire(self, name: str) -> str:
        return next(parameter.wire for parameter in self.operation.parameters if parameter.name == name)

    def ordered(self, rows: list[T]) -> list[T]:
        """Return rows, given oldest first, in the order that is asked for."""
        return rows if str(self.query.get("sort", "Desc")).lower() == "asc" else rows[::-1]


class Handlers:
    """Handlers of one namespace: a method for each operation, with the state that they share.

    Each returns a resource, an iterable of them, or a whole response. Bytes are JSON that is already rendered. A method
    ``list`` comes last in its class because it hides the builtin there.
    """

    def __init__(self, state: State) -> None:
        self._state = state
        self._has = state.settings.has
        self._dialect = state.dialect
        self._catalogue = state.catalogue
        self._prices = state.prices
        self._calculator = state.margin_calculator

    def _account_of(self, request: ParsedRequest, number: str | None = None) -> Account:
        """Return the account of the path, or the one of ``number``: 404 if unknown, 403 if another customer's."""
        number = request.path["account_number"] if number is None else number
        account = found(self._state.accounts.get(number), "account")
        if account.customer != request.customer:
            raise RefusedError.not_permitted()
        return account

    def _own_accounts(self, request: ParsedRequest) -> tuple[Account, ...]:
        """Return all accounts of the customer in the path, who must be the one of the token."""
        self._accounts_of(request, ())
        return self._state.accounts.of(request.customer)

    def _accounts_of(self, request: ParsedRequest, numbers: Iterable[str]) -> list[Account]:
        """Return the accounts of ``numbers``, which must belong to the customer in the path: ``me`` or its number."""
        customer, own = request.path["customer_id"], str(request.customer.number)
        if customer != "me" and (customer != own or self._has("customer_is_me")):
            others = (str(account.customer.number) for account in self._state.accounts.values())
            if customer != own and customer in others:
                raise RefusedError.not_permitted()
            raise RefusedError.not_found("customer")
        return [self._account_of(request, number) for number in dict.fromkeys(numbers)]
