"""The same faults over real HTTP, on real time: thousands of orders, none of them placed twice.

``python -m tests.proofs.simulation.over_http --mutations 10000`` prints the results.
"""

import argparse
import asyncio
import logging
import random
import sys
import time
from collections import Counter
from collections.abc import Iterable

import attrs

from brokerage_async import Client, Limits, RetryPolicy
from brokerage_async.errors import BrokerageError
from brokerage_async.http.transport import AiohttpTransport
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import Simulator, faults
from brokerage_async.simulator.faults import Fault

from .record import NEVER_DONE
from .table import ORDER

TIMEOUT = 0.05
BATCH = 500
"""Orders per brokerage; one with thousands of working orders becomes slow."""

FAULTS = (
    *("refuse", "drop_before", "drop_after", "hang", "hang_after", "delay", "delay_after", "truncate", "garbage"),
    *("status(503)", "after_status(500)", "html(502)", "after_html(502)", "rate_limited", "unauthorized"),
)


class RandomFaults:
    """Fault plan that gives two requests in three a fault."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self.counts: Counter[str] = Counter()

    def take(self, method: str, target: str) -> Fault | None:
        """Return the fault that this request meets, if any."""
        rng = self._rng
        calm = 0.95 if target.endswith("/oauth/token") else 1 / 3
        if rng.random() < calm:
            return None
        kind = rng.choice(FAULTS)
        if kind == "unauthorized" and target.endswith("/oauth/token"):
            return None
        self.counts[kind] += 1
        if kind in {"delay", "delay_after"}:
            return getattr(faults, kind)(round(rng.uniform(0, 2 * TIMEOUT), 4))  # type: ignore[no-any-return]
        return faults.parse(kind)


class Counting:
    """Real transport that counts its sends."""

    def __init__(self) -> None:
        self._inner = AiohttpTransport()
        self.sends: Counter[str] = Counter()

    async def send(self, request: Request) -> Response:
        """Count and send."""
        assert request.operation is not None
        self.sends[request.operation.name] += 1
        return await self._inner.send(request)

    async def close(self) -> None:
        """Close."""
        await self._inner.close()


@attrs.define
class Tally:
    """Results of many orders."""

    orders: int = 0
    double: int = 0
    broken_promises: int = 0
    silent_resends: int = 0
    results: Counter[str] = attrs.field(factory=Counter)
    met: Counter[str] = attrs.field(factory=Counter)

    @property
    def violations(self) -> int:
        """Number of broken promises of any kind."""
        return self.double + self.broken_promises + self.silent_resends


async def play(seed: int, mutations: int) -> Tally:
    """Submit ``mutations`` orders under faults, then compare with the ledgers."""
    tally = Tally()
    for begin in range(0, mutations, BATCH):
        await _batch(seed + begin, min(BATCH, mutations - begin), tally)
    return tally


async def _batch(seed: int, mutations: int, tally: Tally) -> None:
    random_faults, transport = RandomFaults(seed), Counting()
    sim = Simulator(seed=seed, equities=60, equity_options=20, chain_rows=20, warrants=5)
    results: dict[str, str] = {}
    async with sim:
        sim.brokerage.faults = random_faults  # type: ignore[assignment]
        policy = RetryPolicy(base_delay=0.001, max_delay=0.01, budget=None, jitter=random.Random(seed).random)
        options = {"timeout": TIMEOUT, "retry": policy, "limits": Limits(trades=16), "transport": transport}
        async with sim.client(**options) as client:
            account = sim.account_numbers[0]
            waiting = iter(range(mutations))
            await asyncio.gather(*(_submit(client, account, waiting, results) for _ in range(16)))
            await asyncio.sleep(3 * TIMEOUT)
    tally.orders += mutations
    tally.met += random_faults.counts
    tally.results += Counter(results.values())
    for identifier, result in results.items():
        placed = len(sim.ledger.orders(external_identifier=identifier))
        tally.double += placed > 1
        tally.broken_promises += (result in NEVER_DONE and placed > 0) or (result == "success" and placed != 1)
    tally.silent_resends += sum(sim.ledger.count(name) > sends for name, sends in transport.sends.items())


async def _submit(client: Client, account: str, waiting: Iterable[int], results: dict[str, str]) -> None:
    for number in waiting:
        identifier = f"order-{number}"
        try:
            await client.orders.submit(account, attrs.evolve(ORDER, external_identifier=identifier))
        except BrokerageError as error:
            results[identifier] = type(error).__name__
        else:
            results[identifier] = "success"


def main() -> int:
    """Return the exit code: 0 without violations."""
    parser = argparse.ArgumentParser(prog="python -m tests.proofs.simulation.over_http", description=__doc__)
    parser.add_argument("--mutations", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    logging.disable(logging.ERROR)
    started = time.perf_counter()
    tally = asyncio.run(play(arguments.seed, arguments.mutations))
    print(f"{tally.orders} orders in {time.perf_counter() - started:.1f} s, {sum(tally.met.values())} faults")
    print(f"  results: {dict(tally.results.most_common())}")
    print(f"  placed twice: {tally.double}, broken promises: {tally.broken_promises}, resends: {tally.silent_resends}")
    return bool(tally.violations)


if __name__ == "__main__":
    sys.exit(main())
