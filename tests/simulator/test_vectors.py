"""Exchanges from the service document, replayed against the simulator.

The values of a response are the simulator's own. The tests compare the status, that the body matches the schema
strictly, and the class of the error.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import read_error
from brokerage_async.simulator import faults
from tests.simulator.harness import Harness, leg, limit
from tests.tables import for_each
from tests.vectors import EXCHANGES, REFUSALS
from tests.vectors.exchange import ACCOUNT, CUSTOMER, Exchange

START = datetime(2026, 4, 15, 15, tzinfo=UTC)
"""After the past dates of the vectors, and before their future ones."""

SYMBOLS = {
    "EXMWS%2FA": "AAPLW",
    "EXMWS": "AAPLW",
    "EXM%2FB": "BRK%2FB",
    "option-chains/BRK%2FB": "option-chains/AAPL",
    "QNTX": "AAPL",
    "Tom%27s%20Watchlist": "Trader%27s%20ETFs",
    "future-option-products/EW3": "future-option-products/ES3",
    "future-option-products/CME/EW3": "future-option-products/CME/ES3",
}

AT_ONCE = "backtests.create: complete at once"
"""Here this takes a range of days that is short."""

NOT_AN_EQUITY = "market_metrics.dividends: numbers for decimals"


def staged(exchange: Exchange, make: Callable[..., Harness] = Harness, **options: Any) -> Harness:
    """Build a brokerage that accepts the request of an exchange."""
    environment = "production" if OPERATIONS[exchange.operation].production_only else "sandbox"
    # The document has orders for cryptocurrencies, amounts above the price of a share, and searches by any type.
    left_out = ["cryptocurrency_orders_are_off", "fractions_are_small_market_orders"]
    left_out += ["order_searches_take_three_underlying_types"]
    return make(environment=environment, start=START, without=left_out, **options).login()


def translated(exchange: Exchange, harness: Harness) -> tuple[str, bytes | None]:
    """Return target and body of an exchange with the identifiers of a brokerage."""
    complex_order = exchange.operation.startswith("complex_orders.")
    host = OPERATIONS[exchange.operation].host
    names = {
        ACCOUNT: harness.accounts[1] if complex_order else harness.account,
        "5WT00002": harness.accounts[2],
        "5WT99999": harness.sim.foreign_account_number,
        str(CUSTOMER): harness.sim.customer_id,
        "complex-orders/310": f"complex-orders/{harness.sim.complex_order_ids['OTOCO']}",
        "complex-orders/311": f"complex-orders/{harness.sim.complex_order_ids['PAIRS']}",
        "complex-orders/5/": f"complex-orders/{harness.sim.complex_order_ids['PAIRS']}/",
        "complex-orders/2147480001": f"complex-orders/{harness.sim.complex_order_ids['OTOCO']}",
        "invented-refresh": harness.sim.refresh_token,
        "invented-secret": harness.sim.client_secret,
        "invented-client": harness.sim.client_id,
        "https://app.example.com/done": harness.sim.redirect_uri,
        **SYMBOLS,
    }
    if "QNTX%20%20" in exchange.target:
        names = {"QNTX%20%20261218C00045000": first_symbol(harness, "/option-chains/AAPL")} | names
    if exchange.operation == "instruments.future_option":
        names[".%2FESH7%20EW3F7%20270115C6900"] = first_symbol(harness, "/futures-option-chains/ES")
    if exchange.operation.startswith("watchlists."):
        for name in ("Old", "High IV/2026"):
            harness.ask("POST", "/watchlists", {"name": name, "watchlist-entries": [{"symbol": "AAPL"}]})
    if exchange.operation == "transactions.get":
        names["90210"] = str(harness.rows(f"/accounts/{harness.account}/transactions")[0]["id"])
    if exchange.operation == "orders.get":
        names["700100"] = harness.place(limit())
    if "5475882" in exchange.target:
        order = harness.trade(limit("401.05", leg("BRK/B"), time_in_force="GTC"), seconds=2)
        names |= {"54758826": order, "54758827": order}
    if "bt-0a2" in exchange.target:
        names["bt-0a2"] = harness.backtest()
    if str(exchange) == AT_ONCE:
        names["2024-12-31"] = "2024-01-05"
    if "invented-code" in (exchange.sent or ""):
        asked = {"client_id": harness.sim.client_id, "redirect_uri": harness.sim.redirect_uri, "response_type": "code"}
        server, address = harness.state.authorization_server, f"{harness.sim.auth_page_url}?{urlencode(asked)}"
        names["invented-code"] = server.authorize(address, harness.now).rpartition("code=")[2]
    target, body = f"/{host}{exchange.target}" if host else exchange.target, (exchange.body or b"").decode()
    for theirs, ours in names.items():
        target, body = target.replace(theirs, ours), body.replace(theirs, ours)
    return target, body.encode() or None


def first_symbol(harness: Harness, target: str) -> str:
    return quote(harness.rows(target)[0]["symbol"], safe="")


@for_each("wire", ["observed", "documented"])
@for_each("exchange", EXCHANGES)
def test_exchange_succeeds(exchange: Exchange, wire: str) -> None:
    harness = staged(exchange, wire=wire)
    target, body = translated(exchange, harness)
    response = harness.ask(exchange.method, target, body)
    if str(exchange) == NOT_AN_EQUITY:
        assert response.status == 404
        return
    assert response.status == exchange.status, response.body
    codec.decode(exchange.data, response.body, strict=True)


OF_THE_POOR = {"an order that fails its checks, one entry per problem", "data and error in one body"}
"""Refusals that need an account without cash."""

CAUSES: dict[str, Callable[[Harness], Any]] = {
    "an expired token": lambda here: here.wait(900),
    "a scope that does not cover placing orders": lambda here: here.login(scope="read"),
    "a terminal order cannot be cancelled": lambda here: here.sim.expire_order(
        here.sim.ledger.orders(account_number=here.account)[-1].order_id
    ),
    "too many requests, no headers at all": lambda here: setattr(here.sim, "rate_limit", 0),
    "a revoked grant, flat": lambda here: here.sim.revoke(),
}

HEADERS: dict[str, dict[str, str | None]] = {
    "a token that is not one": {"authorization": "Bearer nonsense"},
    "a page from in front of the service: no User-Agent": {"user_agent": None},
    "a version that does not exist any more; its code is an integer": {"accept_version": "20240101"},
}

OTHER_SERVICES = {
    "too many requests, with a time to wait",
    "the same with the names of RFC 6749",
    "a range of more than nine months, by a service that counts differently",
}
"""Response forms that the simulator never sends."""


@for_each("exchange", [one for one in REFUSALS if one.name not in OTHER_SERVICES])
def test_refusal_has_status_and_error(exchange: Exchange) -> None:
    harness = staged(exchange, **({"cash": 0} if exchange.name in OF_THE_POOR else {}))
    target, body = translated(exchange, harness)
    CAUSES.get(exchange.name, lambda here: None)(harness)
    if exchange.status >= 500:
        request = Request(method=exchange.method, url=target, headers=harness.headers, body=body)
        response = harness.brokerage.serve(request, harness.now, faults.status(exchange.status)).response
    else:
        response = harness.ask(exchange.method, target, body, **HEADERS.get(exchange.name, {}))
    assert response.status == exchange.status, response.body
    assert type(read_error(exchange.data, response)).__name__ == exchange.error
