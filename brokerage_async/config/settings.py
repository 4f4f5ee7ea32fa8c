"""The arguments of a client from environment variables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import ConfigurationError, ErrorDetail
from .credentials import RefreshToken
from .environment import Environment
from .fields import hidden

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

    hosts = [pair.strip().partition("=") for pair in (read("HOSTS") or "").split(",") if pair.strip()]
    if found := tuple(problems()):
        raise ConfigurationError("the environment variables do not configure a client", errors=found)
    settings: dict[str, Any] = {
        "environment": Environment.named(
            read("ENVIRONMENT") or "sandbox",
            read("BASE_URL"),
            auth_page_url=read("AUTH_PAGE_URL"),
            streamer_url=read("STREAMER_URL"),
            hosts={name: address for name, _, address in hosts} or None,
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
