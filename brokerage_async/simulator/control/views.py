"""JSON bodies of the control API, and the state of a simulator in them."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from ..._generated.models import OrderStatus
from ..api.brokerage import Brokerage
from ..api.wire import timestamp
from ..faults import FaultPlan
from ..ledger import Ledger
from ..market.instrument import Instrument
from ..market.prices import Prices
from ..state import State
from ..trading.orders import FILLABLE, Order


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """Body of a request. Unknown keys are refused."""


class ClockChange(Body):
    """Change of simulated time: seconds forward, and simulated seconds per second (0 stops it)."""

    advance: float | None = None
    speed: float | None = None


class PriceChange(Body):
    """Price to set and hold. Null gives it back to its source."""

    price: str | None


class FaultRemoval(Body):
    """Fault to remove: all rules with its name, method and path."""

    fault: str
    method: str = "*"
    path: str = ".*"


class FaultRule(FaultRemoval):
    """Fault for the next matching requests; ``times`` of null means all."""

    times: int | None = 1


class RateLimit(Body):
    """Requests per second that are accepted. Null for no limit."""

    requests_per_second: float | None


class FillOrder(Body):
    """Fill of an order. All that remains, at the market price, unless given."""

    quantity: str | None = None
    price: str | None = None


class BustFill(Body):
    """Fill that is made void or, with a price, corrected."""

    fill_id: str
    price: str | None = None


class CashMove(Body):
    """Deposit of dollars in an account, or a withdrawal if negative."""

    amount: str


class PublicList(Body):
    """Public watchlist with symbols of equities."""

    watchlist: str
    symbols: list[str]


class RejectOrder(Body):
    """Rejection of an order that is live or on its way."""

    reason: str = "Rejected by the exchange"


class OrderStatusChoice(Body):
    """Status in which an order is held, by default its own, or that its removal has."""

    status: str | None = None


class SentRequest(Body):
    """Request to the brokerage as its owner: method, encoded target, and the body as it goes over the wire."""

    method: str
    target: str
    body: str | None = None


class ClockView(msgspec.Struct):
    """Simulated time and its speed."""

    time: str
    speed: float


class PriceView(msgspec.Struct):
    """Quote of an underlying; ``is_held`` while a set price replaces its source.

    ``history`` has the last price of each minute of the past hour, oldest first.
    """

    symbol: str
    last: str
    bid: str
    ask: str
    is_held: bool
    history: list[str] = []


class OrderView(msgspec.Struct):
    """Order with its status, its quantities, and the actions that its status allows.

    ``trigger`` says at which price a stop waits, or that it was reached, and what else an order waits for.
    """

    id: str
    account_number: str
    description: str
    trigger: str | None
    status: str
    size: str
    filled: str
    is_terminal: bool
    can_fill: bool
    can_reject: bool
    can_expire: bool
    can_remove: bool
    is_held: bool
    received_at: str | None
    external_identifier: str | None


class FillView(msgspec.Struct):
    """Fill of a leg."""

    id: str
    at: str
    order_id: str
    account_number: str
    action: str
    symbol: str
    quantity: str
    price: str


class PositionView(msgspec.Struct):
    """Holding of an instrument, and of an option delta, theta a day and volatility, which live prices do not have."""

    symbol: str
    quantity: str
    average_price: str
    price: str
    greeks: str | None


class AccountView(msgspec.Struct):
    """Balances and positions of an account."""

    number: str
    kind: str
    cash: str
    equity: str
    buying_power: str
    positions: list[PositionView]


class RequestView(msgspec.Struct):
    """Request that arrived; ``milliseconds`` from its arrival to its answer, null while it is under way."""

    seq: int
    at: str
    method: str
    target: str
    operation: str | None
    status: int | None
    fault: str | None
    processed: bool
    milliseconds: float | None


class EventView(msgspec.Struct):
    """Transition of an order."""

    seq: int
    at: str
    order_id: str
    before: str | None
    after: str


class LedgerView(msgspec.Struct):
    """Requests and transitions, the newest of each."""

    requests: list[RequestView]
    events: list[EventView]


class AlertView(msgspec.Struct):
    """Quote alert."""

    symbol: str
    condition: str
    created_at: str
    triggered_at: str | None


class SentAnswer(msgspec.Struct):
    """Answer of the brokerage to a request that was sent for the caller."""

    status: int
    headers: dict[str, str]
    body: str


class StateView(msgspec.Struct):
    """All that the page shows at a glance."""

    clock: ClockView
    rate_limit: float | str | None
    faults: list[FaultRule]
    prices: list[PriceView]
    orders: list[OrderView]
    fills: list[FillView]
    accounts: list[AccountView]
    alerts: list[AlertView]
    ledger: LedgerView


MAX_ROWS: int = 200
"""Maximum rows of each list; the newest ones are shown."""

MAX_PRICES: int = 24
"""Maximum number of underlyings whose prices are shown."""

_SHOWN = ("AAPL", "MSFT", "SPY")
"""Underlyings whose prices are always shown, beside those that are held or traded."""


def state_view(brokerage: Brokerage, speed: float, now: float) -> StateView:
    state = brokerage.state
    symbols = dict.fromkeys((*_SHOWN, *state.prices.held, *(order.underlying for order in _newest(state))))
    known = [symbol for symbol in symbols if state.prices.is_known(symbol)]
    alerts = (state.alert_monitor.of(customer) for customer in (*state.customers, state.other_customer))
    fills = [
        FillView(
            id=str(fill.fill_id),
            at=str(fill.filled_at),
            order_id=str(order.number),
            account_number=order.account.number,
            action=str(leg.action),
            symbol=leg.instrument.symbol,
            quantity=str(fill.quantity),
            price=str(fill.fill_price),
        )
        for order in _newest(state)
        for leg in order.legs
        for fill in leg.fills
    ]
    return StateView(
        clock=ClockView(time=timestamp(now), speed=speed),
        rate_limit=brokerage.rate_limit,
        faults=fault_views(brokerage.faults),
        prices=[price_view(state.prices, symbol, now) for symbol in known[:MAX_PRICES]],
        orders=order_views(state),
        fills=sorted(fills, key=lambda fill: fill.at, reverse=True)[:MAX_ROWS],
        accounts=[
            AccountView(
                number=account.number,
                kind=account.kind,
                cash=f"{account.cash:.2f}",
                equity=f"{state.margin_calculator.equity(account, now):.2f}",
                buying_power=f"{state.margin_calculator.buying_power(account, now):.2f}",
                positions=[
                    PositionView(
                        symbol=symbol,
                        quantity=f"{position.quantity.normalize():f}",
                        average_price=f"{position.average_price:.4f}",
                        price=str(state.prices.price(position.instrument, now)),
                        greeks=_greeks(state, position.instrument, now),
                    )
                    for symbol, position in account.positions.items()
                ],
            )
            for account in state.own_accounts
        ],
        alerts=[
            AlertView(
                symbol=alert.symbol,
                condition=f"{alert.field} {alert.operator} {alert.threshold}",
                created_at=timestamp(alert.created_at),
                triggered_at=timestamp(alert.triggered_at),
            )
            for held in alerts
            for alert in held[-MAX_ROWS:]
        ],
        ledger=ledger_view(brokerage.ledger),
    )


def price_view(prices: Prices, symbol: str, now: float) -> PriceView:
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
    views = []
    for order in reversed(_newest(state)):
        legs = ", ".join(f"{leg.action} {leg.quantity.normalize():f} {leg.instrument.symbol}" for leg in order.legs)
        conditions = [
            f"{each.symbol or order.underlying} {each.comparator} {each.threshold}"
            + (" (met)" if number in order.condition_hits else "")
            for number, each in enumerate(order.conditions)
        ]
        if order.terms.is_stop:
            conditions.append(f"stop {order.terms.stop_trigger}" + (" (reached)" if order.triggered else ""))
        filled = sum((leg.quantity - leg.remaining for leg in order.legs), Decimal(0))
        price = "" if order.terms.price is None else f" at {order.terms.price}"
        view = OrderView(
            id=str(order.number),
            account_number=order.account.number,
            description=f"{order.terms.order_type}{price}, {order.terms.time_in_force}: {legs}",
            trigger=", ".join(conditions) or None,
            status=order.status,
            size=f"{order.size.normalize():f}",
            filled=f"{filled.normalize():f}",
            is_terminal=order.is_terminal,
            can_fill=order.status in FILLABLE,
            can_reject=order.can_become(OrderStatus.REJECTED),
            can_expire=order.can_become(OrderStatus.EXPIRED),
            can_remove=order.can_become(order.removal),
            is_held=state.exchange.is_frozen(order),
            received_at=timestamp(order.received_at),
            external_identifier=order.terms.external_identifier,
        )
        views.append(view)
    return views


def _greeks(state: State, instrument: Instrument, now: float) -> str | None:
    if not instrument.is_option or state.settings.is_live:
        return None
    theory = state.prices.theory(instrument, now)
    return f"delta {theory.delta:.2f}, theta {theory.theta:.2f}, volatility {theory.volatility:.0%}"


def _newest(state: State) -> list[Order]:
    return state.order_store.of(state.own_accounts)[-MAX_ROWS:]


def fault_views(plan: FaultPlan) -> list[FaultRule]:
    return [FaultRule(method=method, path=path, fault=fault, times=left) for method, path, fault, left in plan.rules()]


def ledger_view(ledger: Ledger) -> LedgerView:
    return LedgerView(
        requests=[
            RequestView(
                seq=record.seq,
                at=timestamp(record.at),
                method=record.method,
                target=record.target,
                operation=record.operation,
                status=record.status,
                fault=record.fault,
                processed=record.processed,
                milliseconds=None if record.elapsed is None else round(record.elapsed * 1000, 1),
            )
            for record in ledger.requests[-MAX_ROWS:]
        ],
        events=[
            EventView(
                seq=event.seq, at=timestamp(event.at), order_id=event.order_id, before=event.before, after=event.after
            )
            for event in ledger.events[-MAX_ROWS:]
        ],
    )
