"""Trials of a strategy: entries, exits, and sums that agree."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from brokerage_async import models
from brokerage_async.models import converter
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.calendar import CALENDARS, TradingSession
from brokerage_async.simulator.market.catalogue import Catalogue, Sizes
from brokerage_async.simulator.market.price_path import PricePath
from brokerage_async.simulator.market.prices import Prices
from brokerage_async.simulator.market.strategies import Results, TrialRun
from tests.simulator.harness import option_leg, strategy
from tests.tables import for_each

SHARE = {**option_leg(), "type": "equity", "direction": "long"}
WEEK = {"startDate": "2026-03-02", "endDate": "2026-03-06"}
"""Monday to Friday."""


def sessions(body: dict[str, Any]) -> list[TradingSession]:
    first, last = (date.fromisoformat(body[name]) for name in ("startDate", "endDate"))
    return CALENDARS[models.InstrumentCollection.EQUITY].between(first, last)


def run(body: dict[str, Any], seed: int = 0, **closes: Sequence[int]) -> Results:
    """Run a strategy with the closes of some symbols given, one for each session."""
    random = KeyedRandom(seed)
    prices = Prices(Catalogue(Sizes(equities=50), random, 1_781_100_000.0), random)
    for symbol, values in closes.items():
        times = (datetime.fromtimestamp(session.close, UTC) for session in sessions(body))
        prices.set_source(symbol, PricePath(list(zip(times, values, strict=True))), 0)
    return TrialRun(prices).run(converter.structure(body, models.NewBacktest), sessions(body))


def shares(**change: Any) -> dict[str, Any]:
    return strategy(SHARE, **WEEK, **change)


def profits(results: Results) -> list[int]:
    return [int(trial.profit) for trial in results.trials]


def days(results: Results) -> list[tuple[int, int]]:
    return [(trial.opened.day.day, trial.closed.day.day) for trial in results.trials]


def test_share_gains_the_difference_of_two_closes() -> None:
    results = run(shares(), AAPL=(100, 110, 105, 120, 115))
    assert days(results) == [(2, 6), (3, 6), (4, 6), (5, 6)]
    assert profits(results) == [15, 5, 10, -5]
    assert [int(each.profit) for each in results.snapshots] == [0, 10, 0, 45, 25]
    assert [int(each.price) for each in results.snapshots] == [100, 110, 105, 120, 115]
    assert dict(results.statistics()) == {
        "Number of trials": 4,
        "Number of trials with a profit": 3,
        "Total profit": 25,
        "Average profit": Decimal("6.25"),
        "Highest profit": 15,
        "Lowest profit": -5,
    }
    body = strategy({**SHARE, "direction": "short", "quantity": 3}, **WEEK)
    assert profits(run(body, AAPL=(100, 110, 105, 120, 115))) == [-45, -15, -30, 15]


@for_each("seed", [0, 1, 7])
def test_sums_agree_for_options_at_random_prices(seed: int) -> None:
    body = strategy(startDate="2025-06-02", endDate="2026-02-27", exitConditions={"takeProfitPercentage": 50})
    results = run(body, seed)
    total = sum(trial.profit for trial in results.trials)
    assert len({trial.profit for trial in results.trials}) > 10
    assert dict(results.statistics())["Total profit"] == total == results.snapshots[-1].profit


def test_short_put_keeps_its_premium_less_its_exercise() -> None:
    body = strategy(
        option_leg(strikeSelection="percentageOTM", percentageOTM=0.05, daysUntilExpiration=10),
        startDate="2026-03-10",
        endDate="2026-03-27",
        entryConditions={"maximumActiveTrials": 1},
    )
    results = run(body, AAPL=[200] * 14)
    first = results.trials[0]
    assert first.closed.day == first.expires == date(2026, 3, 20)
    assert first.profit == -first.cost > 0
    body = strategy(
        option_leg(strikeSelection="currentPriceOffset", currentPriceOffset=0, daysUntilExpiration=10),
        startDate="2026-03-10",
        endDate="2026-03-20",
        entryConditions={"maximumActiveTrials": 1},
    )
    (only,) = run(body, AAPL=[*[200] * 8, 180]).trials
    assert only.profit == -only.cost - 2000


@for_each(
    "conditions, expected",
    [
        ({}, [(2, 6)]),
        ({"takeProfitPercentage": 10}, [(2, 3), (3, 6)]),
        ({"takeProfitPercentage": 11}, [(2, 5), (5, 6)]),
        ({"stopLossPercentage": 4}, [(2, 6)]),
        ({"afterDaysInTrade": 2}, [(2, 4), (4, 6)]),
        ({"minimumVIX": 30}, [(2, 4), (4, 5), (5, 6)]),
    ],
)
def test_exit_conditions_end_trials(conditions: dict[str, int], expected: list[tuple[int, int]]) -> None:
    entry = {"maximumActiveTrials": 1, "maximumActiveTrialsBehavior": "don't enter"}
    body = shares(entryConditions=entry, exitConditions=conditions)
    assert days(run(body, AAPL=(100, 110, 105, 120, 115), VIX=(20, 29, 30, 31, 30))) == expected


def test_stop_loss_and_days_to_expiration_end_a_trial() -> None:
    body = shares(entryConditions={"maximumActiveTrials": 1}, exitConditions={"stopLossPercentage": 5})
    results = run(body, AAPL=(100, 96, 95, 120, 115))
    assert (days(results)[0], profits(results)[0]) == ((2, 4), -5)
    body = strategy(entryConditions={"maximumActiveTrials": 1}, exitConditions={"atDaysToExpiration": 25})
    first = run(body).trials[0]
    assert first.expires == date(2026, 4, 17)
    assert first.closed.day == date(2026, 3, 23)
    body = strategy(entryConditions={"frequency": "on exact days to expiration match"})
    (only,) = run(body).trials
    assert (only.opened.day, only.expires) == (date(2026, 3, 3), date(2026, 4, 17))


@for_each(
    "conditions, entries",
    [
        ({"frequency": "every day"}, [2, 3, 4, 5]),
        ({"frequency": "on specific days of the week", "specificDays": [1, 4, 5]}, [2, 5]),
        ({"frequency": "on exact days to expiration match"}, [2, 3, 4, 5]),
        ({"minimumVIX": 29}, [3, 4, 5]),
        ({"maximumVIX": 29}, [2, 3]),
        ({"minimumVIX": 29, "maximumVIX": 30}, [3, 4]),
    ],
)
def test_entry_conditions_choose_days(conditions: dict[str, Any], entries: list[int]) -> None:
    results = run(shares(entryConditions=conditions), VIX=(20, 29, 30, 31, 30))
    assert [trial.opened.day.day for trial in results.trials] == entries


def test_limits_of_active_trials_are_kept_and_noticed() -> None:
    entry = {"maximumActiveTrials": 2, "maximumActiveTrialsBehavior": "close oldest"}
    assert days(run(shares(entryConditions=entry))) == [(2, 4), (3, 5), (4, 6), (5, 6)]
    capped = run(shares()).notices
    assert capped == (
        [
            "Trials that were open on the last day, and end at its prices: 4.",
            "Trials that are active at a time are limited to 50.",
        ]
    )
    assert len(run(shares(entryConditions={"maximumActiveTrials": 9})).notices) == 1
    results = run(shares(entryConditions={"minimumVIX": 1000, "maximumActiveTrials": 1}))
    assert (dict(results.statistics()), results.notices) == ({"Number of trials": 0}, [])
    assert [each.profit for each in results.snapshots] == [0] * 5
