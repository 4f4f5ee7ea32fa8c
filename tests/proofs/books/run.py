"""Runs one seed on virtual time, in production in memory."""

import asyncio
import contextlib
import itertools
from collections import Counter
from collections.abc import Sequence

from brokerage_async import Client, errors
from brokerage_async.simulator import Simulator
from tests.loops import on_virtual_time

from .compare import WORKING, Check, check_account
from .menu import Menu, known, menu_of
from .trader import Trader

CASH = 50_000_000
SETTLED = 30.0
ATTEMPTS = 10


@on_virtual_time
async def play(seed: int, orders: int = 5_000, check_every: int = 500) -> Counter[str]:
    """Place orders of a seed, replacements included, and compare all books every few steps and at the end.

    Return what happened. AssertionError: figures differ.
    """
    sim = Simulator("production", seed=seed, equities=60, equity_options=5_000, chain_rows=1_200, cash=CASH)
    check = Check()
    async with sim.client() as client:
        menu = await menu_of(client)
        trader = Trader(client, sim, menu, sim.account_numbers, seed)
        # The second account has complex orders that the trader does not see until all have ended.
        for number in itertools.count(1):
            await trader.step()
            if number % check_every == 0:
                await _check(client, sim.account_numbers[::2], menu, trader, check)
            if trader.orders >= orders:
                break
        await _end_all(client, sim.account_numbers)
        fills = await _check(client, sim.account_numbers, menu, trader, check)
    assert not check.differences, "\n".join(check.differences[:50])
    return trader.counts + Counter({"fills": fills, "figures compared": check.compared})


async def _check(client: Client, accounts: Sequence[str], menu: Menu, trader: Trader, check: Check) -> int:
    owned = {known(one.account).account_number: known(one.account) for one in await client.accounts.list("me")}
    return sum([await check_account(client, owned[number], menu, trader.reserved, check) for number in accounts])


async def _end_all(client: Client, accounts: Sequence[str]) -> None:
    for _ in range(ATTEMPTS):
        listed = [order for account in accounts for order in await client.orders.list(account).collect()]
        working = [order for order in listed if known(order.status) in WORKING]
        if not working:
            return
        for order in working:
            with contextlib.suppress(errors.UnprocessableError):
                await client.orders.cancel(known(order.account_number), known(order.id))
        await asyncio.sleep(SETTLED)
    raise AssertionError(f"{len(working)} orders do not end")
