"""The bracket bot places entry and exits as one, and finds them again after a crash."""

import asyncio

import pytest

from brokerage_async.errors import InvalidRequestError

from .conftest import Stage

ARGUMENTS = ["AAPL", "10", "200.50", "trade-1"]


async def test_bracket_is_placed_once_and_followed_to_its_end(stage: Stage) -> None:
    program = stage.load("bracket_bot")
    stage.patch.setattr(program, "PAUSE", 0.01)
    stage.simulator.set_price("AAPL", "200")
    first = asyncio.create_task(program.main(ARGUMENTS))
    async with asyncio.timeout(20):
        while "entry Filled" not in stage.shown():
            stage.simulator.clock.advance(1)
            await asyncio.sleep(0.02)
    first.cancel()  # as good as a crash: the exits work on at the broker
    await asyncio.wait({first})
    again = asyncio.create_task(program.main(ARGUMENTS))
    stage.simulator.set_price("AAPL", "220")
    async with asyncio.timeout(20):
        while not again.done():
            stage.simulator.clock.advance(1)
            await asyncio.sleep(0.02)
    await again
    shown = stage.shown()
    assert "placed" in shown
    assert "profit Filled" in shown
    assert "loss Cancelled" in shown
    assert len(stage.orders()) == 3


async def test_other_prices_under_the_same_name_are_refused(stage: Stage) -> None:
    program = stage.load("bracket_bot")
    stage.patch.setattr(program, "follow", lambda *_: asyncio.sleep(0))
    await program.main(ARGUMENTS)
    with pytest.raises(InvalidRequestError, match="another order"):
        await program.main(["AAPL", "10", "201.00", "trade-1"])
    assert len(stage.orders()) == 3
