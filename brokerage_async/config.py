"""Plain values that configure a client: the environment, the credentials, what to repeat and how fast to go.

All of them are immutable, compare by value and can be shared between clients. None does any I/O. Secrets are kept as
`Secret`, which never shows in a ``repr``.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable
from urllib.parse import quote, urlencode, urlsplit

import attrs

from ._arguments import check_count, check_flag, check_function, check_number, check_positive, check_rates, validator
from ._secrets import Secret
from ._version import __version__
from .errors import ConfigurationError, ErrorDetail

__all__ = [
    "AuthorizationCode",
    "Credentials",
    "Environment",
    "Limits",
    "RefreshToken",
    "RetryPolicy",
    "Secret",
    "StaticToken",
    "TokenProvider",
    "authorization_url",
    "settings_from_env",
]

DEFAULT_USER_AGENT = f"brokerage-async/{__version__}"


def _hidden(value: object) -> Secret:
    return Secret(value) if isinstance(value, str) else Secret()


def _given(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise ConfigurationError(f"{type(instance).__name__}.{attribute.name} must be a non-empty string")
    if not value.isprintable():  # such as the end of the line of the file that it was read from
        raise ConfigurationError(
            f"{type(instance).__name__}.{attribute.name} contains non-printable characters (a trailing newline?)"
        )


def _text(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None and (not isinstance(value, str) or not value.isprintable()):
        raise ConfigurationError(f"{type(instance).__name__}.{attribute.name} must be a string")


def _address(schemes: Collection[str], wanted: str) -> Callable[[Any, attrs.Attribute[Any], object], None]:
    """Return a validator of addresses with one of these schemes; ``wanted`` describes them in errors."""

    def check(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
        _text(instance, attribute, value)
        if value is None:
            return
        try:
            parts = urlsplit(str(value))
            usable = parts.scheme in schemes and bool(parts.hostname) and "@" not in parts.netloc
        except ValueError:
            usable = False
        if not usable or " " in str(value):
            raise ConfigurationError(f"{type(instance).__name__}.{attribute.name} must be an absolute {wanted}")

    return check


_page = _address(("http", "https"), "http or https address without a user name")
_streamer = _address(("ws", "wss"), "wss address without a user name, such as wss://streamer.example.com")


def _known(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    if value not in ("production", "sandbox"):  # whatever is not production would be taken for the harmless one
        raise ConfigurationError(f"environment must be production or sandbox, got {value!r}")


_IN_BRACKETS = re.compile(r"\[[^\[\]]+\](?::[0-9]*)?")


def base_address(value: object, name: str = "base_url") -> str:
    """Return ``value`` as ``scheme://host[:port][/prefix]`` without a trailing slash.

    Raises:
        ConfigurationError: it is not an absolute http or https address, or contains a user name, a query, a fragment
            or characters that an address cannot hold.
    """
    text = value.rstrip("/") if isinstance(value, str) else ""
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ConfigurationError(f"{name} must be encoded: no spaces, control or non-ASCII characters")
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise ConfigurationError(f"invalid {name}: {error}") from None
    if "[" in parts.netloc and not _IN_BRACKETS.fullmatch(parts.netloc):  # urlsplit ignores the rest
        raise ConfigurationError(f"{name} must have nothing but a port beside an address in brackets")
    if "@" in parts.netloc or "?" in text or "#" in text:
        raise ConfigurationError(f"{name} must not contain a user name, a query or a fragment")
    if parts.scheme not in {"http", "https"} or not host:
        raise ConfigurationError(f"{name} must be an absolute http or https address, such as https://api.example.com")
    return text


def origin_of(address: str) -> str:
    """Return ``scheme://host[:port]`` of an address, in lower case and without a default port."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    default = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" if parts.port in (None, default) else f"{parts.scheme}://{host}:{parts.port}"


def _hosts(value: object) -> Mapping[str, str]:
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ConfigurationError(f"hosts must map names to addresses, got {type(value).__name__}")
    return {name: base_address(url, f"hosts[{name!r}]") for name, url in value.items()}


