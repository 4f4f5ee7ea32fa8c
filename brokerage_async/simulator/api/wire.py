"""Wire format of the service: JSON, date-times, amounts, envelopes and error bodies.

Bodies are rendered from the generated wire structs, so that all field names come from the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import formatdate
from functools import cache, lru_cache, partial
from typing import Any, Literal, TypeVar, overload

import attrs
import msgspec

from ..._generated.converters import ErrorBodyWire, ErrorDetailWire, PaginationWire, Wire
from ...protocol.decoding.fields import wire_fields
from ...protocol.response import Response

S = TypeVar("S", bound=msgspec.Struct)
T = TypeVar("T")

WireForm = Literal["observed", "documented"]
"""JSON types of identifiers and quantities: as recorded from the service, or as its document says."""

_JSON_HEADERS = {"content-type": "application/json"}
_CENT = Decimal("0.01")
_encoder = msgspec.json.Encoder(decimal_format="string")
_decoder = msgspec.json.Decoder()

dumps: Callable[[Any], bytes] = _encoder.encode
loads: Callable[[bytes | str], Any] = _decoder.decode


def timestamp(seconds: float | None) -> Any:
    """Return epoch seconds as ``2026-06-10T14:00:00.000+00:00``, which wire structs take, too. None for None."""
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def complete(wire: Wire) -> dict[str, Any]:
    """Return every field of a wire struct by key, with null for missing values."""
    fields = wire_fields(type(wire)).values()
    return {field.key: getattr(wire, field.attribute) for field in fields if field.alias_of is None}


@cache
def _shared(kind: type[msgspec.Struct], source: type) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if hasattr(source, name))


def like(kind: type[S], source: Any, **given: Any) -> S:
    """Return a struct with the attributes of an object that are among its fields, unless they are given."""
    shared = [name for name in _shared(kind, source.__class__) if name not in given]
    return kind(**given, **{name: getattr(source, name) for name in shared})


def same(value: Any, *names: str) -> dict[str, Any]:
    """Return fields of a wire struct that have one value."""
    return dict.fromkeys(names, value)


@overload
def money(amount: None) -> None: ...
@overload
def money(amount: Decimal) -> str: ...
def money(amount: Decimal | None) -> str | None:
    """Return an amount as a decimal string with at least two places and no exponent, None for None."""
    if amount is None:
        return None
    rounded = amount.quantize(_CENT)
    return format(rounded if rounded == amount else amount.normalize(), "f")


@attrs.frozen
class Dialect:
    """Renders the fields whose JSON type differs between recordings and the document."""

    form: WireForm = "observed"
    echoes_identifiers: bool = True

    def identifier(self, number: int | None) -> int | str | None:
        """Return the identifier of an order: an integer as recorded, a string as documented."""
        if number is None or self.form == "observed":
            return number
        return str(number)

    def quantity(self, amount: Decimal) -> Any:
        """Return a quantity: a number as recorded, a string as documented."""
        if self.form == "documented":
            return format(amount.normalize(), "f")
        return int(amount) if amount == amount.to_integral_value() else float(amount)

    def moment(self, seconds: float | None) -> Any:
        """Return ``updated-at``: epoch milliseconds as recorded, a string as documented. 1970 for never."""
        if self.form == "observed":
            return int((seconds or 0) * 1000)
        return timestamp(seconds or 0)

    def short_timestamp(self, seconds: float) -> Any:
        """Return the time of a net liquidating value: with a blank and a short offset, as recorded."""
        if self.form == "documented":
            return timestamp(seconds)
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}+00"

    def problem(self, code: str, message: str, domain: str) -> ErrorDetailWire:
        if self.form == "observed":
            return ErrorDetailWire(domain=domain, reason=message)
        return ErrorDetailWire(code=code, message=message, domain=domain)


@attrs.define(eq=False, slots=False)
class RefusedError(Exception):
    """Error response: status, machine-readable code, message, entries and, rarely, data or further headers."""

    status: int
    code: str | int
    message: str
    errors: Iterable[ErrorDetailWire] = ()
    data: Any = None
    headers: Mapping[str, str] = {}

    def __str__(self) -> str:
        return self.message

    def response(self, context: str) -> Response:
        """Return the error body, with ``data`` and ``context`` beside it if the error carries data."""
        error = ErrorBodyWire(code=self.code, message=self.message, errors=[*self.errors] or None)
        body: dict[str, Any] = {"error": error}
        if self.data is not None:
            body = {"data": self.data, "error": error, "context": context}
        return Response(status=self.status, headers={**_JSON_HEADERS, **self.headers}, body=dumps(body))

    @classmethod
    def not_found(cls, what: str) -> RefusedError:
        return cls(404, "record_not_found", f"Couldn't find {what}")

    @classmethod
    def not_permitted(cls, why: str = "User not permitted access") -> RefusedError:
        return cls(403, "not_permitted", why)

    @classmethod
    def invalid(cls, problems: Iterable[ErrorDetailWire], status: int = 422) -> RefusedError:
        """Return a 422 (or 400) ``validation_error`` with an entry per problem."""
        return cls(status, "validation_error", "Request validation failed", [*problems])


def found(value: T | None, what: str) -> T:
    """Return a value that was looked up. Raise a 404 error for None."""
    if value is None:
        raise RefusedError.not_found(what)
    return value


def pagination(offset: int, size: int, total: int) -> dict[str, Any]:
    """Return the ``pagination`` block, including the undocumented links that the service sends as null."""
    counts = PaginationWire(
        per_page=size,
        page_offset=offset,
        item_offset=offset * size,
        total_items=total,
        total_pages=-(-total // size),
        current_item_count=max(0, min(size, total - offset * size)),
    )
    return complete(counts)


def bare(data: Any, status: int = 200) -> Response:
    return Response(status=status, headers=_JSON_HEADERS, body=data if isinstance(data, bytes) else dumps(data))


def html(status: int, title: str) -> Response:
    """Return the HTML page that a proxy sends instead of JSON."""
    body = f"<html>\r\n<head><title>{status} {title}</title></head>\r\n<body><h1>{title}</h1></body>\r\n</html>\r\n"
    return Response(status=status, headers={"content-type": "text/html"}, body=body.encode())


_http_date = lru_cache(maxsize=16)(partial(formatdate, usegmt=True))


def dated(response: Response, now: float) -> Response:
    """Return ``response`` with a ``Date`` header that shows the simulated time."""
    return attrs.evolve(response, headers={**response.headers, "date": _http_date(int(now))})
