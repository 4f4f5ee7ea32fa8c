from decimal import Decimal

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


def test_fund_has_no_earnings_and_unknown_symbol_is_not_found(harness: Harness) -> None:
    assert harness.rows(f"{BASE}/earnings-reports/SPY?start-date=2020-01-01") == []
    assert harness.ask("GET", f"{BASE}/earnings-reports/NOPE?start-date=2020-01-01").status == 404
    assert harness.ask("GET", f"{BASE}/dividends/NOPE").status == 404


def test_dividends_are_in_order_of_date(harness: Harness) -> None:
    payers = 0
    for definition in harness.state.catalogue.equities.definitions[:30]:
        rows = harness.rows(f"{BASE}/dividends/{definition.symbol.replace('/', '%2F')}")
        payers += bool(rows)
        days = [row["occurred-date"] for row in rows]
        assert days == sorted(days)
        assert all(Decimal(row["amount"]) > 0 for row in rows)
    assert 10 < payers < 30
