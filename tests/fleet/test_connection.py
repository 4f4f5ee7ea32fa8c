"""Commands are bounded, failures name no argument, and an engine that is away costs no time."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator

import pytest

from brokerage_async.errors import ConfigurationError
from brokerage_async.fleet import EngineUnavailableError, Fleet
from brokerage_async.fleet.fleet import Connection, Script
from tests.fleet.engines import EngineServer, engine_server, missing

if missing() is None:
    import redis.exceptions
    from redis.asyncio import Redis

pytestmark = [pytest.mark.redis, pytest.mark.skipif(missing() is not None, reason=str(missing()))]

ECHO = Script("return ARGV[1]")


@pytest.fixture(scope="module")
def server() -> Iterator[EngineServer]:
    with engine_server(password="hush-hush") as started:
        yield started


@pytest.fixture
async def connection(server: EngineServer) -> AsyncIterator[Connection]:
    opened = Connection(server.url, name="desk", timeout=1.0)
    yield opened
    await opened.aclose()


async def test_script_is_loaded_once_and_again_after_the_engine_forgot_it(connection: Connection) -> None:
    assert await connection.script(ECHO, [], ["one"]) == b"one"
    await connection.command("SCRIPT", "FLUSH")
    assert await connection.script(ECHO, [], ["two"]) == b"two"
    assert await connection.command("SCRIPT", "EXISTS", ECHO.sha) == [1]


async def test_refusal_is_named_without_its_arguments(connection: Connection) -> None:
    with pytest.raises(EngineUnavailableError, match="refused a command with ERR"):
        await connection.command("HSET", "top-secret")
    with pytest.raises(EngineUnavailableError, match=r"UNKNOWN: it lacks a command: .* or a Sentinel") as caught:
        await connection.command("NO-SUCH-COMMAND", "top-secret")
    assert "top-secret" not in repr(caught.value)
    assert caught.value.__context__ is None
    await connection.command("SET", connection.key("here"), "1")
    with pytest.raises(EngineUnavailableError, match="WRONGTYPE: a key of this fleet holds another type"):
        await connection.command("LPUSH", connection.key("here"), "1")
    assert not connection.is_away


async def test_reason_is_named_with_what_to_do() -> None:
    untrusted = ConnectionError("Error 1 connecting to engine:6379.")
    untrusted.__cause__ = ssl.SSLCertVerificationError("self-signed certificate")
    table = {
        redis.exceptions.MovedError("7000 10.0.0.1:6379"): "with MOVED: it is a node of a cluster",
        redis.exceptions.ClusterCrossSlotError(
            "Keys in request don't hash to the same slot"
        ): "with MOVED: it is a node",
        untrusted: "CERTIFICATE: its certificate is not trusted: name its authority, as in rediss://",
        redis.exceptions.ConnectionError("refused"): "is away (ConnectionError)",
    }
    for error, said in table.items():
        connection = Connection("redis://127.0.0.1:1", name="desk", timeout=1.0)
        assert said in str(connection._failure_of(error, 0.0)), error
        await connection.aclose()


async def test_wrong_password_is_away_with_advice_and_shows_nothing(server: EngineServer) -> None:
    wrong = Connection(server.url.replace("hush-hush", "sesame"), name="desk", timeout=1.0)
    with pytest.raises(EngineUnavailableError, match="check the user name and the password") as caught:
        await wrong.command("PING")
    assert "sesame" not in repr(caught.value) + repr(wrong) + repr(vars(wrong))
    assert wrong.is_away
    await wrong.aclose()


async def test_password_is_not_seen_by_a_monitor(server: EngineServer) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"AUTH hush-hush\r\nMONITOR\r\n")
    assert (await reader.readline(), await reader.readline()) == (b"+OK\r\n", b"+OK\r\n")
    connection = Connection(server.url, name="desk", timeout=1.0)
    await connection.command("PING")
    await connection.aclose()
    seen = b""
    while b"PING" not in seen:
        seen += await reader.readline()
    assert b"hush" not in seen
    writer.close()


async def test_silent_engine_costs_its_timeout_once(server: EngineServer) -> None:
    connection = Connection(server.url, name="desk", timeout=0.2)
    await connection.command("PING")
    loop = asyncio.get_running_loop()
    with server.paused():
        began = loop.time()
        for _ in range(20):
            with pytest.raises(EngineUnavailableError, match="away"):
                await connection.command("PING")
        assert 0.2 <= loop.time() - began < 0.4
    await asyncio.sleep(0.55)
    assert await connection.command("PING") in (b"PONG", True)
    assert not connection.is_away
    await connection.aclose()


async def test_borrowed_client_must_return_bytes_and_stays_open(server: EngineServer) -> None:
    async with Redis.from_url(server.url, decode_responses=True) as strings:
        with pytest.raises(ConfigurationError, match="decode_responses"):
            Fleet(strings)
    async with Redis.from_url(server.url) as client:
        async with Fleet(client, name="desk") as fleet:
            assert (await fleet.status()).engine.latency is not None
        assert await client.ping()


async def test_argument_that_cannot_be_sent_does_not_count_as_an_engine_that_is_away(connection: Connection) -> None:
    with pytest.raises(EngineUnavailableError, match="DATA") as caught:
        await connection.command("GET", "a\udc80")
    assert caught.value.code == "DATA"
    assert not connection.is_away


def test_variables_of_a_traceback_do_not_show_the_password() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Fleet("redis//:hunter2@127.0.0.1")
    frames = [entry.frame.f_locals for entry in caught.traceback[1:]]
    assert len(frames) == 3
    values = [value for variables in frames for value in variables.values() if isinstance(value, str)]
    assert values
    assert "hunter2" not in repr(values)
