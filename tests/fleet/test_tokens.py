"""One token request for a fleet: leases, lost turns, rejected tokens, shared failures, and an engine that fails."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from brokerage_async.auth.manager import TokenManager
from brokerage_async.auth.store import StoredToken
from brokerage_async.config import AuthorizationCode, RefreshToken, RetryPolicy, Secret
from brokerage_async.errors import ConfigurationError, TokenError
from brokerage_async.fleet import Fleet, RedisTokenStore
from brokerage_async.protocol.token import Grant
from tests.fleet.engines import EngineServer, missing

pytestmark = [pytest.mark.redis, pytest.mark.skipif(missing() is not None, reason=str(missing()))]

REFRESH = RefreshToken(client_secret="cs", refresh_token="rt")
POLICY = RetryPolicy(max_attempts=1, jitter=lambda: 0.5)
KEY = RedisTokenStore.generate_key() if missing() is None else Secret()


class Endpoint:
    """Token endpoint of the service: answers with ``t1``, ``t2``... that live 15 minutes, or fails."""

    def __init__(self, *, failure: TokenError | None = None, latency: float = 0.05) -> None:
        self.failure = failure
        self.latency = latency
        self.requests = 0

    async def __call__(self, credentials: RefreshToken | AuthorizationCode) -> Grant:
        self.requests += 1
        number = self.requests
        await asyncio.sleep(self.latency)
        if self.failure is not None:
            raise self.failure
        return Grant(access_token=Secret(f"t{number}"), expires_in=900.0)


class Processes:
    """Token managers that share nothing but the engine."""

    def __init__(self, url: str, endpoint: Endpoint, *, key: Secret | None = None, lease: float = 0.5) -> None:
        self._url, self._endpoint, self._key, self._lease = url, endpoint, key, lease
        self._opened: list[tuple[Fleet, TokenManager]] = []

    def open(self, *, key: Secret | None = None, name: str = "desk") -> TokenManager:
        fleet = Fleet(self._url, name=name)
        store = RedisTokenStore(fleet, encryption_key=key or self._key, lease=self._lease)
        manager = TokenManager(REFRESH, self._endpoint, policy=POLICY, store=store, store_key="k" * 32)
        self._opened.append((fleet, manager))
        return manager

    async def aclose(self) -> None:
        for fleet, manager in self._opened:
            await manager.close()
            await fleet.aclose()


@asynccontextmanager
async def processes(server: EngineServer, endpoint: Endpoint, **options: float | str) -> AsyncIterator[Processes]:
    opened = Processes(server.url, endpoint, **options)  # type: ignore[arg-type]
    try:
        yield opened
    finally:
        await opened.aclose()


Command = Callable[..., Awaitable[object]]


@asynccontextmanager
async def commands(server: EngineServer) -> AsyncIterator[Command]:
    async with Fleet(server.url) as fleet:
        yield fleet.connection.command


async def state_key(command: Command) -> bytes:
    (key,) = await command("KEYS", "*token*")  # type: ignore[misc]
    return bytes(key)


async def test_cold_processes_share_one_request(server: EngineServer) -> None:
    endpoint = Endpoint(latency=0.2)
    async with processes(server, endpoint) as fleet:
        found = await asyncio.gather(*(fleet.open().get() for _ in range(30)))
    assert set(found) == {Secret("Bearer t1")}
    assert endpoint.requests == 1


async def test_turn_of_a_dead_process_is_passed_on(server: EngineServer) -> None:
    endpoint = Endpoint()
    async with processes(server, endpoint) as fleet, Fleet(server.url, name="desk") as dying:
        await RedisTokenStore(dying, lease=0.5).join("k" * 32, rejected=None, due=None)
        for task in asyncio.all_tasks():
            if task.get_name() == "brokerage_async token turn":  # it dies: nothing renews its lease
                task.cancel()
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert await asyncio.gather(*(fleet.open().get() for _ in range(5))) == [Secret("Bearer t1")] * 5
        assert 0.3 < loop.time() - began < 1.2
    assert endpoint.requests == 1


async def test_turn_is_held_for_less_than_its_lease_which_bounds_the_wait_of_the_others(server: EngineServer) -> None:
    async with Fleet(server.url, name="desk") as fleet:
        store = RedisTokenStore(fleet, lease=100)
        turn = await store.join("k", rejected=None, due=None)
        assert not isinstance(turn, StoredToken | TokenError)
        until = await fleet.connection.command("HGET", store._state("k"), "until")
        seconds, _ = await fleet.connection.command("TIME")
        assert 70 < int(until) / 1000 - int(seconds) <= 81
        await turn.release()


async def test_slow_request_keeps_its_turn(server: EngineServer) -> None:
    endpoint = Endpoint(latency=1.2)
    async with processes(server, endpoint, lease=0.4) as fleet:
        await asyncio.gather(*(fleet.open().get() for _ in range(5)))
    assert endpoint.requests == 1


async def test_rejected_token_is_replaced_for_all_with_one_request(server: EngineServer) -> None:
    endpoint = Endpoint()
    async with processes(server, endpoint) as fleet:
        managers = [fleet.open() for _ in range(5)]
        await asyncio.gather(*(each.get() for each in managers))
        assert managers[0].invalidate(Secret("Bearer t1"))
        assert await managers[0].get() == Secret("Bearer t2")
        for each in managers[1:]:
            each.invalidate(Secret("Bearer t1"))
        assert await asyncio.gather(*(each.get() for each in managers)) == [Secret("Bearer t2")] * 5
        assert await fleet.open().get() == Secret("Bearer t2")
    assert endpoint.requests == 2


@pytest.mark.parametrize("transient", [True, False])
async def test_failure_of_one_spares_the_others_the_same_request(server: EngineServer, transient: bool) -> None:
    endpoint = Endpoint(failure=TokenError("no", transient=transient, status=503 if transient else 400), latency=0.2)
    async with processes(server, endpoint) as fleet:
        found = await asyncio.gather(*(fleet.open().get() for _ in range(10)), return_exceptions=True)
        assert all(isinstance(each, TokenError) and each.transient is transient for each in found)
        assert endpoint.requests == 1
        if transient:  # its pause is a second
            endpoint.failure = None
            await asyncio.sleep(1.1)
            assert await fleet.open().get() == Secret("Bearer t2")


async def test_closing_in_the_middle_passes_the_turn_on_at_once(server: EngineServer) -> None:
    endpoint = Endpoint(latency=0.3)
    async with processes(server, endpoint, lease=30.0) as fleet:
        closing, waiting = fleet.open(), fleet.open()
        task = asyncio.create_task(closing.get())
        await asyncio.sleep(0.1)
        other = asyncio.create_task(waiting.get())
        await asyncio.sleep(0.1)
        await closing.close()
        with pytest.raises(ConfigurationError):
            await task
        async with asyncio.timeout(2):
            assert await other == Secret("Bearer t2")


async def test_cancellation_at_each_await_leaves_no_turn_behind(server: EngineServer) -> None:
    """A manager is closed after each number of steps of the event loop. The next one never waits for its lease."""
    endpoint = Endpoint(latency=0.002)
    for steps in range(0, 60, 2):
        async with commands(server) as command:
            await command("FLUSHALL")
        async with processes(server, endpoint, lease=30.0) as fleet:
            closing = fleet.open()
            task = asyncio.create_task(closing.get())
            for _ in range(steps):
                await asyncio.sleep(0.0001)
            await closing.close()
            with contextlib.suppress(ConfigurationError):
                await task
            async with asyncio.timeout(1):
                await fleet.open().get()


class TestSecrets:
    async def test_engine_sees_nothing_but_sealed_tokens(self, server: EngineServer) -> None:
        seen: list[bytes] = []
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"MONITOR\r\n")
        await reader.readline()
        endpoint = Endpoint()
        async with processes(server, endpoint, key=KEY) as fleet:
            first = fleet.open()
            await first.get()
            first.invalidate(Secret("Bearer t1"))
            assert await first.get() == Secret("Bearer t2")
            assert await fleet.open().get() == Secret("Bearer t2")
        with contextlib.suppress(TimeoutError):
            while True:
                async with asyncio.timeout(0.2):
                    seen.append(await reader.readline())
        writer.close()
        everything = b"".join(seen)
        assert everything.count(b"EVALSHA") >= 4
        assert not any(
            secret in everything for secret in (b'"t1"', b'"t2"', b"Bearer", KEY.reveal().encode(), b'"cs"', b'"rt"')
        )

    async def test_processes_with_another_key_share_another_token(self, server: EngineServer) -> None:
        endpoint = Endpoint()
        async with processes(server, endpoint) as fleet:
            for key in (None, KEY, RedisTokenStore.generate_key()):
                await asyncio.gather(*(fleet.open(key=key).get() for _ in range(3)))
        assert endpoint.requests == 3

    async def test_damaged_token_is_replaced(self, server: EngineServer) -> None:
        endpoint = Endpoint()
        async with processes(server, endpoint, key=KEY) as fleet, commands(server) as command:
            await fleet.open().get()
            for damage in (b"junk", b""):
                await command("HSET", await state_key(command), "token", damage)
                assert await fleet.open().get() == Secret(f"Bearer t{endpoint.requests}")
        assert endpoint.requests == 3

    async def test_repr_shows_neither_key_nor_password(self) -> None:
        async with Fleet("redis://:hush-hush@127.0.0.1:1") as fleet:
            shown = repr(RedisTokenStore(fleet, encryption_key=KEY)) + repr(fleet)
        assert "hush" not in shown
        assert KEY.reveal()[:8] not in shown


class TestEngineFailures:
    async def test_without_engine_each_process_requests_its_own(self) -> None:
        endpoint = Endpoint()
        opened = Processes("redis://127.0.0.1:1", endpoint)
        try:
            assert await opened.open().get() == Secret("Bearer t1")
            assert await opened.open().get() == Secret("Bearer t2")
        finally:
            await opened.aclose()

    async def test_state_lost_in_the_middle_costs_at_most_one_more_request(self, server: EngineServer) -> None:
        endpoint = Endpoint(latency=0.3)
        async with processes(server, endpoint) as fleet, commands(server) as command:
            tasks = [asyncio.create_task(fleet.open().get()) for _ in range(10)]
            await asyncio.sleep(0.15)
            await command("FLUSHALL")
            await asyncio.gather(*tasks)
            assert endpoint.requests <= 2
            assert await fleet.open().get() in {task.result() for task in tasks}

    async def test_engine_paused_while_a_request_is_under_way_delays_little(self, server: EngineServer) -> None:
        endpoint = Endpoint(latency=0.2)
        async with processes(server, endpoint) as fleet:
            tasks = [asyncio.create_task(fleet.open().get()) for _ in range(3)]
            await asyncio.sleep(0.1)
            with server.paused():
                async with asyncio.timeout(6):
                    await asyncio.gather(*tasks)

    async def test_wrong_type_under_the_key_is_worked_around(self, server: EngineServer) -> None:
        endpoint = Endpoint()
        async with processes(server, endpoint) as fleet, commands(server) as command:
            await fleet.open().get()
            key = await state_key(command)
            await command("DEL", key)
            await command("LPUSH", key, "x")
            assert await fleet.open().get() == Secret("Bearer t2")

    async def test_keys_of_another_version_are_left_alone(self, server: EngineServer) -> None:
        endpoint = Endpoint()
        async with processes(server, endpoint) as fleet, commands(server) as command:
            await fleet.open().get()
            key = await state_key(command)
            later = key.replace(b"}:1:", b"}:2:")
            await command("SET", later, "x")
            assert await fleet.open().get() == Secret("Bearer t1")
            assert await command("GET", later) == b"x"


async def test_status_says_how_the_token_is(server: EngineServer) -> None:
    endpoint = Endpoint()
    async with Fleet(server.url) as fleet:
        store = RedisTokenStore(fleet, encryption_key=KEY)
        manager = TokenManager(REFRESH, endpoint, policy=POLICY, store=store, store_key="k")
        before = (await fleet.status()).parts["tokens"]
        assert (before.expires_in, before.turns) == (None, None)
        await manager.get()
        after = (await fleet.status()).parts["tokens"]
        assert after.is_encrypted
        assert not after.is_refreshing
        assert after.turns == 1
        assert 890 < after.expires_in <= 901
        await manager.close()


async def test_refused_credentials_are_sent_once_by_the_fleet_until_they_change(server: EngineServer) -> None:
    refusal = TokenError("revoked", transient=False, status=400, code="invalid_grant")
    endpoint = Endpoint(failure=refusal)
    async with processes(server, endpoint) as fleet:
        found = await asyncio.gather(*(fleet.open().get() for _ in range(5)), return_exceptions=True)
        assert all(isinstance(error, TokenError) and not error.transient for error in found)
    async with commands(server) as command:
        await command("DEL", await state_key(command))  # the shared pause is over
    async with processes(server, endpoint) as fleet:
        for _ in range(3):
            with pytest.raises(TokenError, match=r"remove k+ from it to try the same credentials again") as caught:
                await fleet.open().get()
            assert (caught.value.status, caught.value.code) == (400, "invalid_grant")
    assert endpoint.requests == 1
