"""Sell a put spread whose short leg has a delta of 0.16.

    python examples/delta_spread.py AAPL            shows what would be sold
    python examples/delta_spread.py AAPL --send     sells it, within the caps of a guard

Greeks and quotes are those of one moment. The order is recorded before it is sent: started again after a crash, the
program finds out what became of it, and sells nothing twice.
"""

from __future__ import annotations

import asyncio
import os
import sys
from decimal import ROUND_DOWN, Decimal

import attrs

from brokerage_async import Client
from brokerage_async.chains import OptionChain
from brokerage_async.journal import SqliteJournal
from brokerage_async.models import NewOrder
from brokerage_async.order_entry import OrderGuard
from brokerage_async.tickets import spread

DAYS, DELTA, WIDTH = 45, Decimal("0.16"), 1  # days to expiration, of the short put, strikes below it
TICK = Decimal("0.05")
GUARD = OrderGuard(max_order_quantity=1, max_orders_per_day=3, max_value_per_day=2_000)


async def choose(client: Client, underlying: str) -> NewOrder:
    """Return the order for the spread, at the middle of its market."""
    chain = OptionChain.of(await client.option_chains.nested(underlying))
    expiration = chain.expiration(days=DAYS)
    now = await chain.greeks(client.stream, expirations=expiration, timeout=10)
    short = now.by_delta(DELTA, "P")
    below = expiration.out_of_the_money("P", short.strike.price, strikes=WIDTH)
    [long] = [each for each in now if each.symbol == below.put]
    middles = list[Decimal]()
    for leg in (short, long):
        bid, ask = leg.quote.bid_price, leg.quote.ask_price
        if bid is None or ask is None:
            raise SystemExit(f"{leg.symbol} has no market")
        print(f"{leg.symbol}: delta {leg.greeks.delta}, {bid} to {ask}")
        middles.append((bid + ask) / 2)
    credit = ((middles[0] - middles[1]) / TICK).to_integral_value(ROUND_DOWN) * TICK
    if credit <= 0:
        raise SystemExit("the spread brings in nothing")
    return spread(long=long.symbol, short=short.symbol, credit=credit)


async def main(arguments: list[str]) -> None:
    underlying, *options = arguments
    account = os.environ["BROKERAGE_ACCOUNT"]
    async with Client.from_env() as client, SqliteJournal("orders.journal") as journal:
        entry = client.order_entry(journal, guard=GUARD)
        for settled in await entry.recover():
            print(f"{settled.external_identifier}: {settled.outcome}")
        order = await choose(client, underlying)
        print(f"for a credit of {order.price}")
        if "--send" in options:
            day = client.watch.now().date()
            once = attrs.evolve(order, external_identifier=f"delta-spread-{underlying}-{day}")
            placement = await entry.place(account, once)
            print(placement.outcome, placement.order and placement.order.status)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
