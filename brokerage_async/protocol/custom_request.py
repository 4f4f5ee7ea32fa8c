"""Calls of endpoints that the schema lacks, built from a method and a path and checked like any other call.

Such a call is a `BoundCall` of an operation made for it, so that everything after it treats it as it treats the rest.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from decimal import Decimal
from enum import Enum
from typing import Any, NoReturn
from urllib.parse import quote, unquote

import msgspec

from .._generated.operations import OPERATIONS
from ..errors import ErrorDetail, InvalidRequestError
from ..operation import BoundCall, Effect, Operation, Parameter, Shape
from .decoding import codec
from .registry import wires
from .request import encode_scalar
from .validation.requests import decimal_problem, is_array

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")

_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_LONE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SEPARATOR = re.compile(r"[/\\;]")
_FORBIDDEN = re.compile(r"[?#\\{}\x00-\x1f\x7f]|%(?:[01][0-9A-Fa-f]|7[Ff])")
_PATH_CHARACTERS = "!$&'()*+,;=:@%"  # what stands in a segment as it is, beside RFC 3986's unreserved characters

_ENCODER = msgspec.json.Encoder(decimal_format="number")


def custom_call(
    method: str,
    path: str,
    *,
    path_values: Mapping[str, object] | None = None,
    query: Mapping[str, object] | None = None,
    body: object | None = None,
    effect: Effect | None = None,
) -> BoundCall[Any]:
    """Return the call of any endpoint. See `Client.request` for the arguments.

    Raises:
        InvalidRequestError: an argument cannot be sent, or ``effect`` denies that the endpoint changes something.
    """
    if method not in METHODS:
        _refuse("value_not_allowed", f"must be one of {', '.join(METHODS)}, got {method!r}", "method")
    template, given = encode_literal_path(path), path_values or {}
    if not isinstance(given, Mapping):
        _refuse("wrong_type", f"must be a mapping, got {type(given).__name__}", "path_values")
    places = _PLACEHOLDER.findall(template)
    if unknown := [name for name in given if name not in places]:
        _refuse("unknown_parameter", f"has no {{{unknown[0]}}}, for which path_values has a value", "path")
    # A missing one is left to the common checks.
    values = {name: None if given.get(name) is None else _scalar(given[name], name) for name in places}
    if not isinstance(query := query or {}, Mapping) or not all(isinstance(key, str) and key for key in query):
        _refuse("wrong_type", "must be a mapping with non-empty str keys", "query")
    keys: dict[str, object] = {}
    for key, value in query.items():
        if value is not None:
            shown = [_scalar(item, key) for item in value] if is_array(value) else _scalar(value, key)
            try:
                keys[quote(key, safe="[]")] = shown
            except UnicodeEncodeError:
                _refuse("not_text", "must have keys of valid Unicode, got a lone surrogate", "query")
    content: bytes | None = None
    if body is not None and method == "GET":
        _refuse("forbidden", "must not be given with GET", "body")
    if isinstance(body, bytes) and body:  # sent unchanged
        content = body
    elif type(body) in wires():
        content = codec.encode(body)
    elif body is not None:
        if not isinstance(body, Mapping) and not is_array(body):
            _refuse("wrong_type", f"must be a mapping, a list, a model or bytes, got {type(body).__name__}", "body")
        try:
            content = _ENCODER.encode(_json(body, "body"))
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            _refuse("wrong_type", f"cannot be written as JSON: {error}", "body")
    names = template.strip("/").split("/")
    segments = [str(values[name[1:-1]]) if _PLACEHOLDER.fullmatch(name) else unquote(name) for name in names]
    effect, known = _effect(method, segments, effect), _known_operation(method, segments)
    parameters = [Parameter(name=name, wire=name, location="path", required=True) for name in values]
    parameters += [
        Parameter(name=key, wire=key, location="query", array=isinstance(value, list)) for key, value in keys.items()
    ]
    operation: Operation[Any] = Operation(
        name=f"request.{effect}",
        method=method,
        path=template,
        effect=effect,
        shape=Shape.BARE,
        scope="read" if effect is Effect.READ else "trade",
        parameters=tuple(parameters),
        body=None if content is None else bytes,
        version=None if known is None else known.version,
    )
    return BoundCall(operation, path=values, query=keys, body=content)


def _refuse(code: str, message: str, place: str) -> NoReturn:
    raise InvalidRequestError("invalid request (nothing was sent)", errors=(ErrorDetail(code, message, place),))


# Paths.


def encode_literal_path(path: str) -> str:
    """Return a path ready to send: existing escapes stay, everything else that needs one is encoded.

    >>> encode_literal_path("/instruments/equities/BRK%2FB")
    '/instruments/equities/BRK%2FB'
    >>> encode_literal_path("/watchlists/my list/{symbol}")
    '/watchlists/my%20list/{symbol}'

    Raises:
        InvalidRequestError: the path could lead out of the base address, or is ambiguous.
    """
    if not isinstance(path, str):
        _refuse("wrong_type", f"must be a str, got {type(path).__name__}", "path")
    if not path.startswith("/") or path == "/":
        _refuse("unsafe_segment", f"must start with one slash, such as /accounts, got {path!r}", "path")
    stem, end = (path[:-1], "/") if path.endswith("/") else (path, "")
    encoded = [""]
    for segment in stem[1:].split("/"):
        if _PLACEHOLDER.fullmatch(segment):
            encoded.append(segment)
            continue
        if _FORBIDDEN.search(segment):
            _refuse("unsafe_segment", f"must not contain ? # \\ {{ }} or control characters, got {path!r}", "path")
        if _LONE_PERCENT.search(segment):
            _refuse("unsafe_segment", f"must write a percent sign as %25, got {path!r}", "path")
        decoded = unquote(segment)
        if decoded in ("", ".") or ".." in _SEPARATOR.split(decoded):
            _refuse("unsafe_segment", f"must not contain an empty, . or .. segment, got {path!r}", "path")
        try:
            encoded.append(quote(segment, safe=_PATH_CHARACTERS))
        except UnicodeEncodeError:
            _refuse("not_text", "must be valid Unicode, got a lone surrogate", "path")
    return "/".join(encoded) + end


# Effects.


def _effect(method: str, segments: list[str], given: Effect | None) -> Effect:
    """Return the effect of the call: as given, else as the schema says, else by the method.

    A known mutation stays one, or a slip would repeat it, and a read-only client would send it.
    """
    known = _known_operation(method, segments)
    routed = _known_operation(method, "/".join(segments).lower().split("/"))
    if routed is not None and (routed.effect is Effect.MUTATE or routed.scope is None):
        known = routed  # for a service that decodes %2F first, or that ignores case
    if known is not None and known.scope is None:
        _refuse("unsafe_segment", "must not be the token endpoint: the client requests its tokens itself", "path")
    if given is None:
        return known.effect if known is not None else Effect.READ if method == "GET" else Effect.MUTATE
    try:
        effect = Effect(given)
    except ValueError:
        _refuse("value_not_allowed", f"must be one of {', '.join(Effect)}, got {given!r}", "effect")
    if known is not None and known.effect is Effect.MUTATE and effect is not Effect.MUTATE:
        _refuse(
            "value_not_allowed", f"must be mutate, because the path is that of {known.name}, got {effect}", "effect"
        )
    return effect


def _known_operation(method: str, segments: list[str]) -> Operation[Any] | None:
    """Return the operation of the schema at a path. Of several the one whose template has the fewest placeholders."""
    found = []
    for each in OPERATIONS.values():
        parts = each.path.strip("/").split("/")
        fits = each.method == method and each.host is None and len(parts) == len(segments)
        if fits and all(part[:1] == "{" or part == name for part, name in zip(parts, segments, strict=True)):
            found.append(each)
    return min(found, key=lambda each: each.path.count("{"), default=None)


# Queries and bodies.


def _scalar(value: object, place: str) -> str:
    _check_scalar(value, place)
    return encode_scalar(place, value)


def _check_scalar(value: object, place: str) -> None:
    """Reject a naive timestamp, and a number that is not exact, not finite or extreme."""
    if isinstance(value, float):
        _refuse("wrong_type", "must be a Decimal or an int, got float", place)
    if isinstance(value, Decimal) and (problem := decimal_problem(value)) is not None:
        _refuse(*problem, place)
    if isinstance(value, dt.datetime) and value.utcoffset() is None:
        _refuse("naive_date_time", "must have a time zone (tzinfo)", place)


def _json(value: Any, place: str) -> Any:
    """Return a value with its models as wire structs and its timestamps as `str`."""
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            _refuse("wrong_type", "must have str keys", place)
        return {key: _json(item, f"{place}.{key}") for key, item in value.items()}
    if is_array(value):
        return [_json(item, f"{place}[{index}]") for index, item in enumerate(value)]
    if type(value) in wires():
        return wires()[type(value)].of(value)
    if isinstance(value, Enum):
        value = value.value
    _check_scalar(value, place)
    if value is None or isinstance(value, str | bool | int | Decimal):
        return value
    if not isinstance(value, dt.date):
        _refuse("wrong_type", f"must be a JSON value, a date or a model, got {type(value).__name__}", place)
    return encode_scalar(place, value)
