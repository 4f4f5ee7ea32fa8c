"""``brokerage-async orders dry-run | place | bracket | replace | cancel | list | recover``."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from .options import Account, AsJson, Simulated, Yes

__all__ = ["register"]

JournalAt = Annotated[
    str | None,
    typer.Option(
        "--journal", help="file, or postgresql:// address, that orders are journaled in [env var: BROKERAGE_JOURNAL]"
    ),
]
Action = Annotated[str | None, typer.Argument(help="buy-to-open, sell-to-close, ...; buy and sell for futures")]
Symbol = Annotated[str | None, typer.Argument(help="such as AAPL, 'AAPL  260612C00110000' or /ESZ6")]
Quantity = Annotated[str | None, typer.Argument(help="shares or contracts; none with --value")]
Limit = Annotated[str | None, typer.Option("--limit", help="limit price; without any price it is a market order")]
Stop = Annotated[str | None, typer.Option("--stop", help="price that sets the order off")]
Value = Annotated[str | None, typer.Option("--value", help="dollars to spend or raise, instead of a quantity")]
Duration = Annotated[str | None, typer.Option("--tif", help="time in force: Day (default), GTC, Ext, IOC, ...")]
Until = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="good till this day")]
FromFile = Annotated[str | None, typer.Option("--order", help="any order as JSON: FILE, or - for standard input")]
AllowWarnings = Annotated[bool, typer.Option("--allow-warnings", help="submit despite warnings")]
OwnName = Annotated[str | None, typer.Option(help="identifier of your own for the order")]
Resubmit = Annotated[int, typer.Option(help="send again so often when the order is found absent")]
VisibilityDelay = Annotated[float | None, typer.Option(help="seconds within which an order is listed")]
OrderId = Annotated[str, typer.Argument(help="identifier of the order")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    orders = typer.Typer(
        no_args_is_help=True, help="Check, place, replace, cancel and list orders; recover after a crash."
    )
    orders.command("dry-run")(dry_run)
    orders.command("place", short_help="Place an order at most once, after asking.")(place)
    orders.command("bracket", short_help="Place an entry with two exits, after asking.")(bracket)
    orders.command("replace", short_help="Change the terms of a working order, after asking.")(replace)
    orders.command("cancel", short_help="Ask for the cancellation of an order.")(cancel)
    orders.command("list", short_help="List the orders of an account, newest first.")(list_orders)
    orders.command("recover", short_help="Find the outcomes of unfinished orders.")(recover)
    app.add_typer(orders, name="orders")


def dry_run(
    action: Action = None,
    symbol: Symbol = None,
    quantity: Quantity = None,
    limit: Limit = None,
    stop: Stop = None,
    value: Value = None,
    tif: Duration = None,
    until: Until = None,
    order: FromFile = None,
    account: Account = None,
    as_json: AsJson = False,
    simulated: Simulated = False,
) -> None:
    """Check an order without placing it, and show its effects."""
    from ..console import run
    from ..orders import Trading, Words, dry_run

    words = Words(action, symbol, quantity, limit, stop, value, tif, until, order)
    run(dry_run(Trading(account=account, as_json=as_json, simulated=simulated), words))


def place(
    action: Action = None,
    symbol: Symbol = None,
    quantity: Quantity = None,
    limit: Limit = None,
    stop: Stop = None,
    value: Value = None,
    tif: Duration = None,
    until: Until = None,
    order: FromFile = None,
    external_identifier: OwnName = None,
    allow_warnings: AllowWarnings = False,
    resubmit: Resubmit = 0,
    visibility_delay: VisibilityDelay = None,
    account: Account = None,
    journal: JournalAt = None,
    yes: Yes = False,
    as_json: AsJson = False,
    simulated: Simulated = False,
) -> None:
    """Place an order at most once: show its effects, ask, submit, and report the outcome."""
    from ..console import run
    from ..orders import Submission, Trading, Words, place

    words = Words(action, symbol, quantity, limit, stop, value, tif, until, order)
    trading = Trading(account=account, journal=journal, yes=yes, as_json=as_json, simulated=simulated)
    submission = Submission(
        external_identifier=external_identifier,
        allow_warnings=allow_warnings,
        resubmit=resubmit,
        visibility_delay=visibility_delay,
    )
    run(place(trading, words, submission))


def bracket(
    profit: Annotated[str, typer.Option(help="limit price that takes the profit")],
    loss: Annotated[str, typer.Option(help="price that sets off the exit with a loss")],
    action: Action = None,
    symbol: Symbol = None,
    quantity: Quantity = None,
    loss_limit: Annotated[str | None, typer.Option(help="limit price of that exit; without it a market order")] = None,
    limit: Limit = None,
    stop: Stop = None,
    tif: Duration = None,
    until: Until = None,
    exit_tif: Annotated[str, typer.Option(help="time in force of the exits: GTC, Day, ...")] = "GTC",
    order: FromFile = None,
    external_identifier: OwnName = None,
    allow_warnings: AllowWarnings = False,
    resubmit: Resubmit = 0,
    visibility_delay: VisibilityDelay = None,
    account: Account = None,
    journal: JournalAt = None,
    yes: Yes = False,
    as_json: AsJson = False,
    simulated: Simulated = False,
) -> None:
    """Place a bracket (OTOCO) at most once: show its effects, ask, submit, and report the outcome.

    The fill of the entry releases both exits, and the fill of one exit cancels the other. ACTION opens the position.
    """
    from ..brackets import Exits, bracket
    from ..console import run
    from ..orders import Submission, Trading, Words

    words = Words(action, symbol, quantity, limit, stop, None, tif, until, order)
    trading = Trading(account=account, journal=journal, yes=yes, as_json=as_json, simulated=simulated)
    exits = Exits(profit=profit, loss=loss, loss_limit=loss_limit, tif=exit_tif)
    submission = Submission(
        external_identifier=external_identifier,
        allow_warnings=allow_warnings,
        resubmit=resubmit,
        visibility_delay=visibility_delay,
    )
    run(bracket(trading, words, exits, submission))


def replace(
    order_id: OrderId,
    limit: Annotated[str | None, typer.Option("--limit", help="new limit price")] = None,
    stop: Annotated[str | None, typer.Option("--stop", help="new price that sets the order off")] = None,
    tif: Annotated[str | None, typer.Option("--tif", help="new time in force")] = None,
    until: Until = None,
    order: Annotated[
        str | None, typer.Option("--order", help="all terms as JSON, without legs: FILE, or - for standard input")
    ] = None,
    allow_warnings: AllowWarnings = False,
    account: Account = None,
    yes: Yes = False,
    as_json: AsJson = False,
    simulated: Simulated = False,
) -> None:
    """Replace a working order by one of other terms: show its effects, ask, send once, and report the outcome.

    Terms that are not given stay as they are.
    """
    from ..console import run
    from ..orders import NewTerms, Trading, replace

    trading = Trading(account=account, yes=yes, as_json=as_json, simulated=simulated)
    run(replace(trading, order_id, NewTerms(limit, stop, tif, until, order), allow_warnings=allow_warnings))


def cancel(
    order_id: OrderId, account: Account = None, yes: Yes = False, as_json: AsJson = False, simulated: Simulated = False
) -> None:
    """Ask for the cancellation of an order, and report the outcome."""
    from ..console import run
    from ..orders import Trading, cancel

    run(cancel(Trading(account=account, yes=yes, as_json=as_json, simulated=simulated), order_id))


def list_orders(
    since: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="from this day on, instead of today's"),
    ] = None,
    max_items: Annotated[int, typer.Option(help="show at most so many")] = 100,
    account: Account = None,
    as_json: AsJson = False,
    simulated: Simulated = False,
) -> None:
    """List the orders of an account, newest first: today's, or those since a day."""
    from ..console import run
    from ..orders import Trading, list_orders

    run(list_orders(Trading(account=account, as_json=as_json, simulated=simulated), since, max_items))


def recover(
    account: Account = None, journal: JournalAt = None, as_json: AsJson = False, simulated: Simulated = False
) -> None:
    """Find the outcomes of orders that are still open in the journal. Nothing is sent again."""
    from ..console import run
    from ..orders import Trading, recover

    run(recover(Trading(account=account, journal=journal, as_json=as_json, simulated=simulated)))
