"""``brokerage-async orders``: check, place, replace, cancel and list orders, and recover after a crash."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from . import halts
from .console import confirm, echo_json, say, show, width
from .journals import JournalAt, open_journal
from .options import Target, Yes, add, day, values_of
from .order_tables import (
    cancellations_json,
    cancellations_table,
    change_json,
    change_lines,
    messages,
    order_table,
    placement_json,
    placement_table,
    preview_table,
    ticket_line,
)
from .order_words import Until, Words, read_bracket, read_edit, read_ticket
from .service import Service, connect
from .tables import raw

if TYPE_CHECKING:
    from ..models import NewOrder, Order, OrderEdit, PlacedOrderResponse
    from ..order_entry import OrderChange, OrderEntry, Placement

HISTORY = timedelta(days=401)
"""Age of the oldest orders among which an order is looked up."""


Value = Annotated[str | None, typer.Option("--value", help="dollars to spend or raise, instead of a quantity")]
AllowWarnings = Annotated[bool, typer.Option("--allow-warnings", help="submit despite warnings")]
OrderId = Annotated[str, typer.Argument(help="identifier of the order")]


@dataclass(frozen=True)
class Sending:
    """Options of a command that places an order."""

    external_identifier: Annotated[str | None, typer.Option(help="identifier of your own for the order")] = None
    allow_warnings: AllowWarnings = False
    resubmit: Annotated[int, typer.Option(help="send again so often when the order is found absent")] = 0
    visibility_delay: Annotated[float | None, typer.Option(help="seconds within which an order is listed")] = None
    journal: JournalAt = None
    yes: Yes = False


async def dry_run(value: Value = None, *, words: Words, target: Target) -> None:
    """Check an order without placing it, and show its effects."""
    ticket = read_ticket(words, value)
    async with trading(target) as desk:
        preview = await desk.service.client.orders.dry_run(desk.account, ticket)
    if target.as_json:
        echo_json(raw(preview))
    else:
        show_preview([ticket_line(desk.account, ticket, ticket.legs)], preview)
    if preview.errors:
        raise typer.Exit(1)


async def place(value: Value = None, *, words: Words, sending: Sending, target: Target) -> None:
    """Place an order at most once: show its effects, ask, submit, and report the outcome."""
    ticket = read_priced(words, sending, value)
    async with trading(target, sending.journal) as desk:
        if not sending.yes:
            preview = await desk.service.client.orders.dry_run(desk.account, ticket)
            show_preview([ticket_line(desk.account, ticket, ticket.legs)], preview)
            desk.ask("Place this order?")
        await submit(desk.entry.place, desk, ticket, sending, target)


async def bracket(
    profit: Annotated[str, typer.Option(help="limit price that takes the profit")],
    loss: Annotated[str, typer.Option(help="price that sets off the exit with a loss")],
    loss_limit: Annotated[str | None, typer.Option(help="limit price of that exit; without it a market order")] = None,
    exit_tif: Annotated[
        str, typer.Option(help="time in force of the exits: GTC, Day, ...", autocompletion=values_of("TimeInForce"))
    ] = "GTC",
    *,
    words: Words,
    sending: Sending,
    target: Target,
) -> None:
    """Place a bracket (OTOCO) at most once: show its effects, ask, submit, and report the outcome.

    The fill of the entry releases both exits, and the fill of one exit cancels the other. ACTION opens the position.
    """
    entry = read_priced(words, sending)
    ticket = read_bracket(entry, profit=profit, loss=loss, loss_limit=loss_limit, tif=exit_tif)
    async with trading(target, sending.journal) as desk:
        if not sending.yes:
            preview = await desk.service.client.complex_orders.dry_run(desk.account, ticket)
            components = zip(("entry", "profit", "loss"), (entry, *ticket.orders), strict=True)
            show_preview([f"{word} {ticket_line(desk.account, each, each.legs)}" for word, each in components], preview)
            desk.ask("Place this bracket?")
        await submit(desk.entry.place_complex, desk, ticket, sending, target)


async def replace(
    order_id: OrderId,
    limit: Annotated[str | None, typer.Option("--limit", help="new limit price")] = None,
    stop: Annotated[str | None, typer.Option("--stop", help="new price that sets the order off")] = None,
    tif: Annotated[
        str | None, typer.Option("--tif", help="new time in force", autocompletion=values_of("TimeInForce"))
    ] = None,
    until: Until = None,
    order: Annotated[
        str | None, typer.Option("--order", help="all terms as JSON, without legs: FILE, or - for standard input")
    ] = None,
    allow_warnings: AllowWarnings = False,
    journal: JournalAt = None,
    yes: Yes = False,
    *,
    target: Target,
) -> None:
    """Replace a working order by one of other terms: show its effects, ask, send once, and report the outcome.

    Terms that are not given stay as they are.
    """
    async with trading(target, journal) as desk:
        working = await find_order(desk, order_id)
        edit = read_edit(working, limit=limit, stop=stop, tif=tif, until=until, source=order)
        if not yes:
            preview = await preview_edit(desk, order_id, edit)
            show_preview([ticket_line(desk.account, edit, working.legs or ())], preview)
            desk.ask(f"Replace order {order_id} by this one?")
        with noting_interrupts(f"the replacement of order {order_id} may have been sent"):
            change = await desk.entry.replace(desk.account, order_id, edit, allow_warnings=allow_warnings)
    show_change(change, as_json=target.as_json)


async def cancel(
    order_id: OrderId,
    wait: Annotated[bool, typer.Option("--wait", help="wait until the order is over, and show its fills")] = False,
    yes: Yes = False,
    *,
    target: Target,
) -> None:
    """Ask for the cancellation of an order, and report the outcome.

    An order that is not live yet is asked for again, for up to two minutes. Until it is over it can still be filled.
    """
    async with trading(target) as desk:
        if not yes:
            desk.ask(f"Cancel order {order_id}?")
        with noting_interrupts(f"the cancellation of order {order_id} may have been sent"):
            change = await desk.entry.cancel(desk.account, order_id, wait=wait)
    show_change(change, as_json=target.as_json)


async def cancel_all(
    flatten: Annotated[bool, typer.Option("--flatten", help="then close all positions at the market")] = False,
    journal: JournalAt = None,
    yes: Yes = False,
    *,
    target: Target,
) -> None:
    """Cancel all working orders of an account, and look until the lists prove it.

    The exit code is 1 if an order may still work, or a position has no closing order.
    """
    async with trading(target, journal) as desk:
        if not yes:
            desk.ask(f"Cancel all orders{' and close all positions' * flatten}?")
        with noting_interrupts("cancellations may have been sent: run it again"):
            result = await desk.entry.cancel_all(desk.account, flatten=flatten)
    if target.as_json:
        echo_json(cancellations_json(result))
    else:
        if result:
            show(cancellations_table(result))
        say("No order works any more." if result.is_proven else "Orders may still work: the lists do not prove it.")
        if result.closing:
            show(placement_table(result.closing, "Closing orders"))
    if not result.is_proven or any(each.outcome != "placed" for each in result.closing):
        raise typer.Exit(1)


async def list_orders(
    since: Annotated[datetime | None, day("from this day on, instead of today's", "--since")] = None,
    max_items: Annotated[int, typer.Option(help="show at most so many")] = 100,
    *,
    target: Target,
) -> None:
    """List the orders of an account, newest first: today's, or those since a day."""
    async with connect(simulated=target.simulated) as service:
        orders, account = service.client.orders, service.account(target.account)
        pager = orders.list_live(account) if since is None else orders.list(account, start_date=since.date())
        found = await pager.collect(max_items)
    if target.as_json:
        echo_json(raw(found))
    else:
        show(order_table(found, width()))


