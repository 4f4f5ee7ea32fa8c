"""The roll closes the old option and opens the new one in one order, for a credit."""

import pytest

from brokerage_async.chains import OptionChain
from brokerage_async.simulator import Simulator
from brokerage_async.tickets import market, sell_to_open

from .conftest import Load, Orders


async def sell_a_put(brokerage: Simulator) -> str:
    """Open a short put of the first expiration, and return its symbol."""
    async with brokerage.client() as client:
        chain = OptionChain.of(await client.option_chains.nested("AAPL"))
        symbol = chain.expirations[0].strike(near=brokerage.price("AAPL")).put
        await client.orders.submit(brokerage.account_numbers[0], market(sell_to_open(symbol, 2)))
    brokerage.clock.advance(60)
    brokerage.settle()
    return symbol


async def test_roll_is_shown_first_and_sent_when_asked(
    brokerage: Simulator, orders: Orders, load: Load, capsys: pytest.CaptureFixture[str]
) -> None:
    old = await sell_a_put(brokerage)
    program = load("roll_option")
    before = len(orders())
    await program.main(["AAPL"])
    shown = capsys.readouterr().out
    assert f"Buy to Close 2 {old}" in shown
    assert "change in buying power" in shown
    assert len(orders()) == before
    await program.main(["AAPL", "--send"])
    async with brokerage.client() as client:
        (order,) = await client.orders.list(brokerage.account_numbers[0], per_page=1).collect(max_items=1)
    assert order.id == orders()[-1].order_id
    assert [leg.action for leg in order.legs or ()] == ["Buy to Close", "Sell to Open"]
    symbols = [leg.symbol or "" for leg in order.legs or ()]
    assert symbols[0] == old
    assert symbols[0][-9:] == symbols[1][-9:]  # type and strike
    assert symbols[0] < symbols[1]  # a later day


async def test_roll_without_a_short_option_stops(orders: Orders, load: Load) -> None:
    with pytest.raises(SystemExit, match="no short option on AAPL"):
        await load("roll_option").main(["AAPL", "--send"])
    assert not orders()
