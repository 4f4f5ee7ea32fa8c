from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.chains import OptionChain
from brokerage_async.errors import InvalidRequestError
from brokerage_async.models import (
    FuturesOptionChain,
    FuturesOptionExpiration,
    NestedFuturesOptionChain,
    NestedOptionChain,
    OptionExpiration,
    OptionStrike,
)
from brokerage_async.symbols import occ_symbol, parse_future_option
from brokerage_async.tickets import spread
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


@for_each("choice", [{"days": 7}, {"on": date(2026, 6, 19)}, {"near": date(2026, 6, 18)}])
def test_several_expirations_of_one_day_are_rejected(choice: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError, match="got SPX 2026-06-19 AM, SPXW 2026-06-19 PM: choose one by root"):
        SPX.expiration(**choice)


@for_each(
    "choice, problem",
    [
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
def test_expiration_that_fits_nothing_is_rejected(choice: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        SPX.expiration(**choice)


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
