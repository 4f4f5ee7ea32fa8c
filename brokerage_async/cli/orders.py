"""``brokerage-async orders``: check, place, replace, cancel and list orders, recover after a crash, and halt."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from . import tables
from .command import AsJson, JournalAt, Service, Target, Yes, add, connect, day, open_journal, values_of
from .console import confirm, echo_json, say, show, width
from .lazy import asyncio, attrs, errors, journals, models, order_entry
from .reading import NewTerms, Words, read_bracket, read_edit, read_ticket

HISTORY = timedelta(days=401)  # age of the oldest orders among which an order is looked up


Value = Annotated[str | None, typer.Option(help="dollars to spend or raise, instead of a quantity")]
AllowWarnings = Annotated[bool, typer.Option("--allow-warnings", help="submit despite warnings")]
OrderId = Annotated[str, typer.Argument(help="identifier of the order")]
Scope = Annotated[str | None, typer.Option("--account", help="this account only, instead of every one")]
Label = Annotated[str | None, typer.Option(help="orders of this strategy only, instead of every one")]


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
    async with _trading(target) as desk:
        preview = await desk.service.client.orders.dry_run(desk.account, ticket)
    if target.as_json:
        echo_json(tables.raw(preview))
    else:
        _show_preview([tables.ticket_line(desk.account, ticket, ticket.legs)], preview)
    if preview.errors:
        raise typer.Exit(1)


async def place(value: Value = None, *, words: Words, sending: Sending, target: Target) -> None:
    """Place an order at most once: show its effects, ask, submit, and report the outcome."""
    ticket = _read_priced(words, sending, value)
    await _send(ticket, {"": ticket}, sending, target)


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
    entry = _read_priced(words, sending)
    ticket = read_bracket(entry, profit=profit, loss=loss, loss_limit=loss_limit, tif=exit_tif)
    parts = zip(("entry ", "profit ", "loss "), (entry, *ticket.orders), strict=True)
    await _send(ticket, dict[str, models.NewOrder](parts), sending, target)


async def replace(
    order_id: OrderId,
    *,
    terms: NewTerms,
    allow_warnings: AllowWarnings = False,
    journal: JournalAt = None,
    yes: Yes = False,
    target: Target,
) -> None:
    """Replace a working order by one of other terms: show its effects, ask, send once, and report the outcome.

    Terms that are not given stay as they are.
    """
    async with _trading(target, journal) as desk:
        working = await _find_order(desk, order_id)
        edit = read_edit(working, terms)
        if not yes:
            preview = await _preview_edit(desk, order_id, edit)
            _show_preview([tables.ticket_line(desk.account, edit, working.legs or ())], preview)
        interrupted = f"the replacement of order {order_id} may have been sent"
        with desk.sending(f"Replace order {order_id} by this one?", yes, interrupted):
            change = await desk.entry.replace(desk.account, order_id, edit, allow_warnings=allow_warnings)
    _show_change(change, as_json=target.as_json)


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
    async with _trading(target) as desk:
        interrupted = f"the cancellation of order {order_id} may have been sent"
        with desk.sending(f"Cancel order {order_id}?", yes, interrupted):
            change = await desk.entry.cancel(desk.account, order_id, wait=wait)
    _show_change(change, as_json=target.as_json)


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
    async with _trading(target, journal) as desk:
        question = f"Cancel all orders{' and close all positions' * flatten}?"
        with desk.sending(question, yes, "cancellations may have been sent: run it again"):
            result = await desk.entry.cancel_all(desk.account, flatten=flatten)
    if target.as_json:
        echo_json(tables.cancellations_json(result))
    else:
        if result:
            show(tables.cancellations_table(result))
        say("No order works any more." if result.is_proven else "Orders may still work: the lists do not prove it.")
        if result.closing:
            show(tables.placement_table(result.closing, "Closing orders"))
    if not result.is_proven or any(each.outcome != "placed" for each in result.closing):
        raise typer.Exit(1)


async def list_orders(
    since: Annotated[datetime | None, day("from this day on, instead of today's")] = None,
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
        echo_json(tables.raw(found))
    else:
        show(tables.order_table(found, width()))


async def recover(journal: JournalAt = None, *, target: Target) -> None:
    """Find the outcomes of orders that are still open in the journal. Nothing is sent again."""
    async with _trading(target, journal, of_account=False) as desk:
        placements = await desk.entry.recover(report=lambda text: say(text, err=True))
    if target.as_json:
        echo_json([tables.placement_json(placement) for placement in placements])
    elif placements:
        show(tables.placement_table(placements))
    else:
        say("No order is open.")
    if any(placement.outcome == "unknown" for placement in placements):
        raise typer.Exit(1)


async def halt(
    reason: Annotated[str, typer.Argument(help="the reason, for those who see orders stopped")],
    account: Scope = None,
    label: Label = None,
    journal: JournalAt = None,
    as_json: AsJson = False,
) -> None:
    """Stop every new order on a journal, in all processes, and show the orders that are open. Asks nothing.

    Cancellations still go out. An order that is open was recorded before: it may still be sent.
    """
    async with contextlib.aclosing(open_journal(journal)) as switch:
        entries = await switch.halt(reason, **_scope_of(account, label))
        halts = await switch.halts()
    _show_halts(halts, entries, as_json=as_json)


async def resume(
    account: Scope = None, label: Label = None, journal: JournalAt = None, as_json: AsJson = False
) -> None:
    """Lift the halt of exactly this account and label, and show those that remain."""
    async with contextlib.aclosing(open_journal(journal)) as switch:
        lifted = await switch.resume(**_scope_of(account, label))
        halts = await switch.halts()
    if not lifted:
        say("no halt of this account and label was in effect", style="yellow", err=True)
    _show_halts(halts, None, as_json=as_json)
    if not lifted:
        raise typer.Exit(1)


async def status(journal: JournalAt = None, as_json: AsJson = False) -> None:
    """Show the halts of a journal and its open entries."""
    async with contextlib.aclosing(open_journal(journal)) as switch:
        halts, entries = await switch.halts(), await switch.entries(state=journals.EntryState.OPEN)
    _show_halts(halts, entries, as_json=as_json)


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
add(group, halt, short_help="Stop every new order, in all processes.")
add(group, resume, short_help="Lift a halt.")
add(group, status, short_help="Show the halts and the open entries of a journal.")


@dataclass(frozen=True)
class Desk:
    """Service, account and journal of a command."""

    service: Service
    account: str
    entry: order_entry.OrderEntry

    @contextlib.contextmanager
    def sending(self, question: str, yes: bool, interrupted: str | None = None) -> Iterator[None]:
        """Ask before money moves, naming environment, address and account, unless the answer is ``yes`` already.

        On Ctrl-C after that, print the notes of the exception, or ``interrupted`` if it has none.
        """
        if not yes:
            confirm(f"{question} ({self.service}, account {self.account})")
        try:
            yield
        except asyncio.CancelledError as cancelled:
            for note in getattr(cancelled, "__notes__", filter(None, [interrupted])):
                say(note, style="red", err=True)
            raise


@contextlib.asynccontextmanager
async def _trading(target: Target, journal: str | None = None, *, of_account: bool = True) -> AsyncIterator[Desk]:
    """Connect to the service, with an account and a journal. A simulator has one in memory unless it is named."""
    async with connect(simulated=target.simulated) as service:
        account = service.account(target.account) if of_account else ""
        in_memory = journal is None and target.simulated
        async with contextlib.aclosing(journals.MemoryJournal() if in_memory else open_journal(journal)) as opened:
            yield Desk(service, account, order_entry.OrderEntry(service.client, opened))


def _read_priced(words: Words, sending: Sending, value: str | None = None) -> models.NewOrder:
    """Return the order of the words, with an external identifier: preview and order carry the same one.

    An order without any price is a market order, which is asked about unless that was requested.
    """
    order = read_ticket(words, value)
    if not words.market and words.order is None and order.order_type == "Market":
        if sending.yes:
            raise errors.InvalidRequestError("an order without a price needs --market, --limit, --stop or --value")
        confirm("No price is given. Is this to be a market order? (--market does not ask)")
    name = sending.external_identifier or order.external_identifier or str(uuid.uuid4())
    return attrs.evolve(order, external_identifier=name)


async def _send(ticket: Any, parts: dict[str, models.NewOrder], sending: Sending, target: Target) -> None:
    """Preview an order of one or several parts, ask, submit it, and print the outcome. Exit code 1 unless placed."""
    is_complex = len(parts) > 1
    async with _trading(target, sending.journal) as desk:
        if not sending.yes:
            client = desk.service.client
            preview = await (client.complex_orders if is_complex else client.orders).dry_run(desk.account, ticket)
            lines = [f"{word}{tables.ticket_line(desk.account, each, each.legs)}" for word, each in parts.items()]
            _show_preview(lines, preview)
        with desk.sending(f"Place this {'bracket' if is_complex else 'order'}?", sending.yes):
            placement = await (desk.entry.place_complex if is_complex else desk.entry.place)(
                desk.account, ticket, allow_warnings=sending.allow_warnings, resubmit=sending.resubmit,
                visibility_delay=sending.visibility_delay,
            )  # fmt: skip
    if target.as_json:
        echo_json(tables.placement_json(placement))
    else:
        for line in tables.messages("warning", placement.warnings):
            say(line, style="yellow")
        whole = placement.complex_order
        say(f"{placement.outcome}: {placement.external_identifier} {placement.order_id if whole else ''}".rstrip())
        if placement.note:
            say(placement.note)
        orders = [placement.order] if whole is None else [whole.trigger_order, *(whole.orders or ())]
        if known := [order for order in orders if order is not None]:
            show(tables.order_table(known, width()))
    if placement.outcome != "placed":
        raise typer.Exit(1)


async def _find_order(desk: Desk, order_id: str) -> models.Order:
    """Return an order of the account, from today's list or from the last 400 days."""
    client, account = desk.service.client, desk.account
    async for order in client.orders.list_live(account):
        if order.id == order_id:
            return order
    async for order in client.orders.list(account, start_date=client.watch.now().date() - HISTORY):
        if order.id == order_id:
            return order
    raise errors.InvalidRequestError(f"account {account} has no order {order_id}")


