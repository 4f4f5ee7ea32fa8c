"""List of transactions: filters, direction, pages."""

from decimal import Decimal

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from tests.simulator.harness import Harness, market


def test_filters_and_pages(harness: Harness) -> None:
    target = f"/accounts/{harness.accounts[1]}/transactions"
    row = harness.rows(target)[3]
    assert harness.get(f"{target}/{row['id']}")["data"] == row
    assert harness.ask("GET", f"{target}/1").status == 404
    second = harness.accounts[1]
    target = f"/accounts/{second}/transactions"
    every = harness.rows(target)
    assert len(every) == 15
    assert [row["id"] for row in every] == sorted((row["id"] for row in every), reverse=True)
    assert harness.rows(f"{target}?sort=Asc") == every[::-1]
    assert harness.rows(f"{target}?per-page=5&page-offset=2") == every[10:]
    day = every[3]["transaction-date"]
    assert harness.rows(f"{target}?start-date={day}&end-date={day}") == [every[3]]
    assert harness.rows(f"{target}?start-at={day}T00:00:00Z") == every[:4]
    assert harness.rows(f"{target}?types[]=Trade&types[]=Receive%20Deliver") == every[:2]
    assert harness.rows(f"{target}?underlying-symbol=AAPL") == every[:2]
    assert harness.rows(f"{target}?symbol=AAPL") == every[1:2]
    assert harness.rows(f"{target}?instrument-type=Equity&action=Buy%20to%20Open") == every[1:2]
    assert harness.rows(f"{target}?instrument-type=Equity&action=Sell%20to%20Close") == []
    target = f"/accounts/{harness.accounts[1]}/transactions"
    assert len(harness.rows(f"{target}?sub-type[]=Credit%20Interest&currency=USD")) == 12
    assert harness.rows(f"{target}?sub-type[]=Dividend") == []
    assert harness.rows(f"{target}?currency=EUR") == harness.rows(f"{target}?futures-symbol=/ESZ6") == []
    assert harness.rows(f"{target}?partition-key=other") == []


def test_total_fees_are_those_of_the_day(harness: Harness) -> None:
    target = f"/accounts/{harness.account}/transactions"
    assert harness.get(f"{target}/total-fees")["data"] == {"total-fees": "0.00", "total-fees-effect": "None"}
    harness.place(market())
    harness.wait(10)
    trades = [row for row in harness.rows(target) if row["transaction-type"] == "Trade"]
    kinds = ("regulatory-fees", "clearing-fees", "commission", "proprietary-index-option-fees")
    paid = sum(Decimal(row[kind]) for row in trades for kind in kinds)
    body = harness.ask("GET", f"{target}/total-fees?date={trades[0]['transaction-date']}").body
    fees = codec.decode(OPERATIONS["transactions.total_fees"], body, strict=True).value
    assert fees.total_fees == paid > 0
    assert fees.total_fees_effect == "Debit"
    harness.place(market())
    harness.wait(10)
    body = harness.ask("GET", f"/accounts/{harness.account}/transactions").body
    codec.decode(OPERATIONS["transactions.list"], body, strict=True)


def test_transaction_of_an_evening_belongs_to_its_eastern_day(harness: Harness) -> None:
    harness.wait_until("2026-06-10T20:30:00-04:00")  # the next day in UTC
    harness.brokerage.act("move_cash", harness.now, account_number=harness.account, amount="25")
    found = [
        day
        for day in ("2026-06-09", "2026-06-10", "2026-06-11")
        if harness.rows(f"/accounts/{harness.account}/transactions?start-date={day}&end-date={day}")
    ]
    assert found == ["2026-06-10"]
    (row,) = harness.rows(f"/accounts/{harness.account}/transactions?start-date=2026-06-10")
    assert (row["transaction-date"], row["executed-at"][:10]) == ("2026-06-10", "2026-06-11")
