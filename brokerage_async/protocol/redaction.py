"""Foreign words made fit to be shown: no secrets, no control characters, no more than anyone reads."""

from __future__ import annotations

import re
from collections.abc import Mapping

from .._secrets import Secret

MAX_BODY = 4096  # characters of the body of an error that are kept
MAX_HEADERS = 64  # headers of an error that are kept
MIN_TOKEN = 8  # length from which a token is searched for in the body of an error
_EXCERPT_BYTES = 2048
_EXCERPT_LENGTH = 200
_MESSAGE_LENGTH = 500
_NAME_LENGTH = 100
_REDACTED = "[redacted]"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_TAGS = re.compile(r"<[^<>]*>")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[^\s\"'<>,;\\]+")
_JWT = re.compile(r"eyJ[A-Za-z0-9_.=-]*")
_LONG = re.compile(r"eyJ[A-Za-z0-9_.=-]*|[A-Za-z0-9_+=-]{32,}")
_SENSITIVE = r"(?:token|secret|password|authorization|api[_-]?key|cookie)"
_NAMED = re.compile(
    rf"(?i)(\b[a-z0-9_-]{{0,24}}{_SENSITIVE}\\*[\"']?\s*[:=]\s*\\*[\"']?)(?!\[redacted])[^\s\"'&,;<>{{}}\\]+"
)
_QUOTED = re.compile(rf'(?i)("[^"\\]{{0,24}}{_SENSITIVE}"\s*:\s*")(?:[^"\\]|\\.)+')
_SECRET_HEADER = re.compile(r"(?i)cookie|auth|token|secret|password|key|session")
_TRACE_HEADER = re.compile(r"(?i)request-id|trace|correlation|cf-ray|cf-id")


def mask(text: str) -> str:
    """Replace everything that looks like a bearer token, a JWT, a named secret or another long opaque value."""
    text = _QUOTED.sub(rf"\1{_REDACTED}", _BEARER.sub(rf"\1 {_REDACTED}", text))
    return _NAMED.sub(rf"\1{_REDACTED}", _LONG.sub(_opaque, text))


def redact(text: str) -> str:
    """Return foreign words without secrets, on one line of at most 500 characters without control characters."""
    return _cut(mask(_one_line(text[: 4 * _MESSAGE_LENGTH])), _MESSAGE_LENGTH)


def excerpt(body: bytes) -> str:
    """Return the beginning of an unexpected body, redacted, without markup, at most 200 characters."""
    text = body[:_EXCERPT_BYTES].decode(errors="replace")
    return _cut(redact(_TAGS.sub(" ", text) if text.lstrip().startswith("<") else text), _EXCERPT_LENGTH)


def redact_name(text: str | None) -> str | None:
    """Return a code or a field name unchanged, unless it is absurdly long or contains a token."""
    return None if text is None else _cut(_one_line(mask_tokens(text[: 4 * _MESSAGE_LENGTH])), _NAME_LENGTH)


def redact_body(body: bytes) -> str:
    """Return the first `MAX_BODY` characters of a body with their lines, without secrets or control characters."""
    return _cut(mask(_CONTROL.sub(" ", body[: 2 * MAX_BODY].decode(errors="replace"))), MAX_BODY)


def redact_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a response by lower-case name, without secrets.

    Identifiers that help the service find a request, such as ``x-request-id``, stay whole.
    """
    shown: dict[str, str] = {}
    for name, value in list(headers.items())[:MAX_HEADERS]:
        if _SECRET_HEADER.search(name):
            shown[name.lower()] = _REDACTED
        else:
            traced = _TRACE_HEADER.search(name)
            shown[name.lower()] = (redact_name(value) or "") if traced else redact(value)
    return shown


def without_token(body: bytes, authorization: Secret) -> bytes:
    """Return a body without the token that its request carried, which may have a form that no pattern finds."""
    token = authorization.reveal().removeprefix("Bearer ").encode()
    return body.replace(token, _REDACTED.encode()) if len(token) >= MIN_TOKEN else body


def headers_without_token(headers: Mapping[str, str], authorization: Secret) -> Mapping[str, str]:
    """Return headers without the token that their request carried, such as in the address of a redirect."""
    token = authorization.reveal().removeprefix("Bearer ")
    if len(token) < MIN_TOKEN or not any(token in value for value in headers.values()):
        return headers
    return {name.lower(): value.replace(token, _REDACTED) for name, value in headers.items()}


def mask_tokens(text: str) -> str:
    """Replace bearer tokens and JWTs only."""
    return _JWT.sub(_REDACTED, _BEARER.sub(rf"\1 {_REDACTED}", text))


def _opaque(match: re.Match[str]) -> str:
    """Keep a long run of letters, such as a code. One with digits counts as a secret."""
    run = match.group()
    return _REDACTED if run.startswith("eyJ") or any(map(str.isdigit, run)) else run


def _one_line(text: str) -> str:
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
