"""The report of a day holds balances, positions, orders and cash."""

import pytest

from brokerage_async.simulator import Simulator
from brokerage_async.tickets import buy_to_open, limit, market

from .conftest import Load


async def test_report_of_a_day(brokerage: Simulator, load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    account = brokerage.account_numbers[0]
    async with brokerage.client() as client:
        await client.orders.submit(account, market(buy_to_open("AAPL", 4)))
        await client.orders.submit(account, limit(buy_to_open("MSFT", 1), price="1.00"))
        brokerage.clock.advance(60)
        brokerage.settle()
    await load("end_of_day").main()
    shown = capsys.readouterr().out
    assert shown.startswith(f"# Account {account}, 2026-06-10\n")
    assert "| AAPL | 4 |" in shown
    assert "| Filled | 1 |" in shown
    assert "| Live | 1 |" in shown
    assert "| Trade | -" in shown
