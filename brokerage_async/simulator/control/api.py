"""Control API, without I/O: maps a request to a status and a JSON body, and describes itself as OpenAPI.

The operations that change the state are the `actions`: their arguments are the body, their docstrings the summary.
"""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache, partial
from inspect import Parameter, getdoc, signature
from typing import Any
from urllib.parse import unquote

import attrs
import msgspec

from ..._generated.models import OrderStatus
from ..._generated.operations import OAUTH_TOKEN
from ...protocol.request import Request
from ...protocol.response import Response
from ..api.brokerage import Brokerage
from ..api.wire import like, timestamp
from ..clock import Clock
from ..faults import FaultPlan
from ..ledger import Ledger
from ..market.instrument import Instrument
from ..market.prices import Prices
from ..state import State
from ..trading.orders import FILLABLE, Order
from . import actions


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
                symbol=alert.asked.symbol,
                condition=f"{alert.asked.field} {alert.asked.operator} {alert.asked.threshold}",
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
        **{name: str(getattr(quote, name)) for name in ("last", "bid", "ask")},
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
        if order.is_stop:
            conditions.append(f"stop {order.terms.stop_trigger}" + (" (reached)" if order.triggered else ""))
        filled = sum((leg.quantity - leg.remaining for leg in order.legs), Decimal(0))
        price = "" if order.terms.price is None else f" at {order.terms.price}"
        view = like(
            OrderView,
            order,
            id=str(order.number),
            account_number=order.account.number,
            description=f"{order.terms.order_type}{price}, {order.terms.time_in_force}: {legs}",
            trigger=", ".join(conditions) or None,
            size=f"{order.size.normalize():f}",
            filled=f"{filled.normalize():f}",
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
            like(RequestView, one, at=timestamp(one.at), milliseconds=took)
            for one in ledger.requests[-MAX_ROWS:]
            for took in [None if one.elapsed is None else round(one.elapsed * 1000, 1)]
        ],
        events=[like(EventView, one, at=timestamp(one.at)) for one in ledger.events[-MAX_ROWS:]],
    )


_AGENT = {"User-Agent": "control-api/1", "Content-Type": "application/json", "Accept": "application/json"}


@attrs.frozen
class Route:
    """One operation of the control API."""

    method: str
    path: str
    name: str
    summary: str
    answer: Any = None
    body: type[msgspec.Struct] | None = None


MAX_ADVANCE: float = 31 * 86400.0
"""Maximum seconds of one call: everything that happens within them is computed before the answer."""

_CLOCK, _PRICE, _ORDER = "/clock", "/prices/{symbol}", "/orders/{order_id}"
_FAULTS, _ORDERS = list[FaultRule], list[OrderView]


def _acts(path: str, action: Callable[..., Any], answer: Any = None) -> Route:
    """Return the route of an action. Its arguments that are not in the path are the body."""
    name, about = action.__name__, getdoc(action) or ""
    fields = [
        (each.name, each.annotation, *(() if each.default is Parameter.empty else (each.default,)))
        for each in signature(action, eval_str=True).parameters.values()
        if each.kind is Parameter.KEYWORD_ONLY and f"{{{each.name}}}" not in path
    ]
    title = name.title().replace("_", "")
    body = msgspec.defstruct(title, fields, bases=(Body,), namespace={"__doc__": about}) if fields else None
    return Route("POST", path, name, about.partition("\n")[0], answer, body)


