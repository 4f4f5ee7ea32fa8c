from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.errors import InvalidRequestError
from brokerage_async.symbols import OptionSymbol, occ_symbol, parse_occ, parse_option_streamer
from tests.tables import for_each

ROOTS = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./", min_size=1, max_size=6)
DAYS = st.dates(date(2000, 1, 1), date(2099, 12, 31))
KINDS = st.sampled_from("CP")
STRIKES = st.integers(1, 99_999_999).map(lambda thousandths: Decimal(thousandths) / 1000)


@given(ROOTS, DAYS, KINDS, STRIKES)
def test_parts_to_symbol_and_back(root: str, day: date, kind: str, strike: Decimal) -> None:
    symbol = occ_symbol(root, day, kind, strike)
    assert len(symbol) == 21
    assert parse_occ(symbol) == OptionSymbol(root, day, kind, strike)


@given(ROOTS, DAYS, KINDS, STRIKES)
def test_symbol_to_parts_and_back_with_or_without_padding(root: str, day: date, kind: str, strike: Decimal) -> None:
    symbol = occ_symbol(root, day, kind, strike)
    assert str(parse_occ(symbol)) == symbol
    assert str(parse_occ(symbol.replace(" ", ""))) == symbol


@given(st.text(max_size=24))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    try:
        parts = parse_occ(text)
    except InvalidRequestError:
        return
    assert occ_symbol(parts.root, parts.expiration, parts.option_type, parts.strike).replace(" ", "") == text.replace(
        " ", ""
    )


def test_the_usual_one() -> None:
    assert occ_symbol("AAPL", date(2026, 6, 12), "C", 110) == "AAPL  260612C00110000"
    parts = parse_occ("AAPL  260612P00110500")
    assert (parts.root, parts.expiration, parts.is_call, parts.strike) == (
        "AAPL",
        date(2026, 6, 12),
        False,
        Decimal("110.5"),
    )


@for_each(
    "text",
    [
        "",
        "AAPL",
        "AAPL  260612X00110000",
        "AAPL  260631C00110000",
        "AAPL  260612C0011000",
        "AAPL  260612C00000000",
        "aapl  260612C00110000",
        "AAPL      260612C00110000",
        "AAPL  260612C00110000\n",
        "AAPL  ٢٦٠٦١٢C00110000",
        "TOOLONG260612C00110000",
    ],
)
def test_what_is_no_occ_symbol(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="OCC symbol"):
        parse_occ(text)


@for_each(
    "parts, fields",
    [
        (("TOOLONG", date(2026, 6, 12), "C", 110), ["root"]),
        (("AAPL", date(1999, 6, 12), "C", 110), ["expiration"]),
        (("AAPL", "2026-06-12", "C", 110), ["expiration"]),
        (("AAPL", date(2026, 6, 12), "call", 110), ["option_type"]),
        (("AAPL", date(2026, 6, 12), "C", 0), ["strike"]),
        (("AAPL", date(2026, 6, 12), "C", "110.0005"), ["strike"]),
        (("AAPL", date(2026, 6, 12), "C", "NaN"), ["strike"]),
        (("AAPL", date(2026, 6, 12), "C", "dear"), ["strike"]),
        (("AAPL", date(2026, 6, 12), "C", "1_10"), ["strike"]),
        (("AAPL", date(2026, 6, 12), "C", "１１０"), ["strike"]),
        (("AAPL", date(2026, 6, 12), "C", " 110"), ["strike"]),
        (("AAPL", date(2026, 6, 12), "C", Decimal("sNaN")), ["strike"]),
        (("AAPL", date(2026, 6, 12), "C", 110.5), ["strike"]),
        (("AAPL", date(2026, 6, 12), "C", True), ["strike"]),
        (("AAPL", date(2026, 6, 12), "C", 100_000), ["strike"]),
        (("AAPL", date(2026, 6, 12), "C", "1e999999"), ["strike"]),
        (("", date(2126, 6, 12), "", -1), ["root", "expiration", "option_type", "strike"]),
    ],
)
def test_parts_that_make_no_symbol_are_all_named(parts: Any, fields: list[str]) -> None:
    for made in (occ_symbol, OptionSymbol):
        with pytest.raises(InvalidRequestError) as caught:
            made(*parts)
        assert [problem.domain for problem in caught.value.errors] == fields