@attrs.frozen
class Environment:
    """One of the two environments of the service; credentials and data of one mean nothing in the other.

    Make it with `production` or `sandbox`.

    Attributes:
        name: ``production`` or ``sandbox``.
        base_url: address of the service, ``https://host[:port][/prefix]``.
        auth_page_url: page on which a customer grants access, needed for `authorization_url` only.
        hosts: addresses of further hosts of the broker by name, such as
            ``{"backtester": "https://backtester.example.com"}``. They get the same access tokens as the service, so
            only hosts named here are ever called.
        streamer_url: address of the account stream (``wss://...``), needed for ``client.stream.account`` only.
    """

    name: str = attrs.field(validator=_known)
    base_url: str = attrs.field(converter=base_address)
    auth_page_url: str | None = attrs.field(default=None, validator=_page)
    hosts: Mapping[str, str] = attrs.field(default=None, converter=_hosts, hash=False)
    streamer_url: str | None = attrs.field(default=None, validator=_streamer)

    @classmethod
    def production(
        cls,
        base_url: str,
        auth_page_url: str | None = None,
        *,
        hosts: Mapping[str, str] | None = None,
        streamer_url: str | None = None,
    ) -> Environment:
        """Return the environment in which orders cost money."""
        return cls("production", base_url, auth_page_url, hosts, streamer_url)

    @classmethod
    def sandbox(
        cls,
        base_url: str,
        auth_page_url: str | None = None,
        *,
        hosts: Mapping[str, str] | None = None,
        streamer_url: str | None = None,
    ) -> Environment:
        """Return the environment for trials, which has no margin reports."""
        return cls("sandbox", base_url, auth_page_url, hosts, streamer_url)

    @property
    def is_production(self) -> bool:
        """Whether this is the production environment."""
        return self.name == "production"

    @property
    def origin(self) -> str:
        """``scheme://host[:port]`` of the service, in lower case and without a default port."""
        return origin_of(self.base_url)

    def address_of(self, host: str | None) -> str:
        """Return the base address of one of the ``hosts``, or that of the service for None."""
        return self.base_url if host is None else self.hosts[host]


@attrs.frozen(kw_only=True)
class RefreshToken:
    """Credentials of a personal grant. The refresh token does not expire; access tokens are made from it as needed.

    Attributes:
        client_secret: secret of the OAuth application; hidden in every representation.
        refresh_token: token of the grant; hidden as well.
        client_id: identifier of the application; may be left out.
        scope: words separated by spaces, to ask for less than was granted.
    """

    client_secret: str = attrs.field(converter=_hidden, validator=_given)
    refresh_token: str = attrs.field(converter=_hidden, validator=_given)
    client_id: str | None = attrs.field(default=None, validator=_text)
    scope: str | None = attrs.field(default=None, validator=_text)


@attrs.frozen(kw_only=True)
class AuthorizationCode:
    """The code of an authorization-code grant. It is exchanged once, on first use, for a refresh token.

    Keep the ``refresh_token`` of what ``await client.authorize()`` returns: the code cannot be used a second time.

    Attributes:
        client_id, client_secret: of the OAuth application; the secret is hidden in every representation.
        redirect_uri: address that the customer was sent back to, exactly as registered.
        code: the code in that address; hidden as well.
    """

    client_id: str = attrs.field(validator=_given)
    client_secret: str = attrs.field(converter=_hidden, validator=_given)
    redirect_uri: str = attrs.field(validator=_given)
    code: str = attrs.field(converter=_hidden, validator=_given)


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
        """Drop a ``token`` that the service has rejected. Return True if `get_token` can supply another one."""
        ...


@attrs.frozen
class StaticToken:
    """One access token, used until the service refuses it.

    Attributes:
        access_token: the token; hidden in every representation.
    """

    access_token: str = attrs.field(converter=_hidden, validator=_given)

    async def get_token(self) -> str:
        """Return the token."""
        return self.access_token

    def invalidate(self, token: str) -> bool:
        """Return False: there is only one token."""
        return False


