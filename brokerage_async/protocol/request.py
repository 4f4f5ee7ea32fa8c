"""Requests as values, and how they are built: checked, encoded, ready to be sent unchanged.

Paths and queries are encoded here once and must not be touched again: a URL library that normalises them would drop
the ``./`` of a futures option symbol, or split ``BRK/B`` in two.
"""

from __future__ import annotations

import datetime as dt
import enum
import functools
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import quote

import attrs

from .._secrets import Secret
from .._values import maker
from .._version import __version__
from ..config import base_address
from ..errors import WITHHELD, ConfigurationError, ErrorDetail, InvalidRequestError, RequestNotSentError
from ..operation import BoundCall, Guard, Operation, Parameter
from .decoding import codec
from .validation import requests as validation


@attrs.frozen(kw_only=True)
class Request:
    """One HTTP request, complete: absolute address, path and query already encoded, and every header but the token.

    A transport reveals ``authorization``, the value of that header, and ``secret_body``, sent instead of ``body``. A
    response with the ``previous_body``, which the caller holds already, may share it.
    """

    method: str
    url: str
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False, hash=False)
    body: bytes | None = attrs.field(default=None, repr=False)
    operation: Operation[Any] | None = attrs.field(default=None, repr=False)  # none outside of the generated ones
    timeout: float | None = None  # seconds that this one send may take, None to leave it to the transport
    previous_body: bytes | None = attrs.field(default=None, repr=False)
    guard: Guard | None = attrs.field(default=None, repr=False, eq=False)
    authorization: Secret | None = attrs.field(default=None, repr=False)
    secret_body: Secret | None = attrs.field(default=None, repr=False)

    def revealed_headers(self) -> dict[str, str]:
        """Return the headers as they go out, with the token."""
        token = self.authorization
        return {**self.headers} if token is None else {**self.headers, "Authorization": token.reveal()}

    def revealed_body(self) -> bytes | None:
        """Return the body as it goes out."""
        return self.body if self.secret_body is None else self.secret_body.reveal().encode()

    def revealed(self) -> Request:
        """Return the request as it goes out, with its secrets as plain values."""
        if self.authorization is None and self.secret_body is None:
            return self
        headers, body = self.revealed_headers(), self.revealed_body()
        return attrs.evolve(self, headers=headers, body=body, authorization=None, secret_body=None)

    def check_guard(self) -> None:
        """Raise RequestNotSentError (code ``withheld``) if the guard objects."""
        reason = None if self.guard is None else self.guard()
        if reason is not None:
            name = self.operation.name if self.operation is not None else None
            raise RequestNotSentError(f"withheld: {reason}", code=WITHHELD, operation=name, method=self.method)


make_request: Callable[..., Request] = maker(Request)
ACCEPT_VERSION = "Accept-Version"
DEFAULT_USER_AGENT = f"brokerage-async/{__version__}"
_base = functools.lru_cache(maxsize=64)(base_address)


def build(
    call: BoundCall[Any],
    *,
    base_url: str,
    headers: Mapping[str, str],
    strict: bool = False,
    timeout: float | None = None,
) -> Request:
    """Return the request of a call, with exactly these headers. See `address_and_body`."""
    url, body = address_and_body(call, base_url=base_url, strict=strict)
    operation = call.operation
    return Request(method=operation.method, url=url, headers=headers, body=body, operation=operation, timeout=timeout)


def address_and_body(call: BoundCall[Any], *, base_url: str, strict: bool = False) -> tuple[str, bytes | None]:
    """Check a call and encode its address and its body. See `validation.check` for ``strict``.

    Raises:
        ConfigurationError: the base address cannot be used.
        InvalidRequestError: the arguments break documented rules, or a path value is missing, empty, ``.`` or ``..``.
            Every problem is listed.
    """
    operation, body = call.operation, call.body
    if body is None and not call.query and is_cacheable(call.path):
        return _address(operation, base_url, *call.path.items()), None
    validation.check(operation, call.path, call.query, body, strict=strict)
    url = _base(base_url) + encode_path(operation.path, call.path)
    if query := encode_query(operation.parameters, call.query):
        url = f"{url}?{query}"
    return url, body if body is None or isinstance(body, bytes) else encode_body(operation, body)


MAX_CACHED = 256  # characters of each value of an address that is remembered


def is_cacheable(path: Mapping[str, Any] | None) -> bool:
    """Return whether values are short strings of no other class, whose equality implies the same address."""
    return path is not None and not [v for v in path.values() if type(v) is not str or len(v) > MAX_CACHED]


