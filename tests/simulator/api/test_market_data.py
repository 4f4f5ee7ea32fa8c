"""Market data, which shows the prices that orders trade at."""

from typing import Any

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.models import InstrumentType
from brokerage_async.protocol.decoding import codec
from tests.simulator.harness import Harness
from tests.tables import for_each

ALL = (
    "equity=AAPL,NOSUCH&index=SPX,AAPL&future=%2FESZ6&cryptocurrency=BTC%2FUSD"
    "&equity-option=AAPL%20%20270115C00200000&future-option=.%2FESZ6%20EW3U6%20260918P6000"
)


def decoded(harness: Harness, operation: str, target: str) -> Any:
    return codec.decode(OPERATIONS[operation], harness.ask("GET", target).body, strict=True).value


def test_rows_hold_the_simulated_prices_of_known_instruments(production: Harness) -> None:
    rows = {row.symbol: row for row in decoded(production, "market_data.by_type", f"/market-data/by-type?{ALL}")}
    assert set(rows) == {
        "AAPL", "SPX", "/ESZ6", "BTC/USD", "AAPL  270115C00200000", "./ESZ6 EW3U6 260918P6000",
    }  # fmt: skip
    assert rows["AAPL"].last == production.state.prices.underlying_price("AAPL", production.now)
    assert rows["AAPL"].instrument_type == "Equity"
    for row in rows.values():
        assert row.instrument_type == "Index" or row.bid <= row.last <= row.ask
        assert row.instrument_type == "Index" or row.bid < row.ask
    assert rows["SPX"].bid is None
    target = "/market-data/Equity/AAPL"
    row = production.get(target)["data"]
    assert (row["close-price-type"], row["prev-close-price-type"]) == ("Regular", "Final")
    assert decoded(production, "market_data.get", target).close_price_type == "REGULAR"  # as streams write it
    row = decoded(production, "market_data.get", "/market-data/Equity/AAPL")
    assert row.symbol == "AAPL"
    assert production.ask("GET", "/market-data/Equity/NOSUCH").status == 404
    assert production.ask("GET", "/market-data/Index/AAPL").status == 404
    before = decoded(production, "market_data.get", "/market-data/Equity/AAPL").prev_close
    production.state.prices.set_price("AAPL", before * 2, production.now)
    after = decoded(production, "market_data.get", "/market-data/Equity/AAPL")
    assert (after.prev_close, after.last) == (before, before * 2)


@for_each("query", ["", "equity=" + ",".join(f"A{n}" for n in range(101))])
def test_no_symbols_and_too_many_are_refused(production: Harness, query: str) -> None:
    assert production.ask("GET", f"/market-data/by-type?{query}").status == 422


def test_types_of_the_query_are_instrument_types() -> None:
    names = [each.name for each in OPERATIONS["market_data.by_type"].parameters if each.array]
    assert all(InstrumentType(name.replace("_", " ").title()).is_known for name in names)


def test_quote_token_is_good_for_a_day(harness: Harness) -> None:
    token = harness.decoded("market_data.quote_token", "/api-quote-tokens")
    assert (token.level, token.dxlink_url) == ("demo", harness.state.quote_tokens.url)
    assert set(harness.get("/api-quote-tokens")["data"]) == {"token", "dxlink-url", "level"}
    assert harness.state.quote_tokens.identify(token.token, harness.now + 86_399) == harness.state.owner
    assert harness.state.quote_tokens.identify(token.token, harness.now + 86_400) is None


def test_sandbox_answers_502_unless_that_is_switched_off() -> None:
    for target in ("/market-data/by-type?equity=AAPL", "/market-data/Equity/AAPL", "/market-metrics?symbols=AAPL"):
        assert Harness(environment="sandbox").login().ask("GET", target).status == 502, target
        served = Harness(environment="sandbox", without=["sandbox_has_no_market_data"]).login()
        assert served.ask("GET", target).status == 200, target
