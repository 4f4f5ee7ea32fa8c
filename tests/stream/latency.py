"""Time from a fill to its report by a watcher: with push over loopback, and with a dead socket on virtual time.

    python -m tests.stream.latency

It exits with 1 if the median with push is more than 20 ms and one request, or if a watcher whose socket is dead for an
hour reports anything later than one without push, or polls more often.
"""

import asyncio
import statistics
import sys

from brokerage_async.simulator import Simulator
from brokerage_async.simulator.trading.orders import Order
from tests.loops import on_virtual_time
from tests.stream.world import SMALL, buy

FILLS = 40
LIMIT = 0.020
PAUSE = 4.0
"""Seconds between two orders, each of which makes about four bursts of events: in the long run two per second count."""

HOUR = 3600


async def over_loopback() -> tuple[list[float], list[float]]:
    """Return the seconds from each fill to its report and the seconds of each request, over real sockets."""
    async with Simulator(**SMALL) as sim, sim.client() as client:
        account, loop = sim.account_numbers[0], asyncio.get_running_loop()
        filled, reported, requests = dict[str, float](), dict[str, float](), list[float]()

        def note(order: Order, _: float) -> None:
            if order.status == "Filled":
                filled.setdefault(str(order.number), loop.time())

        sim.brokerage.state.order_store.on_change(note)
        async with client.watch.orders("me", [account], interval=30.0, push=True) as watcher:

            async def collect() -> None:
                async for change in watcher:
                    if change.after is not None and change.after.status == "Filled":
                        reported.setdefault(str(change.key), loop.time())

            reports = asyncio.ensure_future(collect())
            await asyncio.sleep(1)
            for _ in range(FILLS):
                await client.orders.submit(account, buy())
                await asyncio.sleep(PAUSE)
                start = loop.time()
                await client.orders.live("me", [account])
                requests.append(loop.time() - start)
            await asyncio.sleep(5)
            reports.cancel()
            await asyncio.wait({reports})
        return [at - filled[order_id] for order_id, at in reported.items()], requests


async def hour(*, push: bool, interval: float) -> tuple[list[tuple[str, str, float]], int]:
    """Trade for an hour while no socket carries anything. Return the reports with their times, and the polls."""
    sim = Simulator(**SMALL)
    sim.streams.faults.is_half_open = True
    loop = asyncio.get_running_loop()
    reports: list[tuple[str, str, float]] = []
    async with sim.client() as client:
        account = sim.account_numbers[0]

        async def report() -> None:
            async with client.watch.orders("me", [account], interval=interval, push=push) as watcher:
                async for change in watcher:
                    status = change.after.status if change.after is not None else None
                    reports.append((str(change.key), str(status), round(loop.time(), 3)))

        watching = asyncio.ensure_future(report())
        for _ in range(int(HOUR / 97.3)):  # never at the moment of a poll: which came first would be left to chance
            await asyncio.sleep(97.3)
            await client.orders.submit(account, buy())
        await asyncio.sleep(60)
        watching.cancel()
        await asyncio.wait({watching})
    polls = sum(record.operation == "orders.live" for record in sim.ledger.requests)
    return reports, polls


def dead_socket(interval: float) -> tuple[int, float, int, int]:
    """Return the reports, by how many seconds one is later than without push at most, and the polls of both."""
    (alone, polls), (with_push, more) = (on_virtual_time(hour)(push=push, interval=interval) for push in (False, True))
    same = [each[:2] for each in with_push] == [each[:2] for each in alone]
    late = max(late[2] - early[2] for late, early in zip(with_push, alone, strict=True)) if same else float("inf")
    return len(with_push), late, polls, more


def main() -> int:
    delays, requests = asyncio.run(over_loopback())
    delay, request = statistics.median(delays), statistics.median(requests)
    print(f"{len(delays)} fills over loopback: reported after {delay * 1000:.1f} ms (median); "
          f"a request takes {request * 1000:.1f} ms (median)")  # fmt: skip
    reports, late, polls, more = dead_socket(5.0)
    print(f"dead socket for an hour: {reports} reports, at most {late:.3f} s later than without push; "
          f"{more} polls instead of {polls}")  # fmt: skip
    return int(len(delays) < FILLS or delay > LIMIT + request or late > 0.001 or more > polls)


if __name__ == "__main__":
    sys.exit(main())
