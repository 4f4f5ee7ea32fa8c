"""Plain values that configure a client: the environment, the credentials, what to repeat and how fast to go.

All of them are immutable, compare by value and can be shared between clients. None does any I/O. Secrets are kept as
`Secret`, which never shows in a ``repr``.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import socket
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from ipaddress import ip_address
from typing import Any, Protocol, runtime_checkable
from urllib.parse import SplitResult, quote, urlencode, urlsplit

import attrs

from ._arguments import (
    check_count,
    check_flag,
    check_function,
    check_number,
    check_positive,
    check_rates,
    check_type,
    validator,
)
from ._secrets import Secret, revealed
from .errors import ConfigurationError, ErrorDetail
from .operation import PUBLISHED_RATES, PUBLISHED_TOTAL

__all__ = [
    "AuthorizationCode", "Credentials", "Environment", "Limits", "RefreshToken", "RetryPolicy", "Secret", "StaticToken",
    "TokenProvider", "authorization_url", "settings_from_env",
]  # fmt: skip

# Random values: of the system, or of the seed of a simulated run, which its event loop holds. Nothing here reads or
# changes the state of the module `random`, which belongs to the program.

SYSTEM = random.SystemRandom()


def _source() -> random.Random:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return SYSTEM
    return getattr(loop, "seeded_random", None) or SYSTEM


def chance() -> float:
    """Return a random number in [0, 1), to spread load: it guards no secret."""
    return _source().random()


def new_identifier() -> str:
    """Return a random UUID (version 4). One of a simulated run is a function of its seed."""
    return str(uuid.UUID(int=_source().getrandbits(128), version=4))


# Addresses of services: the form of a base address, and the origin that names it.

_IN_BRACKETS = re.compile(r"\[[^\[\]]+\](?::[0-9]*)?")


def split_address(name: str, text: str, schemes: Collection[str], wanted: str) -> SplitResult:
    """Return the parts of an absolute address that every reader of addresses splits in the same way, or raise."""
    rule = f"{name} must be {wanted}"
    if not text.isascii() or not text.isprintable() or " " in text or "\\" in text:
        raise ConfigurationError(f"{rule}, encoded: no spaces, backslashes, control or non-ASCII characters")
    try:
        parts = urlsplit(text)
        host, _ = (parts.hostname or "").strip("."), parts.port
        if ":" in host:
            ip_address(host)
    except ValueError:  # its message may quote a part of a password
        raise ConfigurationError(rule) from None
    if parts.scheme not in schemes or not host or "@" in parts.netloc:
        raise ConfigurationError(rule)
    if "[" in parts.netloc and not _IN_BRACKETS.fullmatch(parts.netloc):  # urlsplit ignores the rest
        raise ConfigurationError(f"{rule}, with nothing but a port beside an address in brackets")
    return parts


def base_address(value: object, name: str = "base_url") -> str:
    """Return ``value`` as ``scheme://host[:port][/prefix]`` without a trailing slash, or raise."""
    text = value.rstrip("/") if isinstance(value, str) else ""
    wanted = "an absolute http or https address without a user name, such as https://api.example.com"
    split_address(name, text, ("http", "https"), wanted)
    if "?" in text or "#" in text:
        raise ConfigurationError(f"{name} must not contain a query or a fragment")
    return text


def origin_of(address: str) -> str:
    """Return ``scheme://host[:port]`` of an address in one spelling.

    It is in lower case, without a default port and without the dot that ends an absolute host name.
    """
    parts = urlsplit(address)
    host = (parts.hostname or "").rstrip(".")
    if ":" in host:  # written by the system: Python 3.13 writes some addresses in another way than 3.11
        host = f"[{socket.inet_ntop(socket.AF_INET6, ip_address(host).packed)}]"
    default = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{host}" if parts.port in (None, default) else f"{parts.scheme}://{host}:{parts.port}"


