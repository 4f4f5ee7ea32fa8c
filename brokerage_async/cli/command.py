"""What commands have in common: options, the service or simulator they work on, the journal, and how they run."""

from __future__ import annotations

import difflib
import inspect
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from .console import run, say
from .lazy import clients, errors, journals, models, simulators

KNOWN = (
    "BROKERAGE_BASE_URL", "BROKERAGE_CLIENT_SECRET", "BROKERAGE_REFRESH_TOKEN", "BROKERAGE_ENVIRONMENT",
    "BROKERAGE_CLIENT_ID", "BROKERAGE_SCOPE", "BROKERAGE_USER_AGENT", "BROKERAGE_ACCEPT_VERSION", "BROKERAGE_PROXY",
    "BROKERAGE_TRUST_ENV", "BROKERAGE_ALLOW_HTTP", "BROKERAGE_HOSTS", "BROKERAGE_ACCOUNT", "BROKERAGE_JOURNAL",
    "BROKERAGE_STREAMER_URL", "BROKERAGE_AUTH_PAGE_URL", "BROKERAGE_REDIRECT_URI", "BROKERAGE_CONTROL_URL",
    "BROKERAGE_CONTROL_TOKEN",
)  # fmt: skip
ALIKE = 0.75  # likeness from which an unknown variable is taken for a misspelt one

Account = Annotated[
    str | None,
    typer.Option(help="account number [env var: BROKERAGE_ACCOUNT]; on the simulator its first one by default"),
]
Accounts = Annotated[
    list[str] | None, typer.Option("--account", help="account number [env var: BROKERAGE_ACCOUNT], may be repeated")
]
Customer = Annotated[str, typer.Option(help="customer number; `me` is the owner of the token")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON instead of tables")]
Simulated = Annotated[
    bool, typer.Option("--simulator", help="use an embedded simulator instead of a service; nothing is real")
]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask, for scripts")]
JournalAt = Annotated[
    str | None,
    typer.Option(
        "--journal", help="file, or postgresql:// address, that orders are journaled in [env var: BROKERAGE_JOURNAL]"
    ),
]


def day(said: str) -> Any:
    return typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help=said)


def values_of(enumeration: str) -> Callable[[], list[str]]:
    """Return what completes an option that takes a value of an enumeration of the models."""

    def values() -> list[str]:
        return [each.value for each in getattr(models, enumeration)]

    return values


@dataclass(frozen=True)
class Output:
    """Options of a command that shows something."""

    as_json: AsJson = False
    simulated: Simulated = False


@dataclass(frozen=True)
class Target(Output):
    """Options of a command that is about one account."""

    account: Account = None


@dataclass(frozen=True)
class Lines:
    """Options of a command that goes on until it is interrupted."""

    as_json: Annotated[bool, typer.Option("--json", help="print a line of JSON for each change or event")] = False
    count: Annotated[int | None, typer.Option(min=1, help="leave after this number of them")] = None
    simulated: Simulated = False


def command_of(work: Callable[..., Coroutine[Any, Any, None]], **bound: Any) -> Callable[..., None]:
    """Return the command that runs a coroutine function to its end.

    A parameter that is a dataclass stands for an option for each of its fields. The ``bound`` ones are given here.
    """
    hints = get_type_hints(work, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(work).parameters.items():
        if name in bound:
            continue
        options = [(name, hints[name], parameter.default)]
        if name in groups:
            types = get_type_hints(groups[name], include_extras=True)
            options = [(each.name, types[each.name], each.default) for each in fields(groups[name])]
        for option, hint, default in options:
            parameters.append(inspect.Parameter(option, parameter.KEYWORD_ONLY, default=default, annotation=hint))

    def command(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        run(work(**given, **bound))

    command.__name__, command.__doc__ = work.__name__, work.__doc__
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def add(group: typer.Typer, work: Callable[..., Coroutine[Any, Any, None]], name: str = "", **settings: Any) -> None:
    group.command(name or work.__name__, **settings)(command_of(work))


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
            notice = f"SIMULATED: an embedded simulator answers at {simulator.base_url}; nothing is real."
            say(notice, style="yellow", err=True)
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
        is_ours = name.upper().startswith("BROKERAGE_")
        if meant := difflib.get_close_matches(name.upper(), KNOWN, 1, ALIKE if is_ours else 0.9):
            reason = f"unknown variable, probably a typing error for {meant[0]}"
            problems.append(errors.ErrorDetail("unknown", reason, name))
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
