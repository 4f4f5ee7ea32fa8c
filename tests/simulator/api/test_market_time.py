from datetime import date

from tests.simulator.harness import Harness
from tests.tables import for_each


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


@for_each(
    "moment, state",
    [
        ("2026-06-10T21:00:00+00:00", "After-Hours"),
        ("2026-06-11T05:00:00+00:00", "Closed"),
        ("2026-06-11T12:30:00+00:00", "Pre-Market"),
        ("2026-06-13T15:00:00+00:00", "Closed"),
        ("2026-06-19T15:00:00+00:00", "Closed"),
    ],
)
def test_current_session_state(harness: Harness, moment: str, state: str) -> None:
    harness.wait_until(moment)
    (row,) = harness.rows("/market-time/sessions/current?instrument-collections[]=Equity")
    assert row["state"] == state
    assert ("open-at" in row) == (date.fromisoformat(moment[:10]).weekday() < 5 and "06-19" not in moment)


def test_sessions_by_path_equal_those_by_query(harness: Harness) -> None:
    query = "&".join(f"instrument-collections[]={each}" for each in ("Equity", "CME", "CFE"))
    equity, *futures = harness.decoded("market_time.current_sessions", f"/market-time/sessions/current?{query}")
    holidays = harness.decoded("market_time.equity_holidays", "/market-time/equities/holidays")
    for operation, target, expected in (
        ("equity_session", "equities/sessions/current", equity),
        ("futures_sessions", "futures/sessions/current", futures),
        ("futures_session", "futures/sessions/current/CFE", futures[1]),
        ("futures_holidays", "futures/holidays/CME", holidays),
    ):
        assert harness.decoded(f"market_time.{operation}", f"/market-time/{target}") == expected


def test_next_includes_the_day_and_previous_does_not(harness: Harness) -> None:
    days = {
        "equities/sessions/next?date=2026-06-12": "2026-06-12",
        "equities/sessions/next?date=2026-06-13": "2026-06-15",
        "equities/sessions/previous?date=2026-06-15": "2026-06-12",
        "futures/sessions/next/CME?date=2026-06-13": "2026-06-15",
        "futures/sessions/previous/CFE?date=2026-06-15": "2026-06-12",
    }
    assert {target: harness.get(f"/market-time/{target}")["data"]["session-date"] for target in days} == days
