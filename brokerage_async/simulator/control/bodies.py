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
    "FaultRemoval",
    "FaultRule",
    "FillOrder",
    "FillView",
    "LedgerView",
    "OrderView",
    "PositionView",
    "PriceChange",
    "PriceView",
    "RateLimit",
    "RejectOrder",
    "RequestView",
    "SentAnswer",
    "SentRequest",
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


class FaultRemoval(Body):
    """Fault to remove: all rules with its name, method and path."""

    fault: str
    method: str = "*"
    path: str = ".*"


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


class SentRequest(Body):
    """Request to the brokerage as its owner: method, encoded target, and the body as it goes over the wire."""

    method: str
    target: str
    body: str | None = None


class ClockView(View):
    """Simulated time and its speed."""

    time: str
    speed: float


class PriceView(View):
    """Quote of an underlying; ``is_held`` while a set price replaces its source.

    ``history`` has the last price of each minute of the past hour, oldest first.
    """

    symbol: str
    last: str
    bid: str
    ask: str
    is_held: bool
    history: list[str] = []


class OrderView(View):
    """Order with its status, its quantities, and the actions that its status allows."""

    id: str
    account_number: str
    description: str
    status: str
    size: str
    filled: str
    is_terminal: bool
    can_fill: bool
    can_reject: bool
    can_expire: bool
    received_at: str | None
    external_identifier: str | None


class FillView(View):
    """Fill of a leg."""

    at: str
    order_id: str
    account_number: str
    action: str
    symbol: str
    quantity: str
    price: str


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


class SentAnswer(View):
    """Answer of the brokerage to a request that was sent for the caller."""

    status: int
    headers: dict[str, str]
    body: str


class StateView(View):
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
