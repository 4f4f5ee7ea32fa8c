"""Small samples of the proofs that ``nox -s fleet`` runs at length."""

import os
import signal
import statistics

import pytest

from brokerage_async.fleet import Fleet
from tests.fleet import feed
from tests.fleet.cold_start import LATENCY, LEASE, cold_start, holder
from tests.fleet.crowd import at_work, small_simulator
from tests.fleet.engines import engine_server, missing
from tests.fleet.outage import place_through_outage
from tests.fleet.shared_budget import share_budget
from tests.fleet.workers import get_token

pytestmark = [pytest.mark.redis, pytest.mark.slow, pytest.mark.skipif(missing() is not None, reason=str(missing()))]


async def test_cold_processes_share_a_token_whose_holder_is_killed() -> None:
    peace, *others = await cold_start(6, 2, 0)
    assert (peace.requests, peace.got) == (1, 6)
    for each in others:
        assert each.requests <= 2
        assert each.got >= 5
        assert each.longest < LEASE + LATENCY + 3  # other tests are at work


async def test_holder_that_is_paused_beyond_its_lease_costs_one_more_request() -> None:
    with engine_server() as server:
        async with (
            small_simulator(latency=LATENCY) as sim,
            Fleet(server.url, name="desk") as fleet,
            at_work(sim, server.url, get_token, [(LEASE, "desk")] * 5) as people,
        ):
            paused = await holder(fleet.connection)
            os.kill(paused, signal.SIGSTOP)
            try:
                await people.wait_for(lambda each: len(each.of("token")) == 4, 30)
            finally:
                os.kill(paused, signal.SIGCONT)
            await people.wait_for(lambda each: len(each.of("token")) == 5, 30)
            assert sim.ledger.count("oauth.token") <= 2


async def test_workers_share_a_budget() -> None:
    found = await share_budget(5, 25, 8)
    assert len(found.counts) == 5
    assert found.busiest_second <= 28  # other tests are at work
    assert found.furthest_from_share < 0.4
    assert statistics.median(found.cancel_waits) < 0.2


async def test_orders_go_on_while_the_engine_is_away() -> None:
    found = await place_through_outage(5, 50, 25, 3, "kill")
    assert (found["outcomes"], found["doubled"], found["lost"]) == ({"placed": 50}, 0, 0)


async def test_feed_with_pollers_consumers_and_engine_killed_at_random() -> None:
    tally = await feed.run(200, seed=1)
    assert tally["changes, each seen by every group"] >= 200