async def _preview_edit(desk: Desk, order_id: str, edit: models.OrderEdit) -> models.PlacedOrderResponse:
    """Dry-run a replacement. Wait for an order that is still on its way to the exchange, for half a minute at most."""
    from ..protocol.order_status import TERMINAL

    orders, checked = desk.service.client.orders, models.OrderEditDryRun.of(edit)
    for pause in (0.5, 1, 2, 4, 8, 16):
        try:
            return await orders.edit_dry_run(desk.account, order_id, checked)
        except errors.OrderNotCancellableError:
            status = (await _find_order(desk, order_id)).status
            if status in TERMINAL:
                raise
            say(f"order {order_id} is {status}, and cannot be changed yet: waiting", err=True)
            await asyncio.sleep(pause)
    return await orders.edit_dry_run(desk.account, order_id, checked)


def _show_preview(lines: list[str], preview: models.PlacedOrderResponse) -> None:
    for line in lines:
        say(line)
    show(tables.preview_table(preview))
    for line in tables.messages("error", preview.errors):
        say(line, style="red")
    for line in tables.messages("warning", preview.warnings):
        say(line, style="yellow")


def _show_change(change: order_entry.OrderChange, *, as_json: bool) -> None:
    """Print the outcome of a change. Leave with exit code 1 unless it was applied."""
    if as_json:
        echo_json(tables.change_json(change))
    else:
        for line in tables.change_lines(change):
            say(line)
        if change.order is not None:
            show(tables.order_table([change.order], width()))
    if change.outcome != "applied":
        raise typer.Exit(1)