async def recover(journal: JournalAt = None, *, target: Target) -> None:
    """Find the outcomes of orders that are still open in the journal. Nothing is sent again."""
    async with trading(target, journal, default_account="") as desk:
        placements = await desk.entry.recover(report=lambda text: say(text, err=True))
    if target.as_json:
        echo_json([placement_json(placement) for placement in placements])
    elif placements:
        show(placement_table(placements))
    else:
        say("No order is open.")
    if any(placement.outcome == "unknown" for placement in placements):
        raise typer.Exit(1)


group: typer.Typer = typer.Typer(
    no_args_is_help=True, help="Check, place, replace, cancel and list orders; recover after a crash; halt."
)
add(group, dry_run, "dry-run")
add(group, place, short_help="Place an order at most once, after asking.")
add(group, bracket, short_help="Place an entry with two exits, after asking.")
add(group, replace, short_help="Change the terms of a working order, after asking.")
add(group, cancel, short_help="Ask for the cancellation of an order.")
add(group, cancel_all, "cancel-all", short_help="Cancel all orders of an account, after asking.")
add(group, list_orders, "list", short_help="List the orders of an account, newest first.")
add(group, recover, short_help="Find the outcomes of unfinished orders.")
add(group, halts.halt, short_help="Stop every new order, in all processes.")
add(group, halts.resume, short_help="Lift a halt.")
add(group, halts.status, short_help="Show the halts and the open entries of a journal.")


@dataclass(frozen=True)
class Desk:
    """Service, account and journal of a command."""

    service: Service
    account: str
    entry: OrderEntry

    def ask(self, question: str) -> None:
        """Ask before money moves, naming environment, address and account."""
        confirm(f"{question} ({self.service}, account {self.account})")


