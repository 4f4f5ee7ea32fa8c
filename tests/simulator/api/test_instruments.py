"""Instrument lists: sizes, fields, filters, pages."""

import json
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.models import InstrumentType
from brokerage_async.protocol.decoding import codec
from tests.simulator.harness import Harness


@pytest.mark.parametrize(
    ("operation", "target", "fields"),
    [
        ("instruments.equities", "/instruments/equities?symbol[]=AAPL&symbol[]=HALT&symbol[]=GONE", 29),
        ("instruments.equity_options", "/instruments/equity-options", 22),
        ("instruments.futures_option_chain", "/futures-option-chains/ES", 34),
        ("instruments.warrant", "/instruments/warrants/AAPLW", 7),
    ],
)
def test_rows_match_the_schema(harness: Harness, operation: str, target: str, fields: int) -> None:
    body = harness.ask("GET", target).body
    codec.decode(OPERATIONS[operation], body, strict=True)
    data = json.loads(body)["data"]
    rows = data.get("items", [data])
    # Only a few instruments are halted.
    assert fields - 2 <= len({key for row in rows for key in row}) <= fields


def test_symbols_are_unique_and_found() -> None:
    harness = Harness(equities=3_000).login()
    table = harness.state.catalogue.equities
    symbols = [definition.symbol for definition in table.definitions]
    assert len(set(symbols)) == 3_000
    wanted = symbols[::300]
    query = "&".join(f"symbol[]={quote(symbol, safe='')}" for symbol in [*wanted, "NOTTHERE", wanted[0]])
    assert [row["symbol"] for row in harness.rows(f"/instruments/equities?{query}")] == wanted


def test_equity_filters(harness: Harness) -> None:
    everything = harness.rows("/instruments/equities")
    assert len(everything) == 200
    for name in ("is-etf", "is-index"):
        chosen = harness.rows(f"/instruments/equities?{name}=true")
        assert [row["symbol"] for row in chosen] == [row["symbol"] for row in everything if row[name]]
        assert 0 < len(chosen) < 200
    lent = harness.rows("/instruments/equities?lendability=Locate%20Required")
    assert {row["lendability"] for row in lent} == {"Locate Required"}


def test_equity_option_filters() -> None:
    harness = Harness(equity_options=1000).login()
    every = harness.rows("/instruments/equity-options?with-expired=true")
    current = harness.rows("/instruments/equity-options")
    assert len(current) < len(every) == 1000
    assert min(row["days-to-expiration"] for row in every) < 0 <= min(row["days-to-expiration"] for row in current)
    active = harness.rows("/instruments/equity-options?active=true")
    assert all(row["active"] for row in active)
    assert len(active) + len(harness.rows("/instruments/equity-options?active=false")) == len(current)


@settings(max_examples=30)
@given(st.integers(1, 250), st.booleans())
def test_pages_partition_the_list(size: int, etfs_only: bool) -> None:
    harness = Harness().login()
    condition = "&is-etf=true" if etfs_only else ""
    whole = [row["symbol"] for row in harness.rows(f"/instruments/equities?per-page=1000{condition}")]
    collected: list[str] = []
    offset = 0
    while True:
        answer = harness.get(f"/instruments/equities?per-page={size}&page-offset={offset}{condition}")
        page, items = answer["pagination"], answer["data"]["items"]
        assert page["current-item-count"] == len(items)
        assert page["item-offset"] == len(collected)
        collected += [row["symbol"] for row in items]
        offset += 1
        if offset >= page["total-pages"]:
            break
    assert collected == whole
    assert harness.rows(f"/instruments/equities?per-page={size}&page-offset={offset}{condition}") == []


@pytest.mark.parametrize(
    ("operation", "target"),
    [
        ("instruments.equity", "/instruments/equities/BRK%2FB"),
        ("instruments.active_equities", "/instruments/equities/active?per-page=5000"),
        ("instruments.cryptocurrencies", "/instruments/cryptocurrencies"),
        ("instruments.cryptocurrency", "/instruments/cryptocurrencies/BTC%2FUSD"),
        ("instruments.warrants", "/instruments/warrants"),
    ],
)
def test_single_and_further_rows_match_the_schema(harness: Harness, operation: str, target: str) -> None:
    assert codec.decode(OPERATIONS[operation], harness.ask("GET", target).body, strict=True).value


def test_lists_hold_the_rows_of_their_instruments(harness: Harness) -> None:
    option = harness.rows("/instruments/equity-options")[0]
    symbol = option["symbol"].replace(" ", "%20")
    assert harness.get(f"/instruments/equity-options/{symbol}")["data"] == option
    assert harness.get("/instruments/equities/AAPL")["data"] == harness.rows("/instruments/equities?symbol[]=AAPL")[0]
    for target in ("equities", "equity-options", "cryptocurrencies", "warrants"):
        assert harness.ask("GET", f"/instruments/{target}/NOSUCH").status == 404
    active = harness.rows("/instruments/equities/active?per-page=5000")
    assert active == [row for row in harness.rows("/instruments/equities") if not row["is-index"]]
    filtered = harness.rows("/instruments/equities/active?lendability=Preborrow")
    assert {row["lendability"] for row in filtered} == {"Preborrow"}
    assert len(harness.rows("/instruments/cryptocurrencies?symbol[]=BTC/USD&symbol[]=NOSUCH")) == 1
    warrant = harness.rows("/instruments/warrants")[0]
    assert harness.rows(f"/instruments/warrants?symbol[]={warrant['symbol']}") == [warrant]
    for product in ("ES", "CL", "6E"):
        rows = harness.rows(f"/futures-option-chains/{product}")
        assert len({row["symbol"] for row in rows}) == len(rows) == 50
        assert {row["product-code"] for row in rows} == {product}
    assert harness.ask("GET", "/futures-option-chains/NOPE").status == 404
    row = harness.get("/instruments/warrants/AAPLW")["data"]
    assert (row["symbol"], row["instrument-type"]) == ("AAPLW", "Warrant")
    assert harness.ask("GET", "/instruments/warrants/NOPE").status == 404


def test_inactive_option_is_not_found_among_active_ones() -> None:
    harness = Harness(equity_options=10_000).login()
    symbol = next(row.symbol for row in harness.state.catalogue.equity_options.definitions if not row.active)
    target = f"/instruments/equity-options/{symbol.replace(' ', '%20')}"
    assert (harness.ask("GET", target).status, harness.ask("GET", f"{target}?active=true").status) == (200, 404)


def test_currency_pairs_and_precisions_of_quantities(harness: Harness) -> None:
    rows = harness.decoded("instruments.currency_pairs", "/instruments/currency-pairs")
    assert [row.symbol for row in rows][:2] == ["EUR/USD", "GBP/USD"]
    assert {row.instrument_type for row in rows} == {InstrumentType.CURRENCY_PAIR}
    assert all(row.symbol == row.dx_symbol and row.description for row in rows)
    rows = harness.decoded("instruments.quantity_decimal_precisions", "/instruments/quantity-decimal-precisions")
    assert len(rows) == 48
    coins = [row.symbol for row in harness.decoded("instruments.cryptocurrencies", "/instruments/cryptocurrencies")]
    assert [row.symbol for row in rows if row.symbol is not None] == coins
    by_type = {row.instrument_type: row.value for row in rows if row.symbol is None}
    assert (by_type[InstrumentType.EQUITY], by_type[InstrumentType.FUTURE_OPTION]) == (5, 0)
    assert all(row.minimum_increment_precision <= row.value for row in rows)
