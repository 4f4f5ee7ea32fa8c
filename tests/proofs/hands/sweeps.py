"""Cancels hundreds of orders at once under faults: each is told as the brokerage's books have it, within the limits.

``python -m tests.proofs.hands.sweeps 20`` plays 20 seeds of 300 orders each.
"""

import asyncio
import random
from collections import Counter
from decimal import Decimal
from typing import Any

from brokerage_async.config import Limits
from brokerage_async.order_entry import Cancellations, CancelOutcome
from brokerage_async.protocol.order_status import TERMINAL
from brokerage_async.simulator import faults
from tests.loops import on_virtual_time
from tests.seeded import play_seeds
from tests.trading import LISTS, TIMEOUT, Floor, bracket_order, floor, order

MOST = 20.0
"""Trades per second that the client allows itself."""
BURST = 0.1
"""Part by which one second may show more: it begins anywhere, and half of the latency varies."""
TROUBLE: tuple[Any, ...] = (
    "drop_before", "drop_after", "hang", "hang_after", "garbage", "rate_limited", "unauthorized", "html(502)",
    "status(500)", "status(503)", "after_status(500)", "after_html(502)", faults.delay(2 * TIMEOUT),
)  # fmt: skip


@on_virtual_time
async def play(seed: int, count: int) -> tuple[Counter[str], float, float]:
    """Cancel ``count`` orders. Return what became of them, requests per second on average and at most."""
    chance = random.Random(seed)
    limits = Limits(trades_per_second=MOST)
    async with floor(seed=seed, latency=0.05, limits=limits, without=["fills_after_cancel_requests"]) as here:
        await _place(here, count, chance)
        state = here.sim.brokerage.state
        wholes = {str(each.number) for each in state.exchange.complex_orders(state.accounts.of(state.owner)[0])}
        asked = sorted({record.order_id for record in _records(here)} | wholes)
        for number in chance.sample(asked, len(asked) // 4):
            here.sim.faults.add("DELETE", rf"/{number}$", chance.choice(TROUBLE), times=chance.randint(1, 3))
        for _ in range(chance.randrange(4)):
            here.sim.faults.add("GET", LISTS, chance.choice(["status(503)", "drop_after", "hang"]))
        working = {record.order_id for record in _records(here) if record.status not in TERMINAL}
        first, began = len(here.sim.ledger.requests), here.sim.clock.now()
        market = asyncio.create_task(_fill(here, sorted(working), chance))
        result = await here.entry.cancel_all(here.account)
        elapsed = here.sim.clock.now() - began
        market.cancel()
        await asyncio.gather(market, return_exceptions=True)
        sent = [each for each in here.sim.ledger.requests[first:] if each.method == "DELETE"]
        # One that was delayed on its way arrives beside those that were sent much later.
        in_time = [each.at for each in sent if not (each.fault or "").startswith("delay")]
        most = max((sum(start <= each < start + 1 for each in in_time) for start in in_time), default=0)
        assert most <= MOST * (1 + BURST), f"{most} cancels in a second"
        return _checked(here, result, working), len(sent) / elapsed, most


async def _place(here: Floor, count: int, chance: random.Random) -> None:
    """Place orders, one in ten of them a bracket. The last ones are not at the exchange yet."""
    orders = here.client.orders
    for number in range(count - count // 10):
        await orders.submit(here.account, order(f"single-{number}", 2))
    for number in range(count // 10):
        await here.client.complex_orders.submit(here.account, bracket_order(f"whole-{number}", 2))
    await asyncio.sleep(chance.choice([0.0, 30.0]))


async def _fill(here: Floor, numbers: list[str], chance: random.Random) -> None:
    store = here.sim.brokerage.state.order_store
    while True:
        await asyncio.sleep(chance.uniform(0, 0.5))
        found = store.find(chance.choice(numbers))
        if found is not None and found.status not in TERMINAL and found.status != "Contingent":
            here.sim.fill_order(str(found.number), chance.choice([1, None]) if found.legs[0].remaining > 1 else None)


def _records(here: Floor) -> list[Any]:
    here.sim.settle()
    return here.sim.ledger.orders(account_number=here.account)


def _checked(here: Floor, result: Cancellations, working: set[str]) -> Counter[str]:
    store, tally = here.sim.brokerage.state.order_store, Counter[str]()
    missing = working - set(result)
    assert not missing, f"said nothing of {missing}"
    assert result.is_proven
    for record in _records(here):
        assert record.status in TERMINAL, f"order {record.order_id} is {record.status}"
        row, booked = result.get(record.order_id), store.find(record.order_id)
        if row is None:
            continue
        tally[row.outcome] += 1
        assert row.outcome is not CancelOutcome.UNKNOWN
        is_filled = record.status == "Filled"
        assert (row.outcome is CancelOutcome.FILLED) == is_filled, f"{row} but the books say {record.status}"
        told = sum((fill.quantity or Decimal(0) for fill in row.fills), Decimal(0))
        assert told == sum(leg.quantity - leg.remaining for leg in booked.legs), f"{row} but the books say {booked}"
        tally["filled in part"] += bool(told) and not is_filled
    return tally


def main(seed: int) -> Counter[str]:
    tally, average, most = play(seed, 300)
    print(f"sweep {seed}: {average:.1f} cancels a second, at most {most}", flush=True)
    return tally


if __name__ == "__main__":
    play_seeds(main)
