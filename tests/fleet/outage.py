"""Orders placed by many workers while the engine is away for a minute, killed or fallen silent.

``python -m tests.fleet.outage [WORKERS] [ORDERS] [BUDGET] [OUTAGE] [kill|pause]``
"""

import asyncio
import sys
from collections import Counter
from typing import Any

from tests.fleet.crowd import as_table, at_work, prefer_the_service, small_simulator, warm_up
from tests.fleet.engines import engine_server
from tests.fleet.shared_budget import busiest_second
from tests.fleet.workers import place_orders


async def place_through_outage(workers: int, orders: int, budget: float, outage: float, kind: str) -> dict[str, Any]:
    """Place ``orders`` in all. The engine goes away once a fifth of them is placed."""
    arguments = [(budget, orders // workers, f"worker-{number}") for number in range(workers)]
    with engine_server() as server:
        async with small_simulator() as sim:
            await warm_up(sim)
            warm = len(sim.ledger.requests)
            async with at_work(sim, server.url, place_orders, arguments) as people:
                await people.wait_for(lambda them: len(them.of("placed")) >= orders // 5, 120)
                before = len(people.of("placed"))
                server.kill() if kind == "kill" else server.pause()
                await asyncio.sleep(outage)
                during = len(people.of("placed")) - before
                await asyncio.to_thread(server.start) if kind == "kill" else server.resume()
                await people.wait_for_all(300)
                reports = [content for _, content in people.of("placed")]
            names = {name for name, _, _ in reports}
            placed = [order.external_identifier for order in sim.ledger.orders()]
            exist = Counter(name for name in placed if name in names)
            moments = [record.at for record in sim.ledger.requests[warm:]]
    return {
        "outcomes": Counter(outcome for _, outcome, _ in reports),
        "doubled": sum(count > 1 for count in exist.values()),
        "lost": orders - len(exist),
        "longest": max(took for _, _, took in reports),
        "busiest_second": busiest_second(moments),
        "during_outage": during,
    }


def main() -> None:
    given = [*sys.argv[1:], *("20", "1000", "30", "60", "kill")[len(sys.argv) - 1 :]]
    workers, orders, budget, outage = (int(word) for word in given[:4])
    prefer_the_service()
    found = asyncio.run(place_through_outage(workers, orders, budget, outage, given[4]))
    print(
        f"{orders} placements of {workers} workers at {budget} requests/s, the engine away for {outage} s ({given[4]})"
    )
    print(as_table(found))
    assert found["outcomes"] == {"placed": orders}
    assert (found["doubled"], found["lost"]) == (0, 0)
    assert found["longest"] < 10
    assert found["busiest_second"] <= budget * 1.02


if __name__ == "__main__":
    main()
