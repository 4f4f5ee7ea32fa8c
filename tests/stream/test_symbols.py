"""Streamer symbols of candles and instruments. Looked-up ones are tested with the stream."""

from datetime import timedelta
from typing import Any

import pytest

from brokerage_async import models
from brokerage_async.errors import ConfigurationError, InvalidRequestError
from brokerage_async.stream import Gap, UnknownEvent
from brokerage_async.stream.api import candle_symbol, streamer_symbols
from tests.loops import on_virtual_time
from tests.stream.world import drain, world


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


@on_virtual_time
async def test_events_lead_back_to_the_symbols_that_were_given() -> None:
    given = ["AAPL", "AAPL  260619C00200000", ".AAPL260619C200", "/ESU6", "BTC/USD"]
    async with world() as (sim, client):
        start = sim.clock.time - timedelta(minutes=5)
        async with client.stream.quotes(given, ["Quote", "Candle"], period="5m", start=start) as stream:
            found = {stream.symbol_of(event) for event in await drain(stream)}
            await stream.remove(["AAPL"])
            assert stream.symbol_of(models.Quote(event_symbol="AAPL")) == "AAPL"
        assert found == {"AAPL", "AAPL  260619C00200000", "/ESU6", "BTC/USD"}
        assert stream.symbol_of(UnknownEvent(type="New", fields={"eventSymbol": "/ESU26:XCME"})) == "/ESU6"
        assert stream.symbol_of(models.Quote(event_symbol="SPY")) == "SPY"
        assert stream.symbol_of(Gap(since=None, reason="lost")) is None
