"""Harness for the brokerage without sockets, at a time that the test controls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any
from urllib.parse import quote

from brokerage_async._generated.models import LegAction, NewOrder, OrderType, TimeInForce
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.models import InstrumentType
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.api.brokerage import Brokerage
from brokerage_async.simulator.api.versions import VERSIONS
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.catalogue import Catalogue, Sizes
from brokerage_async.simulator.market.instrument import Instrument
from brokerage_async.simulator.market.prices import Prices
from brokerage_async.simulator.state import State
from brokerage_async.simulator.trading.accounts import Account, Customer
from brokerage_async.simulator.trading.orders import Leg, Order


class Harness:
    """Simulator whose clock stands still but for ``wait``."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("equities", 200)
        options.setdefault("equity_options", 100)
        options.setdefault("chain_rows", 50)
        options.setdefault("versions", VERSIONS)  # whatever the run is about: requests are written by hand here
        self.sim = Simulator(**options)
        self.sim.clock.speed = 0
        self.headers = {"User-Agent": "simulator-tests/1.0"}
        self.accounts = self.sim.account_numbers
        self.account = self.accounts[0]

    @property
    def brokerage(self) -> Brokerage:
        return self.sim.brokerage

    @property
    def state(self) -> State:
        return self.sim.brokerage.state

    @property
    def now(self) -> float:
        return self.sim.clock.now()

    def ask(self, method: str, target: str, body: Any = None, **headers: str | None) -> Response:
        """Send one request. Keyword arguments add headers, None removes one."""
        changed = {name.replace("_", "-").title(): value for name, value in headers.items()}
        sent = {name: value for name, value in {**self.headers, **changed}.items() if value is not None}
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = Request(method=method, url=f"http://simulator.invalid{target}", headers=sent, body=content)
        return self.brokerage.handle(request, self.now)

    def answered(self, method: str, target: str, body: Any, status: int, **headers: str | None) -> bytes:
        response = self.ask(method, target, body, **headers)
        assert response.status == status, response.body
        return response.body

    def get(self, target: str, **headers: str | None) -> Any:
        return json.loads(self.answered("GET", target, None, 200, **headers))

    def rows(self, target: str) -> list[Any]:
        items: list[Any] = self.get(target)["data"]["items"]
        return items

    def data(self, method: str, target: str, body: Any = None, status: int = 200) -> Any:
        return json.loads(self.answered(method, target, body, status))["data"]

    def error(self, method: str, target: str, body: Any = None, status: int = 422) -> dict[str, Any]:
        return dict(json.loads(self.answered(method, target, body, status))["error"])

    def target(self, operation: str, **values: object) -> str:
        """Return the path of an operation, by default of the first account and its owner."""
        asked, values = OPERATIONS[operation], {"account_number": self.account, "customer_id": "me", **values}
        path = re.sub(r"\{(\w+)\}", lambda name: quote(str(values[name[1]]), safe=""), asked.path)
        return path if asked.host is None else f"/{asked.host}{path}"

    def call(self, operation: str, body: Any = None, **values: object) -> Any:
        """Return the data of a success after checking it against the schema. Values are those of the path."""
        asked = OPERATIONS[operation]
        answer = self.answered(asked.method, self.target(operation, **values), body, asked.status)
        codec.decode(asked, answer, strict=True)
        return json.loads(answer)["data"]

    def decoded(self, operation: str, query: str = "", **values: object) -> Any:
        """Return the models of a successful GET after checking it against the schema. Values are those of the path."""
        answer = self.answered("GET", f"{self.target(operation, **values)}?{query}", None, 200)
        return codec.decode(OPERATIONS[operation], answer, strict=True).value

    def token(self, **body: str) -> Response:
        """Request a token with the owner's refresh token. Keyword arguments change the body."""
        asked = {"refresh_token": self.sim.refresh_token, "client_secret": self.sim.client_secret, **body}
        return self.ask("POST", "/oauth/token", {"grant_type": "refresh_token", **asked}, authorization=None)

    def login(self, **body: str) -> Harness:
        """Use a fresh access token from now on."""
        self.headers["Authorization"] = f"Bearer {json.loads(self.token(**body).body)['access_token']}"
        return self

    def quiet(self) -> Harness:
        """Cancel the complex orders from the start: a long wait looks at their prices each minute."""
        for identifier in self.sim.complex_order_ids.values():
            self.call("complex_orders.cancel", account_number=self.accounts[1], id=identifier)
        return self

    def wait(self, seconds: float) -> None:
        self.sim.clock.advance(seconds)
        self.sim.settle()

    def wait_until(self, moment: str) -> None:
        """Advance the time to an ISO 8601 date-time and renew the token."""
        self.wait(datetime.fromisoformat(moment).timestamp() - self.now)
        self.login()

    # State

    def own(self, number: str | None = None) -> Account:
        account = self.state.accounts.get(number or self.account)
        assert account is not None
        return account

    def instrument(self, symbol: str, kind: str | None = None) -> Instrument:
        found = self.state.catalogue.instrument(kind or kind_of(symbol), symbol)
        assert found is not None
        return found

    # Orders

    def codes(self, body: dict[str, Any], account: str | None = None) -> list[str]:
        """Return the error codes of a dry-run of an order or a complex order, [] if it passes."""
        path = "complex-orders" if "type" in body else "orders"
        answer = self.ask("POST", f"/accounts/{account or self.account}/{path}/dry-run", body)
        error = json.loads(answer.body).get("error")
        assert answer.status == (422 if error else 201)
        return [each.get("code", str(each)) for each in error.get("errors", [error])] if error else []

    def preview(self, body: dict[str, Any], account: str | None = None) -> Any:
        return self.data("POST", f"/accounts/{account or self.account}/orders/dry-run", body, 201)

    def place(self, body: dict[str, Any], account: str | None = None) -> str:
        return str(self.data("POST", f"/accounts/{account or self.account}/orders", body, 201)["order"]["id"])

    def trade(self, body: dict[str, Any], account: str | None = None, seconds: float = 10) -> str:
        """Submit an order, let time pass for its fills, and return its identifier."""
        identifier = self.place(body, account)
        self.wait(seconds)
        return identifier

    def cancel(self, identifier: str) -> Response:
        return self.ask("DELETE", f"/accounts/{self.account}/orders/{identifier}")

    def order(self, identifier: str, account: str | None = None, after: float | str = 0) -> dict[str, Any]:
        """Return an order from the list after some seconds, or at an ISO 8601 date-time."""
        if isinstance(after, str):
            self.wait_until(after)
        elif after:
            self.wait(after)
        rows = self.rows(f"/accounts/{account or self.account}/orders?per-page=200")
        (found,) = [row for row in rows if str(row["id"]) == identifier]
        return dict(found)

    def status(self, identifier: str, account: str | None = None, after: float | str = 0) -> str:
        return str(self.order(identifier, account, after)["status"])

    def fills(self, identifier: str) -> list[tuple[Decimal, Decimal]]:
        found = [fill for each in self.order(identifier)["legs"] for fill in each["fills"]]
        return [(Decimal(str(fill["quantity"])), Decimal(fill["fill-price"])) for fill in found]

    def first_complex_order(self, kind: str) -> dict[str, str]:
        """Return the place of the complex order of a type that the second account has from the start."""
        return {"account_number": self.accounts[1], "id": self.sim.complex_order_ids[kind]}

    def history(self, identifier: str) -> list[str]:
        return [event.after for event in self.brokerage.ledger.events if event.order_id == identifier]

    # Alerts

    def alert(self, operator: str = ">", threshold: str = "250.00", **change: Any) -> str:
        body = {"field": "Last", "operator": operator, "symbol": "AAPL", "threshold": threshold, **change}
        return str(self.data("POST", "/quote-alerts", body, 201)["alert-external-id"])

    # Backtests

    def backtest(self, **change: Any) -> str:
        response = self.ask("POST", "/backtester/backtests", strategy(**change))
        assert response.status in (200, 201), response.body
        return str(json.loads(response.body)["id"])


