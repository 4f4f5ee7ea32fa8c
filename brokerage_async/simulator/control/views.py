"""Views of the state of a simulator, as the control API and the page show it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from decimal import Decimal

from ..._generated.models import OrderStatus
from ..accounts.accounts import Account
from ..api.brokerage import Brokerage
from ..faults import FaultPlan
from ..ledger import Ledger
from ..market.prices import Prices
from ..state import State
from ..trading.interventions import Interventions
from ..trading.orders import Order
from .bodies import (
    AccountView,
    AlertView,
    ClockView,
    EventView,
    FaultRule,
    FillView,
    LedgerView,
    OrderView,
    PositionView,
    PriceView,
    RequestView,
    StateView,
)

__all__ = ["MAX_ROWS", "fault_views", "ledger_view", "order_views", "price_view", "state_view"]

MAX_ROWS: int = 200
"""Maximum rows of each list; the newest ones are shown."""

MAX_PRICES: int = 24
"""Maximum number of underlyings whose prices are shown."""

_SHOWN = ("AAPL", "MSFT", "SPY")
"""Underlyings whose prices are always shown, beside those that are held or traded."""


def _time(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def state_view(brokerage: Brokerage, speed: float, now: float) -> StateView:
    """Return everything that the page shows."""
    state = brokerage.state
    symbols = dict.fromkeys((*_SHOWN, *state.prices.held, *_traded(state)))
    alerts = (state.alert_monitor.of(customer) for customer in (state.owner, state.other_customer))
    return StateView(
        clock=ClockView(time=_time(now) or "", speed=speed),
        rate_limit=brokerage.rate_limit,
        faults=fault_views(brokerage.faults),
        prices=[price_view(state.prices, symbol, now) for symbol in list(symbols)[:MAX_PRICES]],
        orders=order_views(state),
        fills=_fills(state),
        accounts=[_account(state, account, now) for account in state.accounts.of(state.owner)],
        alerts=[
            AlertView(
                symbol=alert.symbol,
                condition=f"{alert.field} {alert.operator} {alert.threshold}",
                created_at=_time(alert.created_at) or "",
                triggered_at=_time(alert.triggered_at),
            )
            for held in alerts
            for alert in held[-MAX_ROWS:]
        ],
        ledger=ledger_view(brokerage.ledger, 0),
    )


def _traded(state: State) -> Iterable[str]:
    return (order.underlying for order in state.order_store.of(state.accounts.of(state.owner))[-MAX_ROWS:])


def price_view(prices: Prices, symbol: str, now: float) -> PriceView:
    """Return the quote of an underlying."""
    quote = prices.underlying_quote(symbol, now)
    return PriceView(
        symbol=symbol,
        last=str(quote.last),
        bid=str(quote.bid),
        ask=str(quote.ask),
        is_held=symbol in prices.held,
        history=[str(prices.underlying_price(symbol, now - 60 * minutes)) for minutes in range(60, -1, -1)],
    )


def order_views(state: State) -> list[OrderView]:
    """Return the newest orders of the owner, newest first."""
    orders = state.order_store.of(state.accounts.of(state.owner))
    return [_order(order, state.interventions) for order in reversed(orders[-MAX_ROWS:])]


def _fills(state: State) -> list[FillView]:
    """Return the newest fills of the owner, newest first."""
    orders = state.order_store.of(state.accounts.of(state.owner))
    found = [
        FillView(
            at=str(fill.filled_at),
            order_id=str(order.number),
            account_number=order.account.number,
            action=str(leg.action),
            symbol=leg.instrument.symbol,
            quantity=str(fill.quantity),
            price=str(fill.fill_price),
        )
        for order in orders[-MAX_ROWS:]
        for leg in order.legs
        for fill in leg.fills
    ]
    return sorted(found, key=lambda fill: fill.at, reverse=True)[:MAX_ROWS]


def _order(order: Order, interventions: Interventions) -> OrderView:
    legs = ", ".join(f"{leg.action} {leg.quantity.normalize():f} {leg.instrument.symbol}" for leg in order.legs)
    filled = sum((leg.quantity - leg.remaining for leg in order.legs), Decimal(0))
    price = "" if order.terms.price is None else f" at {order.terms.price}"
    return OrderView(
        id=str(order.number),
        account_number=order.account.number,
        description=f"{order.terms.order_type}{price}, {order.terms.time_in_force}: {legs}",
        status=order.status,
        size=f"{order.size.normalize():f}",
        filled=f"{filled.normalize():f}",
        is_terminal=order.is_terminal,
        can_fill=interventions.can_fill(order),
        can_reject=interventions.can_become(order, OrderStatus.REJECTED),
        can_expire=interventions.can_become(order, OrderStatus.EXPIRED),
        received_at=_time(order.received_at),
        external_identifier=order.terms.external_identifier,
    )


def _account(state: State, account: Account, now: float) -> AccountView:
    calculator = state.margin_calculator
    return AccountView(
        number=account.number,
        kind=account.kind,
        cash=f"{account.cash:.2f}",
        equity=f"{calculator.equity(account, now):.2f}",
        buying_power=f"{calculator.buying_power(account, now):.2f}",
        positions=[
            PositionView(
                symbol=symbol,
                quantity=f"{position.quantity.normalize():f}",
                average_price=f"{position.average_price:.4f}",
                price=str(state.prices.price(position.instrument, now)),
            )
            for symbol, position in account.positions.items()
        ],
    )


def fault_views(plan: FaultPlan) -> list[FaultRule]:
    """Return the faults still to come."""
    return [FaultRule(method=method, path=path, fault=fault, times=left) for method, path, fault, left in plan.rules()]


def ledger_view(ledger: Ledger, after: int) -> LedgerView:
    """Return the newest requests and transitions whose sequence number is beyond ``after``."""
    return LedgerView(
        requests=[
            RequestView(
                seq=record.seq,
                at=_time(record.at) or "",
                method=record.method,
                target=record.target,
                operation=record.operation,
                status=record.status,
                fault=record.fault,
                processed=record.processed,
                milliseconds=None if record.elapsed is None else round(record.elapsed * 1000, 1),
            )
            for record in ledger.requests[max(after, len(ledger.requests) - MAX_ROWS) :]
        ],
        events=[
            EventView(
                seq=event.seq, at=_time(event.at) or "", order_id=event.order_id, before=event.before, after=event.after
            )
            for event in ledger.events[max(after, len(ledger.events) - MAX_ROWS) :]
        ],
    )
