"""Responses: success or error, which error (document section "Errors"), and raw ones, decoded on demand."""

from __future__ import annotations

import datetime as dt
import email.utils
import enum
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any, Final, Generic, TypeVar, cast
from urllib.parse import urlsplit

import attrs

from .. import errors
from .._values import maker
from ..errors import APIError, BrokerageError, ErrorDetail, ResponseDecodeError, UnprocessableError
from ..operation import BoundCall, Operation, Shape
from .decoding import codec
from .decoding.codec import Decoded
from .decoding.lenient import parse
from .redaction import excerpt, mask_tokens, redact, redact_body, redact_headers, redact_name
from .retry import PASSING

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class Response:
    """One HTTP response, complete: headers with lower-case keys, and the body after all decoding. Empty for none."""

    status: int
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False, hash=False)
    body: bytes = attrs.field(default=b"", repr=lambda body: f"<{len(body)} bytes>")


make_response: Callable[..., Response] = maker(Response)
PROXY_LOGIN = "the proxy requires a user name and password: pass proxy='http://user:password@host:port'"
"""Words for a 407 that came instead of an answer of the service."""

_BY_CODE: Mapping[str, type[APIError]] = {
    "unauthorized": errors.AuthenticationError,
    "token_invalid": errors.AuthenticationError,
    "not_permitted": errors.PermissionDeniedError,
    "record_not_found": errors.NotFoundError,
    "preflight_check_failure": errors.PreflightError,
    "cannot_update_order": errors.OrderNotCancellableError,
    "internal_server_error": errors.ServerError,
    "timeout_error": errors.ServerError,
}

KNOWN_CODES: Final = frozenset(_BY_CODE)  # codes of errors that have a class

_BY_STATUS: Mapping[int, type[APIError]] = {
    400: errors.BadRequestError,
    401: errors.AuthenticationError,
    403: errors.PermissionDeniedError,
    404: errors.NotFoundError,
    406: errors.VersionNotSupportedError,
    422: errors.UnprocessableError,
    429: errors.RateLimitError,
}


_UNKNOWN_PATH: Final = frozenset({401, 404, 405})
"""Statuses that the service may give to a path that it does not know; it asks for a token first."""

_FROM_GATEWAYS: Final = PASSING | {401, 429}
"""4xx that a gateway in front of the service may send as a page or without a body."""

_NEEDS_TLS: Final = re.compile(rb"(?i)plain http request|http request to an https")


def is_success(response: Response) -> bool:
    return 200 <= response.status < 300


def read_error(
    operation: Operation[Any] | None,
    response: Response,
    *,
    attempts: int = 1,
    now: float | None = None,
    decoded: Decoded[Any] | None = None,
    base_url: str = "",
    version: str | None = None,
) -> APIError:
    """Return the error of a response that is not a success. Never raises.

    The class follows the code in the body, then the status, then its hundred. A status of 500 or more is always a
    ``ServerError``, whatever the body claims: a proxy or a half-done service may have processed the request.
    JSON envelopes, flat token errors, HTML pages and empty bodies are all understood. Only the envelope makes the error
    one ``from_service``.

    Args:
        operation: the operation called, None outside of the operations.
        response: the response, redirects included, which are never followed.
        attempts: how many times the request was sent.
        now: current time in epoch seconds, needed to read a ``Retry-After`` date unless the response is dated.
        decoded: the decoded body, of a success that holds an error beside its data: it counts as unprocessable unless
            its code says more.
        base_url: base address of the service, for advice.
        version: interface version that the request asked for, for advice.
    """
    raw = _parsed(response.body) if decoded is None else {"error": decoded.error}
    parsed = _error_in(raw, response.status)
    code = None if parsed is None else parsed.code
    text = _unexpected(response, base_url) if parsed is None else parsed.message or "no message"
    if parsed is not None and response.status in _UNKNOWN_PATH and code != "record_not_found" and _path(base_url):
        text = f"{text}; {check_address(base_url)}"
    kind: type[APIError] = errors.ServerError
    if response.status < 500:
        other = UnprocessableError if response.status < 300 else APIError
        kind = _BY_CODE.get(code or "") or _BY_STATUS.get(response.status) or other
    if kind is errors.VersionNotSupportedError:
        asked = "no Accept-Version was sent" if version is None else f"Accept-Version {version} was sent"
        text = f"{text}; {asked}: set accept_version, or update the library"
    context = {} if operation is None else operation.place
    if issubclass(kind, UnprocessableError) and decoded is not None:
        context["data"] = decoded.value
    elif issubclass(kind, UnprocessableError) and parsed is not None and parsed.data is not None:
        context["data"] = parsed.data
        with suppress(ResponseDecodeError):
            if operation is not None and operation.result is not None:
                context["data"] = codec.decode(operation, response.body).value
    notes = [f"status {response.status}", *([f"code {code}"] if code else ())]
    if parsed is not None and parsed.left_out:
        notes.append(f"{parsed.left_out} further errors left out")
    return kind(
        f"{text} ({', '.join(notes)})",
        attempts=attempts,
        code=code,
        status=response.status,
        errors=() if parsed is None else parsed.errors,
        retry_after=retry_after(response.headers.get("retry-after"), sent_at(response, now)),
        from_service=parsed is not None and parsed.in_envelope,
        body=redact_body(response.body),
        headers=redact_headers(response.headers),
        **context,
    )


