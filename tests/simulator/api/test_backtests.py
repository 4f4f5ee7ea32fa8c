"""Backtests over HTTP, and their strategies: strikes and expirations by rule, trials, and sums that agree."""

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async import models
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.models import converter
from brokerage_async.protocol.decoding import codec
from brokerage_async.simulator import faults
from brokerage_async.simulator.api.backtests import Held, Results, Strategies
from brokerage_async.simulator.market.calendar import CALENDARS, TradingSession, local_epoch
from brokerage_async.simulator.market.prices import Prices
from brokerage_async.simulator.market.quotes import PricePath
from tests.simulator.harness import Harness, market_prices, option_leg, strategy
from tests.tables import for_each

HOST = "/backtester"
PUT = "AAPL  260618P00190000"
SHARES = {"symbol": "AAPL", "direction": "long", "quantity": 100}
COVER = {"symbol": PUT, "direction": "short", "quantity": 1}
MORNING = {"startTime": "2026-06-08T13:30:00Z", "endTime": "2026-06-08T15:00:00Z"}


def trade(*legs: dict[str, Any], **change: Any) -> dict[str, Any]:
    """Build the body of a simulated trade. A change to None removes the key."""
    body = {"underlying": "AAPL", "legs": list(legs) or [SHARES], **MORNING, **change}
    return {key: value for key, value in body.items() if value is not None}


def simulated(harness: Harness, *legs: dict[str, Any], **change: Any) -> list[dict[str, Any]]:
    body = harness.answered("POST", f"{HOST}/simulate-trade", trade(*legs, **change), 200)
    codec.decode(OPERATIONS["backtests.simulate_trade"], body, strict=True)
    rows: list[dict[str, Any]] = json.loads(body)
    return rows


def test_backtests_are_found_by_their_customer_alone() -> None:
    harness = Harness(customers=2).login()
    created = [harness.backtest() for _ in range(2)]
    assert harness.get(f"{HOST}/backtests") == created
    harness.login(refresh_token=harness.sim.customers[1].refresh_token)
    for method, tail in (("GET", ""), ("POST", "/cancel")):
        assert harness.ask(method, f"{HOST}/backtests/{created[0]}{tail}").status == 404
    assert harness.ask("POST", f"{HOST}/backtests", strategy(symbol="MSFT")).status == 404
    assert harness.get(f"{HOST}/backtests") == []


def test_cancelled_backtest_is_gone_and_a_complete_one_stays(harness: Harness) -> None:
    for seconds, statuses in ((0, (204, 404, 404)), (1.2, (204, 404, 404)), (2, (400, 400, 200))):
        target = f"{HOST}/backtests/{harness.backtest()}"
        harness.wait(seconds)
        calls = (("POST", "/cancel"), ("POST", "/cancel"), ("GET", ""))
        assert tuple(harness.ask(method, f"{target}{tail}").status for method, tail in calls) == statuses
        assert len(harness.get(f"{HOST}/backtests")) == statuses.count(200)
    for end, expected in (("2026-03-06", (200, "completed")), ("2026-03-09", (201, "pending"))):
        response = harness.ask("POST", f"{HOST}/backtests", strategy(endDate=end))
        assert (response.status, json.loads(response.body)["status"]) == expected


def test_status_progress_and_results_follow_the_clock(harness: Harness) -> None:
    identifier, seen = harness.backtest(), []
    for seconds in (0, 0.99, 0.11, 0.2, 0.11, 97.59):
        harness.wait(seconds)
        backtest = harness.decoded("backtests.get", id=identifier)
        seen.append((backtest.status, float(backtest.progress), float(backtest.eta), backtest.trials is not None))
    assert seen == [
        ("pending", 0, 1.4, False),
        ("pending", 0, 0.41, False),
        ("running", 0.25, 0.3, False),
        ("running", 0.75, 0.1, False),
        ("completed", 1, 0, True),
        ("completed", 1, 0, True),
    ]
    assert strategy().items() <= harness.get(harness.target("backtests.get", id=identifier)).items()
    figures = {one["name"]: one["value"] for one in backtest.statistics}
    profits = [trial.profit_loss for trial in backtest.trials]
    assert figures["Total profit"] == backtest.snapshots[-1].profit_loss == sum(profits)
    assert figures["Number of trials"] == len(profits) == 19