def base_addresses(value: object) -> Mapping[str, str]:
    """Return the base addresses of further hosts by name. None for None."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise ConfigurationError(f"hosts must map names to addresses, got {type(value).__name__}")
    return {name: base_address(url, f"hosts[{name!r}]") for name, url in value.items()}


def address_validator(schemes: Collection[str], wanted: str) -> Callable[[Any, attrs.Attribute[Any], object], None]:
    """Return a validator of addresses with one of these schemes; ``wanted`` describes them in errors."""

    def check(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
        check_text(instance, attribute, value)
        if value is not None:
            split_address(f"{type(instance).__name__}.{attribute.name}", str(value), schemes, f"an absolute {wanted}")

    return check


# Checks of single fields of credentials and environments. No error shows a value.


def hidden(value: object) -> Secret:
    """Return a secret. It is empty if ``value`` is neither a secret nor a str, and `check_given` rejects it."""
    return value if isinstance(value, Secret) else Secret(value) if isinstance(value, str) else Secret()


def check_given(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """Accept a str that is not blank and can be shown."""
    if not isinstance(value, str | Secret) or not revealed(value).strip():
        raise ConfigurationError(f"{type(instance).__name__}.{attribute.name} must be a non-empty string")
    if not revealed(value).isprintable():  # such as the end of the line of the file that it was read from
        raise ConfigurationError(
            f"{type(instance).__name__}.{attribute.name} contains non-printable characters (a trailing newline?)"
        )


def check_text(instance: Any, attribute: attrs.Attribute[Any], value: object) -> None:
    """Accept None and a str that can be shown."""
    if value is not None and (not isinstance(value, str) or not value.isprintable()):
        raise ConfigurationError(f"{type(instance).__name__}.{attribute.name} must be a string")


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


@attrs.frozen(kw_only=True)
class RetryPolicy:
    """Number and timing of repetitions, where repeating is safe at all.

    Safety is not configurable: a mutation that may have arrived is never sent again.

    Attributes:
        max_attempts: sends of one call, the first included.
        base_delay, max_delay: the n-th repetition waits a random time of at most ``base_delay * 2**(n-1)`` seconds,
            and never more than ``max_delay`` (exponential backoff with full jitter).
        max_retry_after: longest wait in seconds that the service may ask for. A longer wish is cut to this.
        budget: how many tokens the client holds for repetitions over all its calls. A repetition costs 5 (10 after a
            lost answer), every success gives back, so that an outage does not multiply the load. None: no bound.
        jitter: source of random numbers in [0, 1), to be replaced where runs must be repeatable.
    """

    max_attempts: int = attrs.field(default=4, validator=validator(check_count))
    base_delay: float = attrs.field(default=0.25, validator=validator(check_number))
    max_delay: float = attrs.field(default=20.0, validator=validator(check_number))
    max_retry_after: float = attrs.field(default=60.0, validator=validator(check_number))
    budget: int | None = attrs.field(default=500, validator=validator(check_count, optional=True))
    jitter: Callable[[], float] = attrs.field(default=chance, eq=False, repr=False, validator=validator(check_function))

    @classmethod
    def none(cls) -> RetryPolicy:
        """Send every call once and report what happened."""
        return cls(max_attempts=1)


@attrs.frozen(kw_only=True)
class Limits:
    """Bounds on concurrency and rate of one client.

    Calls wait in three lanes, in order of arrival: ``reads``, ``trades`` (mutations and their dry-runs) and ``tokens``.
    A crowd of reads never holds up a cancel.

    Attributes:
        reads, trades, tokens: most requests in flight per lane. None for no bound.
        reads_per_second, trades_per_second: most requests per second of a lane. None for no bound.
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
    def published(cls) -> Limits:
        """Return the rates that the service's agent server keeps to.

        See ``rates_of_operations`` in the list of recorded behaviour: the service publishes no figures. Each operation
        has a rate, 20 trades a second, 30 reads, and so 50 together.
        A `fleet.RedisLimits` with these limits and ``requests_per_second=50`` keeps several processes to them.
        """
        trades = 20.0
        return cls(
            reads_per_second=PUBLISHED_TOTAL - trades, trades_per_second=trades, per_operation=dict(PUBLISHED_RATES)
        )

    @classmethod
    def unlimited(cls) -> Limits:
        """No bounds and no adaptation; 429 is still waited out, call by call."""
        return cls(reads=None, trades=None, tokens=None, adaptive=False)
