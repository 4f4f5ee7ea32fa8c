from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.errors import InvalidRequestError
from brokerage_async.symbols import (
    FutureOptionStreamer,
    FutureOptionSymbol,
    FutureSymbol,
    instrument_type_of,
    parse_future_option,
    parse_future_option_streamer,
)
from tests.tables import for_each

CODES = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=1, max_size=6)
MONTHS = st.integers(1, 12)
KINDS = st.sampled_from("CP")
STRIKES = st.decimals(min_value=Decimal("0.00000001"), max_value=Decimal(99_999_999), places=8)
YEARS_AHEAD = st.integers(0, 7)
PARTS = FutureOptionSymbol(FutureSymbol("ES", 12, 2026), "EW3", 9, 2026, date(2026, 9, 18), "P", Decimal(9100))
SYMBOL = "./ESZ6 EW3U6 260918P9100"


@st.composite
def option_symbols(draw: st.DrawFn) -> FutureOptionSymbol:
    day = draw(st.dates(date(2001, 1, 1), date(2090, 12, 31)))
    return FutureOptionSymbol(
        future=FutureSymbol(draw(CODES), draw(MONTHS), day.year + draw(YEARS_AHEAD)),
        root=draw(CODES),
        month=draw(MONTHS),
        year=day.year + draw(YEARS_AHEAD),
        expiration=day,
        option_type=draw(KINDS),
        strike=draw(STRIKES),
        blanks=draw(st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2)])),
    )


@given(option_symbols())
def test_symbol_parsed_returns_the_parts(parts: FutureOptionSymbol) -> None:
    assert parse_future_option(str(parts)) == parts
    assert instrument_type_of(str(parts)) == "Future Option"


@given(CODES, MONTHS, st.integers(2000, 2099), KINDS, STRIKES, CODES)
def test_streamer_symbol_parsed_returns_the_parts(
    root: str, month: int, year: int, kind: str, strike: Decimal, exchange: str
) -> None:
    parts = FutureOptionStreamer(root, month, year, kind, strike, exchange)
    assert parse_future_option_streamer(str(parts)) == parts


@for_each(
    "symbol",
    [
        SYMBOL,
        "./ESZ6 EW3U6  260918C9200",
        "./ESH7 EW3F7 270115C6900",
        "./6EZ6  6EV6 261009P1.0875",
        "./ESU6 ES2M6 260612C100",
    ],
)
def test_symbol_with_its_blanks_is_built_as_it_was(symbol: str) -> None:
    assert str(parse_future_option(symbol)) == symbol


def test_parts_of_the_symbol_of_the_service() -> None:
    found = parse_future_option(SYMBOL)
    assert found == PARTS
    assert (found.contract, found.is_call, found.streamer_symbol("XCME")) == ("EW3U6", False, "./EW3U26P9100:XCME")


def test_parts_of_the_streamer_symbol_of_the_service() -> None:
    assert parse_future_option_streamer("./OGN26P2095:XCEC") == FutureOptionStreamer(
        "OG", 7, 2026, "P", Decimal(2095), "XCEC"
    )


def test_contract_years_follow_the_expiration() -> None:
    found = parse_future_option("./ESH0 EW3Z9 291221P9100")
    assert (found.future.year, found.year) == (2030, 2029)


@for_each(
    "symbol",
    [
        "",
        "/ESZ6",
        "./ESZ6 EW3U6",
        "./ESZ6 EW3U6 260931P9100",
        "./ESZ6   EW3U6 260918P9100",
        "./ESZ6EW3U6 260918P9100",
        "./ESZ6 EW3U6 260918X9100",
        "./ESZ6 EW3U6 260918P",
        "./ESZ6 EW3U6 260918P1.",
        "./ESZ6 EW3U6 260918P٩",
        "ESZ6 EW3U6 260918P9100",
    ],
)
def test_parse_future_option_another_form_is_rejected(symbol: str) -> None:
    with pytest.raises(InvalidRequestError, match="must be a future option such as"):
        parse_future_option(symbol)


@for_each("symbol", ["", SYMBOL, "./EW3U26P9100", "./EW3U6P9100:XCME", "/ESZ26:XCME"])
def test_parse_future_option_streamer_another_form_is_rejected(symbol: str) -> None:
    with pytest.raises(InvalidRequestError, match="streamer symbol of a future option"):
        parse_future_option_streamer(symbol)


@for_each(
    "change",
    [
        {"future": "/ESZ6"},
        {"root": ""},
        {"month": 0},
        {"year": 1999},
        {"expiration": "260918"},
        {"option_type": "call"},
        {"strike": 0},
        {"strike": 1.5},
        {"strike": Decimal("NaN")},
        {"strike": "0.000000001"},
        {"strike": Decimal("1E-99999999")},
        {"strike": "1E-99999999"},
        {"expiration": datetime(2026, 9, 18, tzinfo=UTC)},
        {"blanks": (0, 1)},
    ],
)
def test_option_with_an_invalid_part_names_it(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        attrs.evolve(PARTS, **change)
    assert [problem.domain for problem in caught.value.errors] == list(change)


def test_streamer_symbol_with_invalid_parts_names_them_all() -> None:
    parts: Any = ("", 0, 0, "X", "-1", "XCME")
    with pytest.raises(InvalidRequestError) as caught:
        FutureOptionStreamer(*parts)
    assert [problem.domain for problem in caught.value.errors] == ["root", "month", "year", "option_type", "strike"]
    with pytest.raises(InvalidRequestError, match="exchange"):
        PARTS.streamer_symbol("")
