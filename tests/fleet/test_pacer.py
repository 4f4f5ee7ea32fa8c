"""The way from a call to the shared budget, over a keeper that records its calls."""

from __future__ import annotations

from typing import Any

import pytest

from brokerage_async.fleet.budget import Budget, Grant
from brokerage_async.fleet.pacer import LanePacer
from brokerage_async.http.limiter import Lane


class Keeper:
    """Records the calls of a pacer."""

    def __init__(self) -> None:
        self.notes: list[tuple[Any, ...]] = []

    def attach(self, pacer: LanePacer, lane: Lane) -> None:
        self.notes.append(("attach", pacer, lane))

    def detach(self, pacer: LanePacer) -> None:
        self.notes.append(("detach", pacer))

    def refused(self, *, is_trade: bool) -> None:
        self.notes.append(("refused", is_trade))

    def throttled(self, pause: float) -> None:
        self.notes.append(("throttled", pause))

    def refill(self) -> None:
        self.notes.append(("refill",))


@pytest.fixture
def keeper() -> Keeper:
    return Keeper()


def holding(tokens: int) -> Budget:
    budget = Budget(2.0)
    budget.receive(Grant(asked_at=0.0, received_at=0.0, hold=tokens), 2.0)
    return budget


def test_take_refills_once_half_of_the_tokens_are_spent(keeper: Keeper) -> None:
    pacer = LanePacer(keeper, holding(4), is_trade=False)
    assert pacer.take(0.0)
    assert keeper.notes == []
    assert pacer.take(0.0)
    assert keeper.notes == [("refill",)]


@pytest.mark.parametrize("is_trade", [True, False])
def test_take_without_permission_is_refused_with_its_kind(keeper: Keeper, is_trade: bool) -> None:
    assert not LanePacer(keeper, Budget(2.0), is_trade=is_trade).take(0.0)
    assert keeper.notes == [("refused", is_trade)]


def test_take_read_does_not_overtake_a_trade_that_waits(keeper: Keeper) -> None:
    budget = holding(4)
    budget.trade_waits = True
    assert not LanePacer(keeper, budget, is_trade=False).take(0.0)
    assert LanePacer(keeper, budget, is_trade=True).take(0.0)
    assert keeper.notes == [("refused", False)]


def test_take_uses_the_local_share_only_while_it_bridges(keeper: Keeper) -> None:
    budget = Budget(2.0)
    pacer = LanePacer(keeper, budget, is_trade=True)
    assert not pacer.take(0.0)
    pacer.bridges = True
    assert [pacer.take(moment) for moment in (0.0, 0.4, 0.5)] == [True, False, True]
    assert budget.spent == 2, "the engine has to learn of them"
    pacer.bridges = False
    assert not pacer.take(2.0)


def test_take_spends_what_was_granted_before_it_bridges(keeper: Keeper) -> None:
    budget = holding(1)
    pacer = LanePacer(keeper, budget, is_trade=True)
    pacer.bridges = True
    assert pacer.take(0.0)
    assert (budget.held, budget.spent) == (0, 0)


def test_lane_is_attached_throttled_and_detached(keeper: Keeper) -> None:
    pacer = LanePacer(keeper, Budget(2.0), is_trade=True)
    lane = Lane(1, pacer=pacer)
    pacer.throttled(1.5)
    pacer.close()
    assert keeper.notes == [("attach", pacer, lane), ("throttled", 1.5), ("detach", pacer)]
