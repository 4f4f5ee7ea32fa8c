"""Streamer symbols of candles and instruments. Looked-up ones are tested with the stream."""

from typing import Any

import pytest

from brokerage_async.errors import ConfigurationError, InvalidRequestError
from brokerage_async.stream.api import candle_symbol, streamer_symbols


@pytest.mark.parametrize(
    ("period", "symbol"),
    [("5m", "ACME{=5m}"), ("1d", "ACME{=d}"), ("d", "ACME{=d}"), ("1mo", "ACME{=mo}"), ("12h", "ACME{=12h}")],
)
def test_candle_symbol_is_in_the_form_of_the_service(period: str, symbol: str) -> None:
    assert candle_symbol("ACME", period) == symbol


def test_candle_symbol_of_regular_hours() -> None:
    assert candle_symbol("ACME", "5m", regular_hours=True) == "ACME{=5m,tho=true}"


@pytest.mark.parametrize("period", ["", "0m", "5", "5x", "05m", "5 m", 5, None])
def test_invalid_period_is_rejected(period: Any) -> None:
    with pytest.raises(ConfigurationError, match="period must be a number and a unit such as '5m'"):
        candle_symbol("ACME", period)


async def test_symbols_that_need_no_lookup() -> None:
    given = ["BRK/B", "AAPL  260612C00110000", ".AAPL260612C110", "/ESU26:XCME", "./OGN26P2095:XCEC", "BTC/USD:CXTALP"]
    found = await streamer_symbols(None, [*given, "/ESU6"], {"/ESU6": "/ESU26:XCME"})  # type: ignore[arg-type]
    assert list(found.values()) == ["BRK/B", ".AAPL260612C110", *given[2:], "/ESU26:XCME"]


async def test_a_single_str_is_rejected() -> None:
    with pytest.raises(InvalidRequestError, match="symbols must be a list of symbols, got the str 'AAPL'"):
        await streamer_symbols(None, "AAPL", {})  # type: ignore[arg-type]
