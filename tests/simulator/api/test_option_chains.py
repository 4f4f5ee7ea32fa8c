"""Option chains, which hold the options of the flat list in other forms."""

from typing import Any

import pytest

from brokerage_async._generated.models import InstrumentType
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding import codec
from tests.simulator.harness import Harness
from tests.tables import for_each


@pytest.fixture
def chains() -> Harness:
    return Harness(equity_options=600).login()


def decoded(harness: Harness, operation: str, symbol: str = "AAPL") -> Any:
    target = OPERATIONS[operation].path.replace("{symbol}", symbol)
    return codec.decode(OPERATIONS[operation], harness.ask("GET", target).body, strict=True).value


def test_flat_and_nested_chains_hold_the_options_that_have_not_expired(chains: Harness) -> None:
    flat = decoded(chains, "option_chains.flat")
    listed = {row["symbol"] for row in chains.rows("/instruments/equity-options") if row["underlying-symbol"] == "AAPL"}
    assert {option.symbol for option in flat} == listed
    assert len(listed) > 10
    standard = next(row for row in decoded(chains, "option_chains.nested") if row.option_chain_type == "Standard")
    days = [expiration.expiration_date for expiration in standard.expirations]
    assert days == sorted(set(days))
    strike = standard.expirations[0].strikes[0]
    assert strike.call[:12] == strike.put[:12]
    assert (strike.call[12], strike.put[12]) == ("C", "P")
    assert standard.deliverables[0].symbol == "AAPL"


def test_chains_beyond_the_list_are_made_when_requested() -> None:
    harness = Harness(equities=60, equity_options=0).login()
    shares = [row for row in harness.rows("/instruments/equities") if not row["is-closing-only"]]
    symbols = [row["symbol"] for row in shares if row["symbol"] != "BRK/A"]
    assert len(symbols) == 58
    found = {symbol: decoded(harness, "option_chains.flat", symbol.replace("/", "%2F")) for symbol in symbols}
    assert {len(options) for options in found.values()} == {450}
    assert {option.underlying_symbol for options in found.values() for option in options} == set(symbols)
    again = Harness(equities=60, equity_options=0).login()
    assert decoded(again, "option_chains.flat", symbols[-1]) == found[symbols[-1]]
    for option in (found["BRK/B"][7], found[symbols[-1]][7]):
        target = f"/instruments/equity-options/{option.symbol.replace(' ', '%20')}"
        assert harness.get(target)["data"]["symbol"] == option.symbol
        [row] = harness.rows(f"/instruments/equity-options?symbol[]={option.symbol.replace(' ', '%20')}")
        assert row["underlying-symbol"] == option.underlying_symbol
        instrument = harness.state.catalogue.instrument(InstrumentType.EQUITY_OPTION, option.symbol)
        assert instrument is not None
        assert instrument.underlying == option.underlying_symbol
    assert harness.ask("GET", "/option-chains/GONE").status == 404
    assert harness.rows("/instruments/equity-options") == []


@for_each("form", ["compact", "nested"])
def test_other_forms_hold_the_same_options(chains: Harness, form: str) -> None:
    flat = {option.symbol: option.streamer_symbol for option in decoded(chains, "option_chains.flat")}
    rows = decoded(chains, f"option_chains.{form}")
    if form == "compact":
        found = {symbol: name for row in rows for symbol, name in zip(row.symbols, row.streamer_symbols, strict=True)}
    else:
        strikes = [strike for row in rows for expiration in row.expirations for strike in expiration.strikes]
        found = {strike.call: strike.call_streamer_symbol for strike in strikes}
        found |= {strike.put: strike.put_streamer_symbol for strike in strikes}
        found.pop(None, None)
    assert found == flat


@for_each("form", ["", "/compact", "/nested"])
def test_underlying_without_options_is_not_found(chains: Harness, form: str) -> None:
    assert chains.ask("GET", f"/option-chains/NOSUCH{form}").status == 404


def test_nested_chain_of_futures_has_the_options_of_the_flat_one(harness: Harness) -> None:
    nested = harness.decoded("option_chains.nested_futures", "/futures-option-chains/ES/nested")
    [chain] = nested.option_chains
    strikes = [strike for expiration in chain.expirations for strike in expiration.strikes]
    flat = harness.decoded("instruments.futures_option_chain", "/futures-option-chains/ES")
    assert [symbol for strike in strikes for symbol in (strike.call, strike.put)] == [row.symbol for row in flat]
    listed = {
        row.symbol: row for row in harness.decoded("instruments.futures", "/instruments/futures?product-code[]=ES")
    }
    assert [future.symbol for future in nested.futures] == list(listed)
    assert all(future.expiration_date == listed[future.symbol].expiration_date for future in nested.futures)
    assert harness.ask("GET", "/futures-option-chains/NOPE/nested").status == 404
