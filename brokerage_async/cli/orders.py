"""``brokerage-async orders``: check, place, cancel and list orders, and recover after a crash."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated

import attrs
import typer

from ..client import Client
from ..errors import ConfigurationError
from ..journal import MemoryJournal, PostgresJournal, SqliteJournal
from ..models import NewOrder, PlacedOrderResponse
from ..order_entry import ChangeOutcome, OrderEntry, Outcome, Placement
from ..simulator import Simulator
from .console import columns, echo_json, err, on_real_service, out, run, say, show
from .order_tables import (
    change_json,
    messages,
    order_table,
    placement_json,
    placement_table,
    preview_table,
    raw,
    ticket_line,
)
from .order_words import read_ticket

__all__ = ["register"]

Account = Annotated[
    str | None,
    typer.Option(envvar="BROKERAGE_ACCOUNT", help="account number; on the simulator its first account by default"),
]
JournalAt = Annotated[
    str | None,
    typer.Option(
        "--journal", envvar="BROKERAGE_JOURNAL", help="file, or postgresql:// address, in which orders are written down"
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON instead of tables")]
Yes = Annotated[bool, typer.Option("--yes", help="do not ask, for scripts")]
Action = Annotated[str | None, typer.Argument(help="buy-to-open, sell-to-close, ...; buy and sell for futures")]
Symbol = Annotated[str | None, typer.Argument(help="such as AAPL, 'AAPL  260612C00110000' or /ESZ6")]
Quantity = Annotated[str | None, typer.Argument(help="shares or contracts; none with --value")]
Limit = Annotated[str | None, typer.Option("--limit", help="limit price; without any price it is a market order")]
Stop = Annotated[str | None, typer.Option("--stop", help="price that sets the order off")]
Value = Annotated[str | None, typer.Option("--value", help="dollars to spend or raise, instead of a quantity")]
Duration = Annotated[str | None, typer.Option("--tif", help="time in force: Day (default), GTC, Ext, IOC, ...")]
Until = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="good till this day")]
FromFile = Annotated[str | None, typer.Option("--order", help="any order as JSON: FILE, or - for standard input")]
AllowWarnings = Annotated[bool, typer.Option("--allow-warnings", help="submit in spite of warnings")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    orders = typer.Typer(no_args_is_help=True, help="Check, place, cancel and list orders; recover after a crash.")
    orders.command("dry-run")(dry_run)
    orders.command("place", short_help="Place an order exactly once, after asking.")(place)
    orders.command("cancel", short_help="Ask for the cancellation of an order.")(cancel)
    orders.command("list", short_help="List the orders of an account, newest first.")(list_orders)
    orders.command("recover", short_help="Find out what became of unfinished orders.")(recover)
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
) -> None:
    """Check an order without placing it, and show what it would do."""

    async def main() -> None:
        ticket = read_ticket(action, symbol, quantity, limit, stop, value, tif, until, order)
        async with trading(account, None) as desk:
            preview = await desk.client.orders.dry_run(desk.account, ticket)
        if as_json:
            echo_json(raw(preview))
        else:
            show_preview(desk.account, ticket, preview)
        if preview.errors:
            raise typer.Exit(1)

    run(main())


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
    external_identifier: Annotated[str | None, typer.Option(help="identifier of your own for the order")] = None,
    allow_warnings: AllowWarnings = False,
    resubmit: Annotated[int, typer.Option(help="send again so often when the order is found absent")] = 0,
    visibility_delay: Annotated[float | None, typer.Option(help="seconds within which an order is listed")] = None,
    account: Account = None,
    journal: JournalAt = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Place an order exactly once: show what it would do, ask, submit, and tell what became of it."""

    async def main() -> None:
        ticket = read_ticket(action, symbol, quantity, limit, stop, value, tif, until, order)
        name = external_identifier or ticket.external_identifier or str(uuid.uuid4())
        ticket = attrs.evolve(ticket, external_identifier=name)
        async with trading(account, journal) as desk:
            if not yes:
                show_preview(desk.account, ticket, await desk.client.orders.dry_run(desk.account, ticket))
                confirm("Place this order?")
            with telling_the_interrupted():
                placement = await desk.entry.place(
                    desk.account,
                    ticket,
                    allow_warnings=allow_warnings,
                    resubmit=resubmit,
                    visibility_delay=visibility_delay,
                )
        if as_json:
            echo_json(placement_json(placement))
        else:
            show_placement(placement)
        if placement.outcome is not Outcome.PLACED:
            raise typer.Exit(1)

    run(main())


