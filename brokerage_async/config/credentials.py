"""Credentials: how a client gets its access tokens."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import attrs

from .._secrets import Secret
from .fields import check_given, check_text, hidden


@attrs.frozen(kw_only=True)
class RefreshToken:
    """Credentials of a personal grant. The refresh token does not expire. Access tokens are made from it as needed.

    Attributes:
        client_secret: secret of the OAuth application. Hidden in every representation, for `Secret.reveal` returns it.
        refresh_token: token of the grant. Hidden as well.
        client_id: identifier of the application. May be left out.
        scope: words separated by spaces, to ask for less than was granted.
    """

    client_secret: Secret = attrs.field(converter=hidden, validator=check_given)
    refresh_token: Secret = attrs.field(converter=hidden, validator=check_given)
    client_id: str | None = attrs.field(default=None, validator=check_text)
    scope: str | None = attrs.field(default=None, validator=check_text)


@attrs.frozen(kw_only=True)
class AuthorizationCode:
    """The code of an authorization-code grant. It is exchanged once, on first use, for a refresh token.

    Keep the ``refresh_token`` of what ``await client.authorize()`` returns: the code cannot be used a second time.

    Attributes:
        client_id, client_secret: of the OAuth application. The secret is hidden in every representation.
        redirect_uri: address that the customer was sent back to, exactly as registered.
        code: the code in that address. Hidden as well.
    """

    client_id: str = attrs.field(validator=check_given)
    client_secret: Secret = attrs.field(converter=hidden, validator=check_given)
    redirect_uri: str = attrs.field(validator=check_given)
    code: Secret = attrs.field(converter=hidden, validator=check_given)


@runtime_checkable
class TokenProvider(Protocol):
    """Source of access tokens outside of this client.

    An exception that it raises becomes a `TokenError` with nothing but its class, for the message may hold a secret.
    Errors of this library pass unchanged: raise ``TokenError(message, transient=True)`` for passing failures.
    """

    async def get_token(self) -> str:
        """Return an access token that is valid now."""

    def invalidate(self, token: str) -> bool:
        """Drop a ``token`` that the service has rejected. Return True if `get_token` can supply a new one."""


@attrs.frozen
class StaticToken:
    """One access token, used until the service refuses it.

    Attributes:
        access_token: the token. Hidden in every representation.
    """

    access_token: Secret = attrs.field(converter=hidden, validator=check_given)

    async def get_token(self) -> str:
        """Return the token."""
        return self.access_token.reveal()

    def invalidate(self, token: str) -> bool:
        """Return False: there is only one token."""
        return False


Credentials = RefreshToken | AuthorizationCode | StaticToken | TokenProvider
"""Credentials that a client accepts."""
