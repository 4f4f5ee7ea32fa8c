"""Decimals: read and sent exactly, cached within bounds."""

from decimal import Decimal, localcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import _decimals as decimals
from tests.tables import for_each

finite_decimals = st.decimals(allow_nan=False, allow_infinity=False)


def test_decimals_keep_every_digit_in_any_context() -> None:
    assert str(decimals.decimal_number(Decimal("1.2300"))) == "1.2300"
    assert str(decimals.decimal_number(Decimal("1E+3"))) == "1000"
    assert decimals.decimal_number(7) == Decimal(7)
    wrong: Any
    for wrong, kind in ((Decimal("NaN"), ValueError), (0.1, TypeError), ("1", TypeError)):
        with pytest.raises(kind):
            decimals.decimal_number(wrong)
    # The cache is bounded in bytes: 8,192 decimals of 64 characters.
    long, big = "1" * (decimals.MAX_CACHED_LENGTH + 1), 1 << 65
    assert decimals.read_decimal("1.25") is decimals.read_decimal("1.25")
    for raw in (long, big):
        assert decimals.read_decimal(raw) == decimals.read_decimal(raw) == int(raw)
        assert decimals.read_decimal(raw) is not decimals.read_decimal(raw)
    cache = decimals._Decimals()
    for number in range(2 * decimals.MAX_DECIMALS):
        cache[str(number)]
    assert 0 < len(cache) <= decimals.MAX_DECIMALS
    digits = "1234567.12345678901"
    with localcontext(prec=3, traps=[]):
        assert str(decimals._Decimals()[digits]) == digits
        for wrong in ("1-2", "1e999999999999999999999", "1e-999999999999999999999"):
            with pytest.raises(ValueError, match="not a decimal"):
                decimals.read_decimal(wrong)


@given(finite_decimals)
def test_decimals_are_read_as_they_were_written(value: Decimal) -> None:
    read = decimals.read_decimal(str(value))
    assert (read, str(read)) == (value, str(value))


class Text(str):
    """A string of another class."""


def test_numbers_and_strings_keep_their_digits() -> None:
    numbers = [(7, "7"), ("1.50", "1.50"), (0.1, "0.1"), (1e22, "1E+22"), (Decimal("2.0"), "2.0")]
    assert [str(decimals.read_number(raw)) for raw, _ in numbers] == [digits for _, digits in numbers]
    assert [str(decimals.read_decimal(raw)) for raw in (7, -3, Text("1.50"))] == ["7", "-3", "1.50"]


@for_each("raw", [True, False, [], {}, [1], {"a": 1}, "NaN", "", float("nan"), Decimal("Infinity")])
def test_read_number_other_value_raises_value_error(raw: Any) -> None:
    decimals.read_decimal(1)  # True is equal to it, and must not be found in its place
    with pytest.raises(ValueError, match="not a"):
        decimals.read_number(raw)


@for_each(
    "text", ["", " ", "abc", "NaN", "sNaN", "Infinity", "-Inf", "1_000", " 1", "1 ", "1,5", "0x1", "\u0661", "--1"]
)
def test_only_finite_numbers_are_read(text: str) -> None:
    for raw in (text, Text(text)):
        with pytest.raises(ValueError, match="not a"):
            decimals.read_decimal(raw)


@given(finite_decimals.filter(lambda value: abs(value.adjusted()) <= 64 and abs(value.as_tuple().exponent) <= 64))
def test_decimals_are_sent_without_exponent(value: Decimal) -> None:
    text = decimals.decimal_text(value)
    assert Decimal(text) == value
    assert "E" not in text


def test_decimals_are_sent_with_the_digits_they_have_if_they_are_finite() -> None:
    assert decimals.decimal_text(Decimal("1.10")) == "1.10"
    assert decimals.decimal_text(Decimal("1E+2")) == "100"
    assert decimals.decimal_text(Decimal("1E-8")) == "0.00000001"
    assert decimals.decimal_text(5) == "5"
    assert len(decimals.decimal_text(Decimal("1E+999999"))) < 20
    for text in ("NaN", "Infinity", "-Infinity", "sNaN"):
        with pytest.raises(ValueError, match="decimal must be finite, got"):
            decimals.decimal_text(Decimal(text))
    wrong: Any
    for wrong in (1.1, "1.1", True, None):
        with pytest.raises(TypeError, match="expected a Decimal"):
            decimals.decimal_text(wrong)
