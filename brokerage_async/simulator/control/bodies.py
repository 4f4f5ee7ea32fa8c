"""JSON bodies of the control API."""

from __future__ import annotations

import msgspec

__all__ = [
    "AccountView",
    "AlertView",
    "Body",
    "ClockChange",
    "ClockView",
    "EventView",
    "FaultRule",
    "FillOrder",
    "LedgerView",
    "OrderView",
    "PositionView",
    "PriceChange",
    "PriceView",
    "RateLimit",
    "RejectOrder",
    "RequestView",
    "StateView",
    "View",
]


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """Body of a request; unknown keys are refused."""


class View(msgspec.Struct):
    """Part of a response."""


class ClockChange(Body):
    """Change of simulated time: seconds forward, and simulated seconds per second (0 stops it)."""

    advance: float | None = None
    speed: float | None = None


class PriceChange(Body):
    """Price to set and hold; null gives it back to its source."""

    price: str | None


class FaultRule(Body):
    """Fault for the next matching requests; ``times`` of null means all."""

    fault: str
    method: str = "*"
    path: str = ".*"
    times: int | None = 1


class RateLimit(Body):
    """Requests per second that are accepted; null for no limit."""

    requests_per_second: float | None


class FillOrder(Body):
    """Fill of an order; all that remains, at the market price, unless given."""

    quantity: str | None = None
    price: str | None = None


class RejectOrder(Body):
    """Rejection of an order that is not live yet."""

    reason: str = "Rejected by the exchange"


class ClockView(View):
    """Simulated time and its speed."""

    time: str
    speed: float


class PriceView(View):
    """Quote of an underlying; ``is_held`` while a set price replaces its source."""

    symbol: str
    last: str
    bid: str
    ask: str
    is_held: bool


class OrderView(View):
    """Order with its status and quantities."""

    id: str
    account_number: str
    description: str
    status: str
    size: str
    filled: str
    is_terminal: bool
    received_at: str | None
    external_identifier: str | None


class PositionView(View):
    """Holding of an instrument."""

    symbol: str
    quantity: str
    average_price: str
    price: str


class AccountView(View):
    """Balances and positions of an account."""

    number: str
    kind: str
    cash: str
    equity: str
    buying_power: str
    positions: list[PositionView]


class RequestView(View):
    """Request that arrived."""

    seq: int
    at: str
    method: str
    target: str
    operation: str | None
    status: int | None
    fault: str | None
    processed: bool


class EventView(View):
    """Transition of an order."""

    seq: int
    at: str
    order_id: str
    before: str | None
    after: str


class LedgerView(View):
    """Requests and transitions, the newest of each."""

    requests: list[RequestView]
    events: list[EventView]


class AlertView(View):
    """Quote alert."""

    symbol: str
    condition: str
    created_at: str
    triggered_at: str | None


class StateView(View):
    """All that the page shows at a glance."""

    clock: ClockView
    rate_limit: float | None
    faults: list[FaultRule]
    prices: list[PriceView]
    orders: list[OrderView]
    accounts: list[AccountView]
    alerts: list[AlertView]
    ledger: LedgerView
