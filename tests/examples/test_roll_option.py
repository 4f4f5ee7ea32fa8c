"""The roll closes the old option and opens the new one in one order, for a credit."""

import pytest

from brokerage_async.chains import OptionChain
from brokerage_async.tickets import market, sell_to_open

from .conftest import Stage


async def sell_a_put(stage: Stage) -> str:
    """Open a short put of the first expiration, and return its symbol."""
    async with stage.simulator.client() as client:
        chain = OptionChain.of(await client.option_chains.nested("AAPL"))
        symbol = chain.expirations[0].strike(near=stage.simulator.price("AAPL")).put
        await client.orders.submit(stage.account, market(sell_to_open(symbol, 2)))
    stage.simulator.clock.advance(60)
    stage.simulator.settle()
    return symbol


async def test_roll_is_shown_first_and_sent_when_asked(stage: Stage) -> None:
    old = await sell_a_put(stage)
    program = stage.load("roll_option")
    before = len(stage.orders())
    await program.main(["AAPL"])
    shown = stage.shown()
    assert f"Buy to Close 2 {old}" in shown
    assert "change in buying power" in shown
    assert len(stage.orders()) == before
    await program.main(["AAPL", "--send"])
    async with stage.simulator.client() as client:
        (order,) = await client.orders.list(stage.account, per_page=1).collect(max_items=1)
    assert order.id == stage.orders()[-1].order_id
    assert [leg.action for leg in order.legs or ()] == ["Buy to Close", "Sell to Open"]
    symbols = [leg.symbol or "" for leg in order.legs or ()]
    assert symbols[0] == old
    assert symbols[0][-9:] == symbols[1][-9:]  # type and strike
    assert symbols[0] < symbols[1]  # a later day


async def test_roll_without_a_short_option_stops(stage: Stage) -> None:
    with pytest.raises(SystemExit, match="no short option on AAPL"):
        await stage.load("roll_option").main(["AAPL", "--send"])
    assert not stage.orders()
