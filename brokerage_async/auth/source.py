"""The source of the tokens of a client, chosen by its credentials."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from .._generated.operations import OAUTH_TOKEN
from ..config import AuthorizationCode, Credentials, Environment, RefreshToken, TokenProvider
from ..errors import ConfigurationError
from ..http.limiter import LaneName, Limiter
from ..http.shared import Options, Tokens
from ..observers import ObserverList
from .endpoint import TokenEndpoint
from .manager import ProvidedTokens, TokenManager
from .store import TokenStore, store_key

if TYPE_CHECKING:
    from ..http.transport import Transport

__all__ = ["token_source"]


def token_source(
    environment: Environment,
    credentials: Credentials,
    transport: Transport,
    limiter: Limiter,
    options: Options,
    store: TokenStore | None,
    observers: ObserverList | None = None,
) -> Tokens:
    """Return the source of tokens for these credentials, with the ``options`` of the client itself.

    Raises:
        ConfigurationError: the credentials are of an unknown kind.
    """
    if isinstance(credentials, RefreshToken | AuthorizationCode):
        endpoint = TokenEndpoint(
            transport,
            limiter[LaneName.TOKENS],
            base_url=environment.base_url,
            headers=options.headers,
            policy=options.retry,
            timeout=options.timeout,
            report=None if observers is None else observers.on_event,
            permit=None if limiter.shared is None else partial(limiter.permit, OAUTH_TOKEN),
        )
        key = store_key(environment, credentials)
        return TokenManager(credentials, endpoint, policy=options.retry, store=store, store_key=key)
    if not isinstance(credentials, TokenProvider) or isinstance(credentials, type):
        raise ConfigurationError(
            "credentials must be a RefreshToken, an AuthorizationCode, a StaticToken or a TokenProvider, "
            f"got {type(credentials).__name__}"
        )
    return ProvidedTokens(credentials)