def _unexpected(response: Response, base_url: str) -> str:
    """Describe a body in an unknown form, and say what to do."""
    status = response.status
    if status == 429:
        return "too many requests: wait, or send fewer at once (Limits)"
    if 300 <= response.status < 400:
        target = redact(response.headers.get("location", "").partition("?")[0])
        return f"redirected{f' to {target}' if target else ''}; redirects are not followed, check the base address"
    if status == 407:
        return PROXY_LOGIN
    if status == 400 and _NEEDS_TLS.search(response.body[:2048]):
        return "the port expects https: base_url must start with https://"
    foreign = 400 <= status < 500 and status not in _FROM_GATEWAYS
    advice = f"; the service answers in JSON: {check_address(base_url)}" if foreign else ""
    if not response.body.strip():
        return f"the body is empty{advice}"
    kind = "an HTML page" if is_html(response) else "an unexpected body"
    return f"{kind} came back: {excerpt(response.body)!r}{advice}"


def is_html(response: Response) -> bool:
    return "html" in response.headers.get("content-type", "") or response.body.lstrip()[:1] == b"<"


def check_address(base_url: str) -> str:
    """Return the advice to check the base address, with the path that it has."""
    path = _path(base_url)
    return f"check base_url, which has the path {path!r}" if path else "check base_url"


def _path(base_url: str) -> str:
    return urlsplit(base_url).path.rstrip("/")


def deprecation_of(headers: Mapping[str, str]) -> str | None:
    """Return what the headers announce of the end of an interface version, None for nothing.

    No announcement of the service was ever recorded: these are the headers of RFC 9745 and RFC 8594.
    """
    if "deprecation" not in headers and "sunset" not in headers:
        return None
    return ", ".join(f"{name}: {redact(headers[name][:64])}" for name in ("deprecation", "sunset") if name in headers)


# Bodies of errors: the envelope of the service, the flat form of the token endpoint, or neither.

MAX_PARSED = 128 * 1024  # largest error body in bytes that is parsed; a larger one would block the event loop
MAX_ERRORS = 100  # entries of ``error.errors`` that are kept


@attrs.frozen
class _ErrorBody:
    """Error in a body, without secrets, and the raw ``data`` beside it.

    ``left_out`` entries of ``errors`` were not read. The error is ``in_envelope`` if it has the documented form, so
    that only the service can have written it.
    """

    code: str | None
    message: str | None
    errors: tuple[ErrorDetail, ...] = ()
    data: Any = None
    in_envelope: bool = False
    left_out: int = 0


def _parsed(body: bytes) -> Any:
    """Return the JSON of a body, None for anything else and for more than `MAX_PARSED` bytes."""
    with suppress(ValueError):
        return parse(body) if len(body) <= MAX_PARSED else None
    return None


