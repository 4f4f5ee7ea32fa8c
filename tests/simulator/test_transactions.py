from decimal import Decimal

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol import codec
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


def test_rows_are_what_the_schema_says(house: House) -> None:
    house.place(market())
    house.wait(10)
    body = house.ask("GET", f"/accounts/{house.account}/transactions").body
    codec.decode(OPERATIONS["transactions.list"], body, strict=True)


def test_filters_and_pages(house: House) -> None:
    second = house.accounts[1]
    target = f"/accounts/{second}/transactions"
    every = house.rows(target)
    assert len(every) == 13
    assert [row["id"] for row in every] == sorted((row["id"] for row in every), reverse=True)
    assert house.rows(f"{target}?sort=Asc") == every[::-1]
    assert house.rows(f"{target}?per-page=5&page-offset=2") == every[10:]
    day = every[3]["transaction-date"]
    assert house.rows(f"{target}?start-date={day}&end-date={day}") == [every[3]]
    assert house.rows(f"{target}?start-at={day}T00:00:00Z") == every[:4]
    assert house.rows(f"{target}?types[]=Trade&types[]=Receive%20Deliver") == []
    assert house.rows(f"{target}?symbol=AAPL") == house.rows(f"{target}?underlying-symbol=AAPL") == []
    assert house.rows(f"{target}?instrument-type=Equity&action=Buy%20to%20Open") == []
