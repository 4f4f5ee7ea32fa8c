"""Small samples of the proofs that ``nox -s fleet`` runs at length, and the checks of the proofs themselves."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from brokerage_async.fleet import Fleet
from tests.fleet import feed
from tests.fleet.cold_start import LATENCY, LEASE, cold_start, holder, token_requests
from tests.fleet.crowd import small_simulator
from tests.fleet.engines import engine_server, missing
from tests.fleet.outage import place_through_outage
from tests.fleet.shared_budget import busiest_second, share_budget
from tests.fleet.workers import get_token
from tests.processes import Service, crowd

engine = pytest.mark.skipif(missing() is not None, reason=str(missing()))


def test_busiest_second_counts_any_second_and_leaves_its_end_out() -> None:
    assert busiest_second([]) == 0
    assert busiest_second([0.0, 1.0, 2.0]) == 1
    assert busiest_second([0.9, 0.0, 0.5, 1.0, 1.89]) == 3


@pytest.mark.redis
@pytest.mark.slow
@engine
async def test_cold_processes_share_a_token_whose_holder_is_killed() -> None:
    peace, *others = await cold_start(6, 2, 0)
    assert (peace.requests, peace.got) == (1, 6)
    for each in others:
        assert each.requests <= 2
        assert each.got >= 5
        assert each.longest < LEASE + LATENCY + 3  # other tests are at work


@pytest.mark.redis
@pytest.mark.slow
@engine
async def test_holder_that_is_paused_beyond_its_lease_costs_one_more_request() -> None:
    with engine_server() as server:
        async with small_simulator() as sim, crowd() as people, Fleet(server.url, name="desk") as fleet:
            sim.latency = lambda request: LATENCY
            for _ in range(5):
                people.start(get_token, Service.of(sim, server.url), LEASE, "desk")
            await people.wait_for(lambda each: len(each.of("ready")) == 5, 60)
            people.go()
            paused = await holder(fleet.connection)
            os.kill(paused, signal.SIGSTOP)
            try:
                await people.wait_for(lambda each: len(each.of("token")) == 4, 30)
            finally:
                os.kill(paused, signal.SIGCONT)
            await people.wait_for(lambda each: len(each.of("token")) == 5, 30)
            assert token_requests(sim) <= 2


@pytest.mark.redis
@pytest.mark.slow
@engine
async def test_workers_share_a_budget() -> None:
    found = await share_budget(5, 25, 8)
    assert len(found.counts) == 5
    assert found.busiest_second <= 28  # other tests are at work
    assert found.furthest_from_share < 0.4


@pytest.mark.redis
@pytest.mark.slow
@engine
async def test_orders_go_on_while_the_engine_is_away() -> None:
    found = await place_through_outage(5, 50, 25, 3, "kill")
    assert found.outcomes == {"placed": 50}
    assert (found.doubled, found.lost) == (0, 0)


TRUTH = [
    {"id": "1", "key": "a", "before": None, "after": {"n": 1}},
    {"id": "2", "key": "a", "before": {"n": 1}, "after": {"n": 2}},
]
POSITION = {"1": 0, "2": 1}


def handled(number: int, **other: Any) -> dict[str, Any]:
    return TRUTH[number] | {"what": "handled"} | other


def acknowledged(number: int) -> dict[str, Any]:
    return {"what": "acknowledged", "id": TRUTH[number]["id"]}


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ([handled(0)], "1 changes were never seen"),
        ([handled(1), handled(0)], "out of order"),
        ([handled(0), acknowledged(0), handled(0), handled(1)], "handled again after it was acknowledged"),
        ([handled(0), handled(1, before=None)], "one idempotency key, two changes"),
    ],
)
def test_check_group_finds(facts: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        feed.check_group(facts, TRUTH, POSITION)
    assert feed.check_group([handled(0), handled(0), acknowledged(0), handled(1)], TRUTH, POSITION) == 3


def test_check_finds_a_change_that_was_never_published(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="a change is missing before"):
        feed.check(TRUTH[1:], {"a": 2}, tmp_path, feed.Outcome())


def test_check_polls_finds_two_pollers_at_a_time() -> None:
    def poll(turn: str, *times: float) -> list[dict[str, Any]]:
        return [{"turn": turn, "what": "begin", "time": time} for time in times]

    outcome = feed.Outcome()
    feed.check_polls([*poll("x", 1, 2), *poll("y", 3)], outcome)
    assert (outcome.turns, outcome.polls) == (2, 3)
    with pytest.raises(AssertionError, match="two pollers at a time"):
        feed.check_polls([*poll("x", 1, 4), *poll("y", 3)], outcome)


@pytest.mark.redis
@pytest.mark.slow
@engine
async def test_feed_with_pollers_consumers_and_engine_killed_at_random() -> None:
    outcome = await feed.run(200, seed=1)
    assert outcome.changes >= 200
