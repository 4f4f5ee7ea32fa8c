"""Chains of options: their expirations and strikes, chosen by day, price and distance."""

import ast
import textwrap
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import Client, Environment, StaticToken, chains, tickets
from brokerage_async.chains import Expiration, OptionChain, Strike
from brokerage_async.errors import InvalidRequestError
from brokerage_async.models import (
    FuturesOptionChain,
    FuturesOptionExpiration,
    NestedFuturesOptionChain,
    NestedOptionChain,
    OptionExpiration,
    OptionStrike,
)
from brokerage_async.symbols import occ_symbol, parse_future_option, parse_occ
from brokerage_async.tickets import spread, vertical
from tests.fake_transport import FakeTransport, ok
from tests.tables import for_each

TODAY = date(2026, 6, 12)
OFFSETS = st.lists(st.integers(0, 800), min_size=1, max_size=30, unique=True)


def expiring(days: int, root: str = "SPX", settlement: str = "PM", cycle: str = "Weekly") -> OptionExpiration:
    day = TODAY + timedelta(days=days)
    strikes = [
        OptionStrike(
            strike_price=Decimal(price), call=occ_symbol(root, day, "C", price), put=occ_symbol(root, day, "P", price)
        )
        for price in (6000, 5900)
    ]
    return OptionExpiration(
        expiration_date=day, days_to_expiration=days, settlement_type=settlement, expiration_type=cycle, strikes=strikes
    )


def chain(*expirations: OptionExpiration, root: str = "SPX", kind: str | None = "Standard") -> NestedOptionChain:
    return NestedOptionChain(underlying_symbol="SPX", root_symbol=root, option_chain_type=kind, expirations=expirations)


MONTHLY = chain(expiring(7, settlement="AM", cycle="Regular"), expiring(35, settlement="AM", cycle="Regular"))
WEEKLY = chain(*(expiring(days, root="SPXW") for days in (0, 7, 14, 35)), root="SPXW")
SPX = OptionChain.of([WEEKLY, MONTHLY])


def test_expirations_of_all_roots_are_in_one_order() -> None:
    assert [str(found) for found in SPX.expirations] == [
        "SPXW 2026-06-12 PM",
        "SPX 2026-06-19 AM",
        "SPXW 2026-06-19 PM",
        "SPXW 2026-06-26 PM",
        "SPX 2026-07-17 AM",
        "SPXW 2026-07-17 PM",
    ]
    assert [int(strike.price) for strike in SPX.expirations[0].strikes] == [5900, 6000]