def test_results_are_those_of_the_seed_at_the_creation(harness: Harness) -> None:
    def trials(harness: Harness) -> Any:
        identifier = harness.backtest()
        harness.wait(2)
        return identifier, harness.decoded("backtests.get", id=identifier).trials

    _, before = trials(harness)
    harness.sim.set_price("AAPL", 1)
    assert trials(harness)[1] == before
    four, again, five = (trials(Harness(seed=seed).login()) for seed in (4, 4, 5))
    assert four == again != five
    symbols = [row["symbol"] for row in Harness(equity_options=5_000).login().get(f"{HOST}/available-dates")]
    assert symbols[:3] == ["AAPL", "SPY", "QQQ"]
    assert Harness(equity_options=0).login().get(f"{HOST}/available-dates") == []


def test_last_day_is_that_of_the_last_close(harness: Harness) -> None:
    days = {"10T15:00:00": "2026-06-09", "10T19:59:59": "2026-06-09", "10T20:00:00": "2026-06-10"}
    for now, last in {**days, "14T15:00:00": "2026-06-12"}.items():
        harness.wait_until(f"2026-06-{now}Z")
        [dates] = harness.get(f"{HOST}/available-dates")
        assert (now, dates) == (now, {"symbol": "AAPL", "startDate": "2021-01-04", "endDate": last})


def test_shares_are_priced_every_15_minutes_or_at_each_close(harness: Harness) -> None:
    rows = simulated(harness)
    assert [row["dateTime"][11:16] for row in rows] == ["13:30", "13:45", "14:00", "14:15", "14:30", "14:45", "15:00"]
    assert {(row["effect"], row["delta"]) for row in rows} == {("debit", "1.0000")}
    assert all(row["price"] == row["underlyingPrice"] for row in rows)
    assert len({row["price"] for row in rows}) > 1
    rows = simulated(harness, startTime="2026-01-01T00:00:00Z", endTime="2026-06-01T00:00:00Z")
    assert [row["dateTime"][:16] for row in rows[:2]] == ["2026-01-02T21:00", "2026-01-05T21:00"]
    assert len(rows) == 102
    expired = {"symbol": "AAPL  260515C00200000", "direction": "long", "quantity": 1}
    open_end = {"startTime": "2026-05-11T00:00:00Z", "endTime": None}
    assert simulated(harness, expired, COVER, **open_end)[-1]["dateTime"][:16] == "2026-05-15T20:00"
    assert simulated(harness, COVER, **open_end)[-1]["dateTime"][:16] == "2026-06-10T14:00"
    later = simulated(harness, COVER, startTime="2026-06-09T00:00:00Z", endTime="2030-01-01T00:00:00Z")
    assert later[-1]["dateTime"][:16] == "2026-06-10T14:00"
    rows = simulated(harness, startTime=None, endTime=None)
    assert (rows[0]["dateTime"][:10], rows[-1]["dateTime"][:10]) == ("2026-04-13", "2026-06-10")
    assert simulated(harness, startTime="1970-01-01T00:00:00Z")[0]["dateTime"][:10] == "2021-01-04"
    one = simulated(harness, SHARES, COVER)
    three = simulated(harness, {**SHARES, "quantity": 300}, {**COVER, "quantity": 3})
    assert one == three
    (put, *_), (both, *_) = simulated(harness, COVER), one
    assert (put["effect"], both["effect"]) == ("credit", "debit")
    assert Decimal(both["price"]) == Decimal(both["underlyingPrice"]) - Decimal(put["price"])
    assert 0 < Decimal(put["delta"]) < 1 < Decimal(both["delta"]) < 2


