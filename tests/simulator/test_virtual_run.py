"""Simulated time: its clock and events, and programs that run on it."""

import asyncio
import contextlib
import os
import random
import signal
import socket
import subprocess
import threading
import uuid
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest

from brokerage_async import Client
from brokerage_async.config import chance
from brokerage_async.errors import ConfigurationError
from brokerage_async.journal import MemoryJournal, SqliteJournal
from brokerage_async.simulator import DeadlockError, Simulator, VirtualTimeError, faults, run
from brokerage_async.simulator.clock import DEFAULT_START, Clock, EventQueue
from brokerage_async.simulator.virtual_run import MAX_TURNS, VirtualLoop
from brokerage_async.tickets import buy_to_open, limit, market
from brokerage_async.watch import poll
from tests.loops import run_in
from tests.tables import for_each
from tests.trading import SMALL


def test_clock_starts_at_the_first_reading_and_never_goes_back() -> None:
    clock = Clock()
    start = DEFAULT_START.timestamp()
    assert clock.now() == start
    clock.advance(3600)
    assert start + 3600 <= clock.now() < start + 3601
    clock.set(DEFAULT_START + timedelta(days=2))
    assert clock.time - DEFAULT_START >= timedelta(days=2)
    naive = datetime(2027, 6, 10)  # noqa: DTZ001
    for act, value, message in (
        (clock.advance, -1, "cannot go back"),
        (clock.set, DEFAULT_START, "cannot go back"),
        (Clock, naive, "time zone"),
        (clock.set, naive, "time zone"),
    ):
        with pytest.raises(ValueError, match=message):
            act(value)
    clock.restore(DEFAULT_START.timestamp() + 60)
    assert DEFAULT_START.timestamp() + 60 <= clock.now() < DEFAULT_START.timestamp() + 61


def test_time_beyond_the_calendars_and_invalid_speed_raise() -> None:
    clock = Clock()
    before = clock.now()
    for seconds in (float("nan"), float("inf"), 1e300, 200 * 366 * 86400):
        with pytest.raises(ValueError, match="seconds must"):
            clock.advance(seconds)
    assert clock.now() - before < 60
    for year in (1970, 1971, 2191):
        with pytest.raises(ValueError, match=f"start must be in the years 1972 to 2190, got {year}-06-01"):
            Clock(datetime(year, 6, 1, tzinfo=UTC))
    for speed in (-1, 1e9, float("nan")):
        with pytest.raises(ValueError, match="speed must be from 0 to 86400"):
            Clock().speed = speed


def test_speed_scales_stops_and_never_jumps_not_even_in_another_loop() -> None:
    clock, readings = Clock(), list[float]()
    clock.now()

    async def main() -> None:
        start = clock.now()
        assert 0 <= start - DEFAULT_START.timestamp() < 1
        for speed in (60.0, 0.0, 1.0):
            clock.speed = speed
            readings.append(clock.now() - start)
            await asyncio.sleep(10)
            readings.append(clock.now() - start)

    run_in(VirtualLoop(), main())  # whose time starts at 0
    assert readings == pytest.approx([0, 600, 600, 600, 600, 610], abs=1e-3)


def test_events_run_at_their_time_with_what_they_schedule_unless_cancelled() -> None:
    queue, seen = EventQueue(), list[float]()
    cancelled = queue.at(1, seen.append)
    for _ in range(2):
        cancelled.cancel()
    assert queue.next_due is None
    queue.at(1, lambda now: queue.at(now + 1, seen.append) and None)
    queue.at(5, seen.append)
    queue.run(3)
    assert seen == [2]
    queue.run(4.9)
    assert (seen, queue.next_due) == ([2], 5)


START = "2026-06-10T09:25-04:00"
SHARES = buy_to_open("AAPL", 10)


async def buy_and_wait(client: Client, simulator: Simulator) -> str:
    """Place an order before the opening and return the history of the day until it is filled."""
    account, entry = simulator.account_numbers[0], client.order_entry(MemoryJournal())
    placed = await entry.place(account, limit(SHARES, price=250), allow_warnings=True)
    end = await client.watch.order("me", account, placed.require().order_id, interval=5)
    assert end.status == "Filled"
    return simulator.ledger.history()


