"""Life of a connection: losses, refusals, silence, cancellation and the end of the client, on virtual time."""

import asyncio
import contextlib
import gc
import weakref
from typing import Any

import pytest

from brokerage_async import Client, errors, models
from brokerage_async._secrets import Secret, revealed
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.transports import MemorySocket
from brokerage_async.stream import AccountEvent, Gap, Snapshot
from brokerage_async.stream.consumer import Sink
from tests.http.calls import raised_by
from tests.loops import on_virtual_time
from tests.stream.world import buy, drain, gap_within, in_world, ready, within, world
from tests.tables import for_each
from tests.trading import cancelled


def orders(events: list[Any]) -> list[str]:
    return [event.data.status for event in events if isinstance(event, AccountEvent) and event.type == "Order"]


@in_world
async def test_lost_connection_is_opened_again_with_a_gap_and_the_subscriptions(sim: Simulator, client: Client) -> None:
    account = sim.account_numbers[0]
    async with ready(client.stream.account([account])) as stream:
        sim.clock.advance(5)
        before = sim.clock.time
        sim.streams.drop()
        gap = await gap_within(2, stream)
        assert gap.since is not None
        assert abs((gap.since - before).total_seconds()) <= 6
        assert "closed the connection" in gap.reason
        await client.orders.submit(account, buy())
        assert orders(await drain(stream))[-1] == "Filled"


@in_world
async def test_stream_that_does_not_connect_for_long_warns(
    sim: Simulator, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "brokerage_async")
    sim.faults.add("GET", "/api-quote-tokens", "status(503)", times=100)
    async with client.stream.quotes(["AAPL"]) as stream:
        with pytest.raises(TimeoutError):
            await within(200, stream)
    levels = [record.levelname for record in caplog.records if "connecting in" in record.message]
    assert levels[:4] == ["INFO"] * 4
    assert {*levels[4:]} == {"WARNING"}


@in_world
async def test_refused_token_is_replaced_and_a_fourth_refusal_ends_the_stream(sim: Simulator, client: Client) -> None:
    sim.streams.faults.refusals = 2
    async with ready(client.stream.account(sim.account_numbers[:1])):
        pass
    sim.streams.faults.refusals = 3
    stream = client.stream.account(sim.account_numbers[:1])
    await raised_by(within(60, stream), errors.StreamRefusedError, "refused connect: failed")
    assert sim.streams.sessions == []
    sim.streams.faults.refusals = 0
    async with ready(client.stream.account(sim.account_numbers[:1])):
        pass


@in_world
async def test_revoked_grant_ends_the_stream(sim: Simulator, client: Client) -> None:
    stream = client.stream.account(sim.account_numbers[:1])
    await stream.ready()
    sim.revoke()
    await raised_by(within(3600, stream), errors.TokenError)


@in_world
async def test_closing_the_client_ends_every_stream(sim: Simulator, client: Client) -> None:
    streams = [client.stream.account(sim.account_numbers[:1]), client.stream.quotes(["SPY"])]
    tasks = [asyncio.ensure_future(drain(stream, 100)) for stream in streams]
    await asyncio.sleep(10)
    await client.aclose()
    for ended in (*tasks, anext(client.stream.account(sim.account_numbers[:1]))):
        await raised_by(ended, errors.ConfigurationError, "the client is closed")


@in_world
async def test_last_stream_closes_the_connection_and_another_opens_it(sim: Simulator, client: Client) -> None:
    first, second, third, fourth = (client.stream.account(sim.account_numbers[:1]) for _ in range(4))
    await first.ready()
    await second.ready()
    await first.aclose()
    await raised_by(anext(first), StopAsyncIteration)
    await raised_by(first.ready(), errors.ConfigurationError, "the stream is closed")
    assert len(sim.streams.sessions) == 1
    await second.aclose()
    await second.aclose()
    assert sim.streams.sessions == []
    async with ready(third):
        assert len(sim.streams.sessions) == 1
        closing = asyncio.ensure_future(third.aclose())
        await asyncio.sleep(0)
        async with ready(fourth):
            await closing
            assert len(sim.streams.sessions) == 1


