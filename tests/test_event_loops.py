"""Without an event loop, or in a second one, every entry point raises an error with the remedy."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from brokerage_async import Client, Environment, StaticToken
from brokerage_async.errors import ConfigurationError
from brokerage_async.journal import SqliteJournal
from brokerage_async.simulator import Simulator
from brokerage_async.tickets import buy_to_open, limit
from brokerage_async.watch import poll
from tests.fake_transport import FakeTransport, ok
from tests.http.calls import client_of
from tests.loops import run_in
from tests.raw_server import RawServer, answer
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time

ORDER = limit(buy_to_open("AAPL", 1), price="1.00")
NO_LOOP = r"no asyncio event loop is running here: start the program with asyncio\.run\(main\(\)\)"
OTHER_LOOP = r"make one client per loop and per asyncio\.run\(\), or .* asyncio\.run_coroutine_threadsafe"


def made() -> Client:
    return client_of(FakeTransport(ok({"items": []})), StaticToken("made-up"))


async def first(iterator: Any) -> None:
    async for _ in iterator:
        break


async def enter(door: Any) -> None:
    async with door:
        pass


async def nothing() -> list[object]:
    return []


CLIENT_DOORS: dict[str, Callable[[Client], Awaitable[object]]] = {
    "enter": enter,
    "call": lambda client: client.watchlists.list(),
    "view": lambda client: client.with_options(timeout=1).watchlists.list(),
    "request pages": lambda client: first(client.instruments.equities()),
    "prefetch": lambda client: first(client.instruments.equities().prefetch(2)),
    "authorize": lambda client: client.authorize(),
    "bulk": lambda client: first(client.bulk.equities(["AAPL"])),
    "watch orders": lambda client: first(client.watch.orders("me", ["A1"])),
    "watch order": lambda client: client.watch.order("me", "A1", "7"),
    "watch market": lambda client: first(client.watch.market("Equity")),
    "place": lambda client: client.order_entry().place("A1", ORDER),
}


OTHER_DOORS: dict[str, Callable[[Path], Any]] = {
    "simulator": lambda path: enter(Simulator()),
    "simulator in memory": lambda path: Simulator().client().watchlists.list(),
    "journal": lambda path: SqliteJournal(path / "j").entries("sandbox"),
    "journal, closing": lambda path: SqliteJournal(path / "j").aclose(),
    "poll": lambda path: first(poll(nothing, key=id, interval=1.0)),
}


@for_each("door", [*CLIENT_DOORS, *OTHER_DOORS])
def test_door_without_an_asyncio_loop_says_what_to_do(door: str, tmp_path: Path) -> None:
    """A coroutine that runs without asyncio, as on trio, must fail before it waits."""
    opened: Any = CLIENT_DOORS[door](made()) if door in CLIENT_DOORS else OTHER_DOORS[door](tmp_path)
    with pytest.raises(ConfigurationError, match=NO_LOOP) as caught:
        opened.send(None)
    assert caught.value.__cause__ is None


@for_each("door", CLIENT_DOORS)
def test_door_of_a_client_in_a_second_loop_says_what_to_do(door: str) -> None:
    client = made()
    with asyncio.Runner() as one, asyncio.Runner() as other:
        one.run(CLIENT_DOORS["call"](client))  # type: ignore[arg-type]
        with pytest.raises(ConfigurationError, match=OTHER_LOOP):
            other.run(_awaiting(CLIENT_DOORS[door](client)))
        with pytest.raises(ConfigurationError, match=OTHER_LOOP):
            other.run(client.aclose())
        one.run(client.aclose())


async def _awaiting(door: Awaitable[object]) -> None:
    await door


async def ready(stream: Any) -> Any:
    return await stream.ready()


STREAM_DOORS: dict[str, Callable[[Any], Awaitable[object]]] = {
    "ready": lambda stream: stream.ready(),
    "add": lambda stream: stream.add(["SPY"]),
    "remove": lambda stream: stream.remove(["AAPL"]),
    "iterate": lambda stream: anext(stream),
    "close": lambda stream: stream.aclose(),
}


@for_each("door", STREAM_DOORS)
def test_door_of_a_stream_in_a_second_loop_says_what_to_do(door: str) -> None:
    """It would wait there for what only the loop of its connection brings."""
    client = Simulator(equities=3, equity_options=3, chain_rows=3, warrants=1).client()
    with asyncio.Runner() as one, asyncio.Runner() as other:
        stream = one.run(ready(client.stream.quotes(["AAPL"])))
        one.run(_awaiting(anext(stream)))
        with pytest.raises(ConfigurationError, match=OTHER_LOOP):
            other.run(asyncio.wait_for(_awaiting(STREAM_DOORS[door](stream)), 0.5))
        assert not stream._sink.is_closed
        one.run(_awaiting(stream.aclose()))
        other.run(_awaiting(stream.aclose()))  # as closing it again always may be
        one.run(client.aclose())


def test_stream_whose_end_hangs_in_one_loop_is_not_awaited_in_another() -> None:
    client = Simulator(equities=3, equity_options=3, chain_rows=3, warrants=1).client()

    async def leave(stream: Any) -> None:
        stream.leave()

    with asyncio.Runner() as one, asyncio.Runner() as other:
        stream = one.run(ready(client.stream.quotes(["AAPL"])))
        one.run(leave(stream))
        assert stream._link._endings  # they take some turns of the loop, which stands
        with pytest.raises(ConfigurationError, match=OTHER_LOOP):
            other.run(asyncio.wait_for(_awaiting(stream.aclose()), 0.5))
        one.run(client.aclose())


def test_client_may_be_closed_after_its_loop() -> None:
    server = RawServer((answer(b'{"data":{"items":[]}}'), None))

    async def used() -> Client:
        async with server:
            client = Client(Environment.sandbox(server.url), StaticToken("made-up"))
            await client.watchlists.list()
            return client

    client = run_in(asyncio.new_event_loop(), used())
    run_in(asyncio.new_event_loop(), client.aclose())
    with pytest.raises(ConfigurationError, match="the client is closed"):
        run_in(asyncio.new_event_loop(), client.watchlists.list())


def test_client_is_closed_without_any_loop_before_its_first_use() -> None:
    with pytest.raises(StopIteration):
        made().aclose().send(None)


def test_watcher_may_be_made_before_its_loop_runs() -> None:
    client = made()
    watcher = client.watch.orders("me", ["A1"])
    with asyncio.Runner() as runner:
        runner.run(watcher.aclose())
        runner.run(client.aclose())