Credentials = RefreshToken | AuthorizationCode | StaticToken | TokenProvider
"""Credentials that a client accepts."""


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """Number and timing of repetitions, where repeating is safe at all.

    Safety is not configurable: a mutation that may have arrived is never sent again.

    Attributes:
        max_attempts: sends of one call, the first included.
        base_delay, max_delay: the n-th repetition waits a random time of at most ``base_delay * 2**(n-1)`` seconds,
            and never more than ``max_delay`` (exponential backoff with full jitter).
        max_retry_after: longest wait in seconds that the service may ask for; a longer wish is cut to this.
        budget: how many tokens the client holds for repetitions over all its calls. A repetition costs 5 (10 after a
            lost answer), every success gives back, so that an outage does not multiply the load. None: no bound.
        jitter: source of random numbers in [0, 1), to be replaced where runs must be repeatable.
    """

    max_attempts: int = attrs.field(default=4, validator=validator(check_count))
    base_delay: float = attrs.field(default=0.25, validator=validator(check_number))
    max_delay: float = attrs.field(default=20.0, validator=validator(check_number))
    max_retry_after: float = attrs.field(default=60.0, validator=validator(check_number))
    budget: int | None = attrs.field(default=500, validator=validator(check_count, optional=True))
    jitter: Callable[[], float] = attrs.field(
        default=random.random, eq=False, repr=False, validator=validator(check_function)
    )

    @classmethod
    def none(cls) -> RetryPolicy:
        """Send every call once and report what happened."""
        return cls(max_attempts=1)


@attrs.frozen(kw_only=True)
class Limits:
    """Bounds on concurrency and rate of one client.

    Calls wait in three lanes, in order of arrival: ``reads``, ``trades`` (mutations and their dry-runs) and ``tokens``;
    a crowd of reads never holds up a cancel.

    Attributes:
        reads, trades, tokens: most requests in flight per lane; None for no bound.
        reads_per_second, trades_per_second: most requests per second of a lane; None for no bound.
        per_operation: most requests per second of single operations, such as ``{"orders.live": 0.5}``.
        adaptive: on 429 halve the lane's bound, then let it grow back slowly.
    """

    reads: int | None = attrs.field(default=32, validator=validator(check_count, optional=True))
    trades: int | None = attrs.field(default=8, validator=validator(check_count, optional=True))
    tokens: int | None = attrs.field(default=1, validator=validator(check_count, optional=True))
    reads_per_second: float | None = attrs.field(default=None, validator=validator(check_positive, optional=True))
    trades_per_second: float | None = attrs.field(default=None, validator=validator(check_positive, optional=True))
    per_operation: Mapping[str, float] = attrs.field(factory=dict, hash=False, validator=validator(check_rates))
    adaptive: bool = attrs.field(default=True, validator=validator(check_flag))

    @classmethod
    def unlimited(cls) -> Limits:
        """No bounds and no adaptation; 429 is still waited out, call by call."""
        return cls(reads=None, trades=None, tokens=None, adaptive=False)


def authorization_url(
    environment: Environment,
    *,
    client_id: str,
    redirect_uri: str,
    scope: str | None = None,
    state: str | None = None,
) -> str:
    """Return the URL of the page that grants access and redirects to ``redirect_uri`` with a ``code``.

    Args:
        environment: one that was made with its ``auth_page_url``.
        client_id: identifier of the registered application.
        redirect_uri: one of the full addresses registered for it.
        scope: words out of ``read``, ``trade`` and ``openid``, separated by spaces.
        state: an unguessable value that comes back with the code; compare it to refuse forged answers.

    Raises:
        ConfigurationError: the environment has no ``auth_page_url``, or a required value is missing.
    """
    if not isinstance(environment, Environment):
        raise ConfigurationError(f"environment must be of type Environment, got {type(environment).__name__}")
    for name, value in (("client_id", client_id), ("redirect_uri", redirect_uri), ("scope", scope), ("state", state)):
        if value is not None and (not isinstance(value, str) or not value.isprintable()):
            raise ConfigurationError(f"{name} must be a string")
    if not environment.auth_page_url:
        raise ConfigurationError(f"the {environment.name} environment was made without auth_page_url")
    if not client_id or not redirect_uri:
        raise ConfigurationError("client_id and redirect_uri are required")
    query = {"client_id": client_id, "redirect_uri": redirect_uri, "response_type": "code"}
    query |= {key: value for key, value in (("scope", scope), ("state", state)) if value is not None}
    page = urlsplit(environment.auth_page_url)
    asked = urlencode(query, quote_via=quote)
    return page._replace(query=f"{page.query}&{asked}" if page.query else asked).geturl()