def test_a_changed_symbol_is_no_other_strike() -> None:
    parts = parse_occ("AAPL  260612P00110500")
    assert str(attrs.evolve(parts, strike=111)) == "AAPL  260612P00111000"
    with pytest.raises(InvalidRequestError, match="strike"):
        attrs.evolve(parts, strike=Decimal("110.5005"))


@for_each("wrong", [None, 1, 1.5, b"AAPL", [], date(2026, 6, 12)])
def test_what_is_no_symbol_is_refused(wrong: Any) -> None:
    for call in (lambda: parse_option_streamer(wrong), lambda: parse_occ(wrong)):
        with pytest.raises(InvalidRequestError, match="symbol must be a str"):
            call()


def test_every_part_of_a_wrong_type_is_named() -> None:
    nothing: Any = None
    with pytest.raises(InvalidRequestError) as caught:
        occ_symbol(nothing, nothing, nothing, nothing)
    assert [problem.domain for problem in caught.value.errors] == ["root", "expiration", "option_type", "strike"]


@given(ROOTS, DAYS, KINDS, STRIKES)
def test_streamer_symbol_parsed_returns_the_parts(root: str, day: date, kind: str, strike: Decimal) -> None:
    parts = OptionSymbol(root, day, kind, strike)
    assert parse_option_streamer(parts.streamer_symbol) == parts


@for_each(
    "streamer, occ",
    [
        (".SPY260612C110", "SPY   260612C00110000"),
        (".QNTX261218C45", "QNTX  261218C00045000"),
        (".ACME270115C52.5", "ACME  270115C00052500"),
        (".AAPL1260612P110", "AAPL1 260612P00110000"),
    ],
)
def test_streamer_symbol_of_the_service_stands_for_its_occ_symbol(streamer: str, occ: str) -> None:
    assert str(parse_option_streamer(streamer)) == occ
    assert parse_occ(occ).streamer_symbol == streamer


@for_each(
    "symbol", ["", "SPY", "SPY260612C110", ".SPY260631C110", ".SPY260612C", ".SPY260612C110.", ".SPY260612X1", "./ESZ6"]
)
def test_parse_option_streamer_another_form_is_rejected(symbol: str) -> None:
    with pytest.raises(InvalidRequestError, match="streamer symbol of an equity option"):
        parse_option_streamer(symbol)


def test_streamer_symbol_has_no_trailing_zeros() -> None:
    assert OptionSymbol("ACME", date(2027, 1, 15), "C", Decimal("52.50")).streamer_symbol == ".ACME270115C52.5"
    assert OptionSymbol("ACME", date(2027, 1, 15), "C", Decimal("1E+2")).streamer_symbol == ".ACME270115C100"


@for_each("strike", ["110.0000000000000000000000000000000001", "0.00100000000000000000000000000000001"])
def test_strike_between_steps_is_rejected_however_many_digits_it_has(strike: str) -> None:
    for given_as in (strike, Decimal(strike)):
        with pytest.raises(InvalidRequestError, match=r"in steps of 0\.001"):
            occ_symbol("AAPL", date(2026, 6, 12), "C", given_as)
    assert occ_symbol("AAPL", date(2026, 6, 12), "C", "110." + "0" * 40) == "AAPL  260612C00110000"


def test_timestamp_is_not_a_day_of_expiration() -> None:
    with pytest.raises(InvalidRequestError, match=r"expiration: must be a datetime\.date"):
        OptionSymbol("AAPL", datetime(2026, 6, 12, 16, tzinfo=UTC), "C", Decimal(110))
