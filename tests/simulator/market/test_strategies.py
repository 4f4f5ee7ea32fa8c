"""Strikes and expirations by rule, worth and delta of positions."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async import models
from brokerage_async.models import converter
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.calendar import local_epoch
from brokerage_async.simulator.market.catalogue import Catalogue, Sizes
from brokerage_async.simulator.market.prices import Prices
from brokerage_async.simulator.market.strategies import HeldLeg, Strategies
from tests.simulator.harness import option_leg
from tests.tables import for_each

AT = local_epoch(date(2026, 3, 3), 16)
"""45 days before an expiration."""

CALL = {"side": "call", "direction": "long"}


def made(price: int = 200) -> tuple[Strategies, Prices]:
    random = KeyedRandom(0)
    prices = Prices(Catalogue(Sizes(equities=50), random, AT), random)
    prices.set_price("AAPL", Decimal(price), 0)
    return Strategies(prices), prices


def entered(*legs: dict[str, Any], price: int = 200, exact: bool = False) -> list[HeldLeg] | None:
    wanted = [converter.structure(leg, models.BacktestLeg) for leg in legs]
    return made(price)[0].enter("AAPL", wanted, AT, exact=exact)


def strikes(*legs: dict[str, Any], price: int = 200) -> list[Decimal | None]:
    return [leg.instrument.strike for leg in entered(*legs, price=price) or ()]


@for_each(
    "leg, strike",
    [
        ({"strikeSelection": "percentageOTM", "percentageOTM": 0.1}, 180),
        ({"strikeSelection": "percentageOTM", "percentageOTM": 0.1, **CALL}, 220),
        ({"strikeSelection": "percentageOTM", "percentageOTM": -0.1}, 220),
        ({"strikeSelection": "currentPriceOffset", "currentPriceOffset": 12}, 210),
        ({"strikeSelection": "currentPriceOffset", "currentPriceOffset": -50000}, 5),
    ],
)
def test_strike_is_the_nearest_listed_one(leg: dict[str, Any], strike: int) -> None:
    assert strikes(option_leg(**leg)) == [strike]


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
    (leg,) = entered(option_leg(side=side, direction="long", strikeSelection="premium", premium=premium)) or ()
    strategies, prices = made()
    cost = strategies.worth([leg], AT) / 100
    assert cost == prices.price(leg.instrument, AT)
    for other in strikes_beside(leg):
        assert abs(cost - premium) <= abs(strategies.worth([other], AT) / 100 - premium)


def strikes_beside(leg: HeldLeg) -> list[HeldLeg]:
    near = [option_leg(side=side_of(leg), strikeSelection="currentPriceOffset", direction="long") for _ in range(2)]
    for body, step in zip(near, (-5, 5), strict=True):
        body["currentPriceOffset"] = float((leg.instrument.strike or 0) - 200 + step)
    return entered(*near) or []


def side_of(leg: HeldLeg) -> str:
    return "call" if leg.instrument.option_type is models.OptionType.CALL else "put"


def test_relative_and_exact_offsets_start_from_the_other_leg() -> None:
    base = option_leg(strikeSelection="currentPriceOffset", currentPriceOffset=-20)
    further = option_leg(
        strikeSelection="currentPriceOffsetRelative", currentPriceOffset=-10, strikeRelativeLeg=1, direction="long"
    )
    assert strikes(further, base) == [170, 180]
    percent = option_leg(strikeSelection="percentageOTMRelative", percentageOTM=0.1, strikeRelativeLeg=1)
    assert strikes(percent, base) == [160, 180]
    base = option_leg(strikeSelection="currentPriceOffset", currentPriceOffset=0)
    exact = {"strikeSelection": "currentPriceExactOffsetRelative", "strikeRelativeLeg": 0}
    assert strikes(base, option_leg(**exact, currentPriceOffset=-15)) == [200, 185]
    for offset in (-12, -200):
        assert entered(base, option_leg(**exact, currentPriceOffset=offset)) is None
    assert entered(option_leg(daysUntilExpiration=45), exact=True) is not None
    assert entered(option_leg(daysUntilExpiration=44), exact=True) is None


@for_each(
    "days, expires",
    [(0, date(2026, 3, 20)), (45, date(2026, 4, 17)), (60, date(2026, 5, 15)), (365, date(2027, 2, 19))],
)
def test_expiration_is_the_nearest_monthly_one(days: int, expires: date) -> None:
    (leg,) = entered(option_leg(daysUntilExpiration=days)) or ()
    assert leg.instrument.expires == expires


def test_legs_are_worth_their_signed_units_or_their_exercise() -> None:
    share = {**option_leg(quantity=7), "type": "equity"}
    legs = entered(option_leg(quantity=2), {**share, "direction": "long"}) or []
    assert [leg.units for leg in legs] == [-200, 7]
    strategies, prices = made()
    assert strategies.worth(legs, AT) == 7 * 200 - 200 * prices.price(legs[0].instrument, AT)
    assert strategies.delta(legs[1:], AT) == 7
    strategies, _ = made()
    legs = entered(
        option_leg(strikeSelection="currentPriceOffset", currentPriceOffset=20, direction="long"),
        option_leg(strikeSelection="currentPriceOffset", currentPriceOffset=-20, direction="long"),
    )
    at = local_epoch(date(2026, 4, 17), 16)
    assert [strategies.worth([leg], at) for leg in legs or ()] == [2000, 0]
    assert [strategies.delta([leg], at) for leg in legs or ()] == [-100, 0]
