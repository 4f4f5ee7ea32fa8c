"""Instruments, futures with their products and options, option chains, and the search."""

from decimal import Decimal
from urllib.parse import quote

from hypothesis import given, settings
from hypothesis import strategies as st

from brokerage_async.simulator.market.instrument import FUTURES
from tests.simulator.harness import Harness, leg, market


def test_symbols_are_unique_and_found() -> None:
    harness = Harness(equities=3_000).login()
    symbols = [definition.symbol for definition in harness.state.catalogue.equities.definitions]
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
    harness = Harness(equity_options=10_000).login()
    symbol = next(row.symbol for row in harness.state.catalogue.equity_options.definitions if not row.active)
    target = f"/instruments/equity-options/{quote(symbol)}"
    assert (harness.ask("GET", target).status, harness.ask("GET", f"{target}?active=true").status) == (200, 404)


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
    beyond = harness.get(f"/instruments/equities?per-page={size}&page-offset={offset}{condition}")
    assert (beyond["data"]["items"], beyond["pagination"]["current-item-count"]) == ([], 0)


def test_lists_hold_the_rows_of_their_instruments(harness: Harness) -> None:
    warrant = harness.rows("/instruments/warrants")[0]
    assert (warrant["symbol"], warrant["instrument-type"]) == ("AAPLW", "Warrant")
    assert harness.rows("/instruments/warrants?symbol[]=AAPLW") == [warrant]
    for name in ("warrants", "equity-options", "equities"):
        row = harness.rows(f"/instruments/{name}")[0]
        assert harness.get(f"/instruments/{name}/{quote(row['symbol'], safe='')}")["data"] == row
    active = harness.rows("/instruments/equities/active?per-page=5000")
    assert active == [row for row in harness.rows("/instruments/equities") if not row["is-index"]]
    filtered = harness.rows("/instruments/equities/active?lendability=Preborrow")
    assert {row["lendability"] for row in filtered} == {"Preborrow"}
    assert len(harness.rows("/instruments/cryptocurrencies?symbol[]=BTC/USD&symbol[]=NOSUCH")) == 1
    for product in ("ES", "CL", "6E"):
        rows = harness.rows(f"/futures-option-chains/{product}")
        assert len({row["symbol"] for row in rows}) == len(rows) == 50
        assert {row["product-code"] for row in rows} == {product}


BASE = "/instruments"
FUTURE_OPTIONS = "instruments.future_options"


def futures(harness: Harness, query: str = "") -> list[str]:
    return [row.symbol for row in harness.decoded("instruments.futures", query)]


def test_futures_are_found_by_product_symbol_and_security(harness: Harness) -> None:
    active = ["/ESM6", "/ESU6", "/ESZ6", "/ESH7", "/ESM7", "/ESU7", "/ESZ7"]
    number = harness.decoded("instruments.future", symbol="ESZ6").security_id
    cases = {
        "product-code[]=ES": active,
        "product-code[]=%2FES&only-active-futures=false": ["/ESH6", *active],
        "symbol[]=%2FESZ6&symbol[]=CLM6&symbol[]=NOPE&product-code[]=NQ": ["/ESZ6", "/CLM6"],
        "symbol[]=%2FESH6": [],
        f"security-id[]={number}": ["/ESZ6"],
        f"security-id[]={number}&exchange=CFE": [],
    }
    assert {query: futures(harness, query) for query in cases} == cases
    assert len(futures(harness)) == 83 * 7
    assert harness.codes(market(leg("/ESH6", "1"))) == ["instrument_expired"]
    harness.wait_until("2026-06-19T14:00:00+00:00")
    assert futures(harness, "product-code[]=ES")[0] == "/ESU6"
    assert not harness.decoded("instruments.future", symbol="/ESM6").active


