"""The two environments of the service, the page that grants access to one, credentials, and both from variables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable
from urllib.parse import quote, urlencode, urlsplit

import attrs

from .._arguments import check_type
from .._secrets import Secret
from ..errors import ConfigurationError, ErrorDetail
from .addresses import address_validator, base_address, base_addresses, origin_of
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
        ...

    def invalidate(self, token: str) -> bool:
        """Drop a ``token`` that the service has rejected. Return True if `get_token` can supply a new one."""
        ...


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


_page = address_validator(("http", "https"), "http or https address without a user name")
_streamer = address_validator(("ws", "wss"), "wss address without a user name, such as wss://streamer.example.com")


PUBLISHED: Mapping[str, Mapping[str, Any]] = {
    "production": {
        "base_url": "https://api.tastyworks.com",
        "auth_page_url": "https://my.tastytrade.com/auth.html",
        "hosts": {"backtester": "https://backtester.vast.tastyworks.com"},
        "streamer_url": "wss://streamer.tastyworks.com",
    },
    "sandbox": {
        "base_url": "https://api.cert.tastyworks.com",
        "auth_page_url": "https://cert-my.staging-tasty.works/auth.html",
        "hosts": {"backtester": "https://backtester.vast.tastyworks.com"},
        "streamer_url": "wss://streamer.cert.tastyworks.com",
    },
}
"""Addresses that the service publishes. The one for market data comes with each quote token."""


def _known(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    if value not in ("production", "sandbox"):  # whatever is not production would be taken for the harmless one
        raise ConfigurationError(f"environment must be production or sandbox, got {value!r}")


@attrs.frozen
class Environment:
    """One of the two environments of the service. Credentials and data of one mean nothing in the other.

    Make it with `production` or `sandbox`. Without a ``base_url`` they take the published addresses, and each further
    argument replaces one of them. With a ``base_url`` they take none, so that no token leaves for a published address.

    Attributes:
        name: ``production`` or ``sandbox``.
        base_url: address of the service, ``https://host[:port][/prefix]``.
        auth_page_url: page where a customer grants access, needed for `authorization_url` only.
        hosts: addresses of further hosts of the broker by name, such as
            ``{"backtester": "https://backtester.example.com"}``. They get the same access tokens as the service, so
            only hosts named here are ever called.
        streamer_url: address of the account stream (``wss://...``), needed for ``client.stream.account`` only.
    """

    name: str = attrs.field(validator=_known)
    base_url: str = attrs.field(converter=base_address)
    auth_page_url: str | None = attrs.field(default=None, validator=_page)
    hosts: Mapping[str, str] = attrs.field(default=None, converter=base_addresses, hash=False)
    streamer_url: str | None = attrs.field(default=None, validator=_streamer)

    @classmethod
    def production(
        cls,
        base_url: str | None = None,
        auth_page_url: str | None = None,
        *,
        hosts: Mapping[str, str] | None = None,
        streamer_url: str | None = None,
    ) -> Environment:
        """Return the environment where orders cost money."""
        return cls.named("production", base_url, auth_page_url, hosts, streamer_url)

    @classmethod
    def sandbox(
        cls,
        base_url: str | None = None,
        auth_page_url: str | None = None,
        *,
        hosts: Mapping[str, str] | None = None,
        streamer_url: str | None = None,
    ) -> Environment:
        """Return the environment for trials, which has no margin reports, market data or metrics."""
        return cls.named("sandbox", base_url, auth_page_url, hosts, streamer_url)

    @classmethod
    def named(
        cls,
        name: str,
        base_url: str | None = None,
        auth_page_url: str | None = None,
        hosts: Mapping[str, str] | None = None,
        streamer_url: str | None = None,
    ) -> Environment:
        """Return ``production`` or ``sandbox`` by its name."""
        given: dict[str, Any] = {"auth_page_url": auth_page_url, "hosts": hosts, "streamer_url": streamer_url}
        if base_url is None and name in PUBLISHED:
            given = {**PUBLISHED[name], **{key: value for key, value in given.items() if value is not None}}
            base_url = given.pop("base_url")
        return cls(name, base_url, **given)

    @property
    def is_production(self) -> bool:
        """Whether this is the production environment."""
        return self.name == "production"

    @property
    def origin(self) -> str:
        """``scheme://host[:port]`` of the service, in lower case and without a default port."""
        return origin_of(self.base_url)

    def address_of(self, host: str | None) -> str:
        """Return the base address of one of the ``hosts``, or of the service for None."""
        return self.base_url if host is None else self.hosts[host]


def authorization_url(
    environment: Environment, *, client_id: str, redirect_uri: str, scope: str | None = None, state: str | None = None
) -> str:
    """Return the URL of the page that grants access and redirects to ``redirect_uri`` with a ``code``.

    Args:
        environment: one that was made with its ``auth_page_url``.
        client_id: identifier of the registered application.
        redirect_uri: one of the full addresses registered for it.
        scope: words out of ``read``, ``trade`` and ``openid``, separated by spaces.
        state: an unguessable value that comes back with the code. Compare it to refuse forged answers.

    Raises:
        ConfigurationError: the environment has no ``auth_page_url``, or a required value is missing.
    """
    check_type("environment", environment, Environment)
    for name, value in (("client_id", client_id), ("redirect_uri", redirect_uri), ("scope", scope), ("state", state)):
        if value is not None and (not isinstance(value, str) or not value.isprintable()):
            raise ConfigurationError(f"{name} must be a string")
    if not environment.auth_page_url:
        raise ConfigurationError(
            f"the {environment.name} environment was made with base_url alone: pass auth_page_url too"
        )
    if not client_id or not redirect_uri:
        raise ConfigurationError("client_id and redirect_uri are required")
    query = {"client_id": client_id, "redirect_uri": redirect_uri, "response_type": "code"}
    query |= {key: value for key, value in (("scope", scope), ("state", state)) if value is not None}
    page = urlsplit(environment.auth_page_url)
    asked = urlencode(query, quote_via=quote)
    return page._replace(query=f"{page.query}&{asked}" if page.query else asked).geturl()


NEITHER = "is required, unless BROKERAGE_ENVIRONMENT says sandbox or production and thereby means its published address"

_FLAGS = ("TRUST_ENV", "ALLOW_HTTP")


def settings_from_env(environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Read the arguments of a client from the ``BROKERAGE_*`` variables.

    ``BROKERAGE_CLIENT_SECRET`` and ``BROKERAGE_REFRESH_TOKEN`` are required, and one of ``BROKERAGE_BASE_URL`` and
    ``BROKERAGE_ENVIRONMENT``: the published addresses are used only when the environment is named. Beside a base
    address, ``BROKERAGE_ENVIRONMENT`` is ``sandbox`` unless it says ``production``. ``BROKERAGE_CLIENT_ID``,
    ``BROKERAGE_SCOPE``, ``BROKERAGE_STREAMER_URL``, ``BROKERAGE_AUTH_PAGE_URL``, ``BROKERAGE_USER_AGENT``,
    ``BROKERAGE_ACCEPT_VERSION``,
    ``BROKERAGE_PROXY``, ``BROKERAGE_TRUST_ENV`` and ``BROKERAGE_ALLOW_HTTP`` (the last two ``true`` or ``false``) are
    optional (``none`` as the version asks for none), and ``BROKERAGE_HOSTS``: addresses of further hosts, as
    ``backtester=https://...``, separated by commas.

    Raises:
        ConfigurationError: something is missing or wrong; ``errors`` lists everything, naming variables, not values.
    """

    def read(name: str) -> str | None:  # the variables themselves stay out of the frames that an error shows
        return (os.environ if environ is None else environ).get(f"BROKERAGE_{name}", "").strip() or None

    def problems() -> Iterable[ErrorDetail]:
        if read("BASE_URL") is None and read("ENVIRONMENT") is None:
            yield ErrorDetail("missing", NEITHER, "BROKERAGE_BASE_URL")
        for name in ("CLIENT_SECRET", "REFRESH_TOKEN"):
            if read(name) is None:
                yield ErrorDetail("missing", "is required", f"BROKERAGE_{name}")
        if (read("ENVIRONMENT") or "sandbox") not in {"production", "sandbox"}:
            yield ErrorDetail("invalid", "must be production or sandbox", "BROKERAGE_ENVIRONMENT")
        if not all(sign for _, sign, _ in hosts):
            yield ErrorDetail("invalid", "must list hosts as name=address, separated by commas", "BROKERAGE_HOSTS")
        for name in _FLAGS:
            if (read(name) or "true").lower() not in {"true", "false"}:
                yield ErrorDetail("invalid", "must be true or false", f"BROKERAGE_{name}")
        addresses: dict[str, Any] = {name: read(name) for name in ("BASE_URL", "AUTH_PAGE_URL", "STREAMER_URL")}
        for name, given in {**addresses, "HOSTS": further}.items():
            try:
                if given is not None:
                    Environment("sandbox", **{"base_url": "https://localhost", name.lower(): given})
            except ConfigurationError as error:
                reason = str(error).removeprefix("Environment.").removeprefix(f"{name.lower()} ")
                yield ErrorDetail("invalid", reason, f"BROKERAGE_{name}")

    hosts = [pair.strip().partition("=") for pair in (read("HOSTS") or "").split(",") if pair.strip()]
    further = {name: address for name, sign, address in hosts if sign} or None
    if found := tuple(problems()):
        raise ConfigurationError("the environment variables do not configure a client", errors=found)
    settings: dict[str, Any] = {
        "environment": Environment.named(
            read("ENVIRONMENT") or "sandbox",
            read("BASE_URL"),
            auth_page_url=read("AUTH_PAGE_URL"),
            streamer_url=read("STREAMER_URL"),
            hosts=further,
        ),
        "credentials": RefreshToken(
            client_secret=hidden(read("CLIENT_SECRET")),
            refresh_token=hidden(read("REFRESH_TOKEN")),
            client_id=read("CLIENT_ID"),
            scope=read("SCOPE"),
        ),
    }
    if (version := read("ACCEPT_VERSION")) is not None:
        settings["accept_version"] = None if version == "none" else version
    optional: dict[str, Any] = {"user_agent": read("USER_AGENT")}
    optional["proxy"] = None if read("PROXY") is None else hidden(read("PROXY"))
    flags = {name.lower(): value.lower() == "true" for name in _FLAGS if (value := read(name)) is not None}
    return settings | flags | {name: value for name, value in optional.items() if value is not None}