def test_invalid_trade_is_refused(harness: Harness) -> None:
    legs = [SHARES | {"symbol": symbol} for symbol in ("MSFT", "no symbol")]
    legs += [SHARES | {"quantity": 0}, SHARES | {"direction": "up"}]
    bodies = [trade(underlying="MSFT"), trade(legs=[]), *map(trade, legs)]
    bodies += [
        trade(startTime="2026-06-11T00:00:00Z", endTime=None),
        trade(startTime=None, endTime="2019-01-01T00:00:00Z"),
    ]
    statuses = [(body, harness.ask("POST", f"{HOST}/simulate-trade", body).status) for body in bodies]
    assert statuses == [(body, 400) for body in bodies]


async def test_log_of_a_backtest_is_raw(harness: Harness) -> None:
    """Whatever form the service gives it, its bytes arrive."""
    identifier = harness.backtest()
    assert harness.ask("GET", f"/backtester/backtests/{identifier}/logs").status == 200
    assert harness.ask("GET", "/backtester/backtests/00000000000000000000000000000000/logs").status == 404
    for log in (b"09:30 opened\n", b'{"entries": []}', b""):
        harness.sim.faults.add("GET", "/logs$", faults.body(log))
        async with harness.sim.client(transport=harness.sim.transport()) as client:
            assert (await client.with_raw_response.backtests.logs(identifier)).body == log
            assert await client.backtests.logs(identifier) is None


AT = local_epoch(date(2026, 3, 3), 16)
"""45 days before an expiration."""

OTM = "percentageOTM"
SHARE = {**option_leg(), "type": "equity", "direction": "long"}


def made(price: int = 200) -> tuple[Strategies, Prices]:
    prices = market_prices(start=AT)
    prices.set_price("AAPL", Decimal(price), 0)
    return Strategies(prices), prices


def entered(*legs: dict[str, Any], price: int = 200, exact: bool = False) -> list[Held] | None:
    wanted = [converter.structure(leg, models.BacktestLeg) for leg in legs]
    return made(price)[0].enter("AAPL", wanted, AT, exact=exact)


def strikes(*legs: dict[str, Any], price: int = 200) -> list[Decimal | None]:
    return [instrument.strike for instrument, _ in entered(*legs, price=price) or ()]


def by(selection: str, value: float, base: int | None = None, **terms: Any) -> dict[str, Any]:
    """Build a leg whose strike is selected by a value, perhaps relative to another leg."""
    name = OTM if selection.startswith(OTM) else "currentPriceOffset"
    relative = {} if base is None else {"strikeRelativeLeg": base}
    return option_leg(strikeSelection=selection, **{name: value}, **relative, **terms)


def test_strike_is_the_nearest_listed_one() -> None:
    wanted = [by(OTM, 0.1), by(OTM, 0.1, side="call"), by(OTM, -0.1)]
    wanted += [by("currentPriceOffset", 12), by("currentPriceOffset", -50000)]
    assert [strikes(one) for one in wanted] == [[180], [220], [220], [210], [5]]


@for_each("side", ["call", "put"])
@for_each("delta", [1, 16, 30, 50, 84, 100])
def test_strike_by_delta_has_about_that_delta(side: str, delta: int) -> None:
    (leg,) = entered(option_leg(side=side, direction="long", delta=delta), price=90) or ()
    found = made(90)[0].delta([leg], AT)
    assert (found > 0) is (side == "call")
    assert abs(found) == pytest.approx(delta, abs=4)