def switched(behaviour: str, on: Any, off: Any, **options: Any) -> Iterator[tuple[Harness, Any]]:
    """Yield a brokerage that has a behaviour, with the expectation, then one without it, with its own."""
    yield Harness(**options).login(), on
    yield Harness(without=[behaviour], **options).login(), off


class Peer:
    def __init__(self, harness: Harness, path: str) -> None:
        self.harness = harness
        self.session: Any = harness.brokerage.streams.open(path, harness.now)
        self.received: list[dict[str, Any]] = []
        self.closed = False
        self.session.connect(lambda text, _: self.received.append(json.loads(text)), self.close)

    def close(self) -> None:
        self.closed = True


EDIT = {"order-type": "Limit", "time-in-force": "Day", "price": "101.00"}
"""A change of an order's price; it rests as before."""


CALL, HIGHER_CALL = "AAPL  260717C00200000", "AAPL  260717C00210000"


def kind_of(symbol: str) -> str:
    if symbol.startswith("."):
        return "Future Option"
    if symbol.startswith("/"):
        return "Future"
    if symbol.endswith("/USD"):
        return "Cryptocurrency"
    return "Equity Option" if len(symbol) == 21 else "Equity"


def leg(symbol: str = "AAPL", quantity: str | None = "10", action: str = "Buy to Open", kind: str | None = None) -> Any:
    fields = {"symbol": symbol, "instrument-type": kind or kind_of(symbol), "action": action, "quantity": quantity}
    return {name: value for name, value in fields.items() if value is not None}


