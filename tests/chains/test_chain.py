"""Chains of options: their expirations and strikes, chosen by day, price and distance."""

import ast
import textwrap
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from brokerage_async import Client, Environment, StaticToken, chains, tickets
from brokerage_async.chains import Expiration, OptionChain, Strike
from brokerage_async.errors import InvalidRequestError
from brokerage_async.models import (
    FuturesOptionChain,
    FuturesOptionExpiration,
    NestedFuturesOptionChain,
    NestedOptionChain,
    NewOrder,
    OptionExpiration,
    OptionStrike,
)
from brokerage_async.symbols import occ_symbol, parse_future_option, parse_occ
from brokerage_async.tickets import spread
from tests.fake_transport import FakeTransport, ok
from tests.protocol.values import raised
from tests.tables import for_each

TODAY = date(2026, 6, 12)
FRIDAY = TODAY + timedelta(days=7)
SEVERAL = "got SPX 2026-06-19 AM, SPXW 2026-06-19 PM: choose one by root"
OFFSETS = st.lists(st.integers(0, 800), min_size=1, max_size=30, unique=True)


def row(price: Any, kinds: str = "CP", root: str = "AAPL", day: date = FRIDAY) -> OptionStrike:
    symbols = {kind: occ_symbol(root, day, kind, price) for kind in kinds}
    return OptionStrike(strike_price=Decimal(price), call=symbols.get("C"), put=symbols.get("P"))


def expiring(days: int, root: str = "SPX", settlement: str = "PM", cycle: str = "Weekly") -> OptionExpiration:
    day = TODAY + timedelta(days=days)
    strikes = [row(price, root=root, day=day) for price in (6000, 5900)]
    return OptionExpiration(
        expiration_date=day, days_to_expiration=days, settlement_type=settlement, expiration_type=cycle, strikes=strikes
    )


def chain(*expirations: OptionExpiration, root: str = "SPX", kind: str | None = "Standard") -> NestedOptionChain:
    return NestedOptionChain(underlying_symbol="SPX", root_symbol=root, option_chain_type=kind, expirations=expirations)


MONTHLY = chain(expiring(7, settlement="AM", cycle="Regular"), expiring(35, settlement="AM", cycle="Regular"))
WEEKLY = chain(*(expiring(days, root="SPXW") for days in (0, 7, 14, 35)), root="SPXW")
SPX = OptionChain.of([WEEKLY, MONTHLY])


def test_expirations_of_all_roots_are_in_one_order() -> None:
    listed = "SPXW 2026-06-12 PM, SPX 2026-06-19 AM, SPXW 2026-06-19 PM, SPXW 2026-06-26 PM, SPX 2026-07-17 AM, "
    assert ", ".join(map(str, SPX.expirations)) == f"{listed}SPXW 2026-07-17 PM"
    assert prices(SPX.expirations[0].strikes) == [5900, 6000]


@for_each(
    "choice, expected",
    [
        ({"on": date(2026, 6, 26)}, "SPXW 2026-06-26 PM"),
        ({"days": 30, "root": "SPX"}, "SPX 2026-07-17 AM"),
        ({"days": 30, "settlement": "PM"}, "SPXW 2026-07-17 PM"),
        ({"days": 0, "cycle": "Regular"}, "SPX 2026-06-19 AM"),
        ({"days": 21, "cycle": "Regular"}, "SPX 2026-07-17 AM"),
        ({"near": date(2026, 7, 3), "root": "SPX"}, "SPX 2026-07-17 AM"),
        ({"near": date(2030, 1, 1), "settlement": "AM"}, "SPX 2026-07-17 AM"),
    ],
)
def test_expiration_by_day_or_days(choice: dict[str, Any], expected: str) -> None:
    assert str(SPX.expiration(**choice)) == expected