@in_world
async def test_connection_whose_last_stream_is_refused_is_closed(sim: Simulator, client: Client) -> None:
    async with asyncio.timeout(60):
        async with client.stream.account([sim.account_numbers[0], sim.foreign_account_number]) as bad:
            await raised_by(within(30, bad), errors.StreamRefusedError, "did not accept")
        async with ready(client.stream.quotes(["ZZZZ"])) as refused:
            sim.streams.sessions[0].push({"type": "ERROR", "channel": 1, "error": "BAD_ACTION", "message": "no"})
            await raised_by(within(30, refused), errors.StreamRefusedError, "refused Quote of ZZZZ")
    assert sim.streams.sessions == []


@in_world
async def test_stream_left_without_closing_leaves_no_task_and_warns(sim: Simulator, client: Client) -> None:
    async def consume(client: Client, *, breaks: bool) -> None:
        async for _ in client.stream.quotes(["SPY"]):
            if breaks:
                break

    for breaks in (True, False):
        task = asyncio.ensure_future(consume(client, breaks=breaks))
        with pytest.warns(ResourceWarning, match="unclosed QuoteStream: use `async with`"):  # noqa: PT031
            await asyncio.sleep(5)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await asyncio.sleep(1)  # this step of the test holds the traceback of the other task
        assert sim.streams.sessions == [], breaks
        assert len(asyncio.all_tasks()) == 1, breaks


