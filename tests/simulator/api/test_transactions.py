"""List of transactions: filters, direction, pages."""

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from tests.simulator.harness import Harness, market


def test_rows_match_the_schema(harness: Harness) -> None:
    harness.place(market())
    harness.wait(10)
    body = harness.ask("GET", f"/accounts/{harness.account}/transactions").body
    codec.decode(OPERATIONS["transactions.list"], body, strict=True)


def test_filters_and_pages(harness: Harness) -> None:
    second = harness.accounts[1]
    target = f"/accounts/{second}/transactions"
    every = harness.rows(target)
    assert len(every) == 13
    assert [row["id"] for row in every] == sorted((row["id"] for row in every), reverse=True)
    assert harness.rows(f"{target}?sort=Asc") == every[::-1]
    assert harness.rows(f"{target}?per-page=5&page-offset=2") == every[10:]
    day = every[3]["transaction-date"]
    assert harness.rows(f"{target}?start-date={day}&end-date={day}") == [every[3]]
    assert harness.rows(f"{target}?start-at={day}T00:00:00Z") == every[:4]
    assert harness.rows(f"{target}?types[]=Trade&types[]=Receive%20Deliver") == []
    assert harness.rows(f"{target}?symbol=AAPL") == harness.rows(f"{target}?underlying-symbol=AAPL") == []
    assert harness.rows(f"{target}?instrument-type=Equity&action=Buy%20to%20Open") == []
