"""Strategies in options as a user would rehearse them, over months of virtual time: their books balance to the cent."""

import asyncio
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from brokerage_async import Client
from brokerage_async.journal import MemoryJournal
from brokerage_async.models import NewComplexOrder, NewOrder, Order, TimeInForce
from brokerage_async.simulator import Simulator, run
from brokerage_async.symbols import occ_symbol
from brokerage_async.tickets import bracket, closing_legs, iron_condor, limit, sell_to_open, stop_limit

START = "2026-01-05T10:00-05:00"


async def placed(client: Client, account: str, ticket: NewOrder) -> Order:
    async with MemoryJournal() as journal:
        placement = (await client.order_entry(journal).place(account, ticket)).require()
    return await client.watch.order("me", account, placement.order_id, timeout=600)


async def until(simulator: Simulator, day: date, hour: int) -> None:
    moment = datetime.fromisoformat(f"{day}T{hour:02}:00-05:00").timestamp()
    await asyncio.sleep(moment - simulator.clock.now())


async def booked(client: Client, account: str) -> Decimal:
    """Return the sum of the net values of all transactions."""
    total = Decimal(0)
    async for row in client.transactions.list(account):
        sign = 1 if row.net_value_effect == "Credit" else -1
        total += sign * (row.net_value or Decimal(0))
    return total


async def shares(client: Client, account: str) -> Decimal:
    rows = [row for row in await client.positions.list(account) if row.symbol == "AAPL"]
    return sum((row.quantity or Decimal(0) for row in rows), Decimal(0))


WHEEL = (
    (date(2026, 1, 16), "P", 195, 190, 100),  # assigned
    (date(2026, 2, 20), "C", 200, 196, 100),  # keeps the shares and the premium
    (date(2026, 3, 20), "C", 200, 205, 0),  # called away
    (date(2026, 4, 17), "P", 195, 199, 0),  # expires worthless
    (date(2026, 5, 15), "P", 195, 180, 100),  # assigned again
    (date(2026, 6, 18), "C", 185, 188, 0),  # called away below its price
)
"""Day of expiration, right, strike, price of the share on that day, shares held after it."""


async def turn_the_wheel(client: Client, simulator: Simulator) -> None:
    account = simulator.account_numbers[0]
    simulator.set_price("AAPL", 198)
    before, sold = await booked(client, account), Decimal(0)
    for expires, right, strike, price, held in WHEEL:
        option = occ_symbol("AAPL", expires, right, strike)
        order = await placed(client, account, limit(sell_to_open(option, 1), credit="0.05"))
        fills = [fill for leg in order.legs or () for fill in leg.fills or ()]
        assert order.status == "Filled", (expires, order.reject_reason)
        sold += sum((fill.fill_price or Decimal(0) for fill in fills), Decimal(0)) * 100
        simulator.set_price("AAPL", price)
        await until(simulator, expires + timedelta(days=4), 10)  # Tuesday, as some Mondays are holidays
        assert await shares(client, account) == held, expires
    rows = await client.transactions.list(account).collect()
    delivered = Counter(str(row.transaction_sub_type) for row in rows if row.transaction_type == "Receive Deliver")
    assert delivered == {"Assignment": 4, "Expiration": 2, "Buy to Open": 2, "Sell to Close": 2}
    opened = [row for row in rows if str(row.transaction_sub_type) == "Sell to Open"]
    fees = sum(
        (getattr(row, name) or Decimal(0))
        for row in opened[: len(WHEEL)]
        for name in ("commission", "clearing_fees", "regulatory_fees", "proprietary_index_option_fees")
    )
    assert await booked(client, account) - before == sold - fees + (200 - 195 + 185 - 195) * 100


@pytest.mark.slow
def test_wheel_of_six_months_balances() -> None:
    run(turn_the_wheel, start=START, seed=3, environment="production", equities=30)


def condor_with_exit() -> NewComplexOrder:
    """Return an iron condor whose exit takes the profit or limits the loss."""
    entry = iron_condor("AAPL", date(2026, 2, 20), puts=(180, 185), calls=(215, 220), credit="0.80")
    legs, gtc = closing_legs(entry), TimeInForce.GTC
    profit = limit(*legs, debit="0.30", time_in_force=gtc)
    return bracket(entry, profit=profit, loss=stop_limit(*legs, trigger="2.50", debit="4.90", time_in_force=gtc))


async def hold_the_condor(client: Client, simulator: Simulator, later: int) -> tuple[list[str], bool]:
    account = simulator.account_numbers[0]
    simulator.set_price("AAPL", 200)
    before = await booked(client, account)
    async with MemoryJournal() as journal:
        placement = (await client.order_entry(journal).place_complex(account, condor_with_exit())).require()
    await asyncio.sleep(600)
    simulator.set_price("AAPL", later)
    await until(simulator, date(2026, 2, 13), 12)
    whole = await client.complex_orders.get(account, placement.order_id)
    statuses = [str(order.status) for order in whole.orders or ()]
    assert await client.positions.list(account) == []
    return statuses, await booked(client, account) > before


@pytest.mark.slow
def test_iron_condor_takes_its_profit_or_stops_its_loss() -> None:
    for later, exits, gains in ((200, {"Filled", "Cancelled"}, True), (221, {"Filled", "Cancelled"}, False)):

        async def main(client: Client, simulator: Simulator, later: int = later) -> tuple[list[str], bool]:
            return await hold_the_condor(client, simulator, later)

        result = run(main, start=START, seed=5, environment="production", equities=30)
        assert (later, set(result[0]), result[1]) == (later, exits, gains)
