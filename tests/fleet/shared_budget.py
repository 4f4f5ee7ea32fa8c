"""Workers that share one budget of requests, judged by the requests that the simulated service counts.

``python -m tests.fleet.shared_budget [WORKERS] [BUDGET] [SECONDS]``
"""

import asyncio
import bisect
import statistics
import sys

import attrs

from brokerage_async.fleet import Fleet
from tests.fleet.crowd import as_table, at_work, prefer_the_service, small_simulator
from tests.fleet.engines import engine_server
from tests.fleet.workers import read_and_cancel


@attrs.frozen(kw_only=True)
class Figures:
    """Counts: requests in the busiest second, of each worker, and the waits of the cancels in seconds."""

    busiest_second: int
    counts: list[int]
    cancel_waits: list[float]

    @property
    def furthest_from_share(self) -> float:
        share = statistics.mean(self.counts)
        return max(abs(count - share) / share for count in self.counts)


def busiest_second(moments: list[float]) -> int:
    """Return the most moments within any second, its end left out."""
    moments = sorted(moments)
    return max((bisect.bisect_left(moments, each + 1.0) - n for n, each in enumerate(moments)), default=0)


async def settled(fleet: Fleet) -> None:
    """Set the start of the engine's state to long ago."""
    await fleet.connection.command("HSET", fleet.connection.key("limits", "requests", "state"), "since", 1)


async def share_budget(workers: int, budget: float, seconds: float) -> Figures:
    with engine_server() as server:
        arguments = [(budget, seconds, seed) for seed in range(workers)]
        async with small_simulator() as sim, at_work(sim, server.url, read_and_cancel, arguments) as people:
            await people.wait_for_all(seconds + 60)
            reports = [content for _, content in people.of("counts")]
            moments = [record.at for record in sim.ledger.requests]
    return Figures(
        busiest_second=busiest_second(moments),
        counts=[sum(counts.values()) for counts, _ in reports],
        cancel_waits=[wait for _, waits in reports for wait in waits],
    )


def main() -> None:
    workers, budget, seconds = (int(each) for each in (*sys.argv[1:], *("20", "50", "30")[len(sys.argv) - 1 :]))
    prefer_the_service()
    found = asyncio.run(share_budget(workers, budget, seconds))
    late = statistics.quantiles(found.cancel_waits, n=20)[-1]
    print(f"{workers} workers share {budget} requests/s for {seconds} s")
    rows: dict[str, object] = {
        "most in any second": found.busiest_second,
        "of each worker": found.counts,
        "furthest from the mean": f"{found.furthest_from_share:.1%}",
        "wait of a cancel, median": f"{statistics.median(found.cancel_waits) * 1e3:.1f} ms",
        "wait of a cancel, 95th percentile": f"{late * 1e3:.1f} ms",
    }
    print(as_table(rows))
    assert len(found.counts) == workers
    assert found.busiest_second <= budget * 1.02
    assert found.furthest_from_share <= 0.2
    assert late < 0.1


if __name__ == "__main__":
    main()
