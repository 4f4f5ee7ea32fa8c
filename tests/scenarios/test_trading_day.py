"""The bot of docs/programs.md on virtual time: the same day every time, and the same decisions over real HTTP."""

import asyncio
import contextlib
from datetime import UTC, date, datetime
from typing import Any

import pytest

from brokerage_async import Client
from brokerage_async.journal import MemoryJournal
from brokerage_async.models import TimeInForce
from brokerage_async.simulator import Simulator, run
from brokerage_async.tickets import bracket, closing_legs, iron_condor, limit, stop_limit
from tests.documents import program
from tests.loops import run_in
from tests.processes import run_program
from tests.proofs.simulation.quick_loop import QuickLoop

SOURCE = program("A trading day in a second")
START, SEED = "2026-06-10T09:25-04:00", 7

MODULE: dict[str, Any] = {"__name__": "bot"}
exec(SOURCE[: SOURCE.rindex("\nrun(")], MODULE)


async def test_program_has_the_same_day_in_every_process() -> None:
    outputs = []
    for hash_seed in ("1", "2"):
        source = SOURCE.replace("at {simulator", "{simulator.ledger.history()} {simulator").replace("T09:25", "T14:00")
        assert source != SOURCE
        code, output = await run_program("-W", "error", "-c", source, env={"PYTHONHASHSEED": hash_seed})
        assert code == 0, output
        outputs.append(output)
    assert outputs[0] == outputs[1]
    assert int(outputs[0].split()[0]) > 2
    assert outputs[0].count('"after": "Filled"') > 2


async def trade_until(client: Client, simulator: Simulator, end: str) -> list[tuple[str, str, int]]:
    """Trade, and return the orders with their status and the minute of their creation."""
    account, left = simulator.account_numbers[0], datetime.fromisoformat(end).timestamp() - simulator.clock.now()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(left):
            await MODULE["trade"](client, account)
    orders = simulator.ledger.orders(account_number=account)
    return [(order.order_id, order.status, int(order.created_at // 60)) for order in orders]


@pytest.mark.slow
def test_bot_decides_the_same_over_http() -> None:
    # The loop over HTTP waits a small fraction of the time, and each response counts as a wait. The tape is calm, so
    # that the seconds in between do not move the price across the edge of a decision.
    end, pace = "2026-06-10T11:00:00-04:00", 0.01

    async def in_memory(client: Client, simulator: Simulator) -> list[tuple[str, str, int]]:
        return await trade_until(client, simulator, end)

    async def over_http() -> list[tuple[str, str, int]]:
        start = datetime.fromisoformat(START)
        async with (
            Simulator(environment="production", seed=SEED, start=start, pace=pace) as simulator,
            simulator.client() as client,
        ):
            return await trade_until(client, simulator, end)

    expected = run(in_memory, start=START, seed=SEED, environment="production", pace=pace)
    assert len(expected) > 4
    assert run_in(QuickLoop(300), over_http()) == expected


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
