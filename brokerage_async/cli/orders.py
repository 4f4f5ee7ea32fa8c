"""Order commands: check, place, replace, cancel and list orders, and recover after a crash."""

from __future__ import annotations

import asyncio
import contextlib
import os
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import typer

from ..errors import InvalidRequestError
from ..journal import MemoryJournal, PostgresJournal, SqliteJournal
from ..models import NewOrder, NewOrderLeg, Order, OrderEdit, Pager, PlacedOrderResponse
from ..order_entry import ChangeOutcome, OrderChange, OrderEntry, Outcome, Placement
from .console import columns, confirm, echo_json, err, out, say, show
from .order_tables import (
    change_json,
    messages,
    order_table,
    placement_json,
    placement_table,
    preview_table,
    ticket_line,
)
from .order_words import NewTerms, Words, read_edit, read_ticket
from .service import Service, connect
from .tables import raw

__all__ = [
    "NewTerms", "Submission", "Trading", "Words", "cancel", "dry_run", "list_orders", "place", "recover", "replace",
]  # fmt: skip

HISTORY = timedelta(days=401)
"""Age of the oldest orders among which an order is looked up."""


@attrs.frozen(kw_only=True)
class Trading:
    """Options that the order commands share."""

    account: str | None = None
    journal: str | None = None
    yes: bool = False
    as_json: bool = False
    simulated: bool = False


@attrs.frozen(kw_only=True)
class Submission:
    """Options of how an order is placed."""

    external_identifier: str | None = None
    allow_warnings: bool = False
    resubmit: int = 0
    visibility_delay: float | None = None


@attrs.frozen
class Desk:
    """Service, account and journal of a command."""

    service: Service
    account: str
    entry: OrderEntry

    @property
    def orders(self) -> Any:
        """The order endpoints of the client."""
        return self.service.client.orders

    def live_orders(self) -> Pager[Order]:
        """Return today's orders of the account."""
        return self.service.client.orders.list_live(self.account)

    def older_orders(self) -> Pager[Order]:
        """Return the orders of the last 400 days."""
        today = self.service.client.watch.now().date()
        return self.service.client.orders.list(self.account, start_date=today - HISTORY)

    def ask(self, question: str) -> None:
        """Ask before money moves, naming environment, address and account."""
        confirm(f"{question} ({self.service}, account {self.account})")


@contextlib.asynccontextmanager
async def trading(options: Trading, *, any_account: bool = False) -> AsyncIterator[Desk]:
    """Connect to the service, with an account and a journal."""
    async with connect(simulated=options.simulated) as service:
        account = options.account or "" if any_account else service.account(options.account)
        journal = open_journal(options.journal, simulated=options.simulated)
        try:
            yield Desk(service, account, OrderEntry(service.client, journal))
        finally:
            await journal.aclose()


def open_journal(given: str | None, *, simulated: bool) -> SqliteJournal | PostgresJournal | MemoryJournal:
    """Return the journal that was named; by default a file of this user, or memory for a simulator."""
    if given is None and simulated:
        return MemoryJournal()
    place = given or os.environ.get("BROKERAGE_JOURNAL")
    if place and place.startswith(("postgres://", "postgresql://")):
        return PostgresJournal(place)
    if place:
        return SqliteJournal(place)
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "brokerage-async"
    folder.mkdir(parents=True, exist_ok=True)
    return SqliteJournal(folder / "orders.journal")


async def dry_run(options: Trading, words: Words) -> None:
    """Check an order without placing it."""
    ticket = read_ticket(words)
    async with trading(options) as desk:
        preview = await desk.orders.dry_run(desk.account, ticket)
    if options.as_json:
        echo_json(raw(preview))
    else:
        show_preview(ticket_line(desk.account, ticket), preview)
    if preview.errors:
        raise typer.Exit(1)


async def place(options: Trading, words: Words, submission: Submission) -> None:
    """Preview an order, ask, place it, and show the outcome."""
    ticket = read_ticket(words)
    name = submission.external_identifier or ticket.external_identifier or str(uuid.uuid4())
    ticket = attrs.evolve(ticket, external_identifier=name)
    async with trading(options) as desk:
        if not options.yes:
            show_preview(ticket_line(desk.account, ticket), await desk.orders.dry_run(desk.account, ticket))
            desk.ask("Place this order?")
        with noting_interrupts():
            placement = await desk.entry.place(
                desk.account,
                ticket,
                allow_warnings=submission.allow_warnings,
                resubmit=submission.resubmit,
                visibility_delay=submission.visibility_delay,
            )
    if options.as_json:
        echo_json(placement_json(placement))
    else:
        show_placement(placement)
    if placement.outcome is not Outcome.PLACED:
        raise typer.Exit(1)


