"""Instruments of the catalogue, and when the lists are created."""

import msgspec

from brokerage_async.simulator import Simulator
from tests.simulator.harness import Harness


def test_default_sizes() -> None:
    harness = Harness(equities=10_000, equity_options=5_000, chain_rows=20_000).login()
    pagination = harness.get("/instruments/equities?per-page=1000")["pagination"]
    assert (pagination["total-items"], pagination["total-pages"]) == (10_000, 10)
    assert len(harness.rows("/instruments/equity-options?with-expired=true")) == 5_000
    chain = harness.ask("GET", "/futures-option-chains/ES").body
    assert len(msgspec.json.decode(chain)["data"]["items"]) == 20_000
    assert len(chain) > 20_000_000


def test_listed_options_can_be_traded_and_unknown_instruments_are_none(harness: Harness) -> None:
    catalogue = harness.state.catalogue
    for row in harness.rows("/instruments/equity-options"):
        instrument = catalogue.instrument("Equity Option", row["symbol"])
        assert instrument.underlying == row["underlying-symbol"]
    for row in harness.rows("/futures-option-chains/ES"):
        instrument = catalogue.instrument("Future Option", row["symbol"])
        assert instrument.underlying == row["underlying-symbol"]
    catalogue = harness.state.catalogue
    for kind, symbol in (
        ("Equity", "NOTTHERE"),
        ("Equity", "SPX"),
        ("Equity Option", "AAPL"),
        ("Equity Option", "AAPL  269999C00100000"),
        ("Future", "/XXZ6"),
        ("Future Option", "./ESZ6 EW3U6 269999P9100"),
        ("Cryptocurrency", "DOGE"),
        ("Liquidity Pool", "AAPL"),
    ):
        assert catalogue.instrument(kind, symbol) is None
    simulator = Simulator()
    assert "equities" not in vars(simulator.brokerage.state.catalogue)