CONTROL_ROUTES: tuple[Route, ...] = (
    Route("GET", "/state", "state", "Everything at a glance.", StateView),
    Route("GET", _CLOCK, "clock", "Simulated time.", ClockView),
    Route("PATCH", _CLOCK, "change_clock", "Advance simulated time, or change its speed.", ClockView, ClockChange),
    Route("GET", _PRICE, "price", "Quote of an underlying.", PriceView),
    Route("PUT", _PRICE, "set_price", "Hold a price, or give it back.", PriceView, PriceChange),
    Route("GET", "/faults", "faults", "Faults still to come.", _FAULTS),
    Route("POST", "/faults", "add_fault", "Script a fault.", _FAULTS, FaultRule),
    Route("POST", "/faults/remove", "remove_fault", "Remove a fault.", _FAULTS, FaultRemoval),
    Route("DELETE", "/faults", "clear_faults", "Remove all faults.", _FAULTS),
    Route("PUT", "/rate-limit", "set_rate_limit", "Limit the requests per second.", RateLimit, RateLimit),
    Route("GET", "/orders", "orders", "Newest orders of the owner.", _ORDERS),
    _acts(f"{_ORDER}/fill", actions.fill_order, _ORDERS),
    _acts(f"{_ORDER}/bust", actions.bust_fill, _ORDERS),
    _acts(f"{_ORDER}/reject", actions.reject_order, _ORDERS),
    _acts(f"{_ORDER}/expire", actions.expire_order, _ORDERS),
    _acts(f"{_ORDER}/remove", actions.remove_order, _ORDERS),
    _acts(f"{_ORDER}/hold", actions.hold_order, _ORDERS),
    _acts(f"{_ORDER}/release", actions.release_order, _ORDERS),
    _acts("/accounts/{account_number}/cash", actions.move_cash),
    _acts("/published-watchlists", actions.publish_watchlist),
    Route("GET", "/ledger", "ledger", "Newest requests and transitions of orders.", LedgerView),
    Route("POST", "/requests", "send", "Send a request to the brokerage as its owner.", SentAnswer, SentRequest),
    _acts("/tokens/expire", actions.expire_tokens),
    _acts("/tokens/revoke", actions.revoke),
)
"""Operations of the control API; the page and ``/openapi.json`` are not among them."""


