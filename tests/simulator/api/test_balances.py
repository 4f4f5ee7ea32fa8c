"""Balances, computed a second time from the bookings and the positions."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import attrs

from brokerage_async._generated.converters import AccountBalanceWire
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.decoding.fields import wire_fields
from tests.simulator.harness import Harness, leg, market


def balance_of(harness: Harness, account: str) -> Any:
    [balance] = codec.decode(
        OPERATIONS["balances.list"], harness.ask("GET", f"/accounts/{account}/balances").body, strict=True
    ).value
    return balance


def signed(row: dict[str, str], name: str) -> Decimal:
    return Decimal(row[name]) * (-1 if row[f"{name}-effect"] == "Debit" else 1)


def test_balance_follows_from_bookings_and_positions(harness: Harness) -> None:
    harness.place(market(leg(quantity="30")))
    harness.wait(5)
    booked = harness.rows(f"/accounts/{harness.account}/transactions")
    [position] = harness.rows(f"/accounts/{harness.account}/positions?include-marks=true")
    balance = balance_of(harness, harness.account)
    assert len(booked) > 1
    assert balance.cash_balance == sum(signed(row, "net-value") for row in booked).quantize(Decimal("0.01"))
    assert balance.long_equity_value == Decimal(position["mark"]) > 0
    assert balance.net_liquidating_value == balance.cash_balance + balance.long_equity_value
    assert balance.maintenance_excess == balance.net_liquidating_value - balance.maintenance_requirement
    assert balance.equity_buying_power == 2 * balance.derivative_buying_power
    assert balance.used_derivative_buying_power == balance.net_liquidating_value - balance.derivative_buying_power


def test_balance_of_short_option_and_shares_adds_up(harness: Harness) -> None:
    balance = balance_of(harness, harness.accounts[1])
    assert balance.short_derivative_value > 0
    worth = balance.cash_balance + balance.long_equity_value - balance.short_derivative_value
    assert balance.net_liquidating_value == worth


def test_every_field_of_a_balance_is_sent_but_those_of_snapshots_and_days(harness: Harness) -> None:
    balance = balance_of(harness, harness.account)
    missing = {key for key, field in wire_fields(AccountBalanceWire).items() if getattr(balance, field.target) is None}
    assert missing == {
        "apex-starting-day-margin-equity", "intraday-equities-cash-amount", "intraday-equities-cash-effect",
        "intraday-equities-cash-effective-date", "intraday-futures-cash-amount", "intraday-futures-cash-effect",
        "intraday-futures-cash-effective-date", "previous-date-cryptocurrency-fiat-effective-date",
        "previous-day-cryptocurrency-fiat-amount", "previous-day-cryptocurrency-fiat-effect", "time-of-day",
    }  # fmt: skip


def test_balances_are_a_list_in_dated_versions(harness: Harness) -> None:
    target = f"/accounts/{harness.account}/balances"
    assert "items" not in harness.get(target)["data"]
    assert len(harness.get(target, accept_version="20260629")["data"]["items"]) == 1


def test_get_returns_dollars_only(harness: Harness) -> None:
    response = harness.ask("GET", f"/accounts/{harness.account}/balances/USD")
    one = codec.decode(OPERATIONS["balances.get"], response.body, strict=True).value
    assert attrs.evolve(one, extra={}) == balance_of(harness, harness.account)
    assert harness.ask("GET", f"/accounts/{harness.account}/balances/EUR").status == 404