@for_each(
    "choice, problem",
    [
        *((choice, SEVERAL) for choice in ({"days": 7}, {"on": FRIDAY}, {"near": FRIDAY - timedelta(days=1)})),
        ({}, "exactly one of near, on and days"),
        ({"days": 1, "on": TODAY}, "exactly one of near, on and days"),
        ({"on": date(2026, 6, 13)}, "got 2026-06-13: it lists SPXW 2026-06-12 PM, "),
        ({"days": 7, "root": "SPY"}, "to choose, root SPY: got SPXW 2026-06-12 PM"),
        ({"days": -1}, "days must be an int of at least 0, got -1"),
        ({"days": True}, "days must be an int"),
        ({"days": 1.5}, "days must be an int"),
        ({"near": datetime(2026, 6, 12, tzinfo=UTC)}, "near must be a datetime.date"),
        ({"on": "2026-06-12"}, "on must be a datetime.date"),
    ],
)
def test_expiration_that_fits_nothing_or_several_is_rejected(choice: dict[str, Any], problem: str) -> None:
    raised(InvalidRequestError, SPX.expiration, match=problem, **choice)


@given(OFFSETS, st.integers(0, 900))
def test_no_expiration_is_nearer_than_the_chosen_one(offsets: list[int], days: int) -> None:
    made = OptionChain.of(chain(*map(expiring, offsets)))
    found = made.expiration(days=days)
    least = min(abs(offset - days) for offset in offsets)
    assert found.days == max(offset for offset in offsets if abs(offset - days) == least)
    assert found == made.expiration(near=TODAY + timedelta(days=days))
    assert found == made.expiration(on=found.day)


@for_each("rows", [[], [chain()], NestedFuturesOptionChain(), [NestedOptionChain()]])
def test_empty_chain_has_nothing_to_choose(rows: Any) -> None:
    made = OptionChain.of(rows)
    assert made.expirations == ()
    raised(InvalidRequestError, made.expiration, days=45, match="must list an expiration to choose: got none")


def test_rows_without_day_root_or_strikes_are_left_out() -> None:
    whole = expiring(7)
    changes: list[dict[str, Any]] = [{"expiration_date": None}, {"strikes": None}, {"strikes": ()}]
    partial = chain(*(attrs.evolve(whole, **change) for change in changes))
    rows = [partial, attrs.evolve(chain(whole), root_symbol=None), chain(whole)]
    assert len(OptionChain.of(rows).expirations) == 1


def test_strikes_without_price_or_symbols_are_left_out_and_the_first_of_a_price_counts() -> None:
    listed = [
        OptionStrike(strike_price=price, call=call)
        for price, call in ((None, "A"), (Decimal(1), None), (Decimal("2.0"), "B"), (Decimal(2), "C"))
    ]
    found = OptionChain.of(chain(attrs.evolve(expiring(7), strikes=listed))).expirations[0]
    assert [(strike.price, strike.call) for strike in found.strikes] == [(Decimal(2), "B")]


def test_expiration_without_days_is_found_by_its_day_only() -> None:
    for days in (7, 0):
        made = OptionChain.of(chain(attrs.evolve(expiring(days), days_to_expiration=None)))
        assert made.expiration(near=TODAY).days is None
        with pytest.raises(InvalidRequestError, match=f"got {days} days: it lists SPX 2026-06-{12 + days} PM"):
            made.expiration(days=days)


@for_each("kind", ["Non-standard", "Flex"])
def test_adjusted_chains_are_left_out_unless_wanted(kind: str) -> None:
    rows = [chain(expiring(7)), chain(expiring(7, root="SPX1"), root="SPX1", kind=kind)]
    assert [found.root for found in OptionChain.of(rows).expirations] == ["SPX"]
    assert [found.root for found in OptionChain.of(rows, adjusted=True).expirations] == ["SPX", "SPX1"]


@for_each("wrong", [None, 1, "AAPL", [None], [OptionExpiration()]])
def test_rows_of_another_type_or_of_several_underlyings_are_rejected(wrong: Any) -> None:
    raised(InvalidRequestError, OptionChain.of, wrong, match="rows must be nested option chains")
    with pytest.raises(InvalidRequestError, match="rows must be of one underlying, got AAPL, SPX"):
        OptionChain.of([chain(), attrs.evolve(chain(), underlying_symbol="AAPL")])


def futures_expiration(root: str, day: date, future: str, settlement: str) -> FuturesOptionExpiration:
    symbols = [(price, f"./{future} {root}U6 {day:%y%m%d}") for price in (9200, 9000, 9100)]
    return FuturesOptionExpiration(
        underlying_symbol=f"/{future}",
        option_root_symbol=root,
        expiration_date=day,
        days_to_expiration=(day - TODAY).days,
        settlement_type=settlement,
        strikes=[
            OptionStrike(strike_price=Decimal(price), call=f"{symbol}C{price}", put=f"{symbol}P{price}")
            for price, symbol in symbols
        ],
    )