def test_seed_determines_the_history_with_its_identifiers() -> None:
    first, again, other = (run(buy_and_wait, start=START, seed=seed, **SMALL) for seed in (4, 4, 5))
    assert first == again != other
    assert first.count("\n") > 50


def test_seed_determines_the_pauses_of_client_watcher_and_stream() -> None:
    """Each draws its jitter: of a repeated call, of a poll, and of a connection that is opened again."""

    async def main(client: Client, simulator: Simulator) -> tuple[list[float], list[float]]:
        moments, loop = list[float](), asyncio.get_running_loop()

        async def fetch() -> list[str]:
            moments.append(loop.time())
            return []

        simulator.faults.add("GET", "/watchlists", faults.status(503), times=2)
        await client.watchlists.list()
        moments.append(loop.time())
        async with poll(fetch, key=str, interval=10, jitter=0.5) as changes:
            with suppress(TimeoutError):
                await asyncio.wait_for(anext(changes), 60)
        return moments, [chance() for _ in range(3)]

    first, again, other = (run(main, seed=seed, **SMALL) for seed in (1, 1, 2))
    assert first == again != other
    assert len(first[0]) > 5


async def identifiers_drawn(client: Client, simulator: Simulator) -> list[str]:
    entry, account, order = client.order_entry(MemoryJournal()), simulator.account_numbers[0], market(SHARES)
    return [(await entry.place(account, order, allow_warnings=True)).external_identifier for _ in range(3)]


def test_runs_in_two_threads_leave_random_and_uuid_alone_and_real_orders_unseeded() -> None:
    """The runs overlap, and the one that began first ends first."""
    uuid4, state = uuid.uuid4, random.getstate()
    both_run, first_has_ended = threading.Barrier(3), threading.Event()

    def simulate(seed: int) -> list[str] | None:
        async def main(client: Client, simulator: Simulator) -> list[str]:
            both_run.wait(30)
            both_run.wait(30)  # the real orders have been placed
            assert uuid.uuid4 is uuid4
            identifiers = await identifiers_drawn(client, simulator)
            assert seed == 7 or first_has_ended.wait(30)
            return identifiers

        return run(main, seed=seed, **SMALL)

    async def place() -> list[str]:
        async with Simulator(seed=7, **SMALL) as simulator, simulator.client() as client:
            return await identifiers_drawn(client, simulator)

    with ThreadPoolExecutor() as threads:
        first, second = (threads.submit(simulate, seed) for seed in (7, 8))
        both_run.wait(30)
        during = asyncio.run(place())
        both_run.wait(30)
        drawn: dict[int, Any] = {7: first.result()}
        first_has_ended.set()
        drawn[8] = second.result()
    after = asyncio.run(place())
    assert (uuid.uuid4, random.getstate()) == (uuid4, state)

    for seed in (7, 8):
        assert drawn[seed] == run(identifiers_drawn, seed=seed, **SMALL), "the other run has drawn from its seed"
    everything = [*drawn[7], *drawn[8], *during, *after]
    assert len(set(everything)) == len(everything) == 12
    assert {uuid.UUID(identifier).version for identifier in everything} == {4}


async def forever(client: Client, simulator: Simulator) -> None:
    while True:
        await asyncio.sleep(7)
        await client.watchlists.list()


async def cleans_up(client: Client, simulator: Simulator) -> str:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.sleep(30)
        assert await client.watchlists.list() == []
    return simulator.clock.time.isoformat()


async def advances(client: Client, simulator: Simulator) -> None:
    simulator.clock.advance(3600)
    await asyncio.sleep(3600)


def test_until_cancels_the_program_and_raises_if_that_is_ignored() -> None:
    until = datetime(2026, 6, 10, 14, 0, tzinfo=UTC)
    results: dict[Any, str | None] = {forever: None, cleans_up: "2026-06-10T14:00:30+00:00", advances: None}
    assert {main: run(main, start=START, until=until, **SMALL) for main in results} == results

    async def stubborn(client: Client, simulator: Simulator) -> None:
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if simulator.clock.time.hour < 15:
                    continue
                raise

    with pytest.raises(VirtualTimeError, match="still runs 3600 virtual seconds after it was cancelled"):
        run(stubborn, start=START, until="2026-06-10T14:00Z", **SMALL)


