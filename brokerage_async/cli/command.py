"""Options that several commands have, and how a command runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, get_type_hints

import typer

from .lazy import models

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
        from .console import run

        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in fields(group)})
        run(work(**given, **bound))

    command.__name__, command.__doc__ = work.__name__, work.__doc__
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def add(group: typer.Typer, work: Callable[..., Coroutine[Any, Any, None]], name: str = "", **settings: Any) -> None:
    group.command(name or work.__name__, **settings)(command_of(work))