def test_chain_of_futures_options_leads_to_the_symbols_of_a_spread() -> None:
    friday = date(2026, 9, 18)
    listed = [futures_expiration(*each) for each in (("EW3", friday, "ESZ6", "PM"), ("ES", friday, "ESU6", "AM"))]
    option_chains = [FuturesOptionChain(expirations=[each]) for each in listed]
    made = OptionChain.of(NestedFuturesOptionChain(option_chains=option_chains))
    raised(InvalidRequestError, made.expiration, on=friday, match="got ES 2026-09-18 AM, EW3 2026-09-18 PM")
    weekly = made.expiration(near=friday, root="EW3")
    assert (weekly.underlying, weekly.days) == ("/ESZ6", 98)
    short, long = (weekly.out_of_the_money("P", 9150, strikes=number).put for number in (1, 2))
    assert (parse_future_option(short).strike, parse_future_option(long).strike) == (9100, 9000)
    assert spread(long=long, short=short, credit=12).legs[0].symbol == "./ESZ6 EW3U6 260918P9000"


PRICES = st.decimals(min_value=1, max_value=1000, places=2)
STRIKE_PRICES = st.lists(st.integers(1, 2000).map(lambda halves: Decimal(halves) / 2), min_size=1, max_size=40)
KINDS = st.sampled_from("CP")


def expiration(*rows: OptionStrike) -> Expiration:
    listed = OptionExpiration(expiration_date=FRIDAY, days_to_expiration=45, settlement_type="PM", strikes=rows)
    return OptionChain.of(NestedOptionChain(root_symbol="AAPL", expirations=[listed])).expirations[0]


LADDER = expiration(*map(row, (100, 105, 110, 115, 120)))


def prices(strikes: tuple[Strike, ...]) -> list[int]:
    return [int(strike.price) for strike in strikes]


@for_each(
    "near, price",
    [(110, 110), ("111", 110), (Decimal("112.4"), 110), ("112.5", 110), ("112.51", 115), (1, 100), (999, 120)],
)
def test_strike_near_a_price_is_the_nearest_or_the_lower_of_two(near: Any, price: int) -> None:
    assert LADDER.strike(near=near).price == price
    assert LADDER.strike(at=f"{price}.0").call == f"AAPL  260619C00{price}000"


def test_out_of_the_money_skips_strikes_that_do_not_list_the_type() -> None:
    sparse = expiration(row(100), row(105, "P"), row(110, "C"), row(115))
    assert sparse.out_of_the_money("C", 100, strikes=1).price == 110
    assert sparse.out_of_the_money("P", 115, strikes=1).price == 105
    assert [strike.lists("C") for strike in sparse.strikes] == [True, False, True, True]


def out(*arguments: Any, **distance: Any) -> Any:
    return lambda: LADDER.out_of_the_money(*arguments, **distance)


@for_each(
    "choose, problem",
    [
        (lambda: LADDER.strike(at=111), "AAPL 2026-06-19 PM lists, got 111: the nearest are 110, 115"),
        (lambda: LADDER.strike(), "exactly one of near and at"),
        (lambda: LADDER.strike(near=1, at=1), "exactly one of near and at"),
        *(
            (lambda count=count: LADDER.nearest(110, count), "count must be an int")
            for count in (0, -1, True, 1.0, None)
        ),
        (out("C", 110), "exactly one of strikes and percent"),
        (out("C", 110, strikes=1, percent=1), "exactly one of strikes and percent"),
        (out("call", 110, strikes=1), "option_type must be C or P, got 'call'"),
        (out("C", 110, strikes=0), "strikes must be an int of at least 1, got 0"),
        (out("C", 110, strikes=True), "strikes must be an int of at least 1"),
        (out("C", 110, percent=-5), "percent must not be negative"),
        (out("C", 110, percent=0.5), "percent must be a Decimal"),
        (out("C", 110.0, strikes=1), "price must be a Decimal"),
        (out("C", 110, strikes=3), "PM lists for C out of the money, got number 3 from 110: choose a nearer one"),
        (out("P", 110, percent=50), "PM lists for P out of the money, got 50 percent from 110"),
    ],
)
def test_strike_that_fits_nothing_is_rejected(choose: Any, problem: str) -> None:
    raised(InvalidRequestError, choose, match=problem)