@for_each("side", ["call", "put"])
@for_each("premium", [1, 4, 30])
def test_strike_by_premium_costs_about_that(side: str, premium: int) -> None:
    wanted = option_leg(side=side, direction="long", strikeSelection="premium", premium=premium)
    (leg,) = entered(wanted) or ()
    strategies, prices = made()
    cost = strategies.worth([leg], AT) / 100
    assert cost == prices.price(leg[0], AT)
    for step in (-5, 5):
        offset = float((leg[0].strike or 0) - 200 + step)
        beside = entered(wanted | {"strikeSelection": "currentPriceOffset", "currentPriceOffset": offset}) or []
        assert abs(cost - premium) <= abs(strategies.worth(beside, AT) / 100 - premium)


def test_relative_and_exact_offsets_start_from_the_other_leg() -> None:
    base = by("currentPriceOffset", -20)
    assert strikes(by("currentPriceOffsetRelative", -10, 1, direction="long"), base) == [170, 180]
    assert strikes(by("percentageOTMRelative", 0.1, 1), base) == [160, 180]
    base = by("currentPriceOffset", 0)
    assert strikes(base, by("currentPriceExactOffsetRelative", -15, 0)) == [200, 185]
    for offset in (-12, -200):
        assert entered(base, by("currentPriceExactOffsetRelative", offset, 0)) is None
    assert entered(option_leg(daysUntilExpiration=45), exact=True) is not None
    assert entered(option_leg(daysUntilExpiration=44), exact=True) is None


def test_expiration_is_the_nearest_monthly_one() -> None:
    nearest = {0: date(2026, 3, 20), 45: date(2026, 4, 17), 60: date(2026, 5, 15), 365: date(2027, 2, 19)}
    legs = {days: entered(option_leg(daysUntilExpiration=days)) or [] for days in nearest}
    assert {days: instrument.expires for days, [(instrument, _)] in legs.items()} == nearest


def test_legs_are_worth_their_signed_units_or_their_exercise() -> None:
    legs = entered(option_leg(quantity=2), {**SHARE, "quantity": 7}) or []
    assert [units for _, units in legs] == [-200, 7]
    strategies, prices = made()
    assert strategies.worth(legs, AT) == 7 * 200 - 200 * prices.price(legs[0][0], AT)
    assert strategies.delta(legs[1:], AT) == 7
    legs = entered(*(by("currentPriceOffset", offset, direction="long") for offset in (20, -20)))
    at = local_epoch(date(2026, 4, 17), 16)
    assert [strategies.worth([leg], at) for leg in legs or ()] == [2000, 0]
    assert [strategies.delta([leg], at) for leg in legs or ()] == [-100, 0]


WEEK = {"startDate": "2026-03-02", "endDate": "2026-03-06"}
"""Monday to Friday."""


def sessions(body: dict[str, Any]) -> list[TradingSession]:
    first, last = (date.fromisoformat(body[name]) for name in ("startDate", "endDate"))
    return CALENDARS[models.InstrumentCollection.EQUITY].between(first, last)


def run(body: dict[str, Any], seed: int = 0, **closes: Sequence[int]) -> Results:
    prices = market_prices(seed)
    for symbol, values in closes.items():
        times = (datetime.fromtimestamp(session.close, UTC) for session in sessions(body))
        prices.set_source(symbol, PricePath(list(zip(times, values, strict=True))), 0)
    return Strategies(prices).run(converter.structure(body, models.NewBacktest), sessions(body))


def shares(entry: dict[str, Any] | None = None, end: dict[str, Any] | None = None) -> dict[str, Any]:
    """Build a strategy with one share over a week, with conditions of its entries and exits."""
    return strategy(SHARE, **WEEK, entryConditions=entry or {}, exitConditions=end or {})


def profits(results: Results) -> list[int]:
    return [int(trial.profit) for trial in results.trials]


def days(results: Results) -> list[tuple[int, int]]:
    return [(trial.opened.day.day, trial.closed.day.day) for trial in results.trials]