@in_world
async def test_stream_collected_at_any_point_costs_other_consumers_no_event(
    sim: Simulator, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    failures = []
    account = sim.account_numbers[0]

    def streams() -> list[Any]:
        return [client.stream.account([account]), client.stream.quotes(["SPY"])]

    for name in ("put", "lose", "resume", "release"):
        method, armed = getattr(Sink, name), [0]

        def collecting(sink: Sink, *args: Any, method: Any = method, armed: Any = armed, **options: Any) -> None:
            if armed[0]:
                armed[0] -= 1
                gc.collect()
            method(sink, *args, **options)

        with monkeypatch.context() as patched, contextlib.ExitStack() as stack:
            patched.setattr(Sink, name, collecting)
            victims, others = streams(), [*streams(), *streams(), *streams()]
            for stream in (*victims, *others):
                await stream.ready()
            for stream in others:
                await drain(stream)
            victims.append(victims)  # a cycle, which only the collector finds
            del victims, stream
            gc.disable()
            stack.callback(gc.enable)
            stack.enter_context(pytest.warns(ResourceWarning, match="unclosed"))
            armed[0] = 4
            if name != "put":
                sim.streams.drop()
                await asyncio.sleep(10)
            sim.set_price("SPY", 321)
            sim.streams.send_account_event(account, "Order", {"id": 1, "account-number": account}, sim.clock.now())
            for number, stream in enumerate(others):
                try:
                    kinds = [type(event).__name__ for event in await drain(stream)]
                except Exception as error:
                    failures.append((name, number, error))
                    continue
                wanted = ["Gap"] * (name != "put") + [("AccountEvent", "Quote")[number % 2]]
                if kinds[-len(wanted) :] != wanted or kinds.count("Gap") != (name != "put"):
                    failures.append((name, number, kinds))
            for stream in others:
                await stream.aclose()
    assert failures == []


@in_world
async def test_cancelled_consumer_loses_no_event_and_leaves_nothing(sim: Simulator, client: Client) -> None:
    account = sim.account_numbers[0]
    async with client.stream.account([account]) as stream:
        await cancelled(anext(stream), after=1)
        await client.orders.submit(account, buy())
        assert orders(await drain(stream))[-1] == "Filled"
    assert sim.streams.sessions == []


@for_each("turns", range(0, 40, 3))
@on_virtual_time
async def test_consumer_cancelled_at_any_turn_leaves_no_connection(turns: int) -> None:
    async with world() as (sim, client):
        async with client.stream.quotes(["SPY"]) as quotes:
            tasks = [asyncio.ensure_future(quotes.ready()), asyncio.ensure_future(anext(quotes))]
            for _ in range(turns):
                await asyncio.sleep(0)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert sim.streams.sessions == []


@in_world
async def test_service_that_is_away_is_tried_ever_more_rarely(sim: Simulator, client: Client) -> None:
    async with ready(client.stream.account(sim.account_numbers[:1])) as stream:
        sim.streams.faults.is_half_open = True
        sim.streams.drop()
        waiting = asyncio.ensure_future(gap_within(4000, stream))
        attempts, known = 0, len(sim.streams.sessions)
        for _ in range(1200):
            await asyncio.sleep(1)
            attempts += len(sim.streams.sessions) > known
            known = len(sim.streams.sessions)
        assert 20 <= attempts <= 60
        sim.streams.faults.is_half_open = False
        await waiting


@in_world
async def test_connection_lost_before_it_was_ready_leaves_a_gap_if_it_has_delivered_events(
    sim: Simulator, client: Client, account: str
) -> None:
    sim.streams.faults.add("late(0)", kind="protocol")
    sim.streams.faults.add("lose", kind="protocol")  # the answer to the subscription of the alerts
    async with client.stream.account([account], alerts=True) as stream:
        await asyncio.sleep(1)
        await client.orders.submit(account, buy())
        assert orders(await drain(stream))[-1] == "Filled"
        await client.orders.submit(account, buy())
        *before, gap = await drain(stream, 60)
        assert isinstance(gap, Gap)
        assert "did not answer quote-alerts-subscribe" in gap.reason
        assert orders(before)[-1] == "Filled"


@in_world
async def test_gap_waits_until_every_subscription_is_complete(sim: Simulator, client: Client) -> None:
    account, loop = sim.account_numbers[0], asyncio.get_running_loop()
    async with ready(client.stream.account([account], alerts=True)) as stream:
        sim.streams.drop()
        sim.streams.faults.add("late(0)", kind="protocol")
        sim.streams.faults.add("late(3)", kind="protocol")  # the answer to the subscription of the alerts
        await asyncio.sleep(1)
        await client.orders.submit(account, buy())
        assert await drain(stream) == []  # an alert that fires now would be missing after the gap
        assert stream.waiting > 2
        start = loop.time()
        await gap_within(3, stream)
        assert orders(await drain(stream, 3))[-1] == "Filled"
        assert loop.time() - start > 3


@in_world
async def test_server_that_hears_nothing_is_given_up_although_it_sends(sim: Simulator, client: Client) -> None:
    account = sim.account_numbers[0]
    async with ready(client.stream.account([account])) as stream:
        sim.streams.faults.is_deaf = True
        for _ in range(8):
            sim.streams.send_account_event(account, "Order", {"account-number": account}, sim.clock.now())
            await asyncio.sleep(5)
        sim.streams.faults.is_deaf = False
        [gap] = [event for event in await drain(stream, 40) if isinstance(event, Gap)]
        assert "did not answer heartbeat in 10 s" in gap.reason


@in_world
async def test_refusal_that_does_not_concern_the_token_leaves_it(sim: Simulator, client: Client) -> None:
    async with ready(client.stream.account(sim.account_numbers[:1])) as stream:
        for word, requests in (("not-implemented", 1), ("failed", 2)):
            sim.streams.sessions[0].push({"status": "error", "action": "heartbeat", "message": word})
            await gap_within(5, stream)
            await stream.ready()
            assert sim.ledger.count("oauth.token") == requests


@in_world
async def test_token_that_cannot_be_renewed_costs_the_connection_and_nothing_else(
    sim: Simulator, client: Client, account: str
) -> None:
    async with ready(client.stream.account([account])) as stream:
        sim.expire_tokens()
        sim.faults.add("POST", "/oauth/token", "status(503)", times=12)
        sim.faults.add("POST", "/oauth/token", "drop_after", times=5)
        await gap_within(600, stream)
        await client.orders.submit(account, buy())
        assert orders(await drain(stream))[-1] == "Filled"


@for_each("use", ["ready", "__anext__"])
@on_virtual_time
async def test_stream_that_ended_with_an_error_keeps_its_traceback_and_is_collected(use: str) -> None:
    references, depths = list[weakref.ref[Any]](), set[int]()

    async def consume(stream: Any) -> None:
        references.append(weakref.ref(stream))
        for _ in range(5):
            with pytest.raises(errors.StreamRefusedError) as caught:
                await getattr(stream, use)()
            depths.add(len(caught.traceback))
        await getattr(stream, use)()

    async with world() as (sim, client):
        await raised_by(consume(client.stream.account([sim.foreign_account_number])), errors.StreamRefusedError)
        assert len(depths) == 1
        gc.collect()
        assert [reference() for reference in references] == [None]


@in_world
async def test_closing_the_client_waits_for_every_connection_that_closes(
    sim: Simulator, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    close, closed = MemorySocket.close, []

    async def close_slowly(socket: MemorySocket) -> None:
        try:
            await asyncio.sleep(5)
        finally:
            await close(socket)
            closed.append(socket)

    monkeypatch.setattr(MemorySocket, "close", close_slowly)
    first, second = (client.stream.account(sim.account_numbers[:1]) for _ in range(2))
    await first.ready()
    closing = asyncio.ensure_future(first.aclose())
    await asyncio.sleep(1)
    async with second:
        await asyncio.sleep(1)
    assert len(closed) == 1, "the second stream was closed before the connection of the first"
    await closing


@in_world
async def test_connection_is_closed_even_if_its_task_is_cancelled_twice(sim: Simulator, client: Client) -> None:
    async with ready(client.stream.account(sim.account_numbers[:1])) as stream:
        [task] = [each for each in asyncio.all_tasks() if each.get_name() == "brokerage_async account stream"]
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        await raised_by(anext(stream), errors.StreamError, "the task of the account stream was cancelled")
        assert sim.streams.sessions == []


@for_each("turns", range(0, 40, 4))
@on_virtual_time
async def test_client_closed_at_any_turn_of_connecting_leaves_nothing(turns: int) -> None:
    async with world() as (sim, client):
        streams = [client.stream.account(sim.account_numbers[:1]), client.stream.quotes(["SPY"], [models.Candle])]
        tasks = [asyncio.ensure_future(anext(stream)) for stream in streams]
        for _ in range(turns):
            await asyncio.sleep(0)
        await client.aclose()
        assert sim.streams.sessions == []
        for result in await asyncio.gather(*tasks, return_exceptions=True):
            assert isinstance(result, errors.ConfigurationError | Snapshot)


@in_world
async def test_message_that_is_too_large_is_asked_for_in_smaller_parts_and_a_second_one_ends_the_stream(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    longest: list[int] = []
    receive, send = MemorySocket.receive, MemorySocket.send

    async def receive_too_much(self: MemorySocket) -> str | bytes:
        message = await receive(self)
        if "FEED_DATA" in str(message):
            raise errors.MessageTooLargeError("a message of more than 16 MiB")
        return message

    async def note(self: MemorySocket, message: str | Secret) -> None:
        if "SETUP" in revealed(message):
            longest.append(0)
        longest[-1] = max(longest[-1], len(revealed(message)))
        await send(self, message)

    monkeypatch.setattr(MemorySocket, "receive", receive_too_much)
    monkeypatch.setattr(MemorySocket, "send", note)
    stream = client.stream.quotes(["AAPL", "SPY", *(f"S{number}" for number in range(300))])
    assert "more than 16 MiB" in (await gap_within(60, stream)).reason
    await raised_by(drain(stream, 60), errors.MessageTooLargeError, "more than 16 MiB")
    _, first, _, second = longest  # two connections, with two messages that contain SETUP each
    assert first > 5_000
    assert second < 600
