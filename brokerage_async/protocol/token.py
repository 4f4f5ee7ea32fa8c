"""Token requests, the answers to them, and the life of a token. No clock, no I/O."""

from __future__ import annotations

from typing import Any, TypeGuard

import attrs
import msgspec

from .._generated.models import GrantType, TokenRequest
from .._generated.operations import OAUTH_TOKEN
from ..config import AuthorizationCode, RefreshToken, Secret
from ..errors import PROXY_AUTHENTICATION, BrokerageError, TokenError
from .redaction import redact
from .response import PROXY_LOGIN, Response, check_address, is_html, retry_after, sent_at
from .retry import PASSING

LIFETIME = 900.0  # seconds that an access token is valid if the answer does not name a lifetime

_TRANSIENT_4XX = PASSING | {429}
_NO_SUCH_PATH = frozenset({404, 405, 501})
_RENEW = "make a new grant in the customer profile and use its refresh token"


@attrs.frozen(kw_only=True)
class Grant:
    """A success of the token endpoint: the token, the seconds it lives, and a refresh token if one came with it."""

    access_token: Secret
    expires_in: float
    refresh_token: Secret | None = None


@attrs.frozen(kw_only=True)
class Lease:
    """An access token in use, on a monotonic clock.

    From ``refresh_at`` on a new one is fetched in the background while this one still serves. From ``expires_at`` on,
    a few seconds before its real end, it does not serve any more.
    """

    token: Secret
    authorization: Secret
    refresh_at: float
    expires_at: float

    @classmethod
    def start(cls, token: Secret, expires_in: float, asked_at: float) -> Lease:
        """Return the lease of a token requested at ``asked_at`` that lives ``expires_in`` seconds."""
        life = max(expires_in, 0.0)
        return cls(
            token=token,
            authorization=bearer(token),
            refresh_at=asked_at + life - min(120.0, life * 0.2),
            expires_at=asked_at + life - min(10.0, life * 0.05),
        )


def bearer(token: Secret) -> Secret:
    return Secret(f"Bearer {token.reveal()}")


def token_of(authorization: Secret) -> Secret:
    return Secret(authorization.reveal().removeprefix("Bearer "))


def is_token(value: object) -> TypeGuard[str]:
    """Return whether a value can be an access token: a `str` that can stand in a header."""
    return isinstance(value, str) and value != "" and value.isascii() and value.isprintable()


def grant_request(credentials: RefreshToken | AuthorizationCode) -> TokenRequest:
    if isinstance(credentials, RefreshToken):
        return TokenRequest(
            grant_type=GrantType.REFRESH_TOKEN,
            refresh_token=credentials.refresh_token.reveal(),
            client_secret=credentials.client_secret.reveal(),
            client_id=credentials.client_id,
            scope=credentials.scope,
        )
    return TokenRequest(
        grant_type=GrantType.AUTHORIZATION_CODE,
        code=credentials.code.reveal(),
        client_id=credentials.client_id,
        client_secret=credentials.client_secret.reveal(),
        redirect_uri=credentials.redirect_uri,
    )


def read_grant(
    response: Response, *, now: float | None = None, base_url: str = "", with_client_id: bool = False
) -> Grant:
    """Read the token from an answer of the token endpoint. See `read_error` for ``now`` and ``base_url``.

    Raises:
        TokenError: transient for 5xx, 429 and anything that is not a token answer (a page of a proxy), terminal for
            every other 4xx.
    """
    found = _grant_or_error(response, now, base_url, with_client_id)
    if isinstance(found, TokenError):
        raise found
    return found


def _grant_or_error(response: Response, now: float | None, base_url: str, with_client_id: bool) -> Grant | TokenError:
    """Return the grant, or the error: raised here, it would keep a frame with everything that the service said."""
    try:
        fields = msgspec.json.decode(response.body)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        fields = {}
    fields = fields if isinstance(fields, dict) else {}
    if not 200 <= response.status < 300:
        error = refusal(response.status, fields, base_url, with_client_id)
        error.retry_after = retry_after(response.headers.get("retry-after"), sent_at(response, now))
        return error
    token = fields.get("access_token")
    if not is_token(token):
        kind = "is an HTML page" if is_html(response) else "has no access token"
        text = f"the response of the token endpoint {kind}: {check_address(base_url)}"
        return _error(text, transient=True, status=response.status)
    refresh = fields.get("refresh_token")
    try:
        seconds = float(fields.get("expires_in"))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        seconds = LIFETIME
    return Grant(
        access_token=Secret(token),
        expires_in=seconds if 0 < seconds < 1e9 else LIFETIME,
        refresh_token=Secret(refresh) if isinstance(refresh, str) and refresh else None,
    )


def refusal(status: int, fields: dict[str, Any], base_url: str = "", with_client_id: bool = False) -> TokenError:
    """Return the error of an error answer. The words of the endpoint are quoted only where they are a code."""
    nested = fields.get("error")
    code = fields.get("error_code") or (nested.get("code") if isinstance(nested, dict) else nested)
    code = code if isinstance(code, str) and code.isascii() and len(code) <= 64 and redact(code) == code else None
    named = f" ({code})" if code else ""
    if status == 407:
        return _error(f"{PROXY_LOGIN} (status 407)", transient=False, status=status, code=PROXY_AUTHENTICATION)
    advice, address = _RENEW, check_address(base_url)
    if status in _NO_SUCH_PATH:
        text = f"the token endpoint was not found ({status}): {address}"
        return _error(text, transient=False, status=status, code=code)
    if not 400 <= status < 500 or status in _TRANSIENT_4XX:
        text = f"the token endpoint answered {status}{named}{f': {address}' if status < 400 else ''}"
        return _error(text, transient=True, status=status, code=code)
    if code == "invalid_client":
        advice = f"check client_secret{' and client_id (a refresh token works without one)' if with_client_id else ''}"
    elif code != "invalid_grant" and status == 401 and "path" in address:
        advice = address  # a path that the service does not know needs a token, says the service
    elif code != "invalid_grant":
        advice = f"{_RENEW}, or check client_secret{' and client_id' if with_client_id else ''}"
    text = f"the token endpoint refused the credentials with {status}{named}: {advice}"
    return _error(text, transient=False, status=status, code=code)


def unreachable(error: Exception) -> TokenError:
    """Return the error of a token request without an answer."""
    reason, code = (error.message, error.code) if isinstance(error, BrokerageError) else (error, None)
    final = code == PROXY_AUTHENTICATION  # not to be repeated: proxies lock accounts after a few wrong passwords
    return _error(f"no answer from the token endpoint: {reason}", transient=not final, code=code)


def _error(message: str, *, transient: bool, status: int | None = None, code: str | None = None) -> TokenError:
    return TokenError(message, transient=transient, status=status, code=code, **OAUTH_TOKEN.place)
