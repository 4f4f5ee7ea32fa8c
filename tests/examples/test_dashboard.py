"""The dashboard follows orders and positions, and goes on after a failure."""

from __future__ import annotations

import asyncio
import io
import re

import pytest
from rich.console import Console

from brokerage_async.tickets import buy_to_open, market

from .conftest import Stage

pytestmark = pytest.mark.virtual_time


async def test_board_shows_orders_positions_and_buying_power(stage: Stage) -> None:
    program = stage.load("dashboard")
    boards = []
    stage.patch.setattr(program, "Live", FakeLive(boards))
    running = asyncio.create_task(program.main(["--seconds", "60"]))
    await asyncio.sleep(5)
    async with stage.simulator.client() as client:
        await client.orders.submit(stage.account, market(buy_to_open("AAPL", 3)))
        await asyncio.sleep(20)
    shown = text_of(boards[0])
    stage.simulator.faults.add("GET", "/accounts/.*/positions", "status(500)", times=20)
    await asyncio.sleep(20)
    assert "Last failure: positions.list" in text_of(boards[0])
    await running
    assert "Buy to Open 3 AAPL" in shown
    assert "Filled" in shown
    assert re.search(r"^Buying power: [\d.]+ USD$", shown, re.MULTILINE)
    assert "Last failure" not in shown


def text_of(board: object) -> str:
    console = Console(file=io.StringIO(), width=150)
    console.print(board)
    output = console.file
    assert isinstance(output, io.StringIO)
    return output.getvalue()


class FakeLive:
    """Replaces the live display, which would start a thread, and records the boards."""

    def __init__(self, boards: list[object]) -> None:
        self._boards = boards

    def __call__(self, board: object, **options: object) -> FakeLive:
        self._boards.append(board)
        return self

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...
