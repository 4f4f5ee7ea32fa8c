"""Life cycle of backtests on the simulator's clock, and the days that can be tested."""

from datetime import date
from typing import Any

import pytest

from brokerage_async import models
from brokerage_async.models import BacktestStatus, converter
from brokerage_async.simulator.market.strategies import Backtest
from tests.simulator.harness import Harness, strategy
from tests.tables import for_each


def created(harness: Harness, **change: Any) -> Backtest:
    state = harness.state
    return state.backtests.create(state.owner, converter.structure(strategy(**change), models.NewBacktest), harness.now)


def test_status_and_progress_follow_the_clock(harness: Harness) -> None:
    backtest, now = created(harness), harness.now
    assert backtest.sessions == 20
    seen = [(backtest.status(now + after), backtest.progress(now + after)) for after in (0, 0.99, 1.1, 1.3, 1.4, 99)]
    assert [status for status, _ in seen] == [
        BacktestStatus.PENDING,
        BacktestStatus.PENDING,
        BacktestStatus.RUNNING,
        BacktestStatus.RUNNING,
        BacktestStatus.COMPLETED,
        BacktestStatus.COMPLETED,
    ]
    assert [progress for _, progress in seen] == pytest.approx([0, 0, 0.25, 0.75, 1, 1], abs=1e-6)
    assert [backtest.remaining(now + after) for after in (0, 1.2, 9)] == pytest.approx([1.4, 0.2, 0], abs=1e-6)
    week = created(harness, endDate="2026-03-06")
    assert (week.status(harness.now), week.progress(harness.now)) == (BacktestStatus.COMPLETED, 1)
    longer = created(harness, endDate="2026-03-09")
    assert longer.status(harness.now) is BacktestStatus.PENDING


def test_backtests_belong_to_their_customer_and_keep_their_results(harness: Harness) -> None:
    backtests, backtest = harness.state.backtests, created(harness)
    assert backtests.find(harness.state.owner, backtest.identifier) is backtest
    assert backtests.find(harness.state.other_customer, backtest.identifier) is None
    assert list(backtests.of(harness.state.owner)) == [backtest]
    assert list(backtests.of(harness.state.other_customer)) == []
    before = [trial.profit for trial in created(harness).results.trials]
    harness.sim.set_price("AAPL", 1)
    assert [trial.profit for trial in created(harness).results.trials] == before

    def of(seed: int) -> tuple[Any, ...]:
        backtest = created(Harness(seed=seed))
        return backtest.identifier, *(trial.profit for trial in backtest.results.trials)

    assert of(4) == of(4) != of(5)
    assert Harness(equity_options=5_000).state.backtests.symbols[:3] == ("AAPL", "SPY", "QQQ")
    assert Harness(equity_options=0).state.backtests.symbols == ()


@for_each(
    "now, last",
    [
        ("2026-06-10T15:00:00Z", date(2026, 6, 9)),
        ("2026-06-10T19:59:59Z", date(2026, 6, 9)),
        ("2026-06-10T20:00:00Z", date(2026, 6, 10)),
        ("2026-06-14T15:00:00Z", date(2026, 6, 12)),
    ],
)
def test_last_day_is_that_of_the_last_close(harness: Harness, now: str, last: date) -> None:
    harness.wait_until(now)
    assert harness.state.backtests.dates(harness.now) == (date(2021, 1, 4), last)
