"""Rules of strategies on top of the rules for single fields."""

from datetime import date
from typing import Any

from brokerage_async import models
from brokerage_async.models import converter
from brokerage_async.simulator.market.strategies import problems_of
from tests.simulator.harness import option_leg, strategy
from tests.tables import for_each

FIRST, LAST = date(2021, 1, 4), date(2026, 6, 9)
SHARES = {**option_leg(quantity=100), "type": "equity"}


def problems(body: dict[str, Any]) -> list[str]:
    found = problems_of(converter.structure(body, models.NewBacktest), FIRST, LAST)
    return [f"{name} {problem}" for name, problem in found]


@for_each(
    "body",
    [
        strategy(),
        strategy(startDate=str(FIRST), endDate=str(LAST)),
        strategy(startDate="2026-03-02", endDate="2026-03-02"),
        strategy(SHARES),
        strategy(option_leg(quantity=10, delta=100, daysUntilExpiration=1100)),
        strategy(
            option_leg(),
            option_leg(strikeSelection="currentPriceOffsetRelative", currentPriceOffset=-5, strikeRelativeLeg=0),
        ),
        strategy(entryConditions={"frequency": "on specific days of the week", "specificDays": [1]}),
    ],
)
def test_valid_strategy_has_no_problem(body: dict[str, Any]) -> None:
    assert problems(body) == []


@for_each(
    "body, problem",
    [
        (strategy(startDate="2021-01-03"), "startDate must be from 2021-01-04 to 2026-06-09"),
        (strategy(endDate="2026-06-10"), "endDate must be from 2021-01-04 to 2026-06-09"),
        (strategy(endDate="2026-03-01"), "endDate must not be before startDate"),
        (strategy(startDate="2026-03-07", endDate="2026-03-08"), "endDate must leave at least one trading day"),
        (strategy(option_leg(quantity=11)), "legs[0].quantity must be at most 10 for options"),
        (strategy(option_leg(daysUntilExpiration=-1)), "legs[0].daysUntilExpiration must be from 0 to 1100"),
        (strategy(option_leg(daysUntilExpiration=10**9)), "legs[0].daysUntilExpiration must be from 0 to 1100"),
        (strategy(option_leg(delta=0.16)), "legs[0].delta must be from 1 to 100 for the strikeSelection delta"),
        (
            strategy(SHARES, option_leg(strikeSelection="premium")),
            "legs[1].premium must be from 0 to 50000 for the strikeSelection premium",
        ),
        (
            strategy(entryConditions={"maximumActiveTrials": 0}),
            "entryConditions.maximumActiveTrials must be at least 1",
        ),
        (
            strategy(entryConditions={"frequency": "on specific days of the week"}),
            "entryConditions.specificDays must name at least one day for this frequency",
        ),
    ],
)
def test_broken_rule_is_named(body: dict[str, Any], problem: str) -> None:
    assert problems(body) == [problem]


@for_each("base", [None, -1, 1, 2, 3])
def test_relative_leg_needs_a_leg_to_start_from(base: int | None) -> None:
    relative = option_leg(strikeSelection="percentageOTMRelative", percentageOTM=0.1, strikeRelativeLeg=base)
    body = strategy(option_leg(), relative, SHARES)
    assert problems(body) == [
        "legs[1].strikeRelativeLeg must be the index of an option leg with a strikeSelection that is not relative"
    ]
