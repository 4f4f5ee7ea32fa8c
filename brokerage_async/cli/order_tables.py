"""Orders, previews and outcomes as tables and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

from rich.table import Table

from ..models import NewOrder, Order, OrderLeg, PlacedOrderResponse, PreflightMessage, PriceEffect
from ..order_entry import OrderChange, Placement
from .tables import Layout, plain, raw, table_of

__all__ = [
    "change_json",
    "legs_of",
    "messages",
    "order_style",
    "order_table",
    "placement_json",
    "placement_table",
    "preview_table",
    "price_of",
    "ticket_line",
]


LAYOUT = Layout(
    title="Orders",
    headings=("id", "received (UTC)", "status", "what", "type", "price", "filled", "external identifier"),
    right=frozenset({"price", "filled"}),
    unbroken=frozenset({"id"}),
    dispensable=("external identifier", "received (UTC)", "type"),
)


def placement_json(placement: Placement) -> dict[str, Any]:
    """Return a placement as JSON values."""
    return {
        "outcome": placement.outcome.value,
        "account-number": placement.account_number,
        "external-identifier": placement.external_identifier,
        "attempts": placement.attempts,
        "opened-at": placement.opened_at.isoformat() if placement.opened_at else None,
        "note": placement.note,
        "order": raw(placement.order),
        "complex-order": raw(placement.complex_order),
        "warnings": [raw(warning) for warning in placement.warnings],
        "body": json.loads(placement.body) if placement.body else None,
    }


def change_json(change: OrderChange) -> dict[str, Any]:
    """Return the outcome of a change as JSON values."""
    return {
        "outcome": change.outcome.value,
        "order": raw(change.order),
        "error": str(change.error) if change.error else None,
    }


def ticket_line(account: str, order: NewOrder) -> str:
    """Return an order in one line."""
    legs = ", ".join(" ".join(filter(None, (str(leg.action), plain(leg.quantity), leg.symbol))) for leg in order.legs)
    prices = (
        ("at", order.price, order.price_effect),
        ("when it trades at", order.stop_trigger, None),
        ("for", order.value, order.value_effect),
    )
    terms = [f"{word} {plain(amount)} {effect or ''}".strip() for word, amount, effect in prices if amount is not None]
    until = f"until {order.gtc_date}" if order.gtc_date else str(order.time_in_force)
    return f"{account}: {legs}; {' '.join([str(order.order_type), *terms])}, {until}"


def preview_table(preview: PlacedOrderResponse) -> Table:
    """Build a table of the buying power and fees of a dry-run, in dollars."""
    table = Table(title="Dry-run", title_justify="left")
    table.add_column("in dollars")
    table.add_column("amount", justify="right")
    table.add_column("effect")
    power, fees = preview.buying_power_effect, preview.fee_calculation
    rows: list[tuple[str, Decimal | None, PriceEffect | None]] = []
    if power is not None:
        rows += [
            ("change in buying power", power.change_in_buying_power, power.change_in_buying_power_effect),
            ("buying power now", power.current_buying_power, power.current_buying_power_effect),
            ("buying power after", power.new_buying_power, power.new_buying_power_effect),
            ("change in margin", power.change_in_margin_requirement, power.change_in_margin_requirement_effect),
        ]
    if fees is not None:
        rows += [
            ("commission", fees.commission, fees.commission_effect),
            ("clearing fees", fees.clearing_fees, fees.clearing_fees_effect),
            ("regulatory fees", fees.regulatory_fees, fees.regulatory_fees_effect),
            ("all fees", fees.total_fees, fees.total_fees_effect),
        ]
    for name, amount, effect in rows:
        if amount is not None:
            table.add_row(name, f"{amount:,}", str(effect or ""))
    return table


def messages(kind: str, found: Iterable[PreflightMessage] | None) -> list[str]:
    """Return a line for each error or warning of a dry-run."""
    return [f"{kind}: {message.message or message.code} ({message.code})" for message in found or ()]


def order_table(orders: Iterable[Order], width: int | None = None) -> Table:
    """Build a table of orders; columns that do not fit into ``width`` are omitted and named below."""
    return table_of(map(order_row, orders), LAYOUT, width)


STYLES: Mapping[str, str] = {"Filled": "green", "Rejected": "red", "Cancelled": "dim", "Expired": "dim"}


def order_style(order: Order) -> str:
    """Return the colour of an order's status on a terminal."""
    return STYLES.get(str(order.status), "")


