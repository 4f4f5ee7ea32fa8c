from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.errors import InvalidRequestError
from brokerage_async.symbols import instrument_type_of
from brokerage_async.symbols.parts import contract_year, day_of, plain
from tests.tables import for_each


@given(st.integers(0, 9), st.integers(1, 12), st.dates(date(2010, 1, 1), date(2080, 12, 31)))
def test_contract_year_lies_in_the_ten_years_from_twelve_months_back(digit: int, month: int, day: date) -> None:
    year = contract_year(digit, month, day)
    assert year % 10 == digit
    assert -12 <= (year - day.year) * 12 + month - day.month < 108


@for_each(
    "day, year",
    [
        (date(2026, 6, 12), 2026),
        (date(2026, 12, 31), 2026),
        (date(2027, 12, 1), 2026),
        (date(2028, 1, 1), 2036),
        (date(2018, 1, 1), 2026),
        (date(2017, 12, 31), 2016),
    ],
)
def test_contract_year_of_december_6_by_the_day(day: date, year: int) -> None:
    assert contract_year(6, 12, day) == year


@given(st.decimals(min_value=Decimal("0.00000001"), max_value=Decimal(99_999_999), places=8))
def test_plain_digits_keep_the_value(strike: Decimal) -> None:
    digits = plain(strike)
    assert Decimal(digits) == strike
    assert "E" not in digits
    assert digits == "0" or "." not in digits or digits[-1] not in "0."


@for_each("strike, digits", [("110", "110"), ("110.50", "110.5"), ("1E+2", "100"), ("0.0085", "0.0085")])
def test_plain_digits_of_usual_strikes(strike: str, digits: str) -> None:
    assert plain(Decimal(strike)) == digits


def test_day_of_a_missing_day_is_none() -> None:
    assert (day_of("260612"), day_of("260631")) == (date(2026, 6, 12), None)


@for_each(
    "symbol, kind",
    [
        ("AAPL", "Equity"),
        ("BRK/B", "Equity"),
        ("AAPL  260612C00110000", "Equity Option"),
        ("/ESZ6", "Future"),
        ("./ESZ6 EW3U6 260918P9100", "Future Option"),
        ("./ESZ6  EW3U6 260918P9100", "Future Option"),
        ("BTC/USD", "Cryptocurrency"),
    ],
)
def test_kinds_by_form(symbol: str, kind: str) -> None:
    assert instrument_type_of(symbol) == kind


@for_each("wrong", [None, 1, b"AAPL", []])
def test_kind_of_another_type_is_rejected(wrong: Any) -> None:
    with pytest.raises(InvalidRequestError, match="symbol must be a str"):
        instrument_type_of(wrong)
