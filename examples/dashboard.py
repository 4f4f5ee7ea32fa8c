"""Show positions, working orders and buying power in the terminal (needs rich).

    python examples/dashboard.py              until Ctrl-C
    python examples/dashboard.py --seconds 5

Orders show within a second. Positions and balances show within two, and less often while the market is closed.
"""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import Any

import attrs
from rich.console import Group
from rich.live import Live
from rich.table import Table

from brokerage_async import Client
from brokerage_async.models import AccountBalance, Order, Position
from brokerage_async.watch import Watcher, is_terminal


@attrs.define
class Board:
    """What the screen shows."""

    positions: dict[Any, Position] = attrs.Factory(dict[Any, Position])
    orders: dict[Any, Order] = attrs.Factory(dict[Any, Order])
    balances: dict[Any, AccountBalance] = attrs.Factory(dict[Any, AccountBalance])
    problem: str = ""

    def show(self, error: Exception) -> None:
        """Show why a poll failed. The watcher goes on polling."""
        self.problem = f"Last failure: {error}"

    def __rich__(self) -> Group:
        positions = Table("symbol", "quantity", "average price", "mark", title="Positions")
        for each in self.positions.values():
            cells = (each.symbol, each.quantity, each.average_open_price, each.mark_price)
            positions.add_row(*("" if cell is None else str(cell) for cell in cells))
        orders = Table("id", "status", "legs", "price", title="Orders of today")
        for order in self.orders.values():
            legs = ", ".join(f"{leg.action} {leg.quantity} {leg.symbol}" for leg in order.legs or ())
            style = "dim" if is_terminal(order) else ""
            orders.add_row(order.id, str(order.status), legs, str(order.price or ""), style=style)
        power = ", ".join(f"{each.equity_buying_power} {each.currency}" for each in self.balances.values())
        return Group(positions, orders, f"Buying power: {power}", self.problem)


def watchers(client: Client, account: str, board: Board) -> dict[str, Watcher[Any]]:
    pace = client.watch.market_hours(trading=2.0, resting=60.0)
    return {
        "orders": client.watch.orders("me", [account], interval=1.0, on_error=board.show),
        "positions": client.watch.positions([account], include_marks=True, interval=pace, on_error=board.show),
        "balances": client.watch.balances([account], interval=pace, on_error=board.show),
    }


async def follow(watcher: Watcher[Any], board: Board, name: str) -> None:
    """Show the items of a watcher under the name of a field of the board."""
    async with watcher as changes:
        async for _ in changes:
            setattr(board, name, changes.snapshot)


async def main(arguments: list[str]) -> None:
    seconds = float(arguments[1]) if arguments[:1] == ["--seconds"] else None
    account = os.environ["BROKERAGE_ACCOUNT"]
    board = Board()
    with Live(board, refresh_per_second=4):
        async with Client.from_env(read_only=True) as client:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds), asyncio.TaskGroup() as tasks:
                    for name, watcher in watchers(client, account, board).items():
                        tasks.create_task(follow(watcher, board, name))


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main(sys.argv[1:]))