def test_options_have_the_ticks_that_their_future_lists(harness: Harness) -> None:
    chains = (harness.decoded("option_chains.nested_futures", symbol=code) for code in FUTURES)
    expirations = {chain.expirations[0] for nested in chains for chain in nested.option_chains}
    listed = {row.symbol: row for row in harness.decoded("instruments.futures")}
    assert len({expiration.tick_sizes for expiration in expirations}) > 1
    for expiration in expirations:
        assert expiration.tick_sizes == listed[expiration.underlying_symbol].option_tick_sizes
        option = harness.instrument(expiration.strikes[-1].call)
        assert option.tick_at(Decimal(1)) == expiration.tick_sizes[0].value


def test_products_are_paged_and_embed_each_other_once(harness: Harness) -> None:
    products = harness.decoded("instruments.future_products")
    assert len(products) == 83
    assert {product.exchange for product in products} == {"CME", "CFE", "SMALLS"}
    [es, *_] = products
    assert harness.decoded("instruments.future_product", exchange="CME", code="ES") == es
    assert [one.root_symbol for one in es.option_products] == ["ES", "ES1", "ES2", "ES3", "ES4", "ES5"]
    for symbol in ("/ESZ6", "ESZ6"):
        row = harness.decoded("instruments.future", symbol=symbol)
        assert (row.symbol, row.notional_multiplier, row.tick_size) == ("/ESZ6", es.notional_multiplier, es.tick_size)
        assert row.future_product.option_products is None
    rows = harness.decoded("instruments.future_option_products", "per-page=6")
    assert [row.root_symbol for row in rows] == [one.root_symbol for one in es.option_products]
    assert {(row.future_product.code, row.future_product.option_products) for row in rows} == {("ES", None)}
    pages = [harness.rows(f"{BASE}/future-products?per-page=40&page-offset={offset}") for offset in range(4)]
    assert [len(page) for page in pages] == [40, 40, 3, 0]
    for name in ("product", "product_of_exchange"):
        row = harness.decoded(f"instruments.future_option_{name}", exchange="CME", root_symbol="ES3")
        assert (row.root_symbol, row.expiration_type, row.future_product.code) == ("ES3", "Weekly", "ES")
    for path in ("future-products/CFE/ES", "future-option-products/CFE/ES3"):
        assert harness.ask("GET", f"{BASE}/{path}").status == 404


def test_options_are_found_filtered_and_paged(harness: Harness) -> None:
    row = harness.rows("/futures-option-chains/CL")[7]
    assert harness.get(harness.target("instruments.future_option", symbol=row["symbol"]))["data"] == row
    for symbol in (row["symbol"].replace(" ", "  "), "./ESZ6 EW3U6 260918P9100", "./NOPE", "x"):
        assert harness.ask("GET", harness.target("instruments.future_option", symbol=symbol)).status == 404
    terms = "option-root-symbol=ES2&option-type=P&strike-price=5525"
    [row] = harness.decoded(FUTURE_OPTIONS, terms)
    assert row.symbol == "./ESM6 ES2M6 260612P5525"
    cases = {
        f"symbol[]={quote(row.symbol)}&symbol[]=nonsense": [row],
        f"security-id[]={row.security_id}": [row],
        f"expiration-date=2026-06-12&maturity-date=2026-06-12&exchange=CME&{terms}.0": [row],
        "expiration-date=2026-06-13": [],
        "expiration-date=2026-06-12&maturity-date=2026-06-13": [],
        f"symbol[]={quote(row.symbol)}&exchange=CFE": [],
        "symbol[]=.%2FXXM6%20XX2M6%20260612P5525": [],
    }
    assert {query: harness.decoded(FUTURE_OPTIONS, query) for query in cases} == cases
    body = harness.get(f"{BASE}/future-options?per-page=60&page-offset=1")
    assert body["pagination"]["total-items"] == 83 * 50
    first, second, third = (harness.rows(f"/futures-option-chains/{code}") for code in ("ES", "NQ", "RTY"))
    assert body["data"]["items"] == [*first, *second, *third][60:120]
    harness.wait_until("2026-06-15T14:00:00+00:00")
    assert harness.decoded(FUTURE_OPTIONS, "exchange=CME") == []