def order_row(order: Order) -> dict[str, str]:
    """Return the cells of an order by heading."""
    return {
        "id": order.id or "",
        "received (UTC)": f"{order.received_at:%Y-%m-%d %H:%M:%S}" if order.received_at else "",
        "status": str(order.status or ""),
        "what": legs_of(order),
        "type": str(order.order_type or ""),
        "price": plain(order.stop_trigger if order.price is None else order.price),
        "filled": filled(order),
        "external identifier": order.external_identifier or "",
    }


def placement_table(placements: Iterable[Placement]) -> Table:
    """Build a table of recovered placements."""
    table = Table(title="Open entries of the journal", title_justify="left")
    for heading in ("outcome", "account", "external identifier", "order", "journaled (UTC)", "note"):
        table.add_column(heading, overflow="fold")
    for placement in placements:
        table.add_row(
            placement.outcome.value,
            placement.account_number,
            placement.external_identifier,
            placement.order_id,
            f"{placement.opened_at:%Y-%m-%d %H:%M:%S}" if placement.opened_at else "",
            placement.note,
        )
    return table


def legs_of(order: Order, separator: str = ", ") -> str:
    """Return the legs of an order, by default in one line."""
    return separator.join(f"{leg.action} {plain(leg.quantity)} {leg.symbol}" for leg in order.legs or ())


def price_of(order: Order) -> str:
    """Return the net price per unit of the fills so far, or else the limit price; a spread's with its effect."""
    legs = order.legs or ()
    net = net_fill_price(legs)
    effect: object = order.price_effect or ""
    if net is None:
        amount = order.price
    else:
        amount = abs(net)
        effect = PriceEffect.DEBIT if net > 0 else PriceEffect.CREDIT if net < 0 else ""
    return f"{plain(amount)} {effect if len(legs) > 1 else ''}".strip() if amount is not None else ""


def net_fill_price(legs: Sequence[OrderLeg]) -> Decimal | None:
    """Return what one unit has cost on average, negative for a credit; None unless every leg has fills."""
    unit = reduce(_common_measure, (abs(leg.quantity or Decimal(0)) for leg in legs), Decimal(0))
    net = Decimal(0)
    for leg in legs:
        fills = [(fill.quantity, fill.fill_price) for fill in leg.fills or ()]
        known = [(quantity, price) for quantity, price in fills if quantity and price is not None]
        if not known or not leg.quantity or leg.action is None:
            return None
        total = sum((quantity * price for quantity, price in known), Decimal(0))
        average = total / sum((quantity for quantity, _ in known), Decimal(0))
        net += average * (abs(leg.quantity) / unit) * (1 if leg.action.startswith("Buy") else -1)
    return None if not legs else round(net, PLACES) if _places(net) > PLACES else net


PLACES = 4
"""Decimal places that an average price is shown with."""


def _places(amount: Decimal) -> int:
    exponent = amount.as_tuple().exponent
    return -exponent if isinstance(exponent, int) else 0


def _common_measure(first: Decimal, second: Decimal) -> Decimal:
    """Return the greatest common divisor of two quantities, fractions included."""
    while second:
        first, second = second, first % second
    return first


def filled(order: Order) -> str:
    """Return the filled part of the first leg, such as 6/10."""
    for leg in order.legs or ():
        if leg.quantity is not None and leg.remaining_quantity is not None:
            return f"{plain(leg.quantity - leg.remaining_quantity)}/{plain(leg.quantity)}"
    return ""
