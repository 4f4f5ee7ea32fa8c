"""What is booked to an account."""

from decimal import Decimal

from tests.simulator.house import House, leg, market


def test_fills_are_booked(house: House) -> None:
    identifier = house.place(market(leg(quantity="9")))
    house.wait(10)
    fills = house.order(identifier)["legs"][0]["fills"]
    rows = house.rows(f"/accounts/{house.account}/transactions?type=Trade")
    assert [row["ext-exec-id"] for row in reversed(rows)] == [fill["ext-exec-id"] for fill in fills]
    for row in rows:
        assert str(row["order-id"]) == identifier
        value = Decimal(row["quantity"]) * Decimal(row["price"])
        assert (Decimal(row["value"]), row["value-effect"]) == (value, "Debit")
        fees = sum(Decimal(row[name]) for name in ("commission", "clearing-fees", "regulatory-fees"))
        assert Decimal(row["net-value"]) == value + fees


def test_cash_movements_have_no_instrument(house: House) -> None:
    (row,) = house.rows(f"/accounts/{house.account}/transactions")
    assert row["transaction-type"] == "Money Movement"
    assert not {"symbol", "action", "quantity", "price"} & set(row)
