"""What a process may send now: held tokens, slots with a moment, the local share, and trades before reads."""

from __future__ import annotations

import pytest

from brokerage_async.fleet.budget import HELD_LIFE, MAX_DELAY, Budget, Grant, capacity_of, local_rate


def granted(**fields: object) -> Grant:
    return Grant(asked_at=0.0, received_at=0.0, **fields)  # type: ignore[arg-type]


def budget_with(**fields: object) -> Budget:
    budget = Budget(2.0)
    budget.receive(granted(**fields), 2.0)
    return budget


@pytest.mark.parametrize(
    ("budget", "capacity"), [(0.5, 0.25), (1, 0.5), (2, 1.0), (5, 1.0), (10, 1.0), (50, 5.0), (1000, 100.0)]
)
def test_capacity_leaves_most_of_the_budget_to_the_rate(budget: float, capacity: float) -> None:
    assert capacity_of(budget) == capacity


@pytest.mark.parametrize(("workers", "rate"), [(1, 1.75), (20, 1.75), (40, 0.875), (1000, 0.035), (0, 1.75)])
def test_local_rate_is_bounded_by_the_number_of_workers(workers: int, rate: float) -> None:
    assert local_rate(50, 0.035, workers) == pytest.approx(rate)


def test_all_workers_together_stay_below_the_budget_while_local() -> None:
    for workers in (20, 21, 100, 1000):
        assert workers * local_rate(50, 0.035, workers) <= 50 * 0.7 + 1e-9


class TestTake:
    def test_nothing_was_granted_returns_false(self) -> None:
        assert not Budget(2.0).take(0.0, is_trade=True)

    def test_held_tokens_serve_until_they_lapse(self) -> None:
        budget = budget_with(hold=3)
        assert budget.take(0.0, is_trade=False)
        assert budget.take(HELD_LIFE - 0.01, is_trade=True)
        assert not budget.take(HELD_LIFE, is_trade=True)
        assert budget.current_held(HELD_LIFE) == 0

    def test_slot_serves_from_its_moment_until_it_lapses(self) -> None:
        budget = budget_with(reads=(1.0, 2.0))
        assert not budget.take(0.9, is_trade=False)
        assert budget.take(1.0, is_trade=False)
        assert not budget.take(2.0 + MAX_DELAY + 0.01, is_trade=False)
        assert not budget.reads

    def test_trade_overtakes_the_reads_of_its_own_process(self) -> None:
        budget = budget_with(reads=(0.0,))
        budget.trade_waits = True
        assert not budget.take(0.0, is_trade=False)
        assert budget.take(0.0, is_trade=True)

    def test_slot_that_a_trade_left_serves_a_read(self) -> None:
        assert budget_with(trades=(0.0,)).take(0.0, is_trade=False)

    def test_local_share_is_spaced_and_ignores_what_was_granted(self) -> None:
        budget = budget_with(hold=5)
        budget.local_until = 10.0
        assert [budget.take(moment / 4, is_trade=True) for moment in range(5)] == [True, False, True, False, True]
        assert budget.take(10.0, is_trade=True) is False  # what was held has lapsed

    def test_stagger_delays_the_first_local_request_only(self) -> None:
        budget = Budget(2.0)
        budget.stagger(1.0, 0.5)
        budget.stagger(1.1, 0.9)
        budget.local_until = 10.0
        assert [budget.take(moment, is_trade=True) for moment in (1.2, 1.25, 1.3, 1.75)] == [False, True, False, True]

    def test_local_share_counts_what_was_sent_just_before_the_engine_went_away(self) -> None:
        budget = budget_with(hold=5)
        assert budget.take(1.0, is_trade=True)
        budget.local_until = 10.0
        assert [budget.take(moment, is_trade=True) for moment in (1.1, 1.49, 1.5)] == [False, False, True]

    def test_bridge_counts_what_the_engine_has_to_learn(self) -> None:
        budget = Budget(2.0)
        assert [budget.bridge(moment / 4) for moment in range(5)] == [True, False, True, False, True]
        assert budget.spent == 3

    def test_drop_leaves_nothing(self) -> None:
        budget = budget_with(hold=5, reads=(0.0,), trades=(0.0,))
        budget.drop()
        assert not budget.take(0.0, is_trade=True)


class TestReadyAt:
    def test_next_slot_of_either_kind(self) -> None:
        assert budget_with(reads=(3.0,), trades=(2.0,)).ready_at(0.0) == 2.0
        assert budget_with().ready_at(0.0) == float("inf")

    def test_next_local_request(self) -> None:
        budget = Budget(2.0)
        budget.local_until = 10.0
        assert budget.ready_at(1.0) == 1.0
        budget.take(1.0, is_trade=False)
        assert budget.ready_at(1.1) == 1.5


class TestReceive:
    def test_refill_is_due_at_half_of_what_is_held(self) -> None:
        assert budget_with(hold=64).refill_at == 32
        assert budget_with(hold=1).refill_at == 0
        assert budget_with().refill_at == -1

    def test_grace_keeps_to_the_local_share(self) -> None:
        budget = budget_with(grace=2.5)
        assert budget.local_until == 2.5

    def test_reply_is_read_in_seconds(self) -> None:
        grant = Grant.read([1500, 20, 45000, 250, 3, 125, [0, 200], [40], 7], 10.0, 11.0)
        assert grant == Grant(
            asked_at=10.0, received_at=11.0, grace=1.5, workers=20, rate=45.0, paused=0.25, hold=3, wait=0.0125,
            trades=(11.0, 11.02), reads=(11.004,), waiting=7,
        )  # fmt: skip
