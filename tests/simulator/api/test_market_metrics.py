from decimal import Decimal

from tests.simulator.house import House

BASE = "/market-metrics/historic-corporate-events"


def test_earnings_lie_in_the_window(house: House) -> None:
    every = house.rows(f"{BASE}/earnings-reports/AAPL?start-date=2020-01-01")
    some = house.rows(f"{BASE}/earnings-reports/AAPL?start-date=2024-01-01&end-date=2024-12-31")
    assert len(some) == 4
    assert all("2024-01-01" <= row["occurred-date"] <= "2024-12-31" for row in some)
    assert [row for row in every if row in some] == some
    assert every[-1]["occurred-date"] <= "2026-06-10"
    assert all(Decimal(row["eps"]).is_finite() for row in every)


def test_funds_have_no_earnings_and_unknown_symbols_are_not_found(house: House) -> None:
    assert house.rows(f"{BASE}/earnings-reports/SPY?start-date=2020-01-01") == []
    assert house.ask("GET", f"{BASE}/earnings-reports/NOPE?start-date=2020-01-01").status == 404
    assert house.ask("GET", f"{BASE}/dividends/NOPE").status == 404


def test_dividends_are_per_share_and_in_order(house: House) -> None:
    payers = 0
    for definition in house.world.catalogue.equities.definitions[:30]:
        rows = house.rows(f"{BASE}/dividends/{definition.symbol.replace('/', '%2F')}")
        payers += bool(rows)
        days = [row["occurred-date"] for row in rows]
        assert days == sorted(days)
        assert all(Decimal(row["amount"]) > 0 for row in rows)
    assert 10 < payers < 30
