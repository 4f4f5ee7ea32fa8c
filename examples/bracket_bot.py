"""Buy shares, and protect them from the first moment with a profit target and a stop.

    python examples/bracket_bot.py AAPL 10 187.50 aapl-2026-06-10

The three orders are placed as one, a bracket: the fill of the entry releases both exits, and one exit cancels the
other. They work at the broker, also while this program does not run. The program may be killed at any line and started
again with the same arguments: it finds its orders and goes on waiting. Another trade needs another name.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Iterator
from decimal import ROUND_HALF_UP, Decimal

import attrs

from brokerage_async import Client
from brokerage_async.journal import SqliteJournal
from brokerage_async.models import ComplexOrder, NewComplexOrder, Order
from brokerage_async.tickets import bracket, buy_to_open, closing_legs, limit, stop
from brokerage_async.watch import is_terminal

PROFIT = Decimal("1.04")  # times the entry price
LOSS = Decimal("0.98")
CENT = Decimal("0.01")
PAUSE = 2.0  # seconds between two looks


def cents(amount: Decimal) -> Decimal:
    return amount.quantize(CENT, rounding=ROUND_HALF_UP)


def ticket(symbol: str, quantity: str, price: Decimal, name: str) -> NewComplexOrder:
    """Return the bracket. It depends on the arguments only, so a second run places nothing else."""
    entry = attrs.evolve(limit(buy_to_open(symbol, quantity), price=price), external_identifier=name)
    profit = limit(*closing_legs(entry), price=cents(price * PROFIT))
    loss = stop(*closing_legs(entry), trigger=cents(price * LOSS))
    return bracket(entry, profit=profit, loss=loss)


def parts(order: ComplexOrder) -> Iterator[tuple[str, Order]]:
    """Yield entry and exits, each with its purpose."""
    if order.trigger_order is not None:
        yield "entry", order.trigger_order
    for each in order.orders or ():
        yield "loss" if each.stop_trigger is not None else "profit", each


async def follow(client: Client, account: str, order_id: str) -> None:
    """Print every new status until entry and exits have ended."""
    seen: dict[str, str] = {}
    while True:
        order = await client.complex_orders.get(account, order_id)
        for name, part in parts(order):
            if seen.get(name) != part.status:
                seen[name] = str(part.status)
                print(name, part.status)
        if all(is_terminal(part) for _, part in parts(order)):
            return
        await asyncio.sleep(PAUSE)


async def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Buy shares with a profit target and a stop.")
    parser.add_argument("symbol")
    parser.add_argument("quantity")
    parser.add_argument("price", type=Decimal, help="limit of the entry")
    parser.add_argument("name", help="external identifier of the entry")
    options = parser.parse_args(arguments)
    order = ticket(options.symbol, options.quantity, options.price, options.name)
    account = os.environ["BROKERAGE_ACCOUNT"]
    async with Client.from_env() as client, SqliteJournal("orders.journal") as journal:
        placement = await client.order_entry(journal).place_complex(account, order)
        print(placement.outcome, placement.require().order_id)
        await follow(client, account, placement.order_id)


if __name__ == "__main__":
    asyncio.run(main())
