"""OAuth grants and access tokens, which are JWTs that last fifteen minutes, and tokens for the market-data streamer."""

from __future__ import annotations

import base64
import hashlib
import hmac
import html
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import attrs

from .._generated.converters import TokenResponseWire
from .._generated.models import GrantType, TokenRequest
from .api.wire import RefusedError, dumps
from .keyed_random import KeyedRandom, key_of
from .trading.accounts import Customer

LIFETIME = 900
"""Lifetime of an access token, in seconds."""

SCOPES = ("read", "trade", "openid")

AUTH_PAGE = "/auth"
"""Path of the authorization page. A visitor consents: as the owner, or as one of several."""

_SCHEME = "Bearer"
_CODE_LIFETIME = 600.0


@attrs.define(kw_only=True)
class AuthorizationGrant:
    """Access that a customer granted to the application. ``revoked`` once the grant was deleted."""

    refresh_token: str
    customer: Customer
    scopes: frozenset[str]
    revoked: bool = False


@attrs.frozen
class Identity:
    """Customer that an access token stands for, the scopes that it grants, and what ends it."""

    customer: Customer
    scopes: frozenset[str]
    expires: float
    grant: AuthorizationGrant


def _base64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


class AuthorizationServer:
    """Issues and verifies the access tokens of one environment, for the one application that is registered."""

    def __init__(
        self, environment: str, customers: Sequence[Customer], random: KeyedRandom, redirect_uris: Iterable[str] = ()
    ) -> None:
        self._environment = environment
        self._random = random
        self._key = hashlib.sha256(self._secret("signing key").encode()).digest()
        self.client_id: str = self._secret("client id")[:32]
        self.client_secret: str = self._secret("client secret")
        self.redirect_uris: tuple[str, ...] = (*redirect_uris, "http://127.0.0.1:8765/callback")
        self._issued_count = 0
        self._codes: dict[str, tuple[float, str, Customer, frozenset[str]]] = {}
        self._grants: dict[str, AuthorizationGrant] = {}
        self._issued: dict[str, Identity] = {}
        self.customers: tuple[Customer, ...] = tuple(customers)
        self.personals: tuple[AuthorizationGrant, ...] = tuple(self.grant(each, SCOPES) for each in customers)

    def grant(self, customer: Customer, scopes: Iterable[str]) -> AuthorizationGrant:
        """Create a grant, as a customer does in the web profile."""
        self._issued_count += 1
        token = self._secret(f"refresh token {self._issued_count}")
        grant = AuthorizationGrant(refresh_token=token, customer=customer, scopes=frozenset(scopes))
        self._grants[token] = grant
        return grant

    def expire_tokens(self) -> None:
        """Invalidate every access token issued so far. The grants stay valid."""
        self._issued.clear()

    def regenerate_secret(self) -> str:
        """Replace the client secret and revoke every grant. Return the new secret."""
        for grant in self._grants.values():
            grant.revoked = True
        self._issued_count += 1
        self.client_secret = self._secret(f"client secret {self._issued_count}")
        return self.client_secret

    def sign_in_page(self, address: str) -> str | None:
        """Return the page that asks who signs in, None where that is decided."""
        if len(self.customers) == 1 or "customer" in parse_qs(urlsplit(address).query):
            return None
        query = self._checked(address)
        links = "".join(
            f'<p><a href="?{html.escape(urlencode(query | {"customer": each.username}))}">{each.username}</a>'
            for each in self.customers
        )
        wanted = html.escape(query.get("scope", " ".join(SCOPES)))
        return f"<!doctype html><title>Sign in</title><h1>Sign in</h1><p>A program asks for: {wanted}</p>{links}"

    def authorize(self, address: str, now: float) -> str:
        """Consent as the ``customer`` in the request at ``address``, or the owner. Return the redirect address."""
        query = self._checked(address)
        name = query.get("customer", self.customers[0].username)
        customer = next((each for each in self.customers if each.username == name), None)
        if customer is None:
            raise RefusedError(400, "invalid_request", "Unknown customer")
        redirect_uri, scopes = query["redirect_uri"], set(query.get("scope", " ".join(SCOPES)).split())
        self._issued_count += 1
        code = self._secret(f"code {self._issued_count}")
        self._codes[code] = now + _CODE_LIFETIME, redirect_uri, customer, frozenset(scopes.intersection(SCOPES))
        state = {"state": query["state"]} if "state" in query else {}
        return f"{redirect_uri}?{urlencode({'code': code} | state)}"

    def _checked(self, address: str) -> dict[str, str]:
        query = {name: values[-1] for name, values in parse_qs(urlsplit(address).query).items()}
        is_known = query.get("client_id") == self.client_id
        is_registered = query.get("redirect_uri") in self.redirect_uris
        if not is_known or not is_registered or query.get("response_type") != "code":
            raise RefusedError(400, "invalid_request", "Unknown client, redirect address or response type")
        return query

    def token(self, requested: TokenRequest, now: float) -> TokenResponseWire:
        """Return the response to a token request. Raise RefusedError if the request is not valid."""
        if requested.client_secret != self.client_secret:
            raise RefusedError(400, "invalid_client", "Client secret is wrong")
        if requested.client_id not in (None, self.client_id):
            raise RefusedError(400, "invalid_client", "Client does not match the grant")
        if requested.grant_type is GrantType.AUTHORIZATION_CODE:
            unknown = 0.0, "", self.customers[0], frozenset[str]()
            expires, redirect_uri, customer, scopes = self._codes.pop(requested.code or "", unknown)
            if expires <= now or redirect_uri != requested.redirect_uri:
                raise RefusedError(400, "invalid_grant", "Authorization code is invalid or was used before")
            grant = self.grant(customer, scopes)
            answer = self._token_response(grant, grant.scopes, now)
            answer.refresh_token = grant.refresh_token
            if "openid" in grant.scopes:
                claims = {"sub": str(customer.number), "preferred_username": customer.username}
                answer.id_token = self._sign(claims, now)
            return answer
        known = self._grants.get(requested.refresh_token or "")
        if known is None or known.revoked:
            raise RefusedError(400, "invalid_grant", "Grant revoked")
        scopes = known.scopes if requested.scope is None else frozenset(requested.scope.split())
        if requested.scope is not None and (not scopes or not scopes <= known.scopes):
            raise RefusedError(400, "invalid_scope", "The requested scope was not granted")
        return self._token_response(known, scopes, now)

    def identify(self, token: str, now: float) -> Identity | None:
        """Return the identity behind a valid bearer token, else None."""
        issued = self._issued.get(token)
        return None if issued is None or now >= issued.expires or issued.grant.revoked else issued

    def _token_response(self, grant: AuthorizationGrant, scopes: frozenset[str], now: float) -> TokenResponseWire:
        token = self._sign({"sub": str(grant.customer.number), "scope": " ".join(sorted(scopes))}, now)
        self._issued[token] = Identity(grant.customer, scopes, now + LIFETIME, grant)
        return TokenResponseWire(access_token=token, token_type=_SCHEME, expires_in=LIFETIME)

    def _sign(self, claims: dict[str, Any], now: float) -> str:
        self._issued_count += 1
        times = {"iat": int(now), "exp": int(now) + LIFETIME, "jti": self._secret(f"token {self._issued_count}")[:16]}
        header = _base64(dumps({"alg": "HS256", "typ": "JWT"}))
        payload = _base64(dumps({"iss": self._environment, **claims, **times}))
        signature = hmac.digest(self._key, f"{header}.{payload}".encode(), "sha256")
        return f"{header}.{payload}.{_base64(signature)}"

    def _secret(self, purpose: str) -> str:
        return self._random.hex_digits(40, key_of(self._environment), key_of(purpose))


_QUOTE_TOKEN_LIFETIME = 86400.0
_KEY = 9


class QuoteTokens:
    """Issues and verifies the tokens for the streamer at ``url``, which nothing listens on until one is set."""

    def __init__(self, random: KeyedRandom) -> None:
        self.url: str = "wss://streamer.simulator.invalid/realtime"
        self._random = random
        self._count = 0
        self._issued: dict[str, tuple[Customer, float]] = {}

    def issue(self, customer: Customer, now: float) -> str:
        """Return a new token of a customer."""
        self._count += 1
        self._issued = {token: issued for token, issued in self._issued.items() if issued[1] > now}
        token = self._random.hex_digits(40, _KEY, self._count)
        self._issued[token] = customer, now + _QUOTE_TOKEN_LIFETIME
        return token

    def identify(self, token: str, now: float) -> Customer | None:
        """Return the customer of a valid token, else None."""
        customer, expires = self._issued.get(token, (None, 0.0))
        return customer if now < expires else None