def cancel(
    order_id: Annotated[str, typer.Argument(help="identifier of the order")],
    account: Account = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Ask for the cancellation of an order, and tell what became of it."""

    async def main() -> None:
        async with trading(account, None) as desk:
            if not yes:
                confirm(f"Cancel order {order_id} of account {desk.account}?")
            with telling_the_interrupted(f"the cancellation of order {order_id} may have been sent"):
                change = await desk.entry.cancel(desk.account, order_id)
        if as_json:
            echo_json(change_json(change))
        else:
            say(f"{change.outcome.value}: {change.error or ''}".removesuffix(": "))
            if change.order is not None:
                show(order_table([change.order], columns()))
        if change.outcome is not ChangeOutcome.APPLIED:
            raise typer.Exit(1)

    run(main())


def list_orders(
    since: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="from this day on, instead of today's"),
    ] = None,
    max_items: Annotated[int, typer.Option(help="show at most so many")] = 100,
    account: Account = None,
    as_json: AsJson = False,
) -> None:
    """List the orders of an account, newest first: today's, or those since a day."""

    async def main() -> None:
        async with trading(account, None) as desk:
            source = desk.client.orders
            pager = (
                source.list_live(desk.account) if since is None else source.list(desk.account, start_date=since.date())
            )
            found = await pager.collect(max_items)
        if as_json:
            echo_json([raw(each) for each in found])
        else:
            show(order_table(found, columns()))

    run(main())


def recover(account: Account = None, journal: JournalAt = None, as_json: AsJson = False) -> None:
    """Find out what became of orders whose outcome is still open in the journal. Nothing is sent again."""

    async def main() -> None:
        async with trading(account, journal, any_account=True) as desk:
            placements = await desk.entry.recover()
        if as_json:
            echo_json([placement_json(placement) for placement in placements])
        elif placements:
            show(placement_table(placements))
        else:
            out.print("No order is open.")
        if any(placement.outcome is Outcome.UNKNOWN for placement in placements):
            raise typer.Exit(1)

    run(main())


@attrs.frozen
class Desk:
    """Where a command trades."""

    client: Client
    account: str
    entry: OrderEntry


@contextlib.asynccontextmanager
async def trading(account: str | None, journal: str | None, *, any_account: bool = False) -> AsyncIterator[Desk]:
    """The service that the environment names, or an embedded simulator, with an account and a journal."""
    async with contextlib.AsyncExitStack() as stack:
        if on_real_service():
            if account is None and not any_account:
                raise ConfigurationError("say which account: --account, or the variable BROKERAGE_ACCOUNT")
            client, number = Client.from_env(), account or ""
        else:
            simulator = await stack.enter_async_context(Simulator())
            client, number = simulator.client(), account or simulator.account_numbers[0]
        kept = open_journal(journal)
        stack.push_async_callback(kept.aclose)
        await stack.enter_async_context(client)
        yield Desk(client, number, OrderEntry(client, kept))


def open_journal(journal: str | None) -> SqliteJournal | PostgresJournal | MemoryJournal:
    """The journal that was named; on a real service a file of this user by default."""
    if journal is not None and journal.startswith(("postgres://", "postgresql://")):
        return PostgresJournal(journal)
    if journal is not None:
        return SqliteJournal(journal)
    if not on_real_service():
        return MemoryJournal()
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "brokerage-async"
    folder.mkdir(parents=True, exist_ok=True)
    return SqliteJournal(folder / "orders.journal")


def show_preview(account: str, order: NewOrder, preview: PlacedOrderResponse) -> None:
    """What a dry-run says, for a person."""
    say(ticket_line(account, order))
    show(preview_table(preview))
    for line in messages("error", preview.errors):
        say(line, style="red")
    for line in messages("warning", preview.warnings):
        say(line, style="yellow")


def show_placement(placement: Placement) -> None:
    """What became of an order, for a person."""
    for line in messages("warning", placement.warnings):
        say(line, style="yellow")
    say(f"{placement.outcome.value}: {placement.external_identifier}")
    if placement.note:
        say(placement.note)
    if placement.order is not None:
        show(order_table([placement.order], columns()))


def confirm(question: str) -> None:
    """Ask before money moves; anything but yes, Ctrl-C included, leaves with exit code 1 and nothing sent."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's own is heard after the answer only
    try:
        agreed = typer.confirm(question)
    except typer.Abort:
        agreed = False
    finally:
        signal.signal(signal.SIGINT, handler)
    if not agreed:
        out.print("Nothing was sent.")
        raise typer.Exit(1)


@contextlib.contextmanager
def telling_the_interrupted(unless_noted: str | None = None) -> Iterator[None]:
    """On Ctrl-C, say what became of the order before leaving."""
    try:
        yield
    except asyncio.CancelledError as cancelled:
        for note in getattr(cancelled, "__notes__", filter(None, [unless_noted])):
            err.print(note, style="red")
        raise
