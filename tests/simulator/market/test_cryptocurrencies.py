"""Cryptocurrencies."""

from __future__ import annotations

from decimal import Decimal

from brokerage_async.simulator.market.equities import CRYPTOCURRENCIES


def test_pairs_have_numbers_prices_rows_and_precisions() -> None:
    assert len(CRYPTOCURRENCIES) == 39
    assert [one.number for one in CRYPTOCURRENCIES.values()] == list(range(1, 40))
    assert CRYPTOCURRENCIES["BTC/USD"].price == Decimal(105_000)
    assert all(one.price > 0 and one.symbol == symbol for symbol, one in CRYPTOCURRENCIES.items())
    sol = CRYPTOCURRENCIES["SOL/USD"]
    row, precision = sol.row(), sol.precision()
    assert (row.symbol, row.streamer_symbol, row.description) == ("SOL/USD", "SOL/USD:CXTALP", "Solana to USD")
    assert precision.value == row.destination_venue_symbols[0].max_quantity_precision == 8
    assert sol.instrument().collection is None
