"""Bracket command: an entry and two exits, of which the fill of one cancels the other."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import attrs
import typer

from .. import tickets
from ..models import ComplexOrder, NewComplexOrder, Order, TimeInForce
from ..order_entry import Outcome, Placement
from .console import columns, echo_json, say, show
from .order_tables import messages, order_table, placement_json, ticket_line
from .order_words import Words, read_ticket
from .orders import Desk, Submission, Trading, noting_interrupts, show_preview, trading

__all__ = ["Exits", "bracket", "read_bracket"]


@attrs.frozen(kw_only=True)
class Exits:
    """The words of a command line that describe the exits of a bracket."""

    profit: str
    loss: str
    loss_limit: str | None = None
    tif: str = "GTC"


def read_bracket(words: Words, exits: Exits) -> NewComplexOrder:
    """Return the bracket that the words describe.

    Raises:
        InvalidRequestError: words are missing, or do not go together.
    """
    entry = read_ticket(words)
    legs, force = tickets.closing_legs(entry), TimeInForce(exits.tif)
    profit = tickets.limit(*legs, price=exits.profit, time_in_force=force)
    if exits.loss_limit is None:
        loss = tickets.stop(*legs, trigger=exits.loss, time_in_force=force)
    else:
        loss = tickets.stop_limit(*legs, trigger=exits.loss, price=exits.loss_limit, time_in_force=force)
    return tickets.bracket(entry, profit=profit, loss=loss)


async def bracket(options: Trading, words: Words, exits: Exits, submission: Submission) -> None:
    """Preview a bracket, ask, place it, and show the outcome."""
    order = named(read_bracket(words, exits), submission.external_identifier)
    async with trading(options) as desk:
        if not options.yes:
            preview = await desk.service.client.complex_orders.dry_run(desk.account, order)
            *first, last = lines_of(desk.account, order)
            for line in first:
                say(line)
            show_preview(last, preview)
            desk.ask("Place this bracket?")
        with noting_interrupts():
            placement = await place(desk, order, submission)
    if options.as_json:
        echo_json(placement_json(placement))
    else:
        show_placement(placement)
    if placement.outcome is not Outcome.PLACED:
        raise typer.Exit(1)


async def place(desk: Desk, order: NewComplexOrder, submission: Submission) -> Placement:
    """Place a complex order at most once."""
    return await desk.entry.place_complex(
        desk.account,
        order,
        allow_warnings=submission.allow_warnings,
        resubmit=submission.resubmit,
        visibility_delay=submission.visibility_delay,
    )


def named(order: NewComplexOrder, name: str | None) -> NewComplexOrder:
    """Return the order with an external identifier on its entry: preview and order carry the same one."""
    entry = order.trigger_order
    assert entry is not None, "a bracket has an entry"
    name = name or entry.external_identifier or str(uuid.uuid4())
    return attrs.evolve(order, trigger_order=attrs.evolve(entry, external_identifier=name))


def lines_of(account: str, order: NewComplexOrder) -> Iterator[str]:
    """Yield the entry and the exits in a line each."""
    for word, each in zip(("entry", "profit", "loss"), (order.trigger_order, *order.orders), strict=True):
        assert each is not None, "a bracket has an entry"
        yield f"{word} {ticket_line(account, each)}"


def show_placement(placement: Placement) -> None:
    """Print the outcome of a complex order."""
    for line in messages("warning", placement.warnings):
        say(line, style="yellow")
    say(f"{placement.outcome.value}: {placement.external_identifier} {placement.order_id}".rstrip())
    if placement.note:
        say(placement.note)
    if placement.complex_order is not None:
        show(order_table(components(placement.complex_order), columns()))


def components(order: ComplexOrder) -> Iterator[Order]:
    """Yield the orders that a complex order consists of, the entry first."""
    if order.trigger_order is not None:
        yield order.trigger_order
    yield from order.orders or ()
