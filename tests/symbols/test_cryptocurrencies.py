from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.errors import InvalidRequestError
from brokerage_async.symbols import (
    CryptocurrencySymbol,
    instrument_type_of,
    parse_cryptocurrency,
    parse_cryptocurrency_streamer,
)
from tests.tables import for_each

CODES = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=1, max_size=10)


@given(CODES, CODES)
def test_symbol_and_streamer_symbol_parsed_return_the_parts(coin: str, venue: str) -> None:
    parts = CryptocurrencySymbol(coin)
    assert parse_cryptocurrency(str(parts)) == parts == parse_cryptocurrency_streamer(parts.streamer_symbol(venue))
    assert instrument_type_of(str(parts)) == "Cryptocurrency"


def test_symbols_of_the_service() -> None:
    found = parse_cryptocurrency("BTC/USD")
    assert (found.coin, str(found), found.streamer_symbol()) == ("BTC", "BTC/USD", "BTC/USD:CXTALP")


@for_each("symbol", ["", "BTC", "BRK/B", "BTC/EUR", "btc/USD", "BTC/USD ", "BTC/USD:CXTALP", "/USD"])
def test_parse_cryptocurrency_another_form_is_rejected(symbol: str) -> None:
    with pytest.raises(InvalidRequestError, match="must be a cryptocurrency"):
        parse_cryptocurrency(symbol)


@for_each("symbol", ["", "BTC/USD", "BTC/USD:", "BTC:CXTALP", "BTC/USD:cxtalp"])
def test_parse_cryptocurrency_streamer_another_form_is_rejected(symbol: str) -> None:
    with pytest.raises(InvalidRequestError, match="streamer symbol of a cryptocurrency"):
        parse_cryptocurrency_streamer(symbol)


@for_each("wrong", [None, "", "btc", "A/B", 1])
def test_invalid_code_or_venue_is_rejected(wrong: Any) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        CryptocurrencySymbol(wrong)
    assert [problem.domain for problem in caught.value.errors] == ["coin"]
    with pytest.raises(InvalidRequestError, match="venue must be a code"):
        CryptocurrencySymbol("BTC").streamer_symbol(wrong)