def test_share_gains_the_difference_of_two_closes() -> None:
    results = run(shares(), AAPL=(100, 110, 105, 120, 115))
    assert days(results) == [(2, 6), (3, 6), (4, 6), (5, 6)]
    assert profits(results) == [15, 5, 10, -5]
    assert [int(profit) for _, profit, _ in results.snapshots] == [0, 10, 0, 45, 25]
    assert [int(price) for _, _, price in results.snapshots] == [100, 110, 105, 120, 115]
    trials = {"Number of trials": 4, "Number of trials with a profit": 3}
    profit = {"Total profit": 25, "Average profit": Decimal("6.25"), "Highest profit": 15, "Lowest profit": -5}
    assert results.statistics() == trials | profit
    body = strategy({**SHARE, "direction": "short", "quantity": 3}, **WEEK)
    assert profits(run(body, AAPL=(100, 110, 105, 120, 115))) == [-45, -15, -30, 15]


def test_short_put_keeps_its_premium_less_its_exercise() -> None:
    terms = {"startDate": "2026-03-10", "entryConditions": {"maximumActiveTrials": 1}}
    put = by(OTM, 0.05, daysUntilExpiration=10)
    first, *_ = run(strategy(put, **terms), AAPL=[200] * 14).trials
    assert first.closed.day == first.expires == date(2026, 3, 20)
    assert first.profit == -first.cost > 0
    put = by("currentPriceOffset", 0, daysUntilExpiration=10)
    (only,) = run(strategy(put, **terms, endDate="2026-03-20"), AAPL=[*[200] * 8, 180]).trials
    assert only.profit == -only.cost - 2000


VIX = (20, 29, 30, 31, 30)


def test_exit_conditions_end_trials() -> None:
    cases: list[tuple[dict[str, int], list[tuple[int, int]]]] = [
        ({}, [(2, 6)]),
        ({"takeProfitPercentage": 10}, [(2, 3), (3, 6)]),
        ({"takeProfitPercentage": 11}, [(2, 5), (5, 6)]),
        ({"stopLossPercentage": 4}, [(2, 6)]),
        ({"afterDaysInTrade": 2}, [(2, 4), (4, 6)]),
        ({"minimumVIX": 30}, [(2, 4), (4, 5), (5, 6)]),
    ]
    entry = {"maximumActiveTrials": 1, "maximumActiveTrialsBehavior": "don't enter"}
    found = [(end, days(run(shares(entry, end), AAPL=(100, 110, 105, 120, 115), VIX=VIX))) for end, _ in cases]
    assert found == cases
    results = run(shares({"maximumActiveTrials": 1}, {"stopLossPercentage": 5}), AAPL=(100, 96, 95, 120, 115))
    assert (days(results)[0], profits(results)[0]) == ((2, 4), -5)
    body = strategy(entryConditions={"maximumActiveTrials": 1}, exitConditions={"atDaysToExpiration": 25})
    first = run(body).trials[0]
    assert first.expires == date(2026, 4, 17)
    assert first.closed.day == date(2026, 3, 23)
    body = strategy(entryConditions={"frequency": "on exact days to expiration match"})
    (only,) = run(body).trials
    assert (only.opened.day, only.expires) == (date(2026, 3, 3), date(2026, 4, 17))


def test_entry_conditions_choose_days() -> None:
    cases: list[tuple[dict[str, Any], list[int]]] = [
        ({"frequency": "every day"}, [2, 3, 4, 5]),
        ({"frequency": "on specific days of the week", "specificDays": [1, 4, 5]}, [2, 5]),
        ({"frequency": "on exact days to expiration match"}, [2, 3, 4, 5]),
        ({"minimumVIX": 29}, [3, 4, 5]),
        ({"maximumVIX": 29}, [2, 3]),
        ({"minimumVIX": 29, "maximumVIX": 30}, [3, 4]),
    ]
    assert [(entry, [opened for opened, _ in days(run(shares(entry), VIX=VIX))]) for entry, _ in cases] == cases


