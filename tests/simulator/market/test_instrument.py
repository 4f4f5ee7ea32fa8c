"""Symbols of options, and properties of instruments."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import attrs
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async._generated.models import OptionType
from brokerage_async.models import InstrumentType
from brokerage_async.simulator.market.calendar import local_epoch
from brokerage_async.simulator.market.instrument import Instrument, day_of, occ_symbol, parse_occ
from tests.tables import for_each


def test_occ_symbol_round_trip() -> None:
    parsed = parse_occ("AAPL  260612C00110000")
    assert parsed is not None
    assert occ_symbol(*parsed) == "AAPL  260612C00110000"


@given(
    st.from_regex(r"[A-Z]{1,6}", fullmatch=True),
    st.dates(date(2000, 1, 1), date(2099, 12, 31)),
    st.sampled_from(OptionType),
    st.decimals(0, 99999, places=3),
)
def test_occ_symbol_examples(root: str, day: date, kind: OptionType, strike: Decimal) -> None:
    assert parse_occ(occ_symbol(root, day, kind, strike)) == (root, day, kind, strike)


@for_each(
    "symbol",
    [
        *("", "AAPL", "260612C00110000", "AAPL  260612X00110000", "AAPL  260612C0011000", "AAPL  260231C00110000"),
        *("AAPL  260612C00110000\n", "AAPL  ٢٦٠٦١٢C00110000", "aapl  260612C00110000", "TOOLONG260612C00110000"),
    ],
)
def test_invalid_occ_symbol_is_none(symbol: str) -> None:
    assert parse_occ(symbol) is None


@for_each(
    "code, day", [("260612", date(2026, 6, 12)), ("991231", date(2099, 12, 31)), ("260231", None), ("261301", None)]
)
def test_day_of_symbol_code(code: str, day: date | None) -> None:
    assert day_of(code) == day


@for_each(
    "kind, collection, underlying",
    [
        (InstrumentType.EQUITY, "Equity", InstrumentType.EQUITY),
        (InstrumentType.EQUITY_OPTION, "Equity", InstrumentType.EQUITY),
        (InstrumentType.FUTURE, "CME", InstrumentType.FUTURE),
        (InstrumentType.FUTURE_OPTION, "CME", InstrumentType.FUTURE),
        (InstrumentType.CRYPTOCURRENCY, None, InstrumentType.CRYPTOCURRENCY),
    ],
)
def test_collection_and_underlying_type(
    kind: InstrumentType, collection: str | None, underlying: InstrumentType
) -> None:
    one = Instrument(symbol="X", instrument_type=kind, underlying="X")
    assert (one.collection, one.underlying_type, one.is_future) == (
        collection,
        underlying,
        kind is InstrumentType.FUTURE,
    )
    assert not one.is_option


def test_expirations_and_calendars_of_instruments() -> None:
    day = date(2026, 9, 18)
    option = Instrument(symbol="X", instrument_type=InstrumentType.EQUITY_OPTION, underlying="X", expires=day)
    assert option.expires_at == local_epoch(day, 16)
    assert attrs.evolve(option, expiration_hour=9.5).expires_at == local_epoch(day, 9.5)
    assert attrs.evolve(option, expires=None).expires_at is None
    for symbol, collection in (("/VXU6", "CFE"), ("/ESU6", "CME")):
        one = Instrument(symbol=symbol, instrument_type=InstrumentType.FUTURE, underlying=symbol)
        assert one.collection == collection
