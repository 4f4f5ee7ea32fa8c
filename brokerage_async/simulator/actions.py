"""Actions of tests and of the control API on the state: each is recorded, and replayed with it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from .market.equities import EquityDefinition
from .market.instrument import Instrument
from .market.quotes import PriceSource, Quote, amount_of
from .state import State
from .trading.order_desk import Interventions


def set_price(state: State, now: float, *, symbol: str, price: str) -> None:
    """Set and hold the price of an underlying."""
    state.prices.set_price(symbol, amount_of("price", price), now)


def release_price(state: State, now: float, *, symbol: str) -> None:
    """Let a held price follow its source again."""
    state.prices.release(symbol, now)


def set_source(state: State, now: float, *, symbol: str, source: PriceSource) -> None:
    """Take the prices of an underlying from a source."""
    state.prices.set_source(symbol, source, now)


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


def set_pace(state: State, now: float, *, pace: float) -> None:
    """Let prices change as often as `Simulator` says."""
    state.prices.set_pace(pace)


def authorize(state: State, now: float, *, address: str) -> str:
    """Consent to an authorization request and return the redirect address."""
    return state.authorization_server.authorize(address, now)


def expire_tokens(state: State, now: float) -> None:
    """Invalidate every access token issued so far."""
    state.authorization_server.expire_tokens()


def revoke(state: State, now: float) -> None:
    """Delete the owner's personal grant."""
    state.authorization_server.personal.revoked = True


def move_cash(state: State, now: float, *, account_number: str, amount: str) -> None:
    """Deposit cash in an account or, if negative, withdraw it."""
    account = state.accounts.get(account_number)
    if account is None:
        raise ValueError(f"account_number must be one of the simulator, got {account_number!r}")
    kind = "Withdrawal" if Decimal(amount) < 0 else "Deposit"
    magnitude = amount_of("amount", amount.removeprefix("-"))
    state.bookkeeping.move_cash(account, kind, magnitude if kind == "Deposit" else -magnitude, now)


def publish_watchlist(state: State, now: float, *, watchlist: str, symbols: Sequence[str]) -> None:
    """Publish a watchlist, or replace the entries of one that is public already."""
    state.public_watchlists.publish(watchlist, symbols, now)


def _intervention(method: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(method)
    def act(state: State, now: float, **arguments: Any) -> None:
        method(state.interventions, now, **arguments)

    return act


_INTERVENTIONS = (
    "fill_order",
    "bust_fill",
    "reject_order",
    "expire_order",
    "remove_order",
    "hold_order",
    "release_order",
)
_OWN = (
    set_price, release_price, set_source, set_pace, take_prices, list_instrument, authorize, expire_tokens, revoke,
    move_cash, publish_watchlist,
)  # fmt: skip
ACTIONS: Mapping[str, Callable[..., Any]] = {
    **{function.__name__: function for function in _OWN},
    **{name: _intervention(getattr(Interventions, name)) for name in _INTERVENTIONS},
}
"""Actions by name. Each takes the state, the time and its own keyword arguments, which are JSON values."""
