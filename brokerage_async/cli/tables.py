"""Tables of rows that fit the terminal, values as cells and as JSON, and orders, previews and outcomes as both.

Strings of the service and of users are shown on a terminal, never obeyed.
"""

from __future__ import annotations

import json
import logging
import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from .lazy import models, order_entry

if TYPE_CHECKING:
    from rich.table import Table

OBEYED = re.compile(r"[^\t\n -~]")  # candidates; whether a character is shown after all is asked one by one


def printable(content: str) -> str:
    """Return ``content`` with everything written out that a terminal would obey instead of show.

    These are control characters and escape sequences, and invisible characters such as those that turn the direction
    of writing around. Line breaks and tabs stay.
    """
    if content.isprintable():
        return content
    return OBEYED.sub(lambda m: m[0] if _is_shown(m[0]) else m[0].encode("unicode_escape").decode(), content)


def printable_json(content: str) -> str:
    r"""Return the same JSON with such characters written as ``\uXXXX``."""
    return OBEYED.sub(lambda match: match[0] if _is_shown(match[0]) else json.dumps(match[0])[1:-1], content)


def _is_shown(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


class PlainFormatter(logging.Formatter):
    """Formatter of log records for a terminal, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


PADDING = 3  # characters that a column needs beside its cells
FOLDED = 24  # characters that a column whose cells may be folded needs at least


def table_of(
    rows: Iterable[Mapping[str, str]],
    title: str,
    *,
    headings: Sequence[str] = (),
    numbers: Collection[str] = (),
    whole: Collection[str] = (),
    folded: Collection[str] = (),
    dispensable: Sequence[str | tuple[str, ...]] = (),
    width: int | None = None,
    styles: Sequence[str | None] = (),
    **options: Any,
) -> Table:
    """Build a table. Columns that do not fit into ``width`` are omitted and named below.

    rich alone would fold or cut cells instead, numbers among them.

    Args:
        rows: cells by heading.
        title: title of the table.
        headings: headings of the columns, by default the keys of the rows.
        numbers: headings of columns that are aligned to the right and stand on one line.
        whole: headings of other columns whose cells stand on one line. A cut one ends in an ellipsis.
        folded: headings of long cells, which take the room that is left.
        dispensable: headings that are omitted without room for them, in this order. A tuple of them goes together.
            Columns of numbers follow, the last one first: a number is never cut.
        width: characters in a line. None: any number.
        styles: styles of the rows.
        options: further options of the table.
    """
    from rich.cells import cell_len
    from rich.table import Table

    listed = list(rows)
    room = {}
    for heading in headings or {name: None for row in listed for name in row}:
        widest = max((cell_len(line) for row in listed for line in row.get(heading, "").splitlines()), default=0)
        widest = max(cell_len(heading), min(widest, FOLDED) if heading in folded else widest)
        room[heading] = PADDING + widest
    omitted: list[str] = []
    for group in (*dispensable, *reversed([heading for heading in room if heading in numbers][1:])):
        if width is not None and 1 + sum(room.values()) > width:
            together = [heading for heading in ([group] if isinstance(group, str) else group) if room.pop(heading, 0)]
            omitted += together
    if omitted:
        options["caption"] = f"No room for: {', '.join(omitted)}. --json shows all."
    table = Table(title=title, title_justify="left", caption_justify="left", **options)
    for heading in room:
        one_line = heading in whole or heading in numbers
        table.add_column(
            heading,
            justify="right" if heading in numbers else "left",
            overflow="ellipsis" if one_line else "fold",
            no_wrap=one_line,
        )
    for index, row in enumerate(listed):
        table.add_row(*(row.get(heading, "") for heading in room), style=styles[index] if styles else None)
    return table


def raw(model: Any) -> Any:
    """Return a model, or a list of them, as JSON values. None stays None."""
    return None if model is None else models.converter.unstructure(model)


def plain(amount: Decimal | None) -> str:
    """Return a number without an exponent."""
    return "" if amount is None else format(amount, "f")


def money(amount: Decimal | None, effect: object = None) -> str:
    """Return an amount with separators of thousands and at least cents, and its effect if there is one."""
    if amount is None:
        return ""
    exponent = amount.as_tuple().exponent
    written = f"{amount:,.2f}" if not isinstance(exponent, int) or exponent > -2 else f"{amount:,f}"
    return f"{written} {effect or ''}".rstrip()


def moment(at: datetime | None, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return a date-time in local time."""
    return "" if at is None else f"{at.astimezone():{form}}"


def fields_json(thing: object, *names: str) -> dict[str, Any]:
    """Return some attributes of a result as JSON values, under their names as the wire writes them."""
    values = {name.replace("_", "-"): getattr(thing, name) for name in names}
    return {name: each.isoformat() if isinstance(each, datetime) else raw(each) for name, each in values.items()}


def placement_json(placement: order_entry.Placement) -> dict[str, Any]:
    found = fields_json(
        placement, "outcome", "account_number", "external_identifier", "attempts", "opened_at", "note", "order",
        "complex_order", "warnings",
    )  # fmt: skip
    return found | {"body": json.loads(placement.body) if placement.body else None}


def change_json(change: order_entry.OrderChange) -> dict[str, Any]:
    return fields_json(change, "outcome", "order", "fills") | {"error": str(change.error) if change.error else None}


def cancellations_json(result: order_entry.Cancellations) -> dict[str, Any]:
    return {
        "proven": result.is_proven,
        "orders": {number: fields_json(row, "outcome", "fills") for number, row in result.items()},
        "closing": [placement_json(placement) for placement in result.closing],
    }


def cancellations_table(result: order_entry.Cancellations) -> Table:
    rows = (
        {
            "id": number,
            "outcome": row.outcome.value,
            "legs": "; ".join(legs_of(order) for order in row.orders),
            "fills": ", ".join(f"{plain(fill.quantity)} at {plain(fill.fill_price)}" for fill in row.fills),
        }
        for number, row in result.items()
    )
    return table_of(rows, "Orders", folded=("legs", "fills"))


def change_lines(change: order_entry.OrderChange) -> list[str]:
    """Return the outcome of a change, the fills of the order, and whether it still works after a refusal."""
    from ..protocol.order_status import TERMINAL

    order, reason = change.order, str(change.error or "")
    if change.outcome == "filled":
        reason = f"order {change.order_id} was filled first"
    lines = [f"{change.outcome}: {reason}".removesuffix(": ")]
    if change.outcome == "refused" and order is not None and order.status not in TERMINAL:
        lines.append(f"order {change.order_id} is {order.status}: it still works")
    fills = [" at ".join(plain(each) for each in (fill.quantity, fill.fill_price) if each) for fill in change.fills]
    return [*lines, f"filled: {', '.join(fills)}"] if fills else lines


def ticket_line(
    account: str, order: models.NewOrder | models.OrderEdit, legs: Sequence[models.NewOrderLeg | models.OrderLeg]
) -> str:
    """Return an order, or the new terms of one, in one line."""
    what = ", ".join(" ".join(filter(None, (str(leg.action), plain(leg.quantity), leg.symbol))) for leg in legs)
    prices = (
        ("at", order.price, order.price_effect),
        ("when it trades at", order.stop_trigger, None),
        ("for", order.value, order.value_effect),
    )
    terms = [f"{word} {plain(amount)} {effect or ''}".strip() for word, amount, effect in prices if amount is not None]
    until = f"until {order.gtc_date}" if order.gtc_date else str(order.time_in_force)
    return f"{account}: {what}; {' '.join([str(order.order_type), *terms])}, {until}"


def preview_table(preview: models.PlacedOrderResponse) -> Table:
    """Build a table of the buying power and fees of a dry-run, in dollars."""
    figures = {
        "change in buying power": "change_in_buying_power", "buying power now": "current_buying_power",
        "buying power after": "new_buying_power", "change in margin": "change_in_margin_requirement",
        "commission": "commission", "clearing fees": "clearing_fees", "regulatory fees": "regulatory_fees",
        "all fees": "total_fees",
    }  # fmt: skip
    rows = [
        {"in dollars": name, "amount": money(amount), "effect": str(getattr(part, f"{field}_effect") or "")}
        for name, field in figures.items()
        for part in (preview.buying_power_effect, preview.fee_calculation)
        if (amount := getattr(part, field, None)) is not None
    ]
    return table_of(rows, "Dry-run", headings=("in dollars", "amount", "effect"), numbers=("amount",))


def messages(kind: str, found: Iterable[models.PreflightMessage] | None) -> list[str]:
    """Return a line for each error or warning of a dry-run."""
    return [f"{kind}: {message.message or message.code} ({message.code})" for message in found or ()]


def order_table(orders: Iterable[models.Order], width: int | None = None) -> Table:
    """Build a table of orders. Columns that do not fit into ``width`` are omitted and named below."""
    headings = ("id", "received (UTC)", "status", "what", "type", "price", "filled", "external identifier")

    def row(order: models.Order) -> dict[str, str]:
        received = f"{order.received_at:%Y-%m-%d %H:%M:%S}" if order.received_at else ""
        price = plain(order.stop_trigger if order.price is None else order.price)
        status, kind = str(order.status or ""), str(order.order_type or "")
        named = (order.id or "", received, status, legs_of(order), kind, price, filled(order))
        return dict(zip(headings, (*named, order.external_identifier or ""), strict=True))

    return table_of(
        map(row, orders), "Orders", headings=headings, numbers=("price", "filled"), whole=("id",), width=width,
        dispensable=("external identifier", "received (UTC)", "type"),
    )  # fmt: skip


STYLES: Mapping[str, str] = {"Filled": "green", "Rejected": "red", "Cancelled": "dim", "Expired": "dim"}
"""Colours of statuses on a terminal."""


def placement_table(placements: Iterable[order_entry.Placement], title: str = "Open entries of the journal") -> Table:
    """Build a table of placements, by default of recovered ones."""
    rows = (
        {
            "outcome": placement.outcome.value,
            "account": placement.account_number,
            "external identifier": placement.external_identifier,
            "order": placement.order_id or "",
            "journaled (UTC)": f"{placement.opened_at:%Y-%m-%d %H:%M:%S}" if placement.opened_at else "",
            "note": placement.note or "",
        }
        for placement in placements
    )
    return table_of(rows, title)


def legs_of(order: models.Order, separator: str = ", ") -> str:
    """Return the legs of an order, by default in one line."""
    return separator.join(f"{leg.action} {plain(leg.quantity)} {leg.symbol}" for leg in order.legs or ())


def price_of(order: models.Order) -> str:
    """Return the net price per unit of the fills so far, or else the limit price. A spread's with its effect."""
    legs = order.legs or ()
    net = _net_fill_price(legs)
    amount = order.price if net is None else abs(net)
    effect = order.price_effect if net is None else "Debit" if net > 0 else "Credit" if net < 0 else ""
    return f"{plain(amount)} {(effect or '') if len(legs) > 1 else ''}".strip() if amount is not None else ""


PLACES = 4  # decimal places that an average price is shown with


def _net_fill_price(legs: Sequence[models.OrderLeg]) -> Decimal | None:
    """Return what one unit has cost on average, negative for a credit. None unless every leg has fills."""
    unit = Decimal(0)  # the greatest common divisor of the quantities, fractions included
    for leg in legs:
        rest = abs(leg.quantity or Decimal(0))
        while rest:
            unit, rest = rest, unit % rest
    net = Decimal(0)
    for leg in legs:
        fills = [(fill.quantity, fill.fill_price) for fill in leg.fills or ()]
        known = [(quantity, price) for quantity, price in fills if quantity and price is not None]
        if not known or not leg.quantity or leg.action is None:
            return None
        total = sum((quantity * price for quantity, price in known), Decimal(0))
        average = total / sum((quantity for quantity, _ in known), Decimal(0))
        net += average * (abs(leg.quantity) / unit) * (1 if leg.action.startswith("Buy") else -1)
    exponent = net.as_tuple().exponent
    return None if not legs else round(net, PLACES) if isinstance(exponent, int) and exponent < -PLACES else net


def filled(order: models.Order) -> str:
    """Return the filled part of the first leg, such as 6/10."""
    for leg in order.legs or ():
        if leg.quantity is not None and leg.remaining_quantity is not None:
            return f"{plain(leg.quantity - leg.remaining_quantity)}/{plain(leg.quantity)}"
    return ""
