"""The report of a day holds balances, positions, orders and cash."""

from brokerage_async.tickets import buy_to_open, limit, market

from .conftest import Stage


async def test_report_of_a_day(stage: Stage) -> None:
    async with stage.simulator.client() as client:
        await client.orders.submit(stage.account, market(buy_to_open("AAPL", 4)))
        await client.orders.submit(stage.account, limit(buy_to_open("MSFT", 1), price="1.00"))
        stage.simulator.clock.advance(60)
        stage.simulator.settle()
    await stage.load("end_of_day").main()
    shown = stage.shown()
    assert shown.startswith(f"# Account {stage.account}, 2026-06-10\n")
    assert "| AAPL | 4 |" in shown
    assert "| Filled | 1 |" in shown
    assert "| Live | 1 |" in shown
    assert "| Trade | -" in shown
