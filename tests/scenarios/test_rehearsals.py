"""A strategy in options as a user would rehearse it, over weeks of virtual time."""

import asyncio
from datetime import UTC, date, datetime

import pytest

from brokerage_async import Client
from brokerage_async.journal import MemoryJournal
from brokerage_async.models import TimeInForce
from brokerage_async.simulator import Simulator, run
from brokerage_async.tickets import bracket, closing_legs, iron_condor, limit, stop_limit


@pytest.mark.slow
def test_iron_condor_takes_its_profit_or_stops_its_loss() -> None:
    entry = iron_condor("AAPL", date(2026, 2, 20), puts=(180, 185), calls=(215, 220), credit="0.80")
    legs, gtc = closing_legs(entry), TimeInForce.GTC
    profit = limit(*legs, debit="0.30", time_in_force=gtc)
    order = bracket(entry, profit=profit, loss=stop_limit(*legs, trigger="2.50", debit="4.90", time_in_force=gtc))
    for later, gains in ((200, True), (221, False)):

        async def main(client: Client, simulator: Simulator, later: int = later) -> tuple[set[str], bool]:
            account = simulator.account_numbers[0]
            simulator.set_price("AAPL", 200)
            [before] = await client.balances.list(account)
            async with MemoryJournal() as journal:
                placement = (await client.order_entry(journal).place_complex(account, order)).require()
            await asyncio.sleep(600)
            simulator.set_price("AAPL", later)
            await asyncio.sleep(datetime(2026, 2, 13, 17, tzinfo=UTC).timestamp() - simulator.clock.now())
            whole = await client.complex_orders.get(account, placement.order_id)
            assert await client.positions.list(account) == []
            [after] = await client.balances.list(account)
            return {str(each.status) for each in whole.orders or ()}, after.cash_balance > before.cash_balance

        result = run(main, start="2026-01-05T10:00-05:00", seed=5, environment="production", equities=30)
        assert (later, *result) == (later, {"Filled", "Cancelled"}, gains)