def test_limits_of_active_trials_are_kept_and_noticed() -> None:
    entry = {"maximumActiveTrials": 2, "maximumActiveTrialsBehavior": "close oldest"}
    assert days(run(shares(entry))) == [(2, 4), (3, 5), (4, 6), (5, 6)]
    assert run(shares()).notices == [
        "Trials that were open on the last day, and end at its prices: 4.",
        "Trials that are active at a time are limited to 50.",
    ]
    assert len(run(shares({"maximumActiveTrials": 9})).notices) == 1
    results = run(shares({"minimumVIX": 1000, "maximumActiveTrials": 1}))
    assert (results.statistics(), results.notices) == ({"Number of trials": 0}, [])
    assert [profit for _, profit, _ in results.snapshots] == [0] * 5


EQUITY = {**SHARE, "quantity": 100}
NO_BASE = "legs[1].strikeRelativeLeg must be the index of an option leg with a strikeSelection that is not relative"
WEEKLY = {"frequency": "on specific days of the week"}


@for_each(
    "body, problem",
    [
        (strategy(startDate="2021-01-04", endDate="2026-06-09"), None),
        (strategy(startDate="2026-03-02", endDate="2026-03-02"), None),
        (strategy(EQUITY), None),
        (strategy(option_leg(quantity=10, delta=100, daysUntilExpiration=1100)), None),
        (strategy(entryConditions=WEEKLY | {"specificDays": [1]}), None),
        *((strategy(option_leg(), by(f"{way}Relative", 0.1, 0)), None) for way in ("currentPriceOffset", OTM)),
        *((strategy(option_leg(), by(f"{OTM}Relative", 0.1, n), EQUITY), NO_BASE) for n in (None, -1, 1, 2, 3)),
        (strategy(startDate="2021-01-03"), "startDate must be from 2021-01-04 to 2026-06-09"),
        (strategy(endDate="2026-06-10"), "endDate must be from 2021-01-04 to 2026-06-09"),
        (strategy(endDate="2026-03-01"), "endDate must not be before startDate"),
        (strategy(startDate="2026-03-07", endDate="2026-03-08"), "endDate must leave at least one trading day"),
        (strategy(option_leg(quantity=11)), "legs[0].quantity must be at most 10 for options"),
        (strategy(option_leg(daysUntilExpiration=-1)), "legs[0].daysUntilExpiration must be from 0 to 1100"),
        (strategy(option_leg(delta=0.16)), "legs[0].delta must be from 1 to 100 for the strikeSelection delta"),
        (strategy(EQUITY, option_leg(strikeSelection="premium")), "legs[1].premium must be from 0 to 50000 for the"),
        (strategy(entryConditions={"maximumActiveTrials": 0}), "entryConditions.maximumActiveTrials must be at least"),
        (strategy(entryConditions=WEEKLY), "entryConditions.specificDays must name at least one day"),
        (strategy(option_leg(delta="20")), "legs[0].delta must be a number"),
        (strategy(option_leg(delta=True)), "legs[0].delta must be a number"),
        (strategy(option_leg(delta=1e300)), "legs[0].delta is out of range"),
        (strategy(option_leg(side=None)), "legs[0].side must be a string"),
        (strategy(legs=[]), "legs must hold at least 1"),
        (strategy(entryConditions=None), "entryConditions must be an object"),
    ],
)
def test_broken_rule_is_named(harness: Harness, body: dict[str, Any], problem: str | None) -> None:
    before = harness.get(f"{HOST}/backtests")
    answer = harness.ask("POST", f"{HOST}/backtests", body)
    assert answer.status in ((200, 201) if problem is None else (400,))
    [reason] = [each["reason"] for each in json.loads(answer.body).get("error", {}).get("errors", ())] or [None]
    assert reason is problem is None or reason.startswith(problem)
    assert (harness.get(f"{HOST}/backtests") == before) is (problem is not None)
