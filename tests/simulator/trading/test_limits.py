"""Limits on the size of orders and positions."""

import json
from decimal import Decimal
from fractions import Fraction

from brokerage_async.simulator.accounts.accounts import Position
from brokerage_async.simulator.trading.preflight import LIMITS
from tests.simulator.harness import Harness, leg, limit


def codes(harness: Harness, quantity: str, action: str = "Buy to Open", effect: str = "Debit") -> list[str]:
    body = limit("1.00", leg(quantity=quantity, action=action), effect=effect)
    answer = json.loads(harness.ask("POST", f"/accounts/{harness.account}/orders/dry-run", body).body)
    return [entry["code"] for entry in answer.get("error", {}).get("errors", ())]


def hold(harness: Harness, quantity: str) -> None:
    account = harness.state.accounts.of(harness.state.owner)[0]
    shares = harness.state.catalogue.instrument("Equity", "AAPL")
    assert shares is not None
    account.positions["AAPL"] = Position(shares, Decimal(quantity), Fraction(1), harness.now)


def test_order_and_position_have_at_most_their_size(harness: Harness) -> None:
    assert codes(harness, "50000") == []
    assert codes(harness, "50001") == ["size_limit_exceeded"]
    hold(harness, "199990")
    assert codes(harness, "10") == []
    assert codes(harness, "11") == ["size_limit_exceeded"]
    hold(harness, "300000")
    assert codes(harness, "60000", "Sell to Close", "Credit") == []
    served = harness.get(f"/accounts/{harness.account}/position-limit")["data"]
    names = {"Equity": "equity", "Equity Option": "equity-option", "Future": "future", "Future Option": "future-option"}
    for kind, limits in LIMITS.items():
        assert served[f"{names[kind]}-order-size"] == limits.order
        assert served[f"{names[kind]}-position-size"] == limits.position
    assert "underlying-opening-order-limit" not in served  # orders are not held against one