def _error_in(raw: Any, status: int) -> _ErrorBody | None:
    """Read an error from a parsed body. Return None for any other form.

    Two forms are known: ``{"error": {"code", "message", "errors"}}``, where ``data`` may stand beside the error, and
    the flat ``{"error_code" or "error", "error_description"}`` of the token endpoint. Only the first, with a non-empty
    ``code``, is the service's envelope. Its code is a `str`. At status 406 the service sends the integer 406.
    """
    if not isinstance(raw, dict):
        return None
    error = raw.get("error")
    if isinstance(error, dict):
        code, listed = error.get("code"), error.get("errors")
        entries = listed if isinstance(listed, list) else []
        return _ErrorBody(
            code=_name(code),
            message=_text(error.get("message")),
            errors=tuple(
                ErrorDetail(
                    code=_name(entry.get("code")),
                    message=_text(entry.get("reason") if entry.get("message") is None else entry["message"]),
                    domain=_name(entry.get("domain")),
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
    return _ErrorBody(_name(code), _text(raw.get("error_description")))


def _name(raw: Any) -> str | None:
    return redact_name(str(raw)) if isinstance(raw, str | int | Decimal) else None


def _text(raw: Any) -> str | None:
    return redact(str(raw)) if isinstance(raw, str | int | Decimal) else None


# Waiting.

MAX_DATE_LENGTH = 64

_SECONDS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")


def retry_after(value: str | None, now: float | None = None) -> float | None:
    """Return the seconds of a ``Retry-After`` header, uncapped. None if it is absent or invalid.

    Both forms of RFC 9110 are read: seconds, and a date (which needs ``now`` in epoch seconds; a past date is 0.0).
    """
    if value is None:
        return None
    value = value.strip()
    if _SECONDS.fullmatch(value) is not None:
        return float(value)
    moment = read_http_date(value)
    return None if now is None or moment is None else max(0.0, moment - now)


def sent_at(response: Response, now: float | None) -> float | None:
    """Return when the service sent the response, by its own clock if it says so."""
    shown = read_http_date(response.headers.get("date", ""))
    return now if shown is None else shown


def read_http_date(value: str) -> float | None:
    """Return the epoch seconds of an HTTP date, such as a ``Date`` header's. None if it is invalid."""
    if len(value) > MAX_DATE_LENGTH:
        return None
    try:
        moment = email.utils.parsedate_to_datetime(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=dt.UTC)
        return moment.timestamp()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


# Raw responses.


@attrs.frozen(kw_only=True)
class RawResponse(Generic[T]):
    """A success as the service sent it.

    Attributes:
        status: HTTP status, always one of success (2xx): others are raised as errors.
        headers: headers by lower-case name, values that may be secret replaced by ``[redacted]``.
        body: the body, decompressed. Empty for none.
    """

    status: int
    headers: Mapping[str, str] = attrs.field(repr=False, hash=False)
    body: bytes = attrs.field(repr=lambda body: f"<{len(body)} bytes>")
    _operation: Operation[T] = attrs.field(alias="operation", repr=False)
    _strict: bool = attrs.field(alias="strict", default=False, repr=False)

    @classmethod
    def of(cls, operation: Operation[T], response: Response, *, strict: bool = False) -> RawResponse[T]:
        """Return the answer to a call of ``operation``."""
        headers = redact_headers(response.headers)
        return cls(status=response.status, headers=headers, body=response.body, operation=operation, strict=strict)

    def parse(self) -> T:
        """Return the result of the endpoint, decoded from the body. Of a list in pages, the rows of this page.

        The result of `Client.request` is the whole body as plain JSON values, numbers with a fraction as `Decimal`,
        and None for an empty body. Each call decodes again, and at once: with megabytes it holds up the event loop.

        Raises:
            ResponseDecodeError: the body is not what the schema says, or not JSON.
            APIError: the body holds an error beside its data.
        """
        operation = self._operation
        try:
            if operation.result is None:
                is_json = operation.shape is Shape.BARE and self.body.strip()
                return cast("T", parse(self.body) if is_json else None)
            found = codec.decode(operation, self.body, strict=self._strict)
        except ResponseDecodeError as error:
            error.status = self.status
            raise
        except ValueError as error:
            reason = f"$: the body is not JSON: {error}"
            raise ResponseDecodeError(reason, json_path="$", status=self.status, **operation.place) from None
        if found.error:
            raise read_error(
                operation, Response(status=self.status, headers=self.headers, body=self.body), decoded=found
            )
        return found.value


def holds_error(response: Response) -> bool:
    """Return whether a success holds the service's own error envelope.

    A body too large for an error is not looked at.
    """
    if b'"error"' not in response.body:
        return False
    found = _error_in(_parsed(response.body), response.status)
    return found is not None and found.in_envelope


# Notes of an exception that name the call it belongs to: they show in tracebacks, and never in a message or a log.

MAX_LENGTH = 1000  # characters of a note

_NOTED = frozenset({403, 404, 422})
"""Statuses that depend on the arguments. A success that holds an error beside its data is one as well."""


def note_arguments(error: BrokerageError, call: BoundCall[Any]) -> BrokerageError:
    """Return the error. A 403, a 404 or a 422 gets a note with the arguments of the call."""
    if isinstance(error, APIError) and error.status is not None and (error.status in _NOTED or error.status < 300):
        error.add_note(f"called as {describe(call)}")
    return error


def describe(call: BoundCall[Any]) -> str:
    """Return a call as Python source, cut to `MAX_LENGTH` characters.

    Secret fields of a body stay hidden. A body of bytes shows its length.
    """
    given = {**call.path, **call.query}
    shown = [
        f"{parameter.name}={_shown(given[parameter.wire])}"
        for parameter in call.operation.parameters
        if parameter.wire in given
    ]
    if call.body is not None:
        shown.append(f"<{len(call.body)} bytes>" if isinstance(call.body, bytes) else repr(call.body))
    text = mask_tokens(f"{call.operation.name}({', '.join(shown)})")
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"


def _shown(value: object) -> str:
    if isinstance(value, enum.Enum):
        return repr(value.value)
    if isinstance(value, (dt.date, Decimal)):
        return str(value)
    if isinstance(value, (list, tuple, set, frozenset)) and not isinstance(value, Mapping):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)