def limit(price: str = "100.00", *legs: Any, effect: str = "Debit", **more: Any) -> dict[str, Any]:
    """Build a limit order body, which rests at its default price."""
    terms = {"order-type": "Limit", "time-in-force": "Day", "price": price, "price-effect": effect}
    return {**terms, "legs": list(legs) or [leg()], **{name.replace("_", "-"): value for name, value in more.items()}}


def market(*legs: Any, **more: Any) -> dict[str, Any]:
    terms = {"order-type": "Market", "time-in-force": "Day", "legs": list(legs) or [leg()]}
    return {**terms, **{name.replace("_", "-"): value for name, value in more.items()}}


def notional(value: str = "10", symbol: str = "AAPL") -> dict[str, Any]:
    """Build a market order for an amount of money."""
    return market(leg(symbol, None), order_type="Notional Market", value=value, value_effect="Debit")


def condition(symbol: str, comparator: str, threshold: str) -> dict[str, Any]:
    """Build a condition on the last price of an equity, which routes an order."""
    terms = {"action": "route", "symbol": symbol, "instrument-type": "Equity", "indicator": "last"}
    return {**terms, "comparator": comparator, "threshold": threshold}


def spread(bought: str = "1", sold: str = "1", price: str = "50.00") -> dict[str, Any]:
    """Build a spread of two calls, which fills at its default price."""
    return limit(price, leg(CALL, bought), leg(HIGHER_CALL, sold, "Sell to Open"))


def strategy(*legs: Any, **change: Any) -> dict[str, Any]:
    """Build the body of a backtest over four weeks, by default of short puts."""
    days = {"symbol": "AAPL", "startDate": "2026-03-02", "endDate": "2026-03-27"}
    return {**days, "legs": list(legs) or [option_leg()], "entryConditions": {}, "exitConditions": {}, **change}


def option_leg(**change: Any) -> dict[str, Any]:
    """Build a leg of a backtest, by default a short put with a delta of 20."""
    terms = {"type": "equity-option", "direction": "short", "side": "put", "quantity": 1, "daysUntilExpiration": 45}
    return {**terms, "strikeSelection": "delta", "delta": 20, **change}


def exits(profit: str = "400.00") -> list[dict[str, Any]]:
    """Build a profit limit and a stop for ten shares, which rest at their default prices."""
    sale = leg(action="Sell to Close")
    stop = {"order-type": "Stop", "time-in-force": "GTC", "stop-trigger": "50.00", "legs": [sale]}
    return [limit(profit, sale, effect="Credit", time_in_force="GTC"), stop]


COMPLEX_ORDERS: dict[str, dict[str, Any]] = {
    "OTOCO": {"type": "OTOCO", "trigger-order": limit(), "orders": exits()},
    "OTO": {"type": "OTO", "trigger-order": limit(), "orders": exits()[:1]},
    "OCO": {"type": "OCO", "orders": exits()},
    "PAIRS": {
        "type": "PAIRS",
        "orders": [market(), market(leg("MSFT", action="Sell to Open"))],
        "ratio-price-comparator": "lte",
        "ratio-price-threshold": "0.01",
    },
}
"""Bodies of complex orders that rest, by type."""


def signed(fields: dict[str, Any], name: str) -> Decimal:
    """Return a signed amount from its unsigned value and effect: paid or required is negative."""
    amount = Decimal(fields[name])
    assert amount >= 0
    return -amount if fields[f"{name}-effect"] == "Debit" else amount


def check_effect(placed: dict[str, Any]) -> None:
    effect, fees = placed["buying-power-effect"], placed["fee-calculation"]
    change = signed(effect, "change-in-buying-power")
    assert signed(effect, "current-buying-power") + change == signed(effect, "new-buying-power")
    assert change == signed(effect, "change-in-margin-requirement") + signed(fees, "total-fees")
    names = ("regulatory-fees", "clearing-fees", "commission", "proprietary-index-option-fees")
    assert sum(signed(fees, name) for name in names) == signed(fees, "total-fees")
    assert Decimal(effect["impact"]) == abs(change)


START = 1_781_100_000.0
"""2026-06-10T14:00:00Z, a Wednesday, in epoch seconds."""


def market_prices(seed: int = 0, start: float = START) -> Prices:
    """Build the prices of a market with fifty equities."""
    random = KeyedRandom(seed)
    return Prices(Catalogue(Sizes(equities=50), random, start), random)


def lone_order(number: int = 7) -> Order:
    """Build a buy of one share, as a day order at 5 that is in no store."""
    share = Instrument(symbol="X", instrument_type=InstrumentType.EQUITY, underlying="X")
    account = Account(number="A", customer=Customer(1, "one"), kind="Margin", cash=Decimal(1000))
    terms = NewOrder(legs=(), order_type=OrderType.LIMIT, time_in_force=TimeInForce.DAY, price=Decimal(5))
    legs = [Leg(share, LegAction.BUY_TO_OPEN, Decimal(1), Decimal(1))]
    return Order(number=number, account=account, legs=legs, terms=terms)