@for_each(
    "choice, expected",
    [
        ({"days": 0}, "SPXW 2026-06-12 PM"),
        ({"days": 15}, "SPXW 2026-06-26 PM"),
        ({"days": 3}, "SPXW 2026-06-12 PM"),
        ({"on": date(2026, 6, 26)}, "SPXW 2026-06-26 PM"),
        ({"near": date(2026, 6, 25)}, "SPXW 2026-06-26 PM"),
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
    with pytest.raises(InvalidRequestError, match="must list an expiration to choose: got none"):
        made.expiration(days=45)


def test_rows_without_day_root_or_strikes_are_left_out() -> None:
    whole = expiring(7)
    rows = [
        chain(
            attrs.evolve(whole, expiration_date=None),
            attrs.evolve(whole, strikes=None),
            attrs.evolve(whole, strikes=()),
        ),
        attrs.evolve(chain(whole), root_symbol=None),
        chain(whole),
    ]
    assert len(OptionChain.of(rows).expirations) == 1


def test_strikes_without_price_or_symbols_are_left_out_and_the_first_of_a_price_counts() -> None:
    listed = [
        OptionStrike(strike_price=None, call="A"),
        OptionStrike(strike_price=Decimal(1)),
        OptionStrike(strike_price=Decimal("2.0"), call="B"),
        OptionStrike(strike_price=Decimal(2), call="C"),
    ]
    found = OptionChain.of(chain(attrs.evolve(expiring(7), strikes=listed))).expirations[0]
    assert [(strike.price, strike.call) for strike in found.strikes] == [(Decimal(2), "B")]


def test_expiration_without_days_is_found_by_its_day_only() -> None:
    made = OptionChain.of(chain(attrs.evolve(expiring(7), days_to_expiration=None)))
    assert made.expiration(near=TODAY).days is None
    with pytest.raises(InvalidRequestError, match="got 7 days: it lists SPX 2026-06-19 PM"):
        made.expiration(days=7)
    today = OptionChain.of(chain(attrs.evolve(expiring(0), days_to_expiration=None)))
    with pytest.raises(InvalidRequestError, match="got 0 days: it lists SPX 2026-06-12 PM"):
        today.expiration(days=0)


@for_each("kind", ["Non-standard", "Flex"])
def test_adjusted_chains_are_left_out_unless_wanted(kind: str) -> None:
    rows = [chain(expiring(7)), chain(expiring(7, root="SPX1"), root="SPX1", kind=kind)]
    assert [found.root for found in OptionChain.of(rows).expirations] == ["SPX"]
    assert [found.root for found in OptionChain.of(rows, adjusted=True).expirations] == ["SPX", "SPX1"]


@for_each("wrong", [None, 1, "AAPL", [None], [OptionExpiration()]])
def test_rows_of_another_type_are_rejected(wrong: Any) -> None:
    with pytest.raises(InvalidRequestError, match="rows must be nested option chains"):
        OptionChain.of(wrong)


def test_rows_of_several_underlyings_are_rejected() -> None:
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
    made = OptionChain.of(
        NestedFuturesOptionChain(
            option_chains=[
                FuturesOptionChain(expirations=[futures_expiration("EW3", friday, "ESZ6", "PM")]),
                FuturesOptionChain(expirations=[futures_expiration("ES", friday, "ESU6", "AM")]),
            ]
        )
    )
    with pytest.raises(InvalidRequestError, match="got ES 2026-09-18 AM, EW3 2026-09-18 PM"):
        made.expiration(on=friday)
    weekly = made.expiration(near=friday, root="EW3")
    assert (weekly.underlying, weekly.days) == ("/ESZ6", 98)
    short = weekly.out_of_the_money("P", 9150, strikes=1).put
    long = weekly.out_of_the_money("P", 9150, strikes=2).put
    assert (parse_future_option(short).strike, parse_future_option(long).strike) == (9100, 9000)
    assert spread(long=long, short=short, credit=12).legs[0].symbol == "./ESZ6 EW3U6 260918P9000"


DAY = date(2026, 6, 19)
PRICES = st.decimals(min_value=1, max_value=1000, places=2)
STRIKE_PRICES = st.lists(st.integers(1, 2000).map(lambda halves: Decimal(halves) / 2), min_size=1, max_size=40)
KINDS = st.sampled_from("CP")


def row(price: Any, kinds: str = "CP") -> OptionStrike:
    symbols = {kind: occ_symbol("AAPL", DAY, kind, price) for kind in kinds}
    return OptionStrike(strike_price=Decimal(price), call=symbols.get("C"), put=symbols.get("P"))


def expiration(*rows: OptionStrike) -> Expiration:
    listed = OptionExpiration(expiration_date=DAY, days_to_expiration=45, settlement_type="PM", strikes=rows)
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


def test_strike_at_a_price_is_exact() -> None:
    assert LADDER.strike(at="110.0").call == "AAPL  260619C00110000"
    with pytest.raises(InvalidRequestError, match="AAPL 2026-06-19 PM lists, got 111: the nearest are 110, 115"):
        LADDER.strike(at=111)


@for_each(
    "around, count, expected",
    [
        (110, 1, [110]),
        (110, 3, [105, 110, 115]),
        (110, 2, [105, 110]),
        (101, 2, [100, 105]),
        (130, 9, [100, 105, 110, 115, 120]),
    ],
)
def test_nearest_strikes_ascend_and_prefer_the_lower_of_two(around: int, count: int, expected: list[int]) -> None:
    assert prices(LADDER.nearest(around, count)) == expected


def test_out_of_the_money_skips_strikes_that_do_not_list_the_type() -> None:
    sparse = expiration(row(100), row(105, "P"), row(110, "C"), row(115))
    assert sparse.out_of_the_money("C", 100, strikes=1).price == 110
    assert sparse.out_of_the_money("P", 115, strikes=1).price == 105
    assert [strike.lists("C") for strike in sparse.strikes] == [True, False, True, True]


@for_each(
    "choose, problem",
    [
        *(
            (partial(SPX.expiration, **choice), "got SPX 2026-06-19 AM, SPXW 2026-06-19 PM: choose one by root")
            for choice in ({"days": 7}, {"on": date(2026, 6, 19)}, {"near": date(2026, 6, 18)})
        ),
        (lambda: SPX.expiration(), "exactly one of near, on and days"),
        (lambda: SPX.expiration(days=1, on=TODAY), "exactly one of near, on and days"),
        (lambda: SPX.expiration(on=date(2026, 6, 13)), "got 2026-06-13: it lists SPXW 2026-06-12 PM, "),
        (lambda: SPX.expiration(days=7, root="SPY"), "to choose, root SPY: got SPXW 2026-06-12 PM"),
        (lambda: SPX.expiration(days=-1), "days must be an int of at least 0, got -1"),
        (lambda: SPX.expiration(days=True), "days must be an int"),
        (lambda: SPX.expiration(days=1.5), "days must be an int"),
        (lambda: SPX.expiration(near=datetime(2026, 6, 12, tzinfo=UTC)), "near must be a datetime.date"),
        (lambda: SPX.expiration(on="2026-06-12"), "on must be a datetime.date"),
        (lambda: LADDER.strike(), "exactly one of near and at"),
        (lambda: LADDER.strike(near=1, at=1), "exactly one of near and at"),
        *(
            (partial(LADDER.nearest, 110, count), "count must be an int of at least 1")
            for count in (0, -1, True, 1.0, None)
        ),
        (lambda: LADDER.out_of_the_money("C", 110), "exactly one of strikes and percent"),
        (lambda: LADDER.out_of_the_money("C", 110, strikes=1, percent=1), "exactly one of strikes and percent"),
        (lambda: LADDER.out_of_the_money("call", 110, strikes=1), "option_type must be C or P, got 'call'"),
        (lambda: LADDER.out_of_the_money("C", 110, strikes=0), "strikes must be an int of at least 1, got 0"),
        (lambda: LADDER.out_of_the_money("C", 110, strikes=True), "strikes must be an int of at least 1"),
        (lambda: LADDER.out_of_the_money("C", 110, percent=-5), "percent must not be negative"),
        (lambda: LADDER.out_of_the_money("C", 110, percent=0.5), "percent must be a Decimal"),
        (lambda: LADDER.out_of_the_money("C", 110.0, strikes=1), "price must be a Decimal"),
        (
            lambda: LADDER.out_of_the_money("C", 110, strikes=3),
            "PM lists for C out of the money, got number 3 from 110: choose a nearer one",
        ),
        (
            lambda: LADDER.out_of_the_money("P", 110, percent=50),
            "PM lists for P out of the money, got 50 percent from 110",
        ),
    ],
)
def test_choice_that_fits_nothing_or_several_is_rejected(choose: Callable[[], object], problem: str) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        choose()


@given(STRIKE_PRICES, PRICES, st.integers(1, 50))
def test_no_strike_left_out_is_nearer_than_one_returned(listed: list[Decimal], price: Decimal, count: int) -> None:
    found = expiration(*map(row, listed)).nearest(price, count)
    chosen = [strike.price for strike in found]
    others = set(listed) - set(chosen)
    assert chosen == sorted(set(chosen))
    assert len(chosen) == min(count, len(set(listed)))
    assert max(abs(one - price) for one in chosen) <= min((abs(one - price) for one in others), default=Decimal(9999))


@given(STRIKE_PRICES, PRICES, KINDS, st.integers(0, 60) | st.decimals(0, 60, places=2).map(str))
def test_strike_out_of_the_money_by_percent_is_the_first_far_enough(
    listed: list[Decimal], price: Decimal, kind: str, percent: int | str
) -> None:
    bound = price * (100 + Decimal(percent) if kind == "C" else 100 - Decimal(percent)) / 100
    beyond = [one for one in listed if (one >= bound if kind == "C" else one <= bound)]
    made = expiration(*map(row, listed))
    if not beyond:
        with pytest.raises(InvalidRequestError):
            made.out_of_the_money(kind, price, percent=percent)
        return
    found = made.out_of_the_money(kind, price, percent=percent)
    assert found.price == (min(beyond) if kind == "C" else max(beyond))
    assert parse_occ(found.option(kind)).strike == found.price


@given(STRIKE_PRICES, PRICES, KINDS, st.integers(1, 9))
def test_strikes_between_the_price_and_the_chosen_one_are_counted(
    listed: list[Decimal], price: Decimal, kind: str, position: int
) -> None:
    beyond = sorted({one for one in listed if (one > price if kind == "C" else one < price)}, reverse=kind == "P")
    made = expiration(*map(row, listed))
    if len(beyond) < position:
        with pytest.raises(InvalidRequestError):
            made.out_of_the_money(kind, price, strikes=position)
    else:
        assert made.out_of_the_money(kind, str(price), strikes=position).price == beyond[position - 1]


def test_strike_that_lists_one_type_only_names_the_other() -> None:
    strike = expiration(row(110, "P")).strikes[0]
    assert strike.put == strike.option("P") == "AAPL  260619P00110000"
    with pytest.raises(InvalidRequestError, match="strike must be one with a call, got 110"):
        _ = strike.call
    with pytest.raises(InvalidRequestError, match="option_type must be C or P"):
        strike.option("X")


def test_symbols_of_strikes_are_legs_of_a_spread() -> None:
    long, short = LADDER.strike(near=110).call, LADDER.out_of_the_money("C", 110, strikes=1).call
    assert spread(long=long, short=short, debit="1.85") == vertical("AAPL", DAY, "C", long=110, short=115, debit="1.85")


@for_each("extreme", ["1E+9999999", "-1E+9999999", "1E-9999999"])
def test_extreme_price_is_rejected_briefly(extreme: str) -> None:
    for choose in (
        lambda: LADDER.strike(near=extreme),
        lambda: LADDER.strike(at=extreme),
        lambda: LADDER.nearest(extreme, 1),
        lambda: LADDER.out_of_the_money("C", extreme, strikes=1),
        lambda: LADDER.out_of_the_money("C", 110, percent=extreme),
    ):
        with pytest.raises(InvalidRequestError, match="must have at most 64 digits") as caught:
            choose()
        assert len(str(caught.value)) < 200


async def test_example_builds_a_spread_from_a_nested_chain() -> None:
    example = textwrap.dedent(next(part for part in chains.__doc__.split("\n\n") if part.startswith("    ")))
    code = compile(example, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    expirations = [
        {
            "expiration-date": str(day),
            "days-to-expiration": days,
            "strikes": [{"strike-price": price, "call": occ_symbol("AAPL", day, "C", price)} for price in (110, 115)],
        }
        for days, day in ((25, date(2026, 6, 5)), (46, date(2026, 6, 26)))
    ]
    row = {"underlying-symbol": "AAPL", "root-symbol": "AAPL", "expirations": expirations}
    service = FakeTransport(ok({"items": [row]}))
    async with Client(Environment.sandbox("https://service"), StaticToken("token"), transport=service) as client:
        names: dict[str, Any] = {"client": client, "OptionChain": OptionChain, "tickets": tickets}
        await eval(code, names)
    assert names["june"].day == date(2026, 6, 26)
    assert names["order"] == vertical("AAPL", date(2026, 6, 26), "C", long=110, short=115, debit="1.85")