@contextlib.asynccontextmanager
async def trading(
    target: Target, journal: str | None = None, *, default_account: str | None = None
) -> AsyncIterator[Desk]:
    """Connect to the service, with an account and a journal. A simulator has one in memory unless it is named."""
    from ..journal import MemoryJournal
    from ..order_entry import OrderEntry

    async with connect(simulated=target.simulated) as service:
        account = target.account or default_account
        account = service.account(account) if account is None else account
        opened = MemoryJournal() if journal is None and target.simulated else open_journal(journal)
        try:
            yield Desk(service, account, OrderEntry(service.client, opened))
        finally:
            await opened.aclose()


def read_priced(words: Words, sending: Sending, value: str | None = None) -> NewOrder:
    """Return the order of the words, with an external identifier: preview and order carry the same one.

    An order without any price is a market order, which is asked about unless that was requested.

    Raises:
        InvalidRequestError: it was not requested, and ``--yes`` leaves no question.
    """
    import attrs

    from ..errors import InvalidRequestError

    order = read_ticket(words, value)
    if not words.market and words.order is None and order.order_type == "Market":
        if sending.yes:
            raise InvalidRequestError("an order without a price needs --market, --limit, --stop or --value")
        confirm("No price is given. Is this to be a market order? (--market does not ask)")
    name = sending.external_identifier or order.external_identifier or str(uuid.uuid4())
    return attrs.evolve(order, external_identifier=name)


async def find_order(desk: Desk, order_id: str) -> Order:
    """Return an order of the account, from today's list or from the last 400 days.

    Raises:
        InvalidRequestError: the order was not found.
    """
    from ..errors import InvalidRequestError

    client, account = desk.service.client, desk.account
    async for order in client.orders.list_live(account):
        if order.id == order_id:
            return order
    async for order in client.orders.list(account, start_date=client.watch.now().date() - HISTORY):
        if order.id == order_id:
            return order
    raise InvalidRequestError(f"account {account} has no order {order_id}")


async def preview_edit(desk: Desk, order_id: str, edit: OrderEdit) -> PlacedOrderResponse:
    """Dry-run a replacement. Wait for an order that is still on its way to the exchange, for half a minute at most."""
    import asyncio

    from ..errors import OrderNotCancellableError
    from ..models import OrderEditDryRun
    from ..protocol.order_status import TERMINAL

    orders, checked = desk.service.client.orders, OrderEditDryRun.of(edit)
    for pause in (0.5, 1, 2, 4, 8, 16):
        try:
            return await orders.edit_dry_run(desk.account, order_id, checked)
        except OrderNotCancellableError:
            status = (await find_order(desk, order_id)).status
            if status in TERMINAL:
                raise
            say(f"order {order_id} is {status}, and cannot be changed yet: waiting", err=True)
            await asyncio.sleep(pause)
    return await orders.edit_dry_run(desk.account, order_id, checked)


def show_preview(lines: list[str], preview: PlacedOrderResponse) -> None:
    """Print an order and its dry-run."""
    for line in lines:
        say(line)
    show(preview_table(preview))
    for line in messages("error", preview.errors):
        say(line, style="red")
    for line in messages("warning", preview.warnings):
        say(line, style="yellow")


async def submit(
    entry: Callable[..., Awaitable[Placement]], desk: Desk, ticket: object, sending: Sending, target: Target
) -> None:
    """Submit an order and print its outcome. Leave with exit code 1 unless it was placed."""
    with noting_interrupts():
        placement = await entry(
            desk.account, ticket, allow_warnings=sending.allow_warnings, resubmit=sending.resubmit,
            visibility_delay=sending.visibility_delay,
        )  # fmt: skip
    if target.as_json:
        echo_json(placement_json(placement))
    else:
        for line in messages("warning", placement.warnings):
            say(line, style="yellow")
        whole = placement.complex_order
        say(f"{placement.outcome}: {placement.external_identifier} {placement.order_id if whole else ''}".rstrip())
        if placement.note:
            say(placement.note)
        orders = [placement.order] if whole is None else [whole.trigger_order, *(whole.orders or ())]
        if known := [order for order in orders if order is not None]:
            show(order_table(known, width()))
    if placement.outcome != "placed":
        raise typer.Exit(1)


def show_change(change: OrderChange, *, as_json: bool) -> None:
    """Print the outcome of a change. Leave with exit code 1 unless it was applied."""
    if as_json:
        echo_json(change_json(change))
    else:
        for line in change_lines(change):
            say(line)
        if change.order is not None:
            show(order_table([change.order], width()))
    if change.outcome != "applied":
        raise typer.Exit(1)


@contextlib.contextmanager
def noting_interrupts(otherwise: str | None = None) -> Iterator[None]:
    """On Ctrl-C, print the notes of the exception before leaving, or ``otherwise`` if it has none."""
    import asyncio

    try:
        yield
    except asyncio.CancelledError as cancelled:
        for note in getattr(cancelled, "__notes__", filter(None, [otherwise])):
            say(note, style="red", err=True)
        raise