def test_chains_of_each_form_hold_the_options_that_have_not_expired_on_shares_that_list_their_ticks() -> None:
    chains = Harness(equity_options=600).login()
    forms = ("flat", "compact", "nested")
    flat, compact, nested = (chains.decoded(f"option_chains.{form}", symbol="AAPL") for form in forms)
    listed = {row["symbol"] for row in chains.rows("/instruments/equity-options") if row["underlying-symbol"] == "AAPL"}
    assert {option.symbol for option in flat} == listed
    assert len(listed) > 10
    standard = next(row for row in nested if row.option_chain_type == "Standard")
    days = [expiration.expiration_date for expiration in standard.expirations]
    assert days == sorted(set(days))
    strike = standard.expirations[0].strikes[0]
    assert strike.call[:12] == strike.put[:12]
    assert (strike.call[12], strike.put[12]) == ("C", "P")
    assert standard.deliverables[0].symbol == "AAPL"
    streamed = {option.symbol: option.streamer_symbol for option in flat}
    assert dict(pair for row in compact for pair in zip(row.symbols, row.streamer_symbols, strict=True)) == streamed
    strikes = [strike for row in nested for expiration in row.expirations for strike in expiration.strikes]
    found = {strike.call: strike.call_streamer_symbol for strike in strikes}
    found |= {strike.put: strike.put_streamer_symbol for strike in strikes}
    found.pop(None, None)
    assert found == streamed
    shares = {row["symbol"]: row for row in chains.rows("/instruments/equities?per-page=200")}
    optionable = {symbol for symbol, row in shares.items() if row.get("option-tick-sizes")}
    assert {"GONE", "BRK/A"} == shares.keys() - optionable
    assert optionable == {symbol for symbol in shares if chains.state.catalogue.options_on(symbol).definitions}


def test_chains_beyond_the_list_are_made_when_requested() -> None:
    harness = Harness(equities=60, equity_options=0).login()
    shares = [row for row in harness.rows("/instruments/equities") if not row["is-closing-only"]]
    symbols = [row["symbol"] for row in shares if row["symbol"] != "BRK/A"]
    assert len(symbols) == 58
    found = {symbol: harness.decoded("option_chains.flat", symbol=symbol) for symbol in symbols}
    assert {len(options) for options in found.values()} == {450}
    assert {option.underlying_symbol for options in found.values() for option in options} == set(symbols)
    again = Harness(equities=60, equity_options=0).login()
    assert again.decoded("option_chains.flat", symbol=symbols[-1]) == found[symbols[-1]]
    for option in (found["BRK/B"][7], found[symbols[-1]][7]):
        assert harness.decoded("instruments.equity_option", symbol=option.symbol).symbol == option.symbol
        [row] = harness.decoded("instruments.equity_options", f"symbol[]={quote(option.symbol)}")
        assert row.underlying_symbol == option.underlying_symbol
        assert harness.instrument(option.symbol, "Equity Option").underlying == option.underlying_symbol
    assert harness.ask("GET", "/option-chains/GONE").status == 404
    assert harness.rows("/instruments/equity-options") == []


def test_instruments_are_found_by_symbol_name_or_beginning(harness: Harness, production: Harness) -> None:
    counts = {
        "query=aapl": 1,
        "query=holdings": 25,
        "query=holdings&limit=100": 100,
        "query=zzzzzz": 0,
        "query=aapl&type=Equity,Future": 1,
        "query=aapl&type=Future": 0,
        "query=aapl&category=Sports": 0,
    }
    assert {query: len(harness.decoded("search.instruments", query)) for query in counts} == counts
    assert [hit.symbol for hit in production.decoded("search.symbols", symbol="BRK/")] == ["BRK/B", "BRK/A"]
    assert production.rows("/symbols/search/zz") == []
