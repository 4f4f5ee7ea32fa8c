"""Symbols of options, and what an instrument knows of itself."""

from brokerage_async.simulator.instrument import occ_symbol, parse_occ


def test_occ_symbols_read_back() -> None:
    parsed = parse_occ("AAPL  260612C00110000")
    assert parsed is not None
    assert occ_symbol(*parsed) == "AAPL  260612C00110000"
