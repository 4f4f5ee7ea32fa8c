from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.errors import InvalidRequestError
from brokerage_async.symbols import FutureSymbol, parse_future, parse_future_streamer
from tests.tables import for_each

CODES = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=1, max_size=6)
JUNE = date(2026, 6, 12)


@given(CODES, st.integers(1, 12), st.integers(2026, 2034))
def test_symbol_parsed_returns_the_parts(product: str, month: int, year: int) -> None:
    parts = FutureSymbol(product, month, year)
    assert parse_future(str(parts), on=JUNE) == parts


@given(CODES, st.integers(1, 12), st.integers(2000, 2099), CODES)
def test_streamer_symbol_parsed_returns_the_parts(product: str, month: int, year: int, exchange: str) -> None:
    parts = FutureSymbol(product, month, year)
    assert parse_future_streamer(parts.streamer_symbol(exchange)) == parts


@given(st.text("/ESZ60:XCM", max_size=9))
def test_any_string_is_parsed_or_rejected(symbol: str) -> None:
    try:
        parts = parse_future(symbol, on=JUNE)
    except InvalidRequestError:
        return
    assert str(parts) == symbol


@for_each(
    "symbol, exchange, streamer, parts",
    [
        ("/ESZ6", "XCME", "/ESZ26:XCME", ("ES", 12, 2026)),
        ("/ESH7", "XCME", "/ESH27:XCME", ("ES", 3, 2027)),
        ("/CLM8", "XNYM", "/CLM28:XNYM", ("CL", 6, 2028)),
        ("/6EU6", "XCME", "/6EU26:XCME", ("6E", 9, 2026)),
        ("/M2KZ6", "XCME", "/M2KZ26:XCME", ("M2K", 12, 2026)),
    ],
)
def test_symbols_of_the_service(symbol: str, exchange: str, streamer: str, parts: tuple[str, int, int]) -> None:
    found = parse_future(symbol, on=JUNE)
    assert found == FutureSymbol(*parts) == parse_future_streamer(streamer)
    assert (str(found), found.streamer_symbol(exchange), f"/{found.code}") == (symbol, streamer, symbol)


@for_each("symbol", ["", "ESZ6", "/ES", "/ESZ", "/ESA6", "/ESZ26", "/esz6", "/ESZ6 ", "./ESZ6", "/ESZ٦"])
def test_parse_future_another_form_is_rejected(symbol: str) -> None:
    with pytest.raises(InvalidRequestError, match="must be a future such as"):
        parse_future(symbol, on=JUNE)


@for_each("symbol", ["", "/ESZ6", "/ESZ26", "/ESZ6:XCME", "/ESZ26:", "/ESZ26:xcme", "ESZ26:XCME"])
def test_parse_future_streamer_another_form_is_rejected(symbol: str) -> None:
    with pytest.raises(InvalidRequestError, match="streamer symbol of a future such as"):
        parse_future_streamer(symbol)


def test_future_with_invalid_parts_names_them_all() -> None:
    parts: Any = ("es", 13, "2026")
    with pytest.raises(InvalidRequestError) as caught:
        FutureSymbol(*parts)
    assert [problem.domain for problem in caught.value.errors] == ["product", "month", "year"]


@for_each("exchange", [None, "", "xcme", "X:Y"])
def test_streamer_symbol_of_an_invalid_exchange_is_rejected(exchange: Any) -> None:
    with pytest.raises(InvalidRequestError, match="exchange must be a code"):
        FutureSymbol("ES", 12, 2026).streamer_symbol(exchange)


@for_each("on", [None, "2026-06-12"])
def test_parse_future_without_a_day_is_rejected(on: Any) -> None:
    with pytest.raises(InvalidRequestError, match="on must be a datetime"):
        parse_future("/ESZ6", on=on)
