"""Write a report of an account's day in Markdown: balances, positions, orders, fees and cash.

    python examples/end_of_day.py > report.md

Sums are exact, and amounts keep their direction: paid is negative, received is positive.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from zoneinfo import ZoneInfo

from brokerage_async import Client
from brokerage_async.models import AccountBalance, Order, Position, PriceEffect, QuantityDirection, Transaction

NEW_YORK = ZoneInfo("America/New_York")


def signed(amount: Decimal | None, effect: PriceEffect | None) -> Decimal:
    return -(amount or Decimal(0)) if effect is PriceEffect.DEBIT else amount or Decimal(0)


def table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join('' if cell is None else str(cell) for cell in line)} |" for line in lines)


def balances(found: Sequence[AccountBalance]) -> str:
    rows = [(each.currency, each.cash_balance, each.equity_buying_power, each.net_liquidating_value) for each in found]
    return "## Balances\n\n" + table(("currency", "cash", "buying power", "liquidating value"), rows)


def positions(found: Sequence[Position]) -> str:
    rows = [
        (each.symbol, -(each.quantity or 0) if each.quantity_direction is QuantityDirection.SHORT else each.quantity,
         each.average_open_price, each.mark_price)
        for each in sorted(found, key=lambda position: position.symbol or "")
    ]  # fmt: skip
    return "## Positions\n\n" + table(("symbol", "quantity", "average price", "mark"), rows)


def orders(found: Sequence[Order]) -> str:
    statuses = Counter(str(order.status) for order in found)
    return "## Orders\n\n" + table(("status", "orders"), sorted(statuses.items()))


def cash(found: Sequence[Transaction]) -> str:
    sums: dict[str, Decimal] = defaultdict(Decimal)
    fees = Decimal(0)
    for each in found:
        sums[each.transaction_type or "other"] += signed(each.net_value, each.net_value_effect)
        fees += signed(each.regulatory_fees, each.regulatory_fees_effect)
        fees += signed(each.clearing_fees, each.clearing_fees_effect)
        fees += signed(each.commission, each.commission_effect)
    rows = [*sorted(sums.items()), ("of which fees and commissions", fees)]
    return "## Cash\n\n" + table(("type", "net"), rows)


async def report(client: Client, account: str) -> str:
    """Return the report of the current day, by the service's clock."""
    async with asyncio.TaskGroup() as tasks:  # all at once. Each has the client's retries and limits
        money = tasks.create_task(client.balances.list(account))
        held = tasks.create_task(client.positions.list(account, include_marks=True))
        placed = tasks.create_task(client.orders.list_live(account).collect())
    day: date = client.watch.now().astimezone(NEW_YORK).date()
    moved = await client.transactions.list(account, start_date=day, end_date=day).collect()
    parts = (balances(money.result()), positions(held.result()), orders(placed.result()), cash(moved))
    return "\n\n".join((f"# Account {account}, {day}", *parts))


async def main() -> None:
    async with Client.from_env(read_only=True) as client:
        print(await report(client, os.environ["BROKERAGE_ACCOUNT"]))


if __name__ == "__main__":
    asyncio.run(main())