def _scope_of(account: str | None, label: str | None) -> dict[str, str | None]:
    """Return the scope of a halt. A name that is empty, as an unset variable of a shell is, must not stand for all."""
    for name, given in (("--account", account), ("--label", label)):
        if given == "":
            raise errors.ConfigurationError(f"{name} must not be empty: leave it out to mean every one")
    return {"account_number": account, "label": label}


def _show_halts(halts: list[journals.Halt], entries: list[journals.JournalEntry] | None, *, as_json: bool) -> None:
    if as_json:
        state = {
            "halts": [tables.fields_json(each, "account_number", "label", "reason", "halted_at") for each in halts]
        }
        if entries is not None:
            state["open"] = [
                tables.fields_json(each.key, "account_number", "external_identifier")
                | tables.fields_json(each, "label", "replaces", "attempts", "opened_at")
                | {"replaces": each.replaces or None}
                for each in entries
            ]
        echo_json(state)
        return
    for each in halts:
        scope = [f"account {each.account_number}"] if each.account_number else []
        scope += [f"label {each.label}"] if each.label else []
        what = " and ".join(scope) or "all orders"
        say(f"halted since {tables.moment(each.halted_at)}: {what} ({each.reason})", style="red")
    if not halts:
        say("orders are not halted")
    for entry in entries or ():
        since, account = tables.moment(entry.opened_at), entry.key.account_number
        what = f"replacement of order {entry.replaces}" if entry.replaces else f"order {entry.key.external_identifier}"
        say(f"open since {since}: {what} of account {account}, attempt {entry.attempts}")
    if entries == []:
        say("no order is open")
