"""The two environments of the service, and the page that grants access to one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import attrs

from .._arguments import check_type
from ..errors import ConfigurationError
from .addresses import address_validator, base_address, base_addresses, origin_of

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