async def replace(options: Trading, order_id: str, terms: NewTerms, *, allow_warnings: bool) -> None:
    """Preview a replacement, ask, send it, and show the outcome."""
    async with trading(options) as desk:
        order = await find_order(desk, order_id)
        edit = read_edit(terms, order)
        if not options.yes:
            preview = await desk.orders.edit_dry_run(desk.account, order_id, edit)
            show_preview(ticket_line(desk.account, replacement(order, edit)), preview)
            desk.ask(f"Replace order {order_id} by this one?")
        with noting_interrupts(f"the replacement of order {order_id} may have been sent"):
            change = await desk.entry.replace(desk.account, order_id, edit, allow_warnings=allow_warnings)
    show_change(change, as_json=options.as_json)


async def cancel(options: Trading, order_id: str) -> None:
    """Ask for the cancellation of an order, and show the outcome."""
    async with trading(options) as desk:
        if not options.yes:
            desk.ask(f"Cancel order {order_id}?")
        with noting_interrupts(f"the cancellation of order {order_id} may have been sent"):
            change = await desk.entry.cancel(desk.account, order_id)
    show_change(change, as_json=options.as_json)


async def list_orders(options: Trading, since: datetime | None, max_items: int) -> None:
    """Show the orders of an account, today's or those since a day."""
    async with trading(options) as desk:
        orders = desk.orders
        pager = orders.list_live(desk.account) if since is None else orders.list(desk.account, start_date=since.date())
        found = await pager.collect(max_items)
    if options.as_json:
        echo_json([raw(each) for each in found])
    else:
        show(order_table(found, columns()))


async def recover(options: Trading) -> None:
    """Find the outcomes of open journal entries, and show them."""
    async with trading(options, any_account=True) as desk:
        placements = await desk.entry.recover()
    if options.as_json:
        echo_json([placement_json(placement) for placement in placements])
    elif placements:
        show(placement_table(placements))
    else:
        out.print("No order is open.")
    if any(placement.outcome is Outcome.UNKNOWN for placement in placements):
        raise typer.Exit(1)


async def find_order(desk: Desk, order_id: str) -> Order:
    """Return an order of the account, from today's list or those of the last 400 days.

    Raises:
        InvalidRequestError: the order was not found.
    """
    for pager in (desk.live_orders, desk.older_orders):
        async for order in pager():
            if order.id == order_id:
                return order
    raise InvalidRequestError(f"account {desk.account} has no order {order_id}")


def replacement(order: Order, edit: OrderEdit) -> NewOrder:
    """Return a working order as it would be placed with new terms, to be shown."""
    legs = tuple(
        NewOrderLeg(action=leg.action, instrument_type=leg.instrument_type, quantity=leg.quantity, symbol=leg.symbol)  # type: ignore[arg-type]
        for leg in order.legs or ()
    )
    return NewOrder(
        order_type=edit.order_type,
        time_in_force=edit.time_in_force,
        gtc_date=edit.gtc_date,
        stop_trigger=edit.stop_trigger,
        price=edit.price,
        price_effect=edit.price_effect,
        value=edit.value,
        value_effect=edit.value_effect,
        legs=legs,
    )


def show_preview(line: str, preview: PlacedOrderResponse) -> None:
    """Print an order and its dry-run."""
    say(line)
    show(preview_table(preview))
    for line in messages("error", preview.errors):
        say(line, style="red")
    for line in messages("warning", preview.warnings):
        say(line, style="yellow")


def show_placement(placement: Placement) -> None:
    """Print the outcome of an order."""
    for line in messages("warning", placement.warnings):
        say(line, style="yellow")
    say(f"{placement.outcome.value}: {placement.external_identifier}")
    if placement.note:
        say(placement.note)
    if placement.order is not None:
        show(order_table([placement.order], columns()))


def show_change(change: OrderChange, *, as_json: bool) -> None:
    """Print the outcome of a change; leave with exit code 1 unless it was applied."""
    if as_json:
        echo_json(change_json(change))
    else:
        say(f"{change.outcome.value}: {change.error or ''}".removesuffix(": "))
        if change.order is not None:
            show(order_table([change.order], columns()))
    if change.outcome is not ChangeOutcome.APPLIED:
        raise typer.Exit(1)


@contextlib.contextmanager
def noting_interrupts(otherwise: str | None = None) -> Iterator[None]:
    """On Ctrl-C, print the notes of the exception before leaving, or ``otherwise`` if it has none."""
    try:
        yield
    except asyncio.CancelledError as cancelled:
        for note in getattr(cancelled, "__notes__", filter(None, [otherwise])):
            err.print(note, style="red")
        raise
