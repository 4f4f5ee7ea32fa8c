"""Options that several commands have, and the way in which a command runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, ParamSpec

import typer

__all__ = [
    "Account", "Accounts", "AsJson", "Count", "Customer", "JsonLines", "Simulated", "Yes", "add", "command_of",
    "day",
]  # fmt: skip

P = ParamSpec("P")

Account = Annotated[
    str | None,
    typer.Option(help="account number [env var: BROKERAGE_ACCOUNT]; on the simulator its first one by default"),
]
Accounts = Annotated[
    list[str] | None,
    typer.Option("--account", help="account number [env var: BROKERAGE_ACCOUNT], may be repeated"),
]
Customer = Annotated[str, typer.Option(help="customer number; `me` is the owner of the token")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON instead of tables")]
JsonLines = Annotated[bool, typer.Option("--json", help="print a line of JSON for each change or event")]
Count = Annotated[int | None, typer.Option(min=1, help="leave after this number of them")]
Simulated = Annotated[
    bool, typer.Option("--simulator", help="use an embedded simulator instead of a service; nothing is real")
]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask, for scripts")]


def day(said: str, *names: str) -> Any:
    """Return an option that takes a date."""
    return typer.Option(*names, formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help=said)


def command_of(work: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Return the command that runs a coroutine function to its end."""

    @functools.wraps(work)
    def command(*arguments: P.args, **options: P.kwargs) -> None:
        from .console import run

        run(work(*arguments, **options))

    return command


def add(group: typer.Typer, work: Callable[..., Coroutine[Any, Any, None]], name: str = "", **settings: Any) -> None:
    """Add a coroutine function to a group as a command."""
    group.command(name or work.__name__, **settings)(command_of(work))
