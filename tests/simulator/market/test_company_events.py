"""Earnings and dividends."""

from decimal import Decimal

from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.calendar import local_date
from brokerage_async.simulator.market.equities import known_equities
from brokerage_async.simulator.market.metrics import CompanyEvents

NOW = 1_781_100_000.0
DAY = 86_400.0
EQUITIES = known_equities()


def test_events_are_past_ordered_and_announced() -> None:
    events = CompanyEvents(KeyedRandom(1))
    for equity in EQUITIES.values():
        for days in (events.earnings(equity, NOW), events.dividends(equity, NOW)):
            assert days == sorted(days)
            assert all(day <= local_date(NOW) for day, _ in days)
            assert len(days) in (0, *range(20, 24))
    events = CompanyEvents(KeyedRandom(1))
    amounts = [amount for equity in EQUITIES.values() for _, amount in events.dividends(equity, NOW)]
    assert min(amounts) > Decimal(0)
    events = CompanyEvents(KeyedRandom(1))
    expected = events.next_report(EQUITIES["AAPL"], NOW)
    assert expected[0] > local_date(NOW)
    reported = events.earnings(EQUITIES["AAPL"], NOW + 200 * DAY)
    assert expected in reported
    events = CompanyEvents(KeyedRandom(1))
    for symbol in ("SPY", "SPX"):
        assert events.earnings(EQUITIES[symbol], NOW) == []
        assert events.next_report(EQUITIES[symbol], NOW) is None
    assert events.dividends(EQUITIES["SPX"], NOW) == []
