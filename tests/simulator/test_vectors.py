"""The exchanges typed from the interface, asked of the simulator: it takes every request, and answers in kind.

The values of an answer are the simulator's own; what is compared is that it takes the request, the status, that the
body is what the schema says to the letter, and the class of the error.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

import pytest

from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response, read_error
from brokerage_async.simulator import faults
from tests.simulator.house import House, leg, limit, market
from tests.vectors import EXCHANGES, REFUSALS
from tests.vectors.exchange import ACCOUNT, CUSTOMER, Exchange

START = datetime(2026, 4, 15, 15, tzinfo=UTC)
"""After what the vectors look back on, and before what they look forward to."""

SYMBOLS = {"EXMWS%2FA": "AAPLW", "EXMWS": "AAPLW", "EXM%2FB": "BRK%2FB"}
"""Invented instruments, and those that stand in for them."""

NOT_AN_EQUITY = "market_metrics.dividends: numbers for decimals"


def staged(exchange: Exchange, **options: Any) -> House:
    """A house in which the request of an exchange makes sense."""
    environment = "production" if exchange.operation.startswith("margin.") else "sandbox"
    return House(environment=environment, start=START, **options).login()


def translated(exchange: Exchange, house: House) -> tuple[str, bytes | None]:
    """Target and body of an exchange with the identifiers of a house."""
    complex_order = exchange.operation.startswith("complex_orders.")
    names = {
        ACCOUNT: house.accounts[1] if complex_order else house.account,
        "5WT00002": house.accounts[2],
        "5WT99999": house.sim.foreign_account_number,
        str(CUSTOMER): house.sim.customer_id,
        "complex-orders/310": f"complex-orders/{house.sim.complex_order_ids['OTOCO']}",
        "complex-orders/311": f"complex-orders/{house.sim.complex_order_ids['PAIRS']}",
        "invented-refresh": house.sim.refresh_token,
        "invented-secret": house.sim.client_secret,
        "invented-client": house.sim.client_id,
        "https://app.example.com/done": house.sim.redirect_uri,
        **SYMBOLS,
    }
    if "5475882" in exchange.target:
        order = house.place(limit("401.05", leg("BRK/B"), time_in_force="GTC"))
        house.wait(2)
        names |= {"54758826": order, "54758827": order}
    if "invented-code" in (exchange.sent or ""):
        names["invented-code"] = authorization_code(house)
    target, body = exchange.target, (exchange.body or b"").decode()
    for theirs, ours in names.items():
        target, body = target.replace(theirs, ours), body.replace(theirs, ours)
    return target, body.encode() or None


def authorization_code(house: House) -> str:
    query = {"client_id": house.sim.client_id, "redirect_uri": house.sim.redirect_uri, "response_type": "code"}
    return house.sim.brokerage.world.office.authorize(
        f"{house.sim.auth_page_url}?{urlencode(query)}", house.world.owner, house.now
    ).rpartition("code=")[2]


@pytest.mark.parametrize("wire", ["observed", "documented"])
@pytest.mark.parametrize("exchange", EXCHANGES, ids=str)
def test_what_succeeds(exchange: Exchange, wire: str) -> None:
    house = staged(exchange, wire=wire)
    target, body = translated(exchange, house)
    response = house.ask(exchange.method, target, body)
    if str(exchange) == NOT_AN_EQUITY:
        assert response.status == 404
        return
    assert response.status == exchange.status, response.body
    codec.decode(exchange.data, response.body, strict=True)


def expired(exchange: Exchange) -> tuple[House, Response]:
    house = staged(exchange)
    house.wait(900)
    return asked(exchange, house)


def asked(exchange: Exchange, house: House, **headers: str | None) -> tuple[House, Response]:
    target, body = translated(exchange, house)
    return house, house.ask(exchange.method, target, body, **headers)


def terminal(exchange: Exchange) -> tuple[House, Response]:
    house = staged(exchange)
    order = house.place(market())
    house.wait(10)
    return house, house.ask(exchange.method, exchange.target.replace(ACCOUNT, house.account).replace("54758826", order))


def revoked(exchange: Exchange) -> tuple[House, Response]:
    house = staged(exchange)
    house.sim.revoke()
    return asked(exchange, house)


def faulty(exchange: Exchange) -> tuple[House, Response]:
    house = staged(exchange)
    target, body = translated(exchange, house)
    request = Request(method=exchange.method, url=target, headers=house.headers, body=body)
    outcome = house.brokerage.serve(request, house.now, faults.status(exchange.status))
    assert outcome.response is not None
    return house, outcome.response


Stage = Callable[[Exchange], tuple[House, Response]]

STAGES: dict[str, Stage] = {
    "an expired token": expired,
    "a token that is not one": lambda one: asked(one, staged(one), authorization="Bearer nonsense"),
    "a page from in front of the service: no User-Agent": lambda one: asked(one, staged(one), user_agent=None),
    "a scope that does not cover placing orders": lambda one: asked(one, staged(one).login(scope="read")),
    "a version that does not exist any more; its code is an integer": lambda one: asked(
        one, staged(one), accept_version="20240101"
    ),
    "an order that fails its checks, one entry per problem": lambda one: asked(one, staged(one, cash=0)),
    "data and error in one body": lambda one: asked(one, staged(one, cash=0)),
    "a terminal order cannot be cancelled": terminal,
    "too many requests, no headers at all": lambda one: asked(one, staged_at_its_limit(one)),
    "a revoked grant, flat": revoked,
}

OTHER_SERVICES = {
    "too many requests, with a time to wait",
    "the same with the names of RFC 6749",
    "a range of more than nine months, by a service that counts differently",
}
"""Forms that the simulator never takes."""


def staged_at_its_limit(exchange: Exchange) -> House:
    house = staged(exchange)
    house.sim.rate_limit = 0
    return house


@pytest.mark.parametrize("exchange", [one for one in REFUSALS if one.name not in OTHER_SERVICES], ids=str)
def test_what_is_refused(exchange: Exchange) -> None:
    plain: Stage = lambda one: asked(one, staged(one))  # noqa: E731
    stage = faulty if exchange.status >= 500 else STAGES.get(exchange.name, plain)
    _, response = stage(exchange)
    assert response.status == exchange.status, response.body
    assert type(read_error(exchange.data, response)).__name__ == exchange.error
