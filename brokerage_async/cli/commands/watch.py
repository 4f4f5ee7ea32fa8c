"""``brokerage-async watch orders | positions | balances | alerts | market``."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import Customer, Simulated

__all__ = ["register"]

AsJson = Annotated[bool, typer.Option("--json", help="print a line of JSON for each change")]
Count = Annotated[int | None, typer.Option(min=1, help="leave after so many changes")]
Interval = Annotated[float, typer.Option(min=0.0, help="seconds between polls")]
Push = Annotated[bool, typer.Option("--push", help="poll at once after an event of the account stream")]
OnlyNew = Annotated[bool, typer.Option("--only-new", help="leave out the items that are there at the start")]
Accounts = Annotated[
    list[str] | None,
    typer.Option("--account", help="account number [env var: BROKERAGE_ACCOUNT], may be repeated"),
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Follow changes until Ctrl-C.")
    for command in (orders, positions, balances, alerts, market):
        group.command(command.__name__)(command)
    app.add_typer(group, name="watch")


def orders(
    account: Accounts = None,
    customer: Customer = "me",
    interval: Interval = 2.0,
    as_json: AsJson = False,
    only_new: OnlyNew = False,
    push: Push = False,
    count: Count = None,
    simulated: Simulated = False,
) -> None:
    """Follow today's orders of accounts."""
    from ..console import run
    from ..watch import Following, watch_orders

    following = Following(as_json=as_json, initial=not only_new, count=count, simulated=simulated, push=push)
    run(watch_orders(following, customer, account or [], interval))


def positions(
    account: Accounts = None,
    marks: Annotated[bool, typer.Option("--marks", help="include marks: then nearly every poll is a change")] = False,
    interval: Interval = 5.0,
    as_json: AsJson = False,
    only_new: OnlyNew = False,
    push: Push = False,
    count: Count = None,
    simulated: Simulated = False,
) -> None:
    """Follow the positions of accounts."""
    from ..console import run
    from ..watch import Following, watch_positions

    following = Following(as_json=as_json, initial=not only_new, count=count, simulated=simulated, push=push)
    run(watch_positions(following, account or [], interval, marks=marks))


def balances(
    account: Accounts = None,
    interval: Interval = 5.0,
    as_json: AsJson = False,
    only_new: OnlyNew = False,
    push: Push = False,
    count: Count = None,
    simulated: Simulated = False,
) -> None:
    """Follow the balances of accounts."""
    from ..console import run
    from ..watch import Following, watch_balances

    following = Following(as_json=as_json, initial=not only_new, count=count, simulated=simulated, push=push)
    run(watch_balances(following, account or [], interval))


def alerts(
    interval: Interval = 5.0,
    as_json: AsJson = False,
    only_new: OnlyNew = False,
    push: Push = False,
    count: Count = None,
    simulated: Simulated = False,
) -> None:
    """Follow the quote alerts of the user."""
    from ..console import run
    from ..watch import Following, watch_alerts

    run(
        watch_alerts(
            Following(as_json=as_json, initial=not only_new, count=count, simulated=simulated, push=push), interval
        )
    )


def market(
    collection: Annotated[str, typer.Argument(help="Equity, CME or CFE")] = "Equity",
    extended: Annotated[bool, typer.Option(help="also the hours around the regular session")] = False,
    as_json: AsJson = False,
    only_new: OnlyNew = False,
    count: Count = None,
    simulated: Simulated = False,
) -> None:
    """Follow the sessions of a market as they open and close."""
    from ..console import run
    from ..watch import Following, watch_market

    following = Following(as_json=as_json, initial=not only_new, count=count, simulated=simulated)
    run(watch_market(following, collection, extended=extended))
