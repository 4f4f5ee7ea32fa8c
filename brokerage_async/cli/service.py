"""What a command works on: the service that the environment names or a requested simulator, and a journal."""

from __future__ import annotations

import difflib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from .console import say
from .lazy import clients, errors, journals, simulators

PREFIX = "BROKERAGE_"
KNOWN = (
    "BROKERAGE_BASE_URL", "BROKERAGE_CLIENT_SECRET", "BROKERAGE_REFRESH_TOKEN", "BROKERAGE_ENVIRONMENT",
    "BROKERAGE_CLIENT_ID", "BROKERAGE_SCOPE", "BROKERAGE_USER_AGENT", "BROKERAGE_ACCEPT_VERSION", "BROKERAGE_PROXY",
    "BROKERAGE_TRUST_ENV", "BROKERAGE_ALLOW_HTTP", "BROKERAGE_HOSTS", "BROKERAGE_ACCOUNT", "BROKERAGE_JOURNAL",
    "BROKERAGE_STREAMER_URL", "BROKERAGE_AUTH_PAGE_URL", "BROKERAGE_REDIRECT_URI", "BROKERAGE_CONTROL_URL",
    "BROKERAGE_CONTROL_TOKEN",
)  # fmt: skip
ALIKE = 0.75  # likeness from which an unknown variable is taken for a misspelt one


JournalAt = Annotated[
    str | None,
    typer.Option(
        "--journal", help="file, or postgresql:// address, that orders are journaled in [env var: BROKERAGE_JOURNAL]"
    ),
]


@dataclass(frozen=True)
class Service:
    """A service, by its client, and the embedded simulator behind it, if it is one."""

    client: clients.Client
    simulator: simulators.Simulator | None = None

    def __str__(self) -> str:
        environment = self.client.environment
        return f"{'the simulator' if self.simulator else environment.name} at {environment.base_url}"

    def account(self, given: str | None) -> str:
        """Return the account that was given, or else the default one."""
        if given is None:
            simulated = None if self.simulator is None else self.simulator.account_numbers[0]
            given = simulated or os.environ.get("BROKERAGE_ACCOUNT")
        if not given:
            raise errors.ConfigurationError("an account must be named: pass --account, or set BROKERAGE_ACCOUNT")
        return given


@asynccontextmanager
async def connect(
    *, simulated: bool, environment: Literal["sandbox", "production"] = "production", **options: Any
) -> AsyncIterator[Service]:
    """Connect a client with these options to the service that the environment names, or to an embedded simulator.

    The simulator plays ``environment``, of which the sandbox lacks operations. A line on stderr says that nothing is
    real.
    """
    if simulated:
        async with simulators.Simulator(environment=environment) as simulator, simulator.client(**options) as client:
            say(
                f"SIMULATED: an embedded simulator answers at {simulator.base_url}; nothing is real.",
                style="yellow",
                err=True,
            )
            yield Service(client, simulator)
        return

    check_environment()
    async with clients.Client.from_env(**options) as client:
        yield Service(client)


def check_environment() -> None:
    """Check that the variables name a service, and none of them is misspelt. Warn of those that have no effect."""
    from ..config import settings_from_env

    problems: list[errors.ErrorDetail] = []
    try:
        settings_from_env()
    except errors.ConfigurationError as error:  # a client that is made of them reports all others
        problems += [each for each in error.errors if each.code == "missing"]
    for name in sorted(os.environ.keys() - KNOWN):
        is_ours = name.upper().startswith(PREFIX)
        if meant := difflib.get_close_matches(name.upper(), KNOWN, 1, ALIKE if is_ours else 0.9):
            problems.append(
                errors.ErrorDetail("unknown", f"unknown variable, probably a typing error for {meant[0]}", name)
            )
        elif is_ours:
            say(f"{name}: unknown variable, without effect", style="yellow", err=True)
    if problems:
        raise errors.ConfigurationError(
            "the environment does not name a service: set these variables, or pass --simulator", errors=tuple(problems)
        )


def open_journal(given: str | None) -> journals.SqliteJournal | journals.PostgresJournal:
    """Return the journal that was named, from the environment, or by default in a file of this user."""
    place = given or os.environ.get("BROKERAGE_JOURNAL")
    if place and place.startswith(("postgres://", "postgresql://")):
        return journals.PostgresJournal(place)
    if place:
        return journals.SqliteJournal(place)
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "brokerage-async"
    folder.mkdir(parents=True, exist_ok=True)
    return journals.SqliteJournal(folder / "orders.journal")
