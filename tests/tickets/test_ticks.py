"""Prices on the ticks of an instrument."""

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.errors import InvalidRequestError
from brokerage_async.models import TickSize
from brokerage_async.tickets import prices_toward, round_to_tick
from tests.protocol.values import raised
from tests.tables import for_each


def table(*rows: tuple[str, str | None]) -> list[TickSize]:
    return [TickSize(value=Decimal(value), threshold=end and Decimal(end)) for value, end in rows]  # type: ignore[arg-type]


PENNIES = table(("0.05", None), ("0.01", "3"))  # the order of the rows does not matter
EQUITY = table(("0.0001", "1"), ("0.01", None))
ODD = table(("0.3", "1"), ("0.5", "1.2"), ("0.7", None))
"""Ticks 0, 0.3, 0.6, 0.9, 1.0, 1.4, 2.1: no threshold is on the ticks of both its ranges."""


@for_each(
    "price, rows, buyer, seller, nearest",
    [
        ("2.335", PENNIES, "2.33", "2.34", "2.34"),
        ("2.999", PENNIES, "2.99", "3.00", "3.00"),
        ("3", PENNIES, "3", "3", "3"),
        ("3.01", PENNIES, "3.00", "3.05", "3.00"),
        ("187.5", EQUITY, "187.50", "187.50", "187.50"),
        ("0.99995", EQUITY, "0.9999", "1.00", "1.00"),
        ("0", EQUITY, "0", "0", "0"),
        ("0.95", ODD, "0.9", "1.0", "1.0"),
        ("1.3", ODD, "1.0", "1.4", "1.4"),
        ("6800.30", table(("0.25", None)), "6800.25", "6800.50", "6800.25"),
        ("9" * 60 + ".004", EQUITY, "9" * 60, "9" * 60 + ".01", "9" * 60),
    ],
)
def test_round_to_tick_any_table_gives_the_neighbouring_ticks(
    price: str, rows: Any, buyer: str, seller: str, nearest: str
) -> None:
    found = [round_to_tick(price, rows, toward) for toward in ("buyer", "seller", "nearest")]
    assert found == [Decimal(buyer), Decimal(seller), Decimal(nearest)]


@given(
    st.decimals("0", "10", places=2),
    st.lists(
        st.tuples(st.decimals("0.1", "9", places=1), st.decimals("0.1", "1", places=2)),
        max_size=3,
        unique_by=lambda row: row[0],
    ),
    st.decimals("0.1", "1", places=2),
)
def test_round_to_tick_random_table_gives_the_nearest_prices_that_its_rows_allow(
    price: Decimal, ranges: list[tuple[Decimal, Decimal]], last: Decimal
) -> None:
    rows = [TickSize(value=value, threshold=end) for end, value in ranges] + [TickSize(value=last)]
    on_ticks = {each for n in range(1201) if on_tick(each := Decimal(n) / 100, ranges, last)}
    buyer, seller = max(each for each in on_ticks if each <= price), min(each for each in on_ticks if each >= price)
    assert (round_to_tick(price, rows, "buyer"), round_to_tick(price, rows, "seller")) == (buyer, seller)
    assert round_to_tick(price, rows, "nearest") == (buyer if price - buyer < seller - price else seller)


def on_tick(price: Decimal, ranges: list[tuple[Decimal, Decimal]], last: Decimal) -> bool:
    return price % next((value for end, value in sorted(ranges) if price < end), last) == 0


def test_round_to_tick_unusable_arguments_are_refused() -> None:
    cases: tuple[tuple[Any, Any, str, str], ...] = (
        (1.5, EQUITY, "nearest", "price must be a Decimal"),
        ("-1", EQUITY, "nearest", "must not be negative"),
        ("1", [], "nearest", "value above zero"),
        ("1", [TickSize()], "nearest", "value above zero"),
        ("1", table(("0", None)), "nearest", "value above zero"),
        ("1", table(("0.1", None), ("0.2", None)), "nearest", "one row for each threshold"),
        ("1", table(("0.1", "1")), "nearest", "must cover the price"),
        ("1", [Decimal("0.01")], "nearest", "TickSize rows"),
        ("1", EQUITY, "up", "toward must be"),
    )
    for price, rows, toward, reason in cases:
        raised(InvalidRequestError, round_to_tick, price, rows, toward, match=reason)


def test_prices_toward_lists_the_ticks_up_and_down_and_never_beyond_the_goal() -> None:
    for start, goal, ticks, expected in (
        ("2.97", "3.12", 1, "2.97 2.98 2.99 3.00 3.05 3.10"),
        ("3.10", "2.98", 1, "3.10 3.05 3.00 2.99 2.98"),
        ("3.12", "2.99", 2, "3.15 3.05 2.99"),
        ("2.975", "2.995", 1, "2.97 2.98 2.99"),
        ("2.97", "2.97", 1, "2.97"),
        ("0.02", "0", 1, "0.02 0.01 0.00"),
    ):
        found = prices_toward(start, goal, PENNIES, ticks=ticks)
        assert found == tuple(map(Decimal, expected.split())), (start, goal, ticks)


def test_prices_toward_refuses_what_is_no_ladder() -> None:
    for start, goal, ticks, reason in (
        ("1", "100", 1, "raise ticks"),
        ("1", "2", 0, "ticks must be a whole number"),
        ("-1", "2", 1, "must not be negative"),
    ):
        raised(InvalidRequestError, prices_toward, start, goal, PENNIES, ticks=ticks, match=reason)
