"""The list of transactions: filters, direction, pages."""

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from tests.simulator.house import House, market


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