class ControlApi:
    """Operations on a brokerage and its clock, for callers that know the token."""

    def __init__(self, brokerage: Brokerage, clock: Clock, token: str) -> None:
        self._brokerage = brokerage
        self._clock = clock
        self._token = token.encode()
        self._access_token: str | None = None
        as_pattern = partial(re.sub, r"\{(\w+)\}", r"(?P<\1>[^/]+)")
        self._patterns = [(re.compile(as_pattern(route.path)), route) for route in CONTROL_ROUTES]

    @property
    def account(self) -> str:
        """Number of the first account, for examples."""
        state = self._brokerage.state
        return state.accounts.of(state.owner)[0].number

    def is_token(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self._token)

    def handle(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        """Return status and JSON body of the answer to a request with the right token."""
        matches = [(found, route) for pattern, route in self._patterns if (found := pattern.fullmatch(path))]
        for found, route in matches:
            if route.method == method:
                values = {name: unquote(value) for name, value in found.groupdict().items()}
                try:
                    sent = None if route.body is None else msgspec.json.decode(body or b"{}", type=route.body)
                    self._brokerage.advance(self._clock.now())
                    return 200, msgspec.json.encode(self._do(route, values, sent))
                except (ValueError, re.error) as error:  # also of msgspec
                    return _error(422, "invalid", str(error))
                except LookupError as error:
                    return _error(404, "not_found", str(error.args[0] if error.args else error))
        if matches:
            return _error(405, "method_not_allowed", f"use {', '.join(route.method for _, route in matches)}")
        return _error(404, "not_found", f"unknown address {path}; /openapi.json lists them all")

    def _do(self, route: Route, values: Mapping[str, str], body: Any) -> Any:
        """Handle a route, and return its answer: mostly the new state."""
        brokerage, clock, prices = self._brokerage, self._clock, self._brokerage.state.prices
        if "symbol" in values and not prices.is_known(values["symbol"]):
            raise LookupError(f"unknown underlying {values['symbol']}")
        match route.name:
            case "state":
                return state_view(brokerage, clock.speed, clock.now())
            case "change_clock":
                if body.advance is not None and body.advance > MAX_ADVANCE:
                    raise ValueError(f"advance must be at most {MAX_ADVANCE:g} seconds at a time, got {body.advance:g}")
                before = clock.speed
                try:
                    if body.speed is not None:
                        clock.speed = body.speed
                    clock.advance(body.advance or 0.0)
                except ValueError:
                    clock.speed = before
                    raise
                brokerage.advance(clock.now())
            case "set_price" if body.price is None:
                brokerage.act("release_price", clock.now(), **values)
            case "add_fault":
                brokerage.faults.add(body.method, body.path, body.fault, body.times)
            case "remove_fault":
                brokerage.faults.remove(body.method, body.path, body.fault)
            case "clear_faults":
                brokerage.faults.clear()
            case "set_rate_limit":
                rate = body.requests_per_second
                if rate is not None and rate < 0:
                    raise ValueError(f"requests_per_second must not be negative, got {rate}")
                brokerage.rate_limit = rate
                return body
            case "ledger":
                return ledger_view(brokerage.ledger)
            case "send":
                response = self.send(body.method, body.target, body.body, clock.now())
                text = response.body.decode("utf-8", "replace")
                return SentAnswer(status=response.status, headers=dict(response.headers), body=text)
            case "clock" | "price" | "faults" | "orders":
                pass
            case action:
                brokerage.act(action, clock.now(), **values, **({} if body is None else msgspec.structs.asdict(body)))
        if route.answer is ClockView:
            return ClockView(time=clock.time.isoformat(timespec="milliseconds"), speed=clock.speed)
        if route.answer is PriceView:
            return price_view(prices, values["symbol"], clock.now())
        if route.answer is _FAULTS:
            return fault_views(brokerage.faults)
        return order_views(brokerage.state) if route.answer is _ORDERS else None

    def send(self, method: str, target: str, body: str | None, now: float) -> Response:
        """Return the response to a request of the owner, which scripted faults do not meet. A token is renewed once."""
        if not target.startswith("/") or not target.isascii() or not target.isprintable() or " " in target:
            raise ValueError(f"target must be an encoded path such as /watchlists, got {target!r}")
        if self._access_token is None or (response := self._ask(method, target, body, now)).status == 401:
            server = self._brokerage.state.authorization_server
            asked = {
                "grant_type": "refresh_token",
                "refresh_token": server.personals[0].refresh_token,
                "client_secret": server.client_secret,
            }
            self._access_token = None
            renewed = self._ask(OAUTH_TOKEN.method, OAUTH_TOKEN.path, json.dumps(asked), now)
            self._access_token = json.loads(renewed.body).get("access_token") if renewed.status == 200 else None
            response = self._ask(method, target, body, now)
        return response

    def _ask(self, method: str, target: str, body: str | None, now: float) -> Response:
        authorization = {} if self._access_token is None else {"Authorization": f"Bearer {self._access_token}"}
        content = None if body is None else body.encode()
        request = Request(method=method.upper(), url=target, headers={**_AGENT, **authorization}, body=content)
        return self._brokerage.handle(request, now)


def _error(status: int, code: str, message: str) -> tuple[int, bytes]:
    return status, msgspec.json.encode({"error": {"code": code, "message": message}})


_JSON = "application/json"
_STRING = {"type": "string"}
_ENTRY = {"type": "object", "required": ["code", "message"], "properties": {"code": _STRING, "message": _STRING}}
_ERROR = {"type": "object", "required": ["error"], "properties": {"error": _ENTRY}}

_ERROR_CONTENT = {_JSON: {"schema": {"$ref": "#/components/schemas/Error"}}}
_ERRORS = {
    "401": "The token is missing or wrong.",
    "403": "The request comes from a web page.",
    "404": "The order or underlying is unknown.",
    "422": "The body is not valid, or the state does not allow it.",
}


@cache
def description() -> bytes:
    types = [each for route in CONTROL_ROUTES for each in (route.body, route.answer) if each is not None]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    by_type = dict(zip(map(str, types), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in CONTROL_ROUTES:
        answer = {"type": "null"} if route.answer is None else by_type[str(route.answer)]
        operation: dict[str, Any] = {
            "operationId": route.name,
            "summary": route.summary,
            "parameters": [
                {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
                for name in re.findall(r"\{(\w+)\}", route.path)
            ],
            "responses": {
                "200": {"description": "Done.", "content": {_JSON: {"schema": answer}}},
                **{status: {"description": text, "content": _ERROR_CONTENT} for status, text in _ERRORS.items()},
            },
        }
        if route.body is not None:
            operation["requestBody"] = {"required": True, "content": {_JSON: {"schema": by_type[str(route.body)]}}}
        paths.setdefault(route.path, {})[route.method.lower()] = operation
    document = {
        "openapi": "3.1.0",
        "info": {
            "title": "Control API of the simulated brokerage",
            "version": "1",
            "description": "Steers a running simulator: clock, prices, faults, limits, orders, cash, tokens, ledger.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**components, "Error": _ERROR},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
    return msgspec.json.encode(document)
