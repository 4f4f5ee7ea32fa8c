"""Whether a market is open, by its timetable."""

from datetime import UTC, date, datetime, timedelta

from brokerage_async.models import MarketSession
from brokerage_async.protocol.timetable import is_open, timetable_range

DAY = datetime(2026, 6, 12, tzinfo=UTC)


def at(hour: float) -> datetime:
    return DAY + timedelta(hours=hour)


def test_is_open_from_the_open_to_the_close_and_longer_if_extended() -> None:
    session = MarketSession(start_at=at(8), open_at=at(13.5), close_at=at(20), close_at_ext=at(24))
    regular = [hour for hour in (7, 8, 13, 13.5, 19, 20, 23, 24) if is_open([session], at(hour))]
    extended = [hour for hour in (7, 8, 13, 13.5, 19, 20, 23, 24) if is_open([session], at(hour), extended=True)]
    assert regular == [13.5, 19]
    assert extended == [8, 13, 13.5, 19, 20, 23]
    plain = MarketSession(open_at=at(13.5), close_at=at(20))
    assert [hour for hour in (8, 14, 20) if is_open([plain], at(hour), extended=True)] == [14]
    assert not is_open([MarketSession(), MarketSession(open_at=at(1))], at(2))


def test_timetable_range_holds_a_week_and_the_next_session() -> None:
    assert timetable_range(at(23)) == (date(2026, 6, 5), date(2026, 6, 22))
