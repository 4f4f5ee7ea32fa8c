"""Timetables of markets: read around today, watched, and as a pace for polls."""

import asyncio
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from brokerage_async import Client, errors
from brokerage_async.watch import Change, Watch
from tests.tables import for_each
from tests.watch.scripted_service import NOON, Service

pytestmark = pytest.mark.virtual_time

SESSIONS = "/market-time/sessions"
LIVE = "/customers/me/orders/live"


def session(day: str, opens: str, closes: str) -> dict[str, Any]:
    return {
        "session-date": day,
        "start-at": f"{day}T08:00:00.000-05:00",
        "open-at": f"{day}T{opens}",
        "close-at": f"{day}T{closes}",
        "close-at-ext": f"{day}T20:00:00.000-05:00",
        "instrument-collection": "Equity",
    }


WEEK = [
    session("2026-02-27", "09:30:00.000-05:00", "16:00:00.000-05:00"),
    session("2026-03-02", "09:30:00.000-05:00", "16:00:00.000-05:00"),
    session("2026-03-03", "09:30:00.000-05:00", "13:00:00.000-05:00"),  # a half-day, then a holiday
    session("2026-03-05", "09:30:00.000-05:00", "16:00:00.000-05:00"),
    session("2026-03-06", "09:30:00.000-05:00", "16:00:00.000-05:00"),
    session("2026-03-09", "09:30:00.000-04:00", "16:00:00.000-04:00"),  # daylight-saving time has begun
]


def market_brief(change: Change[Any]) -> str:
    elapsed = asyncio.get_running_loop().time()
    assert abs((NOON + timedelta(seconds=elapsed) - change.at).total_seconds()) < 1e-3, "reported when it happens"
    assert change.item.session_date == change.key
    return f"{change.kind} {change.at.astimezone(UTC):%m-%d %H:%M}"


async def test_market_opens_and_closes_by_its_timetable(service: Service, client: Client) -> None:
    service.answers[SESSIONS] = WEEK
    market = client.watch.market("Equity", interval=86_400)
    reported = [market_brief(await anext(market)) for _ in range(10)]
    await market.aclose()
    assert reported == [
        "opened 03-02 14:30",
        "closed 03-02 21:00",
        "opened 03-03 14:30",
        "closed 03-03 18:00",
        "opened 03-05 14:30",
        "closed 03-05 21:00",
        "opened 03-06 14:30",
        "closed 03-06 21:00",
        "opened 03-09 13:30",
        "closed 03-09 20:00",
    ]
    assert service.times_of(SESSIONS) == [day * 86_400 for day in range(8)]
    assert "from-date=2026-02-23" in service.targets[0]
    assert "to-date=2026-03-12" in service.targets[0]
    assert "instrument-collection=Equity" in service.targets[0]


async def test_market_moved_boundary_is_reported_once(service: Service, client: Client) -> None:
    early = session("2026-03-02", "09:45:00.000-05:00", "12:00:00.000-05:00")

    def revised(target: str) -> Any:
        return WEEK if service.times[-1] < 4 * 3600 else [early, *WEEK[2:]]

    service.answers[SESSIONS] = revised
    market = client.watch.market()
    reported = [await anext(market) for _ in range(3)]
    await market.aclose()
    assert [(change.kind, change.key.day) for change in reported] == [("opened", 2), ("closed", 2), ("opened", 3)]
    assert reported[1].at.hour == 12


async def test_market_slow_consumer_gets_every_boundary(service: Service, client: Client) -> None:
    service.answers[SESSIONS] = WEEK
    market = client.watch.market(interval=86_400)
    await anext(market)
    await asyncio.sleep(2 * 86_400)
    reported = [await anext(market) for _ in range(3)]
    await market.aclose()
    assert [(change.kind, change.key.day) for change in reported] == [("closed", 2), ("opened", 3), ("closed", 3)]


async def test_market_inaccessible_raises(service: Service, client: Client) -> None:
    service.answers[SESSIONS] = 422
    with pytest.raises(errors.UnprocessableError):
        await anext(client.watch.market("Equity"))


