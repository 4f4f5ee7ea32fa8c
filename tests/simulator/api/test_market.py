"""Market data, which shows the prices that orders trade at, metrics, and market time."""

from decimal import Decimal

from tests.simulator.harness import Harness, switched

ALL = (
    "equity=AAPL,NOSUCH&index=SPX,AAPL&future=%2FESZ6&cryptocurrency=BTC%2FUSD"
    "&equity-option=AAPL%20%20270115C00200000&future-option=.%2FESZ6%20EW3U6%20260918P6000"
)


def test_rows_hold_the_simulated_prices_of_a_hundred_known_instruments_at_most(production: Harness) -> None:
    rows = {row.symbol: row for row in production.decoded("market_data.by_type", ALL)}
    option = "AAPL  270115C00200000"
    assert set(rows) == {"AAPL", "SPX", "/ESZ6", "BTC/USD", option, "./ESZ6 EW3U6 260918P6000"}
    assert rows["AAPL"].last == production.state.prices.underlying_price("AAPL", production.now)
    assert rows["AAPL"].instrument_type == "Equity"
    assert (rows[option].tick_size, rows[option].bid % rows[option].tick_size) == (Decimal("0.05"), 0)
    assert rows.pop("SPX").bid is None
    for row in rows.values():
        assert row.bid <= row.last <= row.ask
        assert row.bid < row.ask
        assert row.mid == (row.bid + row.ask) / 2
    for query in ("", "equity=" + ",".join(f"A{n}" for n in range(101))):
        production.error("GET", f"/market-data/by-type?{query}")


def test_row_of_one_instrument_holds_its_closes(production: Harness) -> None:
    row = production.get("/market-data/Equity/AAPL")["data"]
    assert (row["close-price-type"], row["prev-close-price-type"]) == ("Regular", "Final")
    share = {"instrument_type": "Equity", "symbol": "AAPL"}
    before = production.decoded("market_data.get", **share)
    assert (before.symbol, before.close_price_type) == ("AAPL", "REGULAR")  # as streams write it
    production.sim.set_price("AAPL", before.prev_close * 2)
    after = production.decoded("market_data.get", **share)
    assert (after.prev_close, after.last) == (before.prev_close, before.prev_close * 2)
    assert production.ask("GET", "/market-data/Index/AAPL").status == 404


def test_quote_token_is_good_for_a_day(harness: Harness) -> None:
    token = harness.decoded("market_data.quote_token")
    assert (token.level, token.dxlink_url) == ("demo", harness.state.quote_tokens.url)
    assert set(harness.get("/api-quote-tokens")["data"]) == {"token", "dxlink-url", "level"}
    assert harness.state.quote_tokens.identify(token.token, harness.now + 86_399) == harness.state.owner
    assert harness.state.quote_tokens.identify(token.token, harness.now + 86_400) is None


def test_sandbox_answers_502_unless_that_is_switched_off() -> None:
    targets = ("/market-data/by-type?equity=AAPL", "/market-data/Equity/AAPL", "/market-metrics?symbols=AAPL")
    for harness, status in switched("sandbox_has_no_market_data", 502, 200, environment="sandbox"):
        assert [harness.ask("GET", target).status for target in targets] == [status] * 3


BASE = "/market-metrics/historic-corporate-events"


def test_earnings_are_within_the_range(harness: Harness) -> None:
    every = harness.rows(f"{BASE}/earnings-reports/AAPL?start-date=2020-01-01")
    some = harness.rows(f"{BASE}/earnings-reports/AAPL?start-date=2024-01-01&end-date=2024-12-31")
    assert len(some) == 4
    assert all("2024-01-01" <= row["occurred-date"] <= "2024-12-31" for row in some)
    assert [row for row in every if row in some] == some
    assert every[-1]["occurred-date"] <= "2026-06-10"
    assert all(Decimal(row["eps"]).is_finite() for row in every)
    assert harness.rows(f"{BASE}/earnings-reports/SPY?start-date=2020-01-01") == []
    payers = 0
    for definition in harness.state.catalogue.equities.definitions[:30]:
        rows = harness.rows(f"{BASE}/dividends/{definition.symbol.replace('/', '%2F')}")
        payers += bool(rows)
        days = [row["occurred-date"] for row in rows]
        assert days == sorted(days)
        assert all(Decimal(row["amount"]) > 0 for row in rows)
    assert 10 < payers < 30


