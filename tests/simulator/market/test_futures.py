"""Futures, their options and chains."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal

import pytest

from brokerage_async.simulator.market.futures import Expiration, chain_rows, 
from brokerage_async.simulator.market.instrument import FUTURES

TODAY = date(2026, 6, 10)


@pytest.mark.parametrize(
    ("day", "future", "root"),
    [
        (date(2026, 6, 12), "ESM6", "ES2M6"),
        (date(2026, 7, 31), "ESU6", "ES5N6"),
        (date(2026, 12, 4), "ESZ6", "ES1Z6"),
        (date(2030, 1, 4), "ESH0", "ES1F0"),
    ],
    ids=str,
)
def test_codes_of_an_expiration(day: date, future: str, root: str) -> None:
    expiration = Expiration(day, FUTURES["ES"])
    assert (expiration.future_code, expiration.root, expiration.date_code) == (future, root, f"{day:%y%m%d}")


@pytest.mark.parametrize("code", FUTURES)
def test_chain_rows_are_complete_and_tradable(code: str) -> None:
    rows = [json.loads(row) for row in chain_rows(FUTURES[code], 401, TODAY)]
    assert len({row["symbol"] for row in rows}) == len(rows) == 401
    assert len({tuple(row) for row in rows}) == 1
    for row in rows[::50]:
        instrument = future_option_instrument(row["symbol"])
        assert instrument is not None
        assert instrument.underlying == row["underlying-symbol"]
        assert instrument.strike == Decimal(row["strike-price"])
        assert str(instrument.expires) == row["expiration-date"]
    assert [row["option-type"] for row in rows[:2]] == ["C", "P"]
    assert [row["expiration-date"] for row in rows[399:]] == ["2026-06-12", "2026-06-19"]


def test_chain_without_rows() -> None:
    assert chain_rows(FUTURES["ES"], 0, TODAY) == []


@pytest.mark.parametrize("code", FUTURES)
def test_future_of_every_product(code: str) -> None:
    instrument = future_instrument(f"/{code}Z6")
    assert instrument is not None
    assert (instrument.underlying, instrument.multiplier) == (f"/{code}Z6", FUTURES[code].multiplier)


@pytest.mark.parametrize("symbol", ["", "/", "/ES", "ESZ6", "/ESZ", "/ESA6", "/XXZ6", "/ESZ66", "/ESZ6\n", "/ESZ٦"])
def test_invalid_future_symbol_is_none(symbol: str) -> None:
    assert future_instrument(symbol) is None


@pytest.mark.parametrize(
    "strike", ["", ".", "1.", ".5", "1.2.3", "-1", "1e3", "9" * 9, "1." + "0" * 9, "1\n", "١"], ids=ascii
)
def test_invalid_strike_is_none(strike: str) -> None:
    assert future_option_instrument(f"./ESZ6 EW3U6 260918P{strike}") is None


@pytest.mark.parametrize(
    "symbol", ["./ESZ6 EW3U6 260231P1", "./XXZ6 EW3U6 260918P1", "./ESZ6 260918P1", "/ESZ6 EW3U6 260918P1", "./"]
)
def test_invalid_option_symbol_is_none(symbol: str) -> None:
    assert future_option_instrument(symbol) is None
