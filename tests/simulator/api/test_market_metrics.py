from decimal import Decimal
from typing import Any

from tests.simulator.harness import Harness

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
    assert harness.ask("GET", f"{BASE}/earnings-reports/NOPE?start-date=2020-01-01").status == 404
    assert harness.ask("GET", f"{BASE}/dividends/NOPE").status == 404
    payers = 0
    for definition in harness.state.catalogue.equities.definitions[:30]:
        rows = harness.rows(f"{BASE}/dividends/{definition.symbol.replace('/', '%2F')}")
        payers += bool(rows)
        days = [row["occurred-date"] for row in rows]
        assert days == sorted(days)
        assert all(Decimal(row["amount"]) > 0 for row in rows)
    assert 10 < payers < 30


def metrics(harness: Harness, symbols: str) -> Any:
    return harness.decoded("market_metrics.list", f"/market-metrics?symbols={symbols}")


def test_metrics_agree_with_prices_events_and_chain(production: Harness) -> None:
    rows = metrics(production, "MSFT,NOSUCH,AAPL,BRK%2FB,MSFT")
    assert [row.symbol for row in rows] == ["MSFT", "AAPL", "BRK/B"]
    assert production.ask("GET", "/market-metrics").status == 422
    [row] = metrics(production, "AAPL")
    price = production.state.prices.underlying_price("AAPL", production.now)
    earnings = [Decimal(one["eps"]) for one in production.rows(f"{BASE}/earnings-reports/AAPL?start-date=2020-01-01")]
    assert row.earnings_per_share == sum(earnings[-4:])
    assert row.price_earnings_ratio == (price / row.earnings_per_share).quantize(Decimal("0.01"))
    assert row.earnings.actual_eps == earnings[-1]
    chain = production.decoded("option_chains.nested", "/option-chains/AAPL/nested")
    listed = [str(expiration.expiration_date) for one in chain for expiration in one.expirations]
    assert [str(one.expiration_date) for one in row.option_expiration_implied_volatilities] == listed
    difference = row.implied_volatility_30_day - row.historical_volatility_30_day
    assert abs(row.iv_hv_30_day_difference - difference) <= Decimal("0.01")
    assert 0 < row.historical_volatility_90_day < 100  # percent
    later = production.decoded("instruments.equity", "/instruments/equities/AAPL")
    assert (row.lendability, row.borrow_rate, row.listed_market) == (
        later.lendability, later.borrow_rate, later.listed_market,
    )  # fmt: skip
    fund, index = metrics(production, "SPY,SPX")
    assert fund.earnings is None
    assert fund.market_cap > 0
    assert (index.market_cap, index.earnings_per_share, index.dividend_yield) == (None, None, None)


def test_announced_earnings_are_those_that_come(production: Harness) -> None:
    [row] = metrics(production, "MSFT")
    expected = row.earnings
    production.wait_until(f"{expected.expected_report_date}T20:00:00+00:00")
    [reported] = production.rows(f"{BASE}/earnings-reports/MSFT?start-date=2026-06-11")
    assert reported["occurred-date"] == str(expected.expected_report_date)
    assert Decimal(reported["eps"]) == expected.consensus_estimate
