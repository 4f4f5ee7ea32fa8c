"""Checks before an order is accepted."""

import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from brokerage_async.simulator.accounts.accounts import Position
from brokerage_async.simulator.trading.preflight import LIMITS
from tests.simulator.harness import EDIT, Harness, check_effect, leg, limit, market


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (limit(effect="Credit"), "cant_buy_for_credit"),
        (limit("100.00", leg(action="Sell to Open")), "cant_sell_for_debit"),
        (limit("100.00", leg("NOTTHERE")), "invalid_symbol"),
        (limit("100.00", leg(quantity="-1")), "invalid_quantity"),
        (market(leg("/ESU6", "0.5", "Buy")), "invalid_quantity"),
        (market(leg("GONE")), "instrument_closing_only"),
        (market(leg("AAPL  260116C00200000", "1", "Buy to Open")), "instrument_expired"),
        (market(leg("GONE  260717C00005000", "1", "Buy to Open")), "invalid_symbol"),  # has no options
        (limit("-1.00"), "invalid_price"),
        (limit(time_in_force="GTD", gtc_date="2026-06-09"), "invalid_gtc_date"),
        (
            market(
                leg(action="Sell to Close"), **{"advanced-instructions": {"strict-position-effect-validation": True}}
            ),
            "invalid_position_effect",
        ),
        (
            limit(
                "1.00",
                leg("AAPL  260717C00200000", "1", "Buy to Open"),
                leg("MSFT  260717C00470000", "1", "Buy to Open"),
            ),
            "legs_underlying_mismatch",
        ),
    ],
)
def test_invalid_order_fails_its_preflight(harness: Harness, body: dict[str, Any], code: str) -> None:
    for target in ("orders", "orders/dry-run"):
        response = harness.ask("POST", f"/accounts/{harness.account}/{target}", body)
        error = json.loads(response.body)["error"]
        assert (response.status, error["code"]) == (422, "preflight_check_failure")
        assert code in [entry["code"] for entry in error["errors"]]


def codes(harness: Harness, body: dict[str, Any], account: str | None = None) -> list[str]:
    """Return the error codes of a dry-run, [] if it passes."""
    answer = harness.ask("POST", f"/accounts/{account or harness.account}/orders/dry-run", body)
    return [each["code"] for each in json.loads(answer.body).get("error", {}).get("errors", ())]


def test_preflight_opening_market_order_after_hours_is_refused() -> None:
    known = "tif_no_after_hours_opening_market_orders"
    notional = market(leg(quantity=None), order_type="Notional Market", value="10", value_effect="Debit")
    later = market(rules={"route-after": "2026-06-15T14:00:00+00:00"})
    close = market(leg(quantity="1", action="Sell to Close"))
    for without, refused in (((), [known]), (["opening_market_orders_need_an_open_market"], [])):
        harness = Harness(without=without)
        harness.wait_until("2026-06-12T21:00:00+00:00")
        assert [codes(harness, body) for body in (market(), notional, later)] == [refused, refused, []]
        assert codes(harness, close, harness.accounts[1]) == []


def test_preflight_fractions_are_small_market_orders() -> None:
    def notional(value: str, symbol: str = "AAPL") -> dict[str, Any]:
        return market(leg(symbol, None), order_type="Notional Market", value=value, value_effect="Debit")

    half, value, fraction = leg(quantity="0.5"), "notional_value_not_supported", "fractional_quantity_not_supported"
    cases = (
        (notional("5"), []),
        (notional("4.99"), [value]),
        (notional("10000"), [value]),
        (notional("5", "BRK/A"), [fraction]),
        (market(half), []),
        (market(leg(quantity="0.001")), [value]),
        (limit("100.00", half), [fraction]),
        (limit("100.00", half, time_in_force="GTC"), [fraction]),
        (notional("10") | {"value-effect": "Credit"}, ["cant_buy_for_credit"]),
    )
    kept, off = Harness().login(), Harness(without=["fractions_are_small_market_orders"]).login()
    wrong = [(body, found) for body, refused in cases if (found := codes(kept, body)) != refused]
    wrong += [(body, found) for body, _ in cases[:-1] if (found := codes(off, body))]
    assert wrong == []
    assert codes(kept, market(leg(quantity="0.001", action="Sell to Close")), kept.accounts[1]) == []


