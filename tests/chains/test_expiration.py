from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.chains import Expiration, OptionChain, Strike
from brokerage_async.errors import InvalidRequestError
from brokerage_async.models import NestedOptionChain, OptionExpiration, OptionStrike
from brokerage_async.symbols import occ_symbol, parse_occ
from brokerage_async.tickets import spread, vertical
from tests.tables import for_each

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


@for_each("choice", [{}, {"near": 1, "at": 1}])
def test_strike_without_exactly_one_choice_is_rejected(choice: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError, match="exactly one of near and at"):
        LADDER.strike(**choice)


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


@for_each("count", [0, -1, True, 1.0, None])
def test_nearest_of_an_invalid_count_is_rejected(count: Any) -> None:
    with pytest.raises(InvalidRequestError, match="count must be an int of at least 1"):
        LADDER.nearest(110, count)


def test_out_of_the_money_skips_strikes_that_do_not_list_the_type() -> None:
    sparse = expiration(row(100), row(105, "P"), row(110, "C"), row(115))
    assert sparse.out_of_the_money("C", 100, strikes=1).price == 110
    assert sparse.out_of_the_money("P", 115, strikes=1).price == 105
    assert [strike.lists("C") for strike in sparse.strikes] == [True, False, True, True]


@for_each(
    "arguments, distance, problem",
    [
        (("C", 110), {}, "exactly one of strikes and percent"),
        (("C", 110), {"strikes": 1, "percent": 1}, "exactly one of strikes and percent"),
        (("call", 110), {"strikes": 1}, "option_type must be C or P, got 'call'"),
        (("C", 110), {"strikes": 0}, "strikes must be an int of at least 1, got 0"),
        (("C", 110), {"strikes": True}, "strikes must be an int of at least 1"),
        (("C", 110), {"percent": -5}, "percent must not be negative"),
        (("C", 110), {"percent": 0.5}, "percent must be a Decimal"),
        (("C", 110.0), {"strikes": 1}, "price must be a Decimal"),
        (("C", 110), {"strikes": 3}, "PM lists for C out of the money, got number 3 from 110: choose a nearer one"),
        (("P", 110), {"percent": 50}, "PM lists for P out of the money, got 50 percent from 110"),
    ],
)
def test_out_of_the_money_that_fits_nothing_is_rejected(arguments: Any, distance: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidRequestError, match=problem):
        LADDER.out_of_the_money(*arguments, **distance)


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
