"""Bodies of error answers: the service's envelope, the flat form of the token endpoint, or neither."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import attrs

from ..errors import ErrorDetail
from .decoding.lenient import parse

__all__ = ["MAX_ERRORS", "MAX_PARSED", "ErrorBody", "parse_error_body", "read_error_object"]

MAX_PARSED = 128 * 1024
"""Largest error body in bytes that is parsed; a larger one would block the event loop."""

MAX_ERRORS = 100
"""Entries of ``error.errors`` that are kept."""


@attrs.frozen
class ErrorBody:
    """Parsed body of an error.

    Attributes:
        code, message, errors: the error's own fields, as far as they can be read.
        data: raw JSON that stands beside the error, if any.
        left_out: number of further entries of ``errors`` that were not read.
        in_envelope: whether the error has the documented form, so that only the service can have written it.
    """

    code: str | None
    message: str | None
    errors: tuple[ErrorDetail, ...] = ()
    data: Any = None
    in_envelope: bool = False
    left_out: int = 0


def parse_error_body(body: bytes, status: int) -> ErrorBody | None:
    """Parse the body of an error. Return None for any other form, and for one of more than `MAX_PARSED` bytes.

    Two forms are known: ``{"error": {"code", "message", "errors"}}``, where ``data`` may stand beside the error, and
    the flat ``{"error_code" or "error", "error_description"}`` of the token endpoint. Only the first, with a non-empty
    ``code``, is the service's envelope. Its code is a `str`. At status 406 the service sends the integer 406.
    """
    if len(body) > MAX_PARSED:
        return None
    try:
        raw = parse(body)
    except ValueError:
        return None
    return read_error_object(raw, status) if isinstance(raw, dict) else None


def read_error_object(raw: dict[str, Any], status: int) -> ErrorBody | None:
    """Read an error from a body that is parsed already. See `parse_error_body`."""
    error = raw.get("error")
    if isinstance(error, dict):
        code, listed = error.get("code"), error.get("errors")
        entries = listed if isinstance(listed, list) else []
        return ErrorBody(
            code=_str(code),
            message=_str(error.get("message")),
            errors=tuple(
                ErrorDetail(
                    code=_str(entry.get("code")),
                    message=_str(entry.get("reason") if entry.get("message") is None else entry["message"]),
                    domain=_str(entry.get("domain")),
                )
                for entry in entries[:MAX_ERRORS]
                if isinstance(entry, dict)
            ),
            data=raw.get("data"),
            in_envelope=bool(code.strip())
            if isinstance(code, str)
            else status == 406 and type(code) is int and code == 406,
            left_out=max(0, len(entries) - MAX_ERRORS),
        )
    code = raw.get("error_code", error)
    if code is None and "error_description" not in raw:
        return None
    return ErrorBody(_str(code), _str(raw.get("error_description")))


def _str(raw: Any) -> str | None:
    if raw is None or isinstance(raw, str):
        return raw
    return str(raw) if isinstance(raw, (int, Decimal)) else None