def test_preflight_both_sides_of_a_symbol_are_refused() -> None:
    """The second account holds 100 shares, and an order closes 10 of them."""
    sides, more = "illegal_buy_and_sell_on_same_symbol", "cannot_close_against_more_than_existing_position"
    close, open_ = "Sell to Close", "Sell to Open"
    cases = (
        (leg(quantity="90", action=close), []),
        (leg(quantity="91", action=close), [more]),
        (leg(quantity="1", action=open_), ["cannot_open_against_existing_position"]),
        (leg(quantity="1"), [sides]),
        (leg("GLD"), []),
    )
    for without in ((), ["no_account_holds_both_sides"]):
        harness = Harness(without=without).login()
        harness.wait(5)
        second = harness.accounts[1]
        harness.place(limit("900.00", leg(action=close), effect="Credit"), second)
        wrong = [
            (one, found)
            for one, refused in cases
            if (found := codes(harness, market(one), second)) != ([] if without else refused)
        ]
        assert wrong == []
        buy = harness.place(limit())
        assert codes(harness, limit("300.00", leg(action=open_), effect="Credit")) == ([] if without else [sides])
        assert harness.ask("PATCH", f"/accounts/{harness.account}/orders/{buy}", EDIT).status == 200


def test_position_effects_are_checked_only_on_request(harness: Harness) -> None:
    order = limit("100000.00", leg(quantity="50000"))
    response = harness.ask("POST", f"/accounts/{harness.account}/orders", order)
    body = json.loads(response.body)
    assert response.status == 422
    assert body["error"]["code"] == "preflight_check_failure"
    assert [entry["code"] for entry in body["error"]["errors"]] == ["margin_check_failed"]
    assert body["data"]["errors"] == body["error"]["errors"]
    check_effect(body["data"])
    assert "id" not in body["data"]["order"]
    assert harness.place(market(leg(action="Sell to Close")))


def test_close_without_position_becomes_opening_order() -> None:
    cases: list[tuple[list[str], str, list[str]]] = [
        ([], "Sell to Open", ["closing_with_no_position"]),
        (["closing_with_no_position"], "Sell to Open", []),
        (["close_becomes_open"], "Sell to Close", []),
    ]
    for without, action, codes in cases:
        harness = Harness(without=without).login()
        for body, shown in (
            (limit("900.00", leg(action="Sell to Close"), effect="Credit"), action),
            (limit("100.00", leg("MSFT")), "Buy to Open"),
        ):
            response = harness.ask("POST", f"/accounts/{harness.account}/orders", body)
            data = json.loads(response.body)["data"]
            assert response.status == 201
            assert [each["action"] for each in data["order"]["legs"]] == [shown]
            assert [each["code"] for each in data["warnings"]] == (codes if shown != "Buy to Open" else [])
            assert harness.order(str(data["order"]["id"]))["legs"][0]["action"] == shown


def test_close_of_a_position_stays_a_close(harness: Harness) -> None:
    harness.trade(market())
    closing = limit("900.00", leg(action="Sell to Close"), effect="Credit")
    first = harness.place(closing)
    assert harness.order(first)["legs"][0]["action"] == "Sell to Close"
    harness.cancel(first)
    harness.wait(1)
    harness.trade(market(leg(action="Sell to Close")))
    assert harness.order(harness.place(closing))["legs"][0]["action"] == "Sell to Open"


def test_dry_run_creates_nothing(harness: Harness) -> None:
    before = len(harness.sim.ledger.events)
    response = harness.ask("POST", f"/accounts/{harness.account}/orders/dry-run", limit(external_identifier="x"))
    order = json.loads(response.body)["data"]["order"]
    assert response.status == 201
    assert not {"id", "received-at"} & set(order)
    assert order["updated-at"] == 0
    assert len(harness.sim.ledger.events) == before
    assert harness.sim.ledger.orders(external_identifier="x") == []


def size_codes(harness: Harness, quantity: str, action: str = "Buy to Open", effect: str = "Debit") -> list[str]:
    body = limit("1.00", leg(quantity=quantity, action=action), effect=effect)
    answer = json.loads(harness.ask("POST", f"/accounts/{harness.account}/orders/dry-run", body).body)
    return [entry["code"] for entry in answer.get("error", {}).get("errors", ())]


def hold(harness: Harness, quantity: str) -> None:
    account = harness.own()
    shares = harness.state.catalogue.instrument("Equity", "AAPL")
    assert shares is not None
    account.positions["AAPL"] = Position(shares, Decimal(quantity), Fraction(1), harness.now)


def test_order_and_position_have_at_most_their_size(harness: Harness) -> None:
    assert size_codes(harness, "50000") == []
    assert size_codes(harness, "50001") == ["size_limit_exceeded"]
    hold(harness, "199990")
    assert size_codes(harness, "10") == []
    assert size_codes(harness, "11") == ["size_limit_exceeded"]
    hold(harness, "300000")
    assert size_codes(harness, "60000", "Sell to Close", "Credit") == []
    served = harness.get(f"/accounts/{harness.account}/position-limit")["data"]
    names = {"Equity": "equity", "Equity Option": "equity-option", "Future": "future", "Future Option": "future-option"}
    for kind, limits in LIMITS.items():
        assert served[f"{names[kind]}-order-size"] == limits.order
        assert served[f"{names[kind]}-position-size"] == limits.position
    assert "underlying-opening-order-limit" not in served  # orders are not held against one
