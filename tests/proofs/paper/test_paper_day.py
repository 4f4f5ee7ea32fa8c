"""A paper account on a second simulator as the live source, which is killed and comes back.

python -m tests.proofs.paper.test_paper_day [orders] [kills]
"""

import asyncio
import random
import sys
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async import Client, errors, models
from brokerage_async.operation import Effect
from brokerage_async.simulator import LiveQuotes, RandomWalk, Simulator
from brokerage_async.simulator.market.quotes import Quote
from brokerage_async.tickets import bracket, buy_to_open, limit, market, sell_to_close, sell_to_open, stop
from tests.proofs.books.run import signed
from tests.seeded import play_drawn

SHARES = {"AAPL": 200, "MSFT": 420, "KO": 60}
STEP = 0.5
"""Seconds between two prices of the source."""
SEEN = 4.0
"""Seconds of prices that a fill may be at: two ticks, and the delay of a fill."""


class Market:
    """A simulator as the source, whose prices move twice a second, and the prices that it has shown."""

    def __init__(self, seed: int) -> None:
        self.sim = Simulator(seed=seed, environment="production", equities=50, chain_rows=20)
        self._chance = random.Random(seed)
        self._shown: list[tuple[float, dict[str, Quote]]] = []

    async def move(self, puts: list[str]) -> None:
        state, levels = self.sim.brokerage.state, {symbol: Decimal(price) for symbol, price in SHARES.items()}
        kinds = dict.fromkeys(puts, models.InstrumentType.EQUITY_OPTION)
        kinds |= dict.fromkeys(SHARES, models.InstrumentType.EQUITY)
        instruments = {symbol: state.catalogue.instrument(kind, symbol) for symbol, kind in kinds.items()}
        while True:
            for symbol in SHARES:
                levels[symbol] += Decimal(self._chance.randint(-40, 40)) / 100
                self.sim.set_source(symbol, RandomWalk(price=levels[symbol], volatility=0.0))
            now = self.sim.clock.now()
            quotes = {symbol: state.prices.market(each, now) for symbol, each in instruments.items() if each}
            self._shown.append((now, quotes))
            await asyncio.sleep(STEP)

    def showed(self, leg: models.OrderLeg, at: float) -> set[Decimal]:
        """Return the prices on the side of a leg in the seconds before a time."""
        quotes = [shown[str(leg.symbol)] for since, shown in self._shown if at - SEEN < since <= at]
        return {quote.ask if str(leg.action).startswith("Buy") else quote.bid for quote in quotes}


def order(chance: random.Random, options: list[str]) -> models.NewOrder:
    quantity, share = chance.randint(1, 50), chance.choice(list(SHARES))
    first, second = sorted(chance.sample(options, 2))
    orders = (
        market(buy_to_open(share, quantity)),
        limit(buy_to_open(share, quantity), price=chance.choice(["1", "9000"])),
        market(sell_to_open(first, quantity)),
        limit(buy_to_open(first, 2), sell_to_open(second, 2), debit=chance.choice(["0.05", "90"])),
    )
    return chance.choice(orders)


async def trade(client: Client, account: str, chance: random.Random, options: list[str], done: Counter[str]) -> None:
    asked = order(chance, options)
    try:
        match chance.randrange(8):
            case 0:
                await client.orders.dry_run(account, asked)
                done["dry-run"] += 1
            case 1:
                profit, loss = limit(sell_to_close("KO", 1), price="900"), stop(sell_to_close("KO", 1), trigger="0.5")
                bracketed = bracket(limit(buy_to_open("KO", 1), price="1"), profit=profit, loss=loss)
                await client.complex_orders.submit(account, bracketed)
                done["complex order"] += 1
            case 2:
                working = [each for each in await client.orders.live("me", [account]) if each.cancellable]
                if working and working[0].id:
                    await client.orders.cancel(account, working[0].id)
                    done["cancelled"] += 1
            case _:
                await client.orders.submit(account, asked)
                done["submitted"] += 1
    except errors.UnprocessableError as error:
        done[f"refused: {error.errors[0].code if error.errors else error.code}"] += 1