def test_metrics_agree_with_prices_events_and_chain(production: Harness) -> None:
    [_, row, _] = rows = production.decoded("market_metrics.list", "symbols=MSFT,NOSUCH,AAPL,BRK%2FB,MSFT")
    assert [row.symbol for row in rows] == ["MSFT", "AAPL", "BRK/B"]
    price = production.state.prices.underlying_price("AAPL", production.now)
    earnings = [Decimal(one["eps"]) for one in production.rows(f"{BASE}/earnings-reports/AAPL?start-date=2020-01-01")]
    assert row.earnings_per_share == sum(earnings[-4:])
    assert row.price_earnings_ratio == (price / row.earnings_per_share).quantize(Decimal("0.01"))
    assert row.earnings.actual_eps == earnings[-1]
    chain = production.decoded("option_chains.nested", symbol="AAPL")
    listed = [str(expiration.expiration_date) for one in chain for expiration in one.expirations]
    assert [str(one.expiration_date) for one in row.option_expiration_implied_volatilities] == listed
    difference = row.implied_volatility_30_day - row.historical_volatility_30_day
    assert abs(row.iv_hv_30_day_difference - difference) <= Decimal("0.01")
    assert 0 < row.historical_volatility_90_day < 100  # percent
    share = production.decoded("instruments.equity", symbol="AAPL")
    for name in ("lendability", "borrow_rate", "listed_market"):
        assert getattr(row, name) == getattr(share, name)
    fund, index = production.decoded("market_metrics.list", "symbols=SPY,SPX")
    assert fund.earnings is None
    assert fund.market_cap > 0
    assert (index.market_cap, index.earnings_per_share, index.dividend_yield) == (None, None, None)


def test_announced_earnings_are_those_that_come(production: Harness) -> None:
    [row] = production.decoded("market_metrics.list", "symbols=MSFT")
    expected = row.earnings
    production.quiet().wait_until(f"{expected.expected_report_date}T20:00:00+00:00")
    [reported] = production.rows(f"{BASE}/earnings-reports/MSFT?start-date=2026-06-11")
    assert reported["occurred-date"] == str(expected.expected_report_date)
    assert Decimal(reported["eps"]) == expected.consensus_estimate


def test_current_sessions(harness: Harness) -> None:
    rows = harness.rows("/market-time/sessions?from-date=2026-07-01&to-date=2026-07-07&instrument-collection=CME")
    assert [row["session-date"] for row in rows] == ["2026-07-01", "2026-07-02", "2026-07-06", "2026-07-07"]
    assert {row["instrument-collection"] for row in rows} == {"CME"}
    assert rows[2]["open-at"] == "2026-07-05T22:00:00.000+00:00"
    calendar = harness.get("/market-time/equities/holidays")["data"]
    assert len(calendar["market-holidays"]) == 20
    assert "2026-11-27" in calendar["market-half-days"]
    rows = harness.rows("/market-time/sessions/current?instrument-collections[]=Equity&instrument-collections[]=CFE")
    assert [(row["instrument-collection"], row["state"]) for row in rows] == [("Equity", "Open"), ("CFE", "Open")]
    assert rows[0]["previous-session"]["session-date"] == "2026-06-09"
    assert rows[0]["next-session"]["session-date"] == "2026-06-11"
    session = harness.get("/market-time/equities/sessions/current?current-time=2026-06-12T15:00:00Z")["data"]
    assert (session["session-date"], session["state"]) == ("2026-06-12", "Open")
    assert harness.ask("GET", "/market-time/futures/sessions/current/Equity").status == 404
    for query in ("next?date=9999-12-31", "previous?date=1971-01-01", "current?current-time=9000-01-01T00:00:00Z"):
        assert harness.ask("GET", f"/market-time/equities/sessions/{query}").status == 422


def test_range_starts_today_by_default(harness: Harness) -> None:
    assert harness.rows("/market-time/sessions?to-date=2026-06-12")[0]["session-date"] == "2026-06-10"
    assert harness.ask("GET", "/market-time/sessions?to-date=2027-03-10").status == 200
    assert harness.ask("GET", "/market-time/sessions?to-date=2027-03-11").status == 422


def test_current_session_state(harness: Harness) -> None:
    for moment, state, is_trading_day in (
        ("2026-06-10T21:00:00+00:00", "After-Hours", True),
        ("2026-06-11T05:00:00+00:00", "Closed", True),
        ("2026-06-11T12:30:00+00:00", "Pre-Market", True),
        ("2026-06-13T15:00:00+00:00", "Closed", False),
        ("2026-06-19T15:00:00+00:00", "Closed", False),
    ):
        harness.wait_until(moment)
        (row,) = harness.rows("/market-time/sessions/current?instrument-collections[]=Equity")
        assert (moment, row["state"], "open-at" in row) == (moment, state, is_trading_day)


def test_sessions_by_path_equal_those_by_query(harness: Harness) -> None:
    query = "&".join(f"instrument-collections[]={each}" for each in ("Equity", "CME", "CFE"))
    equity, *futures = harness.decoded("market_time.current_sessions", query)
    assert harness.decoded("market_time.equity_session") == equity
    assert harness.decoded("market_time.futures_sessions") == futures
    assert harness.decoded("market_time.futures_session", instrument_collection="CFE") == futures[1]
    holidays = harness.decoded("market_time.equity_holidays")
    assert harness.decoded("market_time.futures_holidays", instrument_collection="CME") == holidays
    days = {  # the next one includes the day, the previous one does not
        "equities/sessions/next?date=2026-06-12": "2026-06-12",
        "equities/sessions/next?date=2026-06-13": "2026-06-15",
        "equities/sessions/previous?date=2026-06-15": "2026-06-12",
        "futures/sessions/next/CME?date=2026-06-13": "2026-06-15",
        "futures/sessions/previous/CFE?date=2026-06-15": "2026-06-12",
    }
    assert {target: harness.get(f"/market-time/{target}")["data"]["session-date"] for target in days} == days