def _read_hosts(listed: str) -> dict[str, str] | None:
    """Return the addresses in ``name=address, name=address``, or None if it has another form."""
    pairs = [pair.strip().partition("=") for pair in listed.split(",") if pair.strip()]
    return {name: address for name, _, address in pairs} if all(sign for _, sign, _ in pairs) else None


_FLAGS = ("TRUST_ENV", "ALLOW_HTTP")


def settings_from_env(environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Read the arguments of a client from the ``BROKERAGE_*`` variables.

    ``BROKERAGE_BASE_URL``, ``BROKERAGE_CLIENT_SECRET`` and ``BROKERAGE_REFRESH_TOKEN`` are required;
    ``BROKERAGE_ENVIRONMENT`` is ``sandbox`` unless it says ``production``; ``BROKERAGE_CLIENT_ID``,
    ``BROKERAGE_SCOPE``, ``BROKERAGE_STREAMER_URL``, ``BROKERAGE_USER_AGENT``, ``BROKERAGE_ACCEPT_VERSION``,
    ``BROKERAGE_PROXY``, ``BROKERAGE_TRUST_ENV`` and ``BROKERAGE_ALLOW_HTTP`` (the last two ``true`` or ``false``) are
    optional, and ``BROKERAGE_HOSTS``: addresses of further hosts, as ``backtester=https://...``, separated by commas.

    Raises:
        ConfigurationError: something is missing or wrong; ``errors`` lists everything, naming variables, not values.
    """

    def read(name: str) -> str | None:  # the variables themselves stay out of the frames that an error shows
        return (os.environ if environ is None else environ).get(f"BROKERAGE_{name}", "").strip() or None

    def problems() -> Iterable[ErrorDetail]:
        for name in ("BASE_URL", "CLIENT_SECRET", "REFRESH_TOKEN"):
            if read(name) is None:
                yield ErrorDetail("missing", "is required", f"BROKERAGE_{name}")
        if (read("ENVIRONMENT") or "sandbox") not in {"production", "sandbox"}:
            yield ErrorDetail("invalid", "must be production or sandbox", "BROKERAGE_ENVIRONMENT")
        if hosts is None:
            yield ErrorDetail("invalid", "must list hosts as name=address, separated by commas", "BROKERAGE_HOSTS")
        for name in _FLAGS:
            if (read(name) or "true").lower() not in {"true", "false"}:
                yield ErrorDetail("invalid", "must be true or false", f"BROKERAGE_{name}")

    hosts = _read_hosts(read("HOSTS") or "")
    if found := tuple(problems()):
        raise ConfigurationError("the environment variables do not configure a client", errors=found)
    settings: dict[str, Any] = {
        "environment": Environment(
            read("ENVIRONMENT") or "sandbox", read("BASE_URL"), hosts=hosts, streamer_url=read("STREAMER_URL")
        ),
        "credentials": RefreshToken(
            client_secret=_hidden(read("CLIENT_SECRET")),
            refresh_token=_hidden(read("REFRESH_TOKEN")),
            client_id=read("CLIENT_ID"),
            scope=read("SCOPE"),
        ),
    }
    optional = {name.lower(): read(name) for name in ("USER_AGENT", "ACCEPT_VERSION")}
    optional["proxy"] = None if read("PROXY") is None else _hidden(read("PROXY"))
    flags = {name.lower(): value.lower() == "true" for name in _FLAGS if (value := read(name)) is not None}
    return settings | flags | {name: value for name, value in optional.items() if value is not None}
