"""How the service writes: JSON, date-times, amounts, envelopes and error bodies.

What it writes are the generated wire structs, so that the names of all fields come from the schema.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import formatdate
from functools import lru_cache
from typing import Any, Literal, overload

import attrs
import msgspec

from ..._generated.converters import ErrorBodyWire, ErrorDetailWire, PaginationWire, Wire
from ...protocol.decoding.fields import layout
from ...protocol.response import Response

__all__ = [
    "Dialect",
    "RefusedError",
    "Slice",
    "WireForm",
    "bare",
    "complete",
    "dated",
    "dumps",
    "empty",
    "html",
    "item",
    "items",
    "loads",
    "money",
    "timestamp",
]

WireForm = Literal["observed", "documented"]
"""Which JSON types carry identifiers and quantities: as recorded from the service, or as its document says."""

_JSON_HEADERS = {"content-type": "application/json"}
_CENT = Decimal("0.01")
_PAGE_LINKS = ("previous-link", "next-link", "paging-link-template")
_encoder = msgspec.json.Encoder(decimal_format="string")
_decoder = msgspec.json.Decoder()

dumps: Callable[[Any], bytes] = _encoder.encode
loads: Callable[[bytes | str], Any] = _decoder.decode


def timestamp(seconds: float | None) -> Any:
    """``2026-06-10T14:00:00.000+00:00`` for epoch seconds, None for none.

    Typed as anything: a wire struct says of a moment what it is read as, and takes its text all the same.
    """
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def complete(wire: Wire) -> dict[str, Any]:
    """Every field of a wire struct by its key, null where it has no value; otherwise such fields are left out."""
    slots = layout(type(wire)).values()
    return {slot.key: getattr(wire, slot.attribute) for slot in slots if slot.alias_of is None}


@overload
def money(amount: None) -> None: ...
@overload
def money(amount: Decimal) -> str: ...
def money(amount: Decimal | None) -> str | None:
    """An amount as text: cents at least, further places where they are needed, never an exponent. None for none."""
    if amount is None:
        return None
    rounded = amount.quantize(_CENT)
    return format(rounded if rounded == amount else amount.normalize(), "f")


@attrs.frozen
class Dialect:
    """Renders the fields whose JSON type differs between the recorded service and its document."""

    form: WireForm = "observed"

    def identifier(self, number: int | None) -> int | str | None:
        """An order or complex order id: integer as recorded, text as documented."""
        if number is None or self.form == "observed":
            return number
        return str(number)

    def quantity(self, amount: Decimal) -> Any:
        """A quantity: number as recorded, text as documented."""
        if self.form == "documented":
            return format(amount.normalize(), "f")
        return int(amount) if amount == amount.to_integral_value() else float(amount)

    def moment(self, seconds: float | None) -> Any:
        """``updated-at``: epoch milliseconds as recorded, text as documented; the start of 1970 for never."""
        if self.form == "observed":
            return int((seconds or 0) * 1000)
        return timestamp(seconds or 0)

    def problem(self, code: str, message: str, domain: str) -> ErrorDetailWire:
        """One entry of a ``validation_error``."""
        if self.form == "observed":
            return ErrorDetailWire(domain=domain, reason=message)
        return ErrorDetailWire(code=code, message=message, domain=domain)


class RefusedError(Exception):
    """A request that is answered with an error: status, machine-readable code, text, entries and, rarely, data."""

    def __init__(
        self,
        status: int,
        code: str | int,
        message: str,
        *,
        errors: Iterable[ErrorDetailWire] = (),
        data: Any = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.errors: list[ErrorDetailWire] = list(errors)
        self.data = data

    def response(self, context: str) -> Response:
        """The answer: ``error``, beside ``data`` and ``context`` when the refusal carries data."""
        error = ErrorBodyWire(code=self.code, message=self.message, errors=self.errors or None)
        body: dict[str, Any] = {"error": error}
        if self.data is not None:
            body = {"data": self.data, "error": error, "context": context}
        return Response(status=self.status, headers=_JSON_HEADERS, body=dumps(body))

    @classmethod
    def not_found(cls, what: str) -> RefusedError:
        """404 for ``what``."""
        return cls(404, "record_not_found", f"Couldn't find {what}")

    @classmethod
    def not_permitted(cls, why: str = "User not permitted access") -> RefusedError:
        """403."""
        return cls(403, "not_permitted", why)

    @classmethod
    def invalid(cls, problems: Iterable[ErrorDetailWire], status: int = 422) -> RefusedError:
        """422 (or 400) ``validation_error`` with an entry per problem."""
        return cls(status, "validation_error", "Request validation failed", errors=problems)


@attrs.frozen
class Slice:
    """One page of ``total`` rows."""

    offset: int
    size: int
    total: int

    @property
    def start(self) -> int:
        """Position of the first row of the page."""
        return self.offset * self.size

    @property
    def stop(self) -> int:
        """Position after the last row of the page."""
        return min(self.start + self.size, self.total)

    @property
    def count(self) -> int:
        """How many rows the page holds."""
        return max(0, self.stop - self.start)

    def pagination(self) -> dict[str, Any]:
        """The ``pagination`` block, with the links, unknown to the schema, that the service sends as null."""
        counts = PaginationWire(
            per_page=self.size,
            page_offset=self.offset,
            item_offset=self.start,
            total_items=self.total,
            total_pages=-(-self.total // self.size),
            current_item_count=self.count,
        )
        return complete(counts) | dict.fromkeys(_PAGE_LINKS)


def item(data: Any, context: str, status: int = 200) -> Response:
    """A single resource in its envelope; bytes are taken as JSON that is already written."""
    written = data if isinstance(data, bytes) else dumps(data)
    body = b'{"data":%b,"context":%b}' % (written, dumps(context))
    return Response(status=status, headers=_JSON_HEADERS, body=body)


def items(rows: Iterable[bytes], context: str, page: Slice | None = None) -> Response:
    """A list of rows that are already written, in its envelope."""
    tail = b"" if page is None else b',"pagination":' + dumps(page.pagination())
    body = b'{"data":{"items":[%b]},"context":%b%b}' % (b",".join(rows), dumps(context), tail)
    return Response(status=200, headers=_JSON_HEADERS, body=body)


def bare(data: Any, status: int = 200) -> Response:
    """A body without an envelope."""
    return Response(status=status, headers=_JSON_HEADERS, body=dumps(data))


def empty(status: int = 204) -> Response:
    """An answer without a body."""
    return Response(status=status, headers={}, body=b"")


def html(status: int, title: str) -> Response:
    """The page that a proxy, or the service's front door, sends instead of JSON."""
    body = f"<html>\r\n<head><title>{status} {title}</title></head>\r\n<body><h1>{title}</h1></body>\r\n</html>\r\n"
    return Response(status=status, headers={"content-type": "text/html"}, body=body.encode())


def dated(response: Response, now: float) -> Response:
    """Return ``response`` with a ``Date`` header that shows the simulated time."""
    return attrs.evolve(response, headers={**response.headers, "date": _date(int(now))})


@lru_cache(maxsize=16)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
