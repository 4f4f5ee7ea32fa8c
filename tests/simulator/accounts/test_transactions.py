"""Bookings of an account."""

from decimal import Decimal

from tests.simulator.harness import Harness, leg, market


def test_fill_is_booked(harness: Harness) -> None:
    identifier = harness.place(market(leg(quantity="9")))
    harness.wait(10)
    fills = harness.order(identifier)["legs"][0]["fills"]
    rows = harness.rows(f"/accounts/{harness.account}/transactions?type=Trade")
    assert [row["ext-exec-id"] for row in reversed(rows)] == [fill["ext-exec-id"] for fill in fills]
    for row in rows:
        assert str(row["order-id"]) == identifier
        value = Decimal(row["quantity"]) * Decimal(row["price"])
        assert (Decimal(row["value"]), row["value-effect"]) == (value, "Debit")
        fees = sum(Decimal(row[name]) for name in ("commission", "clearing-fees", "regulatory-fees"))
        assert Decimal(row["net-value"]) == value + fees


def test_cash_movement_has_no_instrument(harness: Harness) -> None:
    (row,) = harness.rows(f"/accounts/{harness.account}/transactions")
    assert row["transaction-type"] == "Money Movement"
    assert not {"symbol", "action", "quantity", "price"} & set(row)
