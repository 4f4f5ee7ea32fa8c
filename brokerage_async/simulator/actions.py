"""Actions of tests and of the control API on the state: each is recorded, and replayed with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from .market.quotes import PriceSource, check_price
from .state import State


def _decimal(name: str, value: object) -> Decimal:
    """Return a price or quantity, which have the same bounds."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{name} must be a number, got {value!r}") from None
    if not number.is_finite() or number <= 0:
        raise ValueError(f"{name} must be positive, got {value}")
    return check_price(name, number)


def set_price(state: State, now: float, *, symbol: str, price: str) -> None:
    """Set and hold the price of an underlying."""
    state.prices.set_price(symbol, _decimal("price", price), now)


def release_price(state: State, now: float, *, symbol: str) -> None:
    """Let a held price follow its source again."""
    state.prices.release(symbol, now)


def set_source(state: State, now: float, *, symbol: str, source: PriceSource) -> None:
    """Take the prices of an underlying from a source."""
    state.prices.set_source(symbol, source, now)


def authorize(state: State, now: float, *, address: str) -> str:
    """Consent as the owner to an authorization request and return the redirect address."""
    return state.authorization_server.authorize(address, state.owner, now)


def expire_tokens(state: State, now: float) -> None:
    """Invalidate every access token issued so far."""
    state.authorization_server.expire_tokens()


def revoke(state: State, now: float) -> None:
    """Delete the owner's personal grant."""
    state.authorization_server.personal.revoked = True


def fill_order(
    state: State, now: float, *, order_id: str, quantity: str | None = None, price: str | None = None
) -> None:
    """Fill an order at once, whole or in part, at its market price or at ``price``."""
    order = state.interventions.find(order_id)
    wanted = None if quantity is None else _decimal("quantity", quantity)
    state.interventions.fill(order, wanted, None if price is None else _decimal("price", price), now)


def reject_order(state: State, now: float, *, order_id: str, reason: str = "Rejected by the exchange") -> None:
    """Reject an order that is live or on its way."""
    state.interventions.reject(state.interventions.find(order_id), reason, now)


def expire_order(state: State, now: float, *, order_id: str) -> None:
    """Expire a working order."""
    state.interventions.expire(state.interventions.find(order_id), now)


def remove_order(state: State, now: float, *, order_id: str, status: str | None = None) -> None:
    """Remove an order as an administrator does."""
    state.interventions.remove(state.interventions.find(order_id), status, now)


def hold_order(state: State, now: float, *, order_id: str, status: str | None = None) -> None:
    """Keep an order, or all, in a status."""
    state.interventions.hold(order_id, status)


def release_order(state: State, now: float, *, order_id: str) -> None:
    """Let an order, or all, go on."""
    state.interventions.release(order_id, now)


def move_cash(state: State, now: float, *, account_number: str, amount: str) -> None:
    """Deposit cash in an account or, if negative, withdraw it."""
    account = state.accounts.get(account_number)
    if account is None:
        raise ValueError(f"account_number must be one of the simulator, got {account_number!r}")
    kind = "Withdrawal" if Decimal(amount) < 0 else "Deposit"
    magnitude = _decimal("amount", amount.removeprefix("-"))
    state.bookkeeping.move_cash(account, kind, magnitude if kind == "Deposit" else -magnitude, now)


def publish_watchlist(state: State, now: float, *, watchlist: str, symbols: Sequence[str]) -> None:
    """Publish a watchlist, or replace the entries of one that is public already."""
    state.public_watchlists.publish(watchlist, symbols, now)


ACTIONS: Mapping[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        set_price, release_price, set_source, authorize, expire_tokens, revoke, fill_order, reject_order, expire_order,
        remove_order, hold_order, release_order, move_cash, publish_watchlist,
    )
}  # fmt: skip
"""Actions by name. Each takes the state, the time and its own keyword arguments, which are JSON values."""