def test_time_starts_with_the_program_and_options_reach_it() -> None:
    async def main(client: Client, simulator: Simulator) -> datetime:
        await asyncio.sleep(3600)
        await client.watchlists.list()  # a token and the list: two times the latency
        with pytest.raises(ConfigurationError, match="read-only"):
            await client.orders.cancel(simulator.account_numbers[0], 1)
        return simulator.clock.time

    options: dict[str, Any] = {"latency": 0.5, "client_options": {"read_only": True}}
    assert run(main, start="2026-06-10T14:00Z", **options, **SMALL) == datetime(2026, 6, 10, 15, 0, 1, tzinfo=UTC)


def test_program_that_waits_for_nothing_or_fails_raises() -> None:
    async def fail(client: Client, simulator: Simulator) -> None:
        await asyncio.sleep(1)
        raise LookupError("mine")

    for until in (None, "2026-06-10T14:00Z"):
        with pytest.raises(LookupError, match="mine"):
            run(fail, start=START, until=until, **SMALL)

    async def wait(client: Client, simulator: Simulator) -> None:
        await asyncio.Event().wait()

    async def spin(client: Client, simulator: Simulator) -> None:
        for _ in range(2 * MAX_TURNS):
            await asyncio.sleep(0)

    for main in (wait, spin):
        with pytest.raises(DeadlockError):
            run(main, **SMALL)
    with pytest.raises(ConfigurationError, match="main must be an async function"):
        run(lambda client, simulator: 5)  # type: ignore[arg-type, return-value]


def test_invalid_time_raises() -> None:
    options: dict[str, Any]
    for message, options in (
        ("start must be an aware datetime .*, got '2026-06-10'", {"start": "2026-06-10"}),
        ("start must be an aware datetime .*, got 'noon'", {"start": "noon"}),
        ("until must be an aware datetime", {"until": datetime(2026, 6, 11)}),  # noqa: DTZ001
        ("until must be after start", {"start": START, "until": START}),
        ("start must be in the years", {"start": "1800-06-10T12:00Z"}),
        ("start must be in the years", {"start": "2500-06-10T12:00Z"}),
    ):
        with pytest.raises(ConfigurationError, match=message):
            run(forever, **options)


async def test_run_within_a_loop_raises() -> None:
    with pytest.raises(ConfigurationError, match="an event loop runs here already"):
        run(forever)


async def fetch() -> None:
    async with aiohttp.ClientSession() as session, session.get("http://localhost:1/"):
        pass


async def receive() -> None:
    with contextlib.closing(socket.socket()) as one:
        one.setblocking(False)
        await asyncio.get_running_loop().sock_connect(one, ("127.0.0.1", 1))


@for_each(
    "use, name",
    [
        (fetch, "a (socket|thread)"),
        (lambda: asyncio.open_connection("127.0.0.1", 1), "a socket"),
        (lambda: asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0), "a socket"),
        (receive, "a socket"),
        (lambda: asyncio.to_thread(print), "a thread"),
        (lambda: SqliteJournal(os.devnull).entries("sandbox"), "a thread"),
        (lambda: asyncio.create_subprocess_exec("true"), "a child process"),
        (lambda: asyncio.create_subprocess_shell("true", stdout=subprocess.PIPE), "a child process"),
        (lambda: asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, print), "a signal handler"),
    ],
)
def test_real_thing_is_refused_by_name(use: Callable[[], Awaitable[Any]], name: str) -> None:
    async def main() -> None:
        await use()

    with pytest.raises(VirtualTimeError, match=f"{name} cannot be used on virtual time.*in-memory journal"):
        run_in(VirtualLoop(), main())


def test_callback_from_another_thread_is_refused() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon_threadsafe(lambda: None)
        with ThreadPoolExecutor() as threads, pytest.raises(VirtualTimeError, match="a thread cannot be used"):
            threads.submit(loop.call_soon_threadsafe, print).result()

    run_in(VirtualLoop(), main())
