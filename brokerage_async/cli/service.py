"""Service of a command: the one that the environment names, or a requested simulator."""

from __future__ import annotations

import difflib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .console import say

if TYPE_CHECKING:
    from ..client import Client
    from ..simulator import Simulator

PREFIX = "BROKERAGE_"
REQUIRED = ("BROKERAGE_BASE_URL", "BROKERAGE_CLIENT_SECRET", "BROKERAGE_REFRESH_TOKEN")
KNOWN = (
    *REQUIRED, "BROKERAGE_ENVIRONMENT", "BROKERAGE_CLIENT_ID", "BROKERAGE_SCOPE", "BROKERAGE_USER_AGENT",
    "BROKERAGE_ACCEPT_VERSION", "BROKERAGE_PROXY", "BROKERAGE_TRUST_ENV", "BROKERAGE_ALLOW_HTTP", "BROKERAGE_HOSTS",
    "BROKERAGE_ACCOUNT", "BROKERAGE_JOURNAL", "BROKERAGE_STREAMER_URL",
    "BROKERAGE_AUTH_PAGE_URL", "BROKERAGE_REDIRECT_URI",
    "BROKERAGE_CONTROL_URL", "BROKERAGE_CONTROL_TOKEN",
)  # fmt: skip
ALIKE = 0.75
"""Likeness from which an unknown variable is taken for a misspelt one."""


@dataclass(frozen=True)
class Service:
    """A service and a client of it.

    Attributes:
        client: talks to the service.
        simulator: the embedded simulator behind it, None for a real service.
    """

    client: Client
    simulator: Simulator | None = None

    def __str__(self) -> str:
        environment = self.client.environment
        return f"{'the simulator' if self.simulator else environment.name} at {environment.base_url}"

    def account(self, given: str | None) -> str:
        """Return the account that was given, or else the default one.

        Raises:
            ConfigurationError: a real service, and no account is named.
        """
        from ..errors import ConfigurationError

        if given is None:
            simulated = None if self.simulator is None else self.simulator.account_numbers[0]
            given = simulated or os.environ.get("BROKERAGE_ACCOUNT")
        if not given:
            raise ConfigurationError("an account must be named: pass --account, or set BROKERAGE_ACCOUNT")
        return given


@asynccontextmanager
async def connect(
    *, simulated: bool, environment: Literal["sandbox", "production"] = "production", **options: Any
) -> AsyncIterator[Service]:
    """Connect to the service that the environment names, or to an embedded simulator.

    Args:
        simulated: use a simulator, whatever the environment says, and say on stderr that nothing is real.
        environment: what the simulator plays. The sandbox lacks operations.
        options: arguments of the client.

    Raises:
        ConfigurationError: the environment does not name a service.
    """
    if simulated:
        from ..simulator import Simulator

        async with Simulator(environment=environment) as simulator, simulator.client(**options) as client:
            say(
                f"SIMULATED: an embedded simulator answers at {simulator.base_url}; nothing is real.",
                style="yellow",
                err=True,
            )
            yield Service(client, simulator)
        return
    from ..client import Client

    check_environment()
    async with Client.from_env(**options) as client:
        yield Service(client)


def check_environment() -> None:
    """Check that the variables name a service, and none of them is misspelt. Warn of those that have no effect.

    Raises:
        ConfigurationError: a required variable is missing, or one is probably misspelt; ``errors`` names them.
    """
    from ..config.settings import NEITHER
    from ..errors import ConfigurationError, ErrorDetail

    missing = [name for name in REQUIRED if not os.environ.get(name)]
    if os.environ.get("BROKERAGE_ENVIRONMENT") and "BROKERAGE_BASE_URL" in missing:
        missing.remove("BROKERAGE_BASE_URL")  # the published address of that environment
    reasons = {"BROKERAGE_BASE_URL": NEITHER}
    problems = [ErrorDetail("missing", reasons.get(name, "is required"), name) for name in missing]
    for name in sorted(os.environ.keys() - KNOWN):
        is_ours = name.upper().startswith(PREFIX)
        if meant := difflib.get_close_matches(name.upper(), KNOWN, 1, ALIKE if is_ours else 0.9):
            problems.append(ErrorDetail("unknown", f"unknown variable, probably a typing error for {meant[0]}", name))
        elif is_ours:
            say(f"{name}: unknown variable, without effect", style="yellow", err=True)
    if problems:
        raise ConfigurationError(
            "the environment does not name a service: set these variables, or pass --simulator", errors=tuple(problems)
        )
