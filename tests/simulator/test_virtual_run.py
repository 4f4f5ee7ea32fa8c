import asyncio
import random
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from brokerage_async import Client
from brokerage_async.errors import ConfigurationError
from brokerage_async.journal import MemoryJournal
from brokerage_async.simulator import DeadlockError, Simulator, VirtualTimeError, run
from brokerage_async.tickets import buy_to_open, limit
from tests.trading import SMALL

START = "2026-06-10T09:25-04:00"


async def buy_and_wait(client: Client, simulator: Simulator) -> str:
    """Place an order before the opening and return the history of the day until it is filled."""
    account = simulator.account_numbers[0]
    placed = await client.order_entry(MemoryJournal()).place(
        account, limit(buy_to_open("AAPL", 10), price=250), allow_warnings=True
    )
    end = await client.watch.order("me", account, placed.require().order_id, interval=5 + random.random())
    assert end.status == "Filled"
    return simulator.ledger.history()


def test_order_before_the_opening_fills_after_it() -> None:
    async def main(client: Client, simulator: Simulator) -> datetime:
        await buy_and_wait(client, simulator)
        return simulator.clock.time

    end = run(main, start=START, **SMALL)
    assert end is not None
    assert datetime(2026, 6, 10, 13, 30, tzinfo=UTC) < end < datetime(2026, 6, 10, 13, 31, tzinfo=UTC)


def test_seed_determines_the_history_with_its_identifiers_and_random_values() -> None:
    first, again, other = (run(buy_and_wait, start=START, seed=seed, **SMALL) for seed in (4, 4, 5))
    assert first == again != other
    assert first is not None
    assert first.count("\n") > 50


def test_random_values_outside_are_not_affected() -> None:
    uuid4 = uuid.uuid4

    async def draw(client: Client, simulator: Simulator) -> tuple[float, uuid.UUID]:
        return random.random(), uuid.uuid4()

    random.seed(1)
    expected = random.random()
    random.seed(1)
    first = run(draw, seed=3, **SMALL)
    assert random.random() == expected
    assert first == run(draw, seed=3, **SMALL)
    assert first is not None
    assert first[1].version == 4
    assert uuid.uuid4 is uuid4


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


@pytest.mark.parametrize(
    ("main", "result"), [(forever, None), (cleans_up, "2026-06-10T14:00:30+00:00"), (advances, None)]
)
def test_until_cancels_the_program(main: Callable[..., Any], result: str | None) -> None:
    assert run(main, start=START, until=datetime(2026, 6, 10, 14, 0, tzinfo=UTC), **SMALL) == result


def test_program_that_ignores_its_cancellation_raises() -> None:
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


def test_time_starts_with_the_program() -> None:
    async def main(client: Client, simulator: Simulator) -> datetime:
        await asyncio.sleep(3600)
        await client.watchlists.list()
        return simulator.clock.time

    assert run(main, start="2026-06-10T14:00Z", **SMALL) == datetime(2026, 6, 10, 15, 0, tzinfo=UTC)


def test_error_of_the_program_is_raised() -> None:
    async def fail(client: Client, simulator: Simulator) -> None:
        await asyncio.sleep(1)
        raise LookupError("mine")

    for until in (None, "2026-06-10T14:00Z"):
        with pytest.raises(LookupError, match="mine"):
            run(fail, start=START, until=until, **SMALL)


def test_program_that_waits_for_nothing_raises() -> None:
    async def wait(client: Client, simulator: Simulator) -> None:
        await asyncio.Event().wait()

    with pytest.raises(DeadlockError):
        run(wait, **SMALL)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": "2026-06-10"}, "start must be an aware datetime .*, got '2026-06-10'"),
        ({"start": "noon"}, "start must be an aware datetime .*, got 'noon'"),
        ({"until": datetime(2026, 6, 11)}, "until must be an aware datetime"),  # noqa: DTZ001
        ({"start": START, "until": START}, "until must be after start"),
    ],
)
def test_invalid_time_raises(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        run(forever, **options)


@pytest.mark.parametrize("year", [1800, 2500])
def test_start_beyond_the_calendars_raises(year: int) -> None:
    with pytest.raises(ConfigurationError, match="start must be in the years"):
        run(nothing, start=f"{year}-06-10T12:00Z")


def test_main_that_is_not_a_coroutine_function_raises() -> None:
    with pytest.raises(ConfigurationError, match="main must be an async function"):
        run(lambda client, simulator: 5)  # type: ignore[arg-type, return-value]


async def nothing(client: Client, simulator: Simulator) -> None:
    """Program that ends at once."""


def test_options_reach_client_and_simulator() -> None:
    async def main(client: Client, simulator: Simulator) -> None:
        assert simulator.latency == 0.5
        before = asyncio.get_running_loop().time()
        await client.watchlists.list()
        assert asyncio.get_running_loop().time() - before == 1  # a token and the list
        with pytest.raises(ConfigurationError, match="read-only"):
            await client.orders.cancel(simulator.account_numbers[0], 1)

    run(main, latency=0.5, client_options={"read_only": True}, **SMALL)


async def test_run_within_a_loop_raises() -> None:
    with pytest.raises(ConfigurationError, match="an event loop runs here already"):
        run(forever)
