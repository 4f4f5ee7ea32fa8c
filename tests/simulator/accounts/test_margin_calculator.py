"""Margin and buying power: the figures add up for any trades."""

import json
from collections.abc import Callable
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from brokerage_async.models import InstrumentType
from brokerage_async.simulator.accounts.margin_calculator import requirement
from brokerage_async.simulator.market.instrument import Instrument
from tests.simulator.harness import CALL, HIGHER_CALL, Harness, check_effect, leg, limit, market, signed

SPOT = Decimal(200)


def requirements(prices: dict[Instrument, int]) -> Callable[..., Decimal]:
    """Return what gives the requirement of positions, each an instrument and a signed quantity."""
    worth = {instrument.symbol: Decimal(price) for instrument, price in prices.items()}

    def required(*holdings: tuple[Instrument, int]) -> Decimal:
        signed = [(instrument, Decimal(quantity)) for instrument, quantity in holdings]
        return requirement(signed, lambda one: worth[one.symbol], SPOT, Decimal("0.5"))

    return required


def test_shares_require_half_of_their_value() -> None:
    share = Instrument(symbol="X", instrument_type=InstrumentType.EQUITY, underlying="X")
    for quantity in (Decimal(10), Decimal(-10)):
        assert requirement([(share, quantity)], lambda _: SPOT, SPOT, Decimal("0.5")) == 1000


def test_requirement_of_options_and_spreads(harness: Harness) -> None:
    low, high = harness.instrument(CALL), harness.instrument(HIGHER_CALL)
    required = requirements({low: 12, high: 7})
    assert required((low, 1)) == 1200
    assert required((low, -1)) == 4000
    assert required((low, 1), (high, -1)) == 500
    assert required((low, -1), (high, 1)) == 500
    assert required((low, 2), (high, -1)) == 1700


def test_requirement_of_covered_calls(harness: Harness) -> None:
    symbols = ("AAPL", HIGHER_CALL, "AAPL  260717P00190000", "AAPL  260717C00215000")
    share, call, put, higher = map(harness.instrument, symbols)
    required = requirements({share: 200, call: 7, put: 6, higher: 5})
    assert required((share, 100), (call, -1)) == required((call, -1), (share, 100)) == 10_000
    assert required((share, 199), (call, -2)) == 19_900 + 4_000
    assert required((share, 200), (call, -1), (higher, -1)) == 20_000
    assert required((share, 100), (call, -2), (higher, 1)) == 10_000 + 300
    assert required((share, 100), (put, -1)) == 10_000 + 4_000
    assert required((share, -100), (call, -1)) == 10_000 + 4_000


def test_covered_call_takes_no_margin(harness: Harness) -> None:
    harness.trade(market(leg(quantity="100")))
    placed = harness.preview(market(leg(HIGHER_CALL, "1", "Sell to Open")))
    check_effect(placed)
    effect = placed["buying-power-effect"]
    assert effect["change-in-margin-requirement"] == "0.00"
    assert signed(effect, "isolated-order-margin-requirement") < 0


ORDERS = [
    leg("AAPL", "{n}", "Buy to Open"),
    leg("MSFT", "{n}", "Sell to Open"),
    leg("AAPL", "{n}", "Sell to Close"),
    leg("AAPL  260717C00210000", "{n}", "Sell to Open"),
    leg("AAPL  260717P00190000", "{n}", "Buy to Open"),
    leg("/ESU6", "{n}", "Buy"),
    leg("./ESU6 ES3U6 260918P6000", "{n}", "Sell to Open"),
    leg("BTC/USD", "{n}", "Buy to Open"),
]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(ORDERS), st.integers(1, 9), st.booleans()), min_size=1, max_size=6))
def test_buying_power_adds_up(plan: list[tuple[dict[str, str], int, bool]]) -> None:
    harness = Harness(without=["cryptocurrency_orders_are_off"]).login()
    account = harness.accounts[1]
    for template, count, priced in plan:
        one = {**template, "quantity": str(count)}
        effect = "Debit" if one["action"].startswith("Buy") else "Credit"
        body = limit("150.00", one, effect=effect) if priced else market(one)
        preview = harness.ask("POST", f"/accounts/{account}/orders/dry-run", body)
        assert preview.status in (201, 422)
        placed = json.loads(preview.body)["data"]
        check_effect(placed)
        if preview.status == 201:
            harness.place(body, account)
            after = json.loads(harness.ask("POST", f"/accounts/{account}/orders/dry-run", body).body)["data"]
            change = signed(placed["buying-power-effect"], "change-in-buying-power")
            left = signed(placed["buying-power-effect"], "current-buying-power") + min(change, Decimal(0))
            assert signed(after["buying-power-effect"], "current-buying-power") == left
        harness.wait(5)
