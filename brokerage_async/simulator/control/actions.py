"""Actions of tests and of the control API on the state: each is recorded, and replayed with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from ..._generated.models import OrderStatus
from ..market.catalogue import EquityDefinition
from ..market.instrument import Instrument
from ..market.quotes import Quote, amount_of
from ..state import State
from ..trading.orders import FILLABLE, Order


def take_prices(state: State, now: float, *, quotes: Mapping[str, Mapping[str, Any]], silence: str) -> None:
    """Take the quotes that a live source shows, and why it shows none, if so."""
    if silence != state.prices.silence:
        state.ledger.price_gap(now, silence)
    shown = {symbol: {key: each and Decimal(each) for key, each in quote.items()} for symbol, quote in quotes.items()}
    state.prices.take({symbol: Quote(since=now, **quote) for symbol, quote in shown.items()}, silence, now)


def list_instrument(
    state: State, now: float, *, instrument: Mapping[str, Any], equity: Mapping[str, Any] | None
) -> None:
    """List an instrument of a live source, with the share or index that it belongs to."""
    found = msgspec.convert(instrument, Instrument)
    state.catalogue.listed[found.instrument_type, found.symbol] = found
    if equity is not None:
        state.catalogue.listed_equities[found.underlying] = msgspec.convert(equity, EquityDefinition)


def expire_tokens(state: State, now: float) -> None:
    """Invalidate all access tokens."""
    state.authorization_server.expire_tokens()


def revoke(state: State, now: float) -> None:
    """Delete the owner's grant."""
    state.authorization_server.personals[0].revoked = True


def move_cash(state: State, now: float, *, account_number: str, amount: str) -> None:
    """Deposit or withdraw cash.

    The ``amount`` in dollars is deposited, or withdrawn if negative.
    """
    account = state.accounts.get(account_number)
    if account is None:
        raise ValueError(f"account_number must be one of the simulator, got {account_number!r}")
    magnitude = amount_of("amount", amount.removeprefix("-"))
    is_deposit = not amount.startswith("-")
    state.bookkeeping.move_cash(account, *("Deposit", magnitude) if is_deposit else ("Withdrawal", -magnitude), now)


def publish_watchlist(state: State, now: float, *, watchlist: str, symbols: Sequence[str]) -> None:
    """Publish a watchlist.

    It has the ``symbols`` of equities, or replaces the entries of one that is public already.
    """
    state.public_watchlists.publish(watchlist, symbols, now)


# Interventions in the life of an order, whatever the market does. Each raises ValueError where the status forbids it.

_REMOVALS = (OrderStatus.REMOVED, OrderStatus.PARTIALLY_REMOVED, OrderStatus.REMOVE_PENDING, OrderStatus.DEAD)
_SCHEDULED = (*FILLABLE, OrderStatus.CONTINGENT, OrderStatus.REMOVE_PENDING, OrderStatus.FILLED)


def _found(state: State, order_id: str, status: OrderStatus | None = None) -> Order:
    """Return an order, which must be able to become ``status``, if given."""
    order = state.order_store.find(order_id)
    if order is None:
        raise LookupError(f"unknown order {order_id}")
    if status is not None and not order.can_become(status):
        raise ValueError(f"order {order.number} cannot become {status}, it is {order.status}")
    return order


def fill_order(
    state: State, now: float, *, order_id: str, quantity: str | None = None, price: str | None = None
) -> None:
    """Fill an order, whole or in part.

    At once, up to ``quantity`` of its first leg, at ``price`` or at market prices.
    """
    order, wanted = _found(state, order_id), None if quantity is None else amount_of("quantity", quantity)
    paid = None if price is None else amount_of("price", price)
    if order.status not in FILLABLE:
        raise ValueError(f"order {order.number} must be on its way or live to be filled, it is {order.status}")
    if paid is not None and len(order.legs) > 1:
        raise ValueError(f"price must be left out for order {order.number}, which has {len(order.legs)} legs")
    remaining, units = order.legs[0].remaining, order.units
    part = units if wanted is None else wanted * units / remaining
    if not 0 < part <= units or part != int(part):
        raise ValueError(f"quantity must be a multiple of {remaining / units:f} up to {remaining:f}, got {wanted}")
    if order.status is OrderStatus.RECEIVED or order.is_on_its_way:
        state.exchange.make_live(order, now)
    state.exchange.fill(order, int(part), now, paid)
    if not order.is_terminal:
        state.exchange.evaluate(order, now)


def bust_fill(state: State, now: float, *, order_id: str, fill_id: str, price: str | None = None) -> None:
    """Make a fill void, or correct its price."""
    corrected = None if price is None else amount_of("price", price)
    state.exchange.bust(_found(state, order_id), fill_id, now, corrected)


def reject_order(state: State, now: float, *, order_id: str, reason: str = "Rejected by the exchange") -> None:
    """Reject a live order, or one on its way."""
    state.exchange.reject(_found(state, order_id, OrderStatus.REJECTED), reason, now)


def expire_order(state: State, now: float, *, order_id: str) -> None:
    """Expire a working order."""
    state.exchange.expire(_found(state, order_id, OrderStatus.EXPIRED), now)


def remove_order(state: State, now: float, *, order_id: str, status: str | None = None) -> None:
    """Remove an order as an administrator.

    It gets one of the statuses of that, by default ``Removed`` or ``Partially Removed``.
    """
    wanted = _found(state, order_id).removal if status is None else OrderStatus(status)
    if wanted not in _REMOVALS:
        raise ValueError(f"status must be one of {', '.join(_REMOVALS)}, got {status!r}")
    state.exchange.remove(_found(state, order_id, wanted), wanted, now)


def hold_order(state: State, now: float, *, order_id: str, status: str | None = None) -> None:
    """Keep an order, or all (*), in a status.

    Nothing that is scheduled happens to it while it is in that status, by default its own. In `Filled`, the fills of
    further legs wait.
    """
    if order_id != "*":
        status = status or _found(state, order_id).status
    if status not in _SCHEDULED:
        raise ValueError(f"status must be one of {', '.join(_SCHEDULED)}, got {status!r}")
    state.exchange.freeze(order_id, OrderStatus(status))


def release_order(state: State, now: float, *, order_id: str) -> None:
    """Let an order, or all (*), go on.

    Events that have become due happen now.
    """
    state.exchange.thaw(order_id, now)


_FUNCTIONS = (
    take_prices, list_instrument, expire_tokens, revoke, move_cash, publish_watchlist, fill_order, bust_fill,
    reject_order, expire_order, remove_order, hold_order, release_order,
)  # fmt: skip
ACTIONS: Mapping[str, Callable[..., Any]] = {
    "set_price": lambda state, now, *, symbol, price: state.prices.set_price(symbol, amount_of("price", price), now),
    "release_price": lambda state, now, *, symbol: state.prices.release(symbol, now),
    "set_source": lambda state, now, *, symbol, source: state.prices.set_source(symbol, source, now),
    "set_pace": lambda state, now, *, pace: state.prices.set_pace(pace),
    "authorize": lambda state, now, *, address: state.authorization_server.authorize(address, now),
    **{function.__name__: function for function in _FUNCTIONS},
}
"""Actions by name. Each takes the state, the time and its own keyword arguments, which are JSON values."""