async def test_market_hours_pace_polls_while_closed(service: Service, client: Client) -> None:
    service.answers |= {SESSIONS: WEEK, LIVE: []}
    pace = client.watch.market_hours(trading=60, resting=3600)
    async with client.watch.orders("me", ["A1"], interval=pace) as watcher:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(watcher), 24 * 3600)
    times = service.times_of(LIVE)
    opening, closing = 2.5 * 3600, 9 * 3600
    assert times[:4] == pytest.approx([0, 3600, 7200, opening])
    assert len([at for at in times if opening <= at < closing]) == 6.5 * 60
    assert len([at for at in times if at >= closing]) <= 16


@for_each(
    "wrong, name", itertools.product(["x", None, 0, -1, True, float("inf"), float("nan")], ["trading", "resting"])
)
async def test_market_hours_invalid_seconds_raise(service: Service, client: Client, name: str, wrong: Any) -> None:
    seconds: Any = {"trading": 1, "resting": 60, name: wrong}
    with pytest.raises(errors.ConfigurationError, match=name):
        client.watch.market_hours(**seconds)


@for_each("wrong", [None, 5, "", b"Equity"])
async def test_market_invalid_collection_raises(service: Service, client: Client, wrong: Any) -> None:
    with pytest.raises(errors.InvalidRequestError, match="instrument_collection"):
        client.watch.market(wrong)
    with pytest.raises(errors.InvalidRequestError, match="instrument_collection"):
        client.watch.market_hours(wrong, trading=1)
    assert service.requests == []


class Clock:
    """The clock of the service as the client knows it: wrong until an answer has shown the time."""

    def __init__(self, *, days_off: float) -> None:
        self.off = timedelta(days=days_off)

    def __call__(self) -> datetime:
        return NOON + self.off + timedelta(seconds=asyncio.get_running_loop().time())

    def correct(self) -> None:
        self.off = timedelta(0)


def days_of(service: Service) -> list[list[str]]:
    """Return the first and last day that each request for sessions asks for."""
    queries = [parse_qs(urlsplit(target).query) for target in service.targets]
    return [[*query["from-date"], *query["to-date"]] for query in queries]


RIGHT_DAYS, WRONG_DAYS = ["2026-02-23", "2026-03-12"], ["2026-01-24", "2026-02-10"]


@pytest.mark.parametrize("first_answer", [[], 422], ids=["empty", "rejected"])
async def test_market_hours_read_again_when_the_answer_shows_another_date(
    service: Service, client: Client, first_answer: Any
) -> None:
    clock = Clock(days_off=-30)

    def answer(target: str) -> Any:
        if len(service.requests) == 1:
            clock.correct()
            return first_answer
        return WEEK

    service.answers[SESSIONS] = answer
    pace = Watch(client, now=clock).market_hours(trading=60, resting=3600)
    assert await pace() == 3600, "it is before the opening"
    assert days_of(service) == [WRONG_DAYS, RIGHT_DAYS]


async def test_market_reads_again_when_the_answer_shows_another_date(service: Service, client: Client) -> None:
    clock = Clock(days_off=-30)

    def answer(target: str) -> Any:
        clock.correct()
        return [] if len(service.requests) == 1 else WEEK

    service.answers[SESSIONS] = answer
    async with Watch(client, now=clock).market() as market:
        assert (await anext(market)).at == NOON + timedelta(hours=2.5)
    assert days_of(service)[:2] == [WRONG_DAYS, RIGHT_DAYS]
    assert service.times[:2] == [0, 0]


async def test_market_hours_rejected_with_the_right_date_raises_at_once(service: Service, client: Client) -> None:
    service.answers[SESSIONS] = 422
    with pytest.raises(errors.UnprocessableError):
        await client.watch.market_hours(trading=60, resting=3600)()
    assert days_of(service) == [RIGHT_DAYS]


async def test_market_watchers_of_one_collection_share_their_reads(service: Service, client: Client) -> None:
    service.answers[SESSIONS] = WEEK
    async with (
        client.watch.market("Equity") as one,
        client.watch.market("Equity", extended=True) as other,
        client.watch.market("Futures") as apart,
    ):
        changes = await asyncio.gather(*(anext(market) for market in (one, other, apart)))
    assert [change.kind for change in changes] == ["opened", "started", "opened"]
    read = [target for at, target in zip(service.times, service.targets, strict=True) if at == 0]
    assert sorted("Futures" in target for target in read) == [False, True]
