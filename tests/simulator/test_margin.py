"""Margin and buying power: that the figures add up, whatever is traded."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.models import InstrumentType
from brokerage_async.protocol import codec
from brokerage_async.simulator.instrument import Instrument
from brokerage_async.simulator.margin import requirement
from tests.simulator.house import House, leg, limit, market

SPOT = Decimal(200)


def option(symbol: str, house: House) -> Instrument:
    found = house.world.catalogue.instrument("Equity Option", symbol)
    assert found is not None
    return found


def test_shares_need_half_of_their_value() -> None:
    share = Instrument(symbol="X", instrument_type=InstrumentType.EQUITY, underlying="X")
    for quantity in (Decimal(10), Decimal(-10)):
        assert requirement([(share, quantity)], lambda _: SPOT, SPOT, Decimal("0.5")) == 1000


def test_options(house: House) -> None:
    low, high = option("AAPL  260717C00200000", house), option("AAPL  260717C00210000", house)
    prices = {low.symbol: Decimal(12), high.symbol: Decimal(7)}

    def required(*holdings: tuple[Instrument, int]) -> Decimal:
        signed = [(instrument, Decimal(quantity)) for instrument, quantity in holdings]
        return requirement(signed, lambda one: prices[one.symbol], SPOT, Decimal("0.5"))

    assert required((low, 1)) == 1200
    assert required((low, -1)) == 4000
    assert required((low, 1), (high, -1)) == 500
    assert required((low, -1), (high, 1)) == 500
    assert required((low, 2), (high, -1)) == 1700


def test_covered_calls(house: House) -> None:
    share = house.world.catalogue.instrument(InstrumentType.EQUITY, "AAPL")
    assert share is not None
    call, put = option("AAPL  260717C00210000", house), option("AAPL  260717P00190000", house)
    higher = option("AAPL  260717C00215000", house)
    prices = {share.symbol: SPOT, call.symbol: Decimal(7), put.symbol: Decimal(6), higher.symbol: Decimal(5)}

    def required(*holdings: tuple[Instrument, int]) -> Decimal:
        signed = [(instrument, Decimal(quantity)) for instrument, quantity in holdings]
        return requirement(signed, lambda one: prices[one.symbol], SPOT, Decimal("0.5"))

    assert required((share, 100), (call, -1)) == required((call, -1), (share, 100)) == 10_000
    assert required((share, 199), (call, -2)) == 19_900 + 4_000
    assert required((share, 200), (call, -1), (higher, -1)) == 20_000
    assert required((share, 100), (call, -2), (higher, 1)) == 10_000 + 300
    assert required((share, 100), (put, -1)) == 10_000 + 4_000
    assert required((share, -100), (call, -1)) == 10_000 + 4_000


def test_a_covered_call_takes_no_more_margin(house: House) -> None:
    house.place(market(leg(quantity="100")))
    house.wait(10)
    body = market(leg("AAPL  260717C00210000", "1", "Sell to Open", "Equity Option"))
    placed = json.loads(house.ask("POST", f"/accounts/{house.account}/orders/dry-run", body).body)["data"]
    check_effect(placed)
    effect = placed["buying-power-effect"]
    assert effect["change-in-margin-requirement"] == "0.00"
    assert signed(effect, "isolated-order-margin-requirement") < 0


def signed(fields: dict[str, Any], name: str) -> Decimal:
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


ORDERS = [
    leg("AAPL", "{n}", "Buy to Open"),
    leg("MSFT", "{n}", "Sell to Open"),
    leg("AAPL", "{n}", "Sell to Close"),
    leg("AAPL  260717C00210000", "{n}", "Sell to Open", "Equity Option"),
    leg("AAPL  260717P00190000", "{n}", "Buy to Open", "Equity Option"),
    leg("/ESU6", "{n}", "Buy", "Future"),
    leg("./ESU6 ES3U6 260918P6000", "{n}", "Sell", "Future Option"),
    leg("BTC/USD", "{n}", "Buy to Open", "Cryptocurrency"),
]


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(ORDERS), st.integers(1, 9), st.booleans()), min_size=1, max_size=6))
def test_buying_power_adds_up(plan: list[tuple[dict[str, str], int, bool]]) -> None:
    house = House().login()
    account = house.accounts[1]
    for template, count, priced in plan:
        one = {**template, "quantity": str(count)}
        effect = "Debit" if one["action"].startswith("Buy") else "Credit"
        body = limit("150.00", one, effect=effect) if priced else market(one)
        preview = house.ask("POST", f"/accounts/{account}/orders/dry-run", body)
        assert preview.status in (201, 422)
        placed = json.loads(preview.body)["data"]
        check_effect(placed)
        if preview.status == 201:
            house.place(body, account)
            after = json.loads(house.ask("POST", f"/accounts/{account}/orders/dry-run", body).body)["data"]
            change = signed(placed["buying-power-effect"], "change-in-buying-power")
            left = signed(placed["buying-power-effect"], "current-buying-power") + min(change, Decimal(0))
            assert signed(after["buying-power-effect"], "current-buying-power") == left
        house.wait(5)


def test_an_order_beyond_the_buying_power_carries_data_and_error(house: House) -> None:
    response = house.ask("POST", f"/accounts/{house.account}/orders", limit("100.00", leg(quantity="10000000")))
    body = json.loads(response.body)
    assert response.status == 422
    assert body["error"]["code"] == "preflight_check_failure"
    assert [entry["code"] for entry in body["error"]["errors"]] == ["margin_check_failed"]
    assert body["data"]["errors"] == body["error"]["errors"]
    check_effect(body["data"])
    assert "id" not in body["data"]["order"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (limit(effect="Credit"), "cant_buy_for_credit"),
        (limit("100.00", leg(action="Sell to Open")), "cant_sell_for_debit"),
        (limit("100.00", leg("NOTTHERE")), "invalid_symbol"),
        (limit("100.00", leg(quantity="-1")), "invalid_quantity"),
        (market(leg("/ESU6", "0.5", "Buy", "Future")), "invalid_quantity"),
        (market(leg("GONE")), "instrument_closing_only"),
        (market(leg("AAPL  260116C00200000", "1", "Buy to Open", "Equity Option")), "instrument_expired"),
        (limit("-1.00"), "invalid_price"),
        (limit(time_in_force="GTD", gtc_date="2026-06-09"), "invalid_gtc_date"),
        (
            market(
                leg(action="Sell to Close"), **{"advanced-instructions": {"strict-position-effect-validation": True}}
            ),
            "invalid_position_effect",
        ),
        (
            market(
                leg("AAPL  260717C00200000", "1", "Buy to Open", "Equity Option"),
                leg("MSFT  260717C00470000", "1", "Buy to Open", "Equity Option"),
            ),
            "legs_underlying_mismatch",
        ),
    ],
)
def test_what_fails_a_preflight(house: House, body: dict[str, Any], code: str) -> None:
    for target in ("orders", "orders/dry-run"):
        response = house.ask("POST", f"/accounts/{house.account}/{target}", body)
        error = json.loads(response.body)["error"]
        assert (response.status, error["code"]) == (422, "preflight_check_failure")
        assert code in [entry["code"] for entry in error["errors"]]


def test_position_effects_matter_only_when_asked_for(house: House) -> None:
    assert house.place(market(leg(action="Sell to Close")))


def test_the_requirements_report_adds_up(production: House) -> None:
    account = production.accounts[1]
    response = production.ask("GET", f"/margin/accounts/{account}/requirements")
    report = json.loads(response.body)["data"]
    codec.decode(OPERATIONS["margin.requirements"], response.body, strict=True)
    total = sum(signed(group, "margin-requirement") for group in report["groups"])
    assert signed(report, "margin-requirement") == total < 0
    excess = signed(report, "margin-equity") + signed(report, "maintenance-requirement")
    assert signed(report, "maintenance-excess") == excess
    power = signed(report, "option-buying-power")
    assert power == signed(report, "margin-equity") + signed(report, "margin-requirement") - reserved(
        production, account
    )
    entries = report["groups"][0]["groups"][0]["position-entries"]
    assert [entry["quantity"] for entry in entries] == ["100", "-1"]


def reserved(house: House, number: str) -> Decimal:
    account = house.world.accounts.get(number)
    assert account is not None
    return account.reserved


def test_an_empty_account_has_an_empty_report(production: House) -> None:
    report = production.get(f"/margin/accounts/{production.account}/requirements")["data"]
    assert (report["groups"], report["margin-requirement"]) == ([], "0.00")


def margin_order(account: str, **change: Any) -> dict[str, Any]:
    return {
        "account-number": account,
        "underlying-symbol": "AAPL",
        "underlying-instrument-type": "Equity",
        "order-type": "Limit",
        "time-in-force": "Day",
        "price": "200.00",
        "price-effect": "Debit",
        "legs": [leg(quantity="10")],
        **change,
    }


def test_a_margin_dry_run_compares(production: House) -> None:
    account = production.accounts[1]
    target = f"/margin/accounts/{account}/dry-run"
    response = production.ask("POST", target, margin_order(account))
    assert response.status == 200
    codec.decode(OPERATIONS["margin.dry_run"], response.body, strict=True)
    report = json.loads(response.body)["data"]
    change = signed(report, "change-in-buying-power")
    assert signed(report, "current-buying-power") + change == signed(report, "new-buying-power")
    assert change < 0
    before, after = report["base-results"], report["new-order-results"]
    assert signed(after, "margin-requirement") < signed(before, "margin-requirement")
    assert production.sim.ledger.count("orders.submit") == 0
    assert production.ask("POST", target, margin_order(account, legs=None)).status == 200


def test_a_margin_dry_run_takes_what_is_held_into_account(production: House) -> None:
    account = production.accounts[1]
    legs = [
        leg(quantity="100", action="Sell to Close"),
        leg(call_held(production), "1", "Buy to Close", "Equity Option"),
    ]
    body = margin_order(account, legs=legs, price=None, **{"order-type": "Market", "price-effect": None})
    report = json.loads(production.ask("POST", f"/margin/accounts/{account}/dry-run", body).body)["data"]
    assert signed(report["base-results"], "margin-requirement") < 0
    assert report["new-order-results"]["margin-requirement"] == "0.00"


def call_held(house: House) -> str:
    account = house.world.accounts.get(house.accounts[1])
    assert account is not None
    return next(symbol for symbol in account.positions if symbol != "AAPL")


@pytest.mark.parametrize("quantity", ["0", "-1"])
def test_a_margin_dry_run_needs_a_quantity(production: House, quantity: str) -> None:
    body = margin_order(production.account, legs=[leg(quantity=quantity)])
    response = production.ask("POST", f"/margin/accounts/{production.account}/dry-run", body)
    assert response.status == 422
    assert [entry["code"] for entry in json.loads(response.body)["error"]["errors"]] == ["invalid_quantity"]


def test_a_margin_dry_run_is_checked(production: House) -> None:
    target = f"/margin/accounts/{production.account}/dry-run"
    assert production.ask("POST", target, margin_order("other")).status == 422
    assert production.ask("POST", target, margin_order(production.account, legs=[leg("NOTTHERE")])).status == 422
    assert production.ask("POST", target, {}).status == 422
    assert production.ask("POST", "/margin/accounts/NOPE/dry-run", margin_order("NOPE")).status == 404