@given(STRIKE_PRICES, PRICES, st.integers(1, 50))
@example([Decimal(100), Decimal(110), Decimal(105)], Decimal("102.50"), 1)
@example([Decimal(100), Decimal(110), Decimal(105)], Decimal(105), 2)
def test_nearest_strikes_ascend_and_prefer_the_lower_of_two(listed: list[Decimal], price: Decimal, count: int) -> None:
    nearest = sorted(set(listed), key=lambda one: (abs(one - price), one))[:count]
    assert [strike.price for strike in expiration(*map(row, listed)).nearest(price, count)] == sorted(nearest)


def check_chosen(made: Expiration, kind: str, price: Any, beyond: list[Decimal], **distance: Any) -> None:
    """Check that the first of the strikes that are far enough is chosen, or that nothing is without one."""
    if not beyond:
        raised(InvalidRequestError, made.out_of_the_money, kind, price, **distance)
        return
    found = made.out_of_the_money(kind, price, **distance)
    assert found.price == beyond[0]
    assert parse_occ(found.option(kind)).strike == found.price


@given(STRIKE_PRICES, PRICES, KINDS, st.integers(0, 60) | st.decimals(0, 60, places=2).map(str), st.integers(1, 9))
def test_strike_out_of_the_money_is_the_first_far_enough_by_percent_or_by_number(
    listed: list[Decimal], price: Decimal, kind: str, percent: int | str, number: int
) -> None:
    made, sign = expiration(*map(row, listed)), 1 if kind == "C" else -1
    bound = price * (100 + sign * Decimal(percent)) / 100
    away = sorted(set(listed), reverse=kind == "P")
    check_chosen(made, kind, price, [one for one in away if sign * one >= sign * bound], percent=percent)
    check_chosen(
        made, kind, str(price), [one for one in away if sign * one > sign * price][number - 1 :], strikes=number
    )


def test_strike_that_lists_one_type_only_names_the_other() -> None:
    strike = expiration(row(110, "P")).strikes[0]
    assert strike.put == strike.option("P") == "AAPL  260619P00110000"
    with pytest.raises(InvalidRequestError, match="strike must be one with a call, got 110"):
        _ = strike.call
    raised(InvalidRequestError, strike.option, "X", match="option_type must be C or P")


@for_each("extreme", ["1E+9999999", "-1E+9999999", "1E-9999999"])
def test_extreme_price_is_rejected_briefly(extreme: str) -> None:
    for choose in (
        lambda: LADDER.strike(near=extreme), lambda: LADDER.strike(at=extreme), lambda: LADDER.nearest(extreme, 1),
        out("C", extreme, strikes=1), out("C", 110, percent=extreme),
    ):  # fmt: skip
        error = raised(InvalidRequestError, choose, match="must have at most 64 digits")
        assert len(str(error)) < 200


async def test_example_builds_a_spread_from_a_nested_chain() -> None:
    example = textwrap.dedent(next(part for part in chains.__doc__.split("\n\n") if part.startswith("    ")))
    code = compile(example, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    days = [TODAY + timedelta(days=left) for left in (25, 46)]
    expirations = [
        {
            "expiration-date": str(day),
            "days-to-expiration": (day - TODAY).days,
            "strikes": [{"strike-price": f"{n}.0", "call": occ_symbol("AAPL", day, "C", n)} for n in (110, 115)],
        }
        for day in days
    ]
    row = {"underlying-symbol": "AAPL", "root-symbol": "AAPL", "expirations": expirations}
    service = FakeTransport(ok({"items": [row]}))
    async with Client(Environment.sandbox("https://service"), StaticToken("token"), transport=service) as client:
        names = {"client": client, "OptionChain": OptionChain, "tickets": tickets}
        await eval(code, names)
    june, order = names["june"], names["order"]
    assert isinstance(june, Expiration)
    assert isinstance(order, NewOrder)
    assert june.day == days[1]
    assert [leg.symbol for leg in order.legs] == [occ_symbol("AAPL", days[1], "C", n) for n in (110, 115)]
    assert str(order.price) == "1.85"