@functools.lru_cache(maxsize=512)
def _address(operation: Operation[Any], base_url: str, *path: tuple[str, object]) -> str:
    """Check and encode a call that consists of its path: polls ask for the same address every time."""
    values = dict(path)
    validation.check(operation, values, None, None)
    return _base(base_url) + encode_path(operation.path, values)


def encode_body(operation: Operation[Any], body: object) -> bytes:
    """Encode a request model that keeps the rules of its fields.

    Raises:
        InvalidRequestError: its free-form parts hold what JSON cannot express.
    """
    try:
        return codec.encode(body)
    except (InvalidRequestError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidRequestError(f"the body cannot be written as JSON: {error}", **operation.place) from None


# Paths.


@functools.lru_cache(maxsize=512)
def _template(path: str) -> tuple[str, ...]:
    """Split a path template into fixed parts and names in turn: ``/orders/{id}`` -> ``("/orders/", "id", "")``."""
    return tuple(re.split(r"\{([^{}]+)\}", path))


def encode_path(template: str, values: Mapping[str, object]) -> str:
    """Fill a path template. Every value becomes exactly one percent-encoded segment (RFC 3986, unreserved kept).

    `validation.check` comes first: it refuses what would address something else, such as ``..``.

    >>> encode_path("/instruments/warrants/{symbol}", {"symbol": "BRK/B"})
    '/instruments/warrants/BRK%2FB'
    """
    parts = list(_template(template))
    for position in range(1, len(parts), 2):
        name = parts[position]
        parts[position] = _encode(encode_scalar(name, values[name]))
    return "".join(parts)


def _encode(text: str) -> str:
    """Percent-encode everything but RFC 3986's unreserved characters."""
    if text.isalnum() and text.isascii():
        return text
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        detail = ErrorDetail("not_text", "contains a lone surrogate, which UTF-8 cannot encode")
        raise InvalidRequestError("the address cannot be encoded", errors=(detail,)) from error


# Queries.

_INTEGER_BITS = 128  # longest integer in bits; longer ones are not identifiers, and the longest cannot even be written


def encode_query(parameters: tuple[Parameter, ...], query: Mapping[str, object]) -> str:
    """Encode a query in the order of the parameters. None values are left out.

    Arrays repeat their key, or are joined by commas. Keys stand as documented (``status[]=Live&status[]=Filled``).
    Values are percent-encoded, a space as ``%20``.

    Raises:
        InvalidRequestError: a value has no form in a query.
    """
    pairs: list[str] = []
    for parameter in parameters:
        wire = parameter.wire
        value = query.get(wire)
        if value is None or parameter.location == "path":
            continue
        if parameter.array:
            if not validation.is_array(value):
                raise _no_form(wire, value)
            items = [_encode(encode_scalar(wire, item)) for item in value]
            pairs.extend([f"{wire}={','.join(items)}"] if parameter.joined else [f"{wire}={item}" for item in items])
        else:
            pairs.append(f"{wire}={_encode(encode_scalar(wire, value))}")
    return "&".join(pairs)


def encode_scalar(wire: str, value: object) -> str:
    """Return the URL form of a value, before percent-encoding."""
    if type(value) is str:
        return value
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and value.bit_length() <= _INTEGER_BITS:
        return str(value)
    if isinstance(value, dt.date):
        text = value.isoformat()
        return f"{text[:-6]}Z" if text.endswith("+00:00") else text
    if isinstance(value, Decimal):
        return format(value, "f")
    raise _no_form(wire, value)


def _no_form(wire: str, value: object) -> InvalidRequestError:
    detail = ErrorDetail("wrong_type", f"{type(value).__name__} has no form in an address", wire)
    return InvalidRequestError("the address cannot be encoded", errors=(detail,))


# Headers.

_WORD = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_USER_AGENT = re.compile(rf"{_WORD}/{_WORD}")
_VERSION = re.compile(r"[A-Za-z0-9._-]+")


def validate_user_agent(user_agent: str) -> None:
    """Reject a ``User-Agent`` that is not of the form ``product/version``, which the service answers with 401.

    Raises:
        ConfigurationError: product or version is missing, or holds characters that a header token cannot.
    """
    if not isinstance(user_agent, str) or _USER_AGENT.fullmatch(user_agent) is None:
        raise ConfigurationError(
            f"user_agent must have the form product/version, such as my-app/1.0, got {user_agent!r}"
        )


def validate_accept_version(version: str) -> None:
    """Reject an ``Accept-Version`` that cannot stand in a header. The service decides whether the version exists.

    Raises:
        ConfigurationError: the version is empty, or holds other than letters, digits, dots and dashes.
    """
    if not isinstance(version, str) or _VERSION.fullmatch(version) is None:
        raise ConfigurationError(
            f"accept_version must consist of letters, digits, dots and dashes, such as 20260101, got {version!r}"
        )
