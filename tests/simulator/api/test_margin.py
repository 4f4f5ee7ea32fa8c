"""Requirements report, margin dry-runs, position limits and SPAN files."""

from decimal import Decimal
from typing import Any

from tests.simulator.harness import Harness, leg, limit, signed, switched


def test_requirements_report_adds_up(production: Harness) -> None:
    account = production.accounts[1]
    report = production.call("margin.requirements", account_number=account)
    total = sum(signed(group, "margin-requirement") for group in report["groups"])
    assert signed(report, "margin-requirement") == total < 0
    excess = signed(report, "margin-equity") + signed(report, "maintenance-requirement")
    assert signed(report, "maintenance-excess") == excess
    power = signed(report, "margin-equity") + signed(report, "margin-requirement") - production.own(account).reserved
    assert signed(report, "option-buying-power") == power
    entries = report["groups"][0]["groups"][0]["position-entries"]
    assert [entry["quantity"] for entry in entries] == ["100", "-1"]
    report = production.call("margin.requirements")
    assert (report["groups"], report["margin-requirement"]) == ([], "0.00")


def margin_order(account: str, **change: Any) -> dict[str, Any]:
    """Build the body of a margin order. A change to None removes the key."""
    underlying = {"underlying-symbol": "AAPL", "underlying-instrument-type": "Equity"}
    body = {**limit("200.00"), "account-number": account, **underlying, **change}
    return {key: value for key, value in body.items() if value is not None}


def test_margin_order_legs_are_one_to_four_and_distinct() -> None:
    expirations = ("260717", "260821", "260918", "261016", "261120")
    calls = [leg(f"AAPL  {day}C00200000", "1") for day in expirations]
    for harness, status in switched("margin_orders_have_four_distinct_legs", 422, 200, environment="production"):
        target = f"/margin/accounts/{harness.account}/dry-run"
        wrong = [
            len(legs)
            for legs, expected in (([], status), (calls[:1] * 2, status), (calls, status), (calls[:4], 200))
            if harness.ask("POST", target, margin_order(harness.account, legs=legs)).status != expected
        ]
        assert wrong == []


def test_dry_run_compares_before_and_after(production: Harness) -> None:
    account = production.accounts[1]
    target = f"/margin/accounts/{account}/dry-run"
    report = production.call("margin.dry_run", margin_order(account), account_number=account)
    change = signed(report, "change-in-buying-power")
    assert signed(report, "current-buying-power") + change == signed(report, "new-buying-power")
    assert change < 0
    before, after = report["base-results"], report["new-order-results"]
    assert signed(after, "margin-requirement") < signed(before, "margin-requirement") < 0
    assert production.sim.ledger.count("orders.submit") == 0
    call = next(symbol for symbol in production.own(account).positions if symbol != "AAPL")
    closing = [leg(quantity="100", action="Sell to Close"), leg(call, "1", "Buy to Close")]
    body = margin_order(account, legs=closing, price=None, **{"order-type": "Market", "price-effect": None})
    assert production.data("POST", target, body)["new-order-results"]["margin-requirement"] == "0.00"
    assert production.ask("POST", target, margin_order(account, legs=None)).status == 200
    for wrong in ({}, margin_order("other"), margin_order(account, legs=[leg("NOTTHERE")])):
        production.error("POST", target, wrong)
    production.error("POST", "/margin/accounts/NOPE/dry-run", margin_order("NOPE"), 404)
    for quantity in ("0", "-1"):
        error = production.error("POST", target, margin_order(account, legs=[leg(quantity=quantity)]))
        assert [entry["code"] for entry in error["errors"]] == ["invalid_quantity"]


def test_rates_of_the_calculator_are_shown(harness: Harness) -> None:
    name, share = "margin.effective_requirement", {"underlying_symbol": "BRK/B"}
    margin, _, cash = (harness.decoded(name, account_number=account, **share) for account in harness.accounts)
    assert (margin.underlying_symbol, margin.long_equity_initial) == ("BRK/B", Decimal("0.5"))
    assert margin.long_equity_maintenance == Decimal("0.3")
    assert cash.long_equity_initial == 1
    assert harness.decoded("margin.public_configuration").risk_free_rate > 0


def test_limits_of_an_account_and_span_file_of_each_future(harness: Harness) -> None:
    limits = harness.decoded("risk.position_limit")
    assert limits.account_number == harness.account
    assert limits.equity_order_size < limits.equity_position_size
    header, *rows = harness.decoded("risk.span_rows", "date=2026-06-09&exchange=CFE")
    assert header.row_data.startswith("0 CFE   20260609")
    futures = [row for row in harness.rows("/instruments/futures") if row["exchange"] == "CFE"]
    assert len(rows) == len(futures) == 14
    assert [row.row_index for row in (header, *rows)] == list(range(15))
    assert {len(row.row_data) for row in (header, *rows)} == {80}
    close = harness.state.prices.underlying_price("/VXM6", harness.now - 17.75 * 3600)  # 16:15 of the day before.
    assert f"FUT202606{close:>20f}" in rows[0].row_data
    body = harness.get("/span/rows?date=2026-06-09&exchange=CME&per-page=100&page-offset=1")
    assert body["pagination"]["total-items"] == 1 + 7 * 80
    assert [row["row-index"] for row in body["data"]["items"]] == list(range(100, 200))
    for day in ("2026-06-07", "2026-06-10", "2030-01-02", "1900-01-01"):  # without a session that has ended
        assert harness.decoded("risk.span_rows", f"date={day}&exchange=CME") == [], day
    for query in ("date=2026-06-09", "exchange=CME", "date=2026-06-09&exchange=SMALLS"):
        harness.error("GET", f"/span/rows?{query}")