async def play(seed: int, orders: int, kills: int) -> Counter[str]:
    """Trade against a source that is killed, and judge every fill and every request. Return what happened."""
    chance, done = random.Random(seed), Counter[str]()
    moves = Market(seed)
    async with moves.sim as source, source.client(read_only=True) as reader:
        options = {"seed": seed + 1, "environment": "production", "start": source.clock.time, "cash": 10**9}
        async with Simulator(prices=LiveQuotes(reader), **options) as paper, paper.client() as client:
            account = paper.account_numbers[0]
            [chain] = await client.option_chains.nested("AAPL")
            strikes = [strike for expiration in chain.expirations[3:5] for strike in expiration.strikes[8:16]]
            puts = [strike.put for strike in strikes if strike.put]
            moving = asyncio.create_task(moves.move(puts))
            with pytest.raises(errors.UnprocessableError, match="is not listed at the source"):
                await client.orders.submit(account, market(buy_to_open("NOPE", 1)))
            down = sorted(chance.sample(range(orders // 4, orders), kills))
            for number in range(orders):
                if number in down:
                    await source.stop()
                    await asyncio.sleep(0.7)
                    placed = await client.orders.submit(account, market(buy_to_open("AAPL", 1)))
                    assert "waits_for_prices" in [warning.code for warning in placed.warnings or ()]
                    done["kills"] += 1
                await trade(client, account, chance, puts, done)
                if any(number == each + orders // 20 for each in down):
                    await source.restart()
            await source.restart()
            async with asyncio.timeout(30):
                await asyncio.sleep(1.0)  # until the lost connection is noticed
                while paper.brokerage.state.prices.silence:  # noqa: ASYNC110 - the simulator has no event for it
                    await asyncio.sleep(0.1)
            await asyncio.sleep(2.0)
            paper.clock.speed = 0.0  # nothing is filled between two of these requests
            listed = await client.orders.live("me", [account])
            judge(moves, paper, listed, done)
            await judge_books(client, account, listed)
            moving.cancel()
    return done


def judge(moves: Market, paper: Simulator, orders: list[models.Order], done: Counter[str]) -> None:
    """Check that nothing changed at the source, and that each fill is at a price that it showed at that time."""
    changing = [each for each in moves.sim.ledger.requests if each.effect != Effect.READ.value]
    assert not changing, changing
    done["requests at the source"] = len(moves.sim.ledger.requests)
    gaps = [(gap.at, gap.until) for gap in paper.ledger.price_gaps]
    assert gaps
    assert all(until is not None for _, until in gaps)
    for order, leg in ((each, leg) for each in orders for leg in each.legs or ()):
        for fill in leg.fills or ():
            # The fills of further legs come later, at the prices of the first.
            at = min(fill.filled_at, order.terminal_at or fill.filled_at).timestamp()
            # A fill at the very end of a gap is shown as up to a millisecond earlier: times of fills are cut.
            assert not any(since < at < (until or at) - 0.001 for since, until in gaps), (order, gaps)
            assert fill.fill_price in moves.showed(leg, at), (order, gaps)
            done["fills"] += 1


async def judge_books(client: Client, account: str, orders: list[models.Order]) -> None:
    held = Counter[Any]()
    for leg in (leg for order in orders for leg in order.legs or ()):
        filled = sum(fill.quantity or 0 for fill in leg.fills or ())
        held[leg.symbol] += filled if str(leg.action).startswith("Buy") else -filled
    for each in await client.positions.list(account):
        held[each.symbol] -= each.quantity if each.quantity_direction == "Long" else -each.quantity
    assert not any(held.values()), held
    moved = sum([signed(row, "net_value") async for row in client.transactions.list(account)])
    [balance] = await client.balances.list(account)
    assert abs(balance.cash_balance - moved) < Decimal("0.01")  # shown to the cent, fees have tenths


def test_paper_account_never_trades_at_the_source_or_at_stale_prices() -> None:
    done = asyncio.run(play(1, 60, 1))
    assert done["fills"] > 5
    assert done["kills"] == 1


def test_paper_client_must_be_read_only() -> None:
    client = Simulator(equities=50).client()
    with pytest.raises(ValueError, match="read_only=True"):
        LiveQuotes(client)


if __name__ == "__main__":
    steps, kills = [int(each) for each in sys.argv[1:]] or [1800, 5]
    play_drawn(lambda seed: play(seed, steps, kills), f"{steps} steps, all held")
