"""Arguments of a fleet and its parts, and its connection: bounded commands, failures that name no argument."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any
from unittest.mock import Mock

import pytest

from brokerage_async.errors import ConfigurationError
from brokerage_async.fleet import EngineUnavailableError, Fleet, RedisFeed, RedisLimits, RedisTokenStore
from brokerage_async.fleet.feed import FeedKeys
from brokerage_async.fleet.fleet import Connection, Script
from tests.fleet.engines import EngineServer, engine_server, missing
from tests.http.calls import raised_by
from tests.protocol.values import raised
from tests.tables import for_each

pytestmark = [pytest.mark.redis, pytest.mark.skipif(missing() is not None, reason=str(missing()))]

if missing() is None:
    import redis.exceptions
    from redis import Redis as SyncRedis
    from redis.asyncio import Redis


ECHO = Script("return ARGV[1]")


@pytest.fixture(scope="module")
def server() -> Iterator[EngineServer]:
    with engine_server(password="hush-hush") as started:
        yield started


@pytest.fixture
async def connection(server: EngineServer) -> AsyncIterator[Connection]:
    async with aclosing(Connection(server.url, name="desk", timeout=1.0)) as opened:
        yield opened


async def test_script_is_loaded_once_and_again_after_the_engine_forgot_it(connection: Connection) -> None:
    assert await connection.script(ECHO, [], ["one"]) == b"one"
    await connection.command("SCRIPT", "FLUSH")
    assert await connection.script(ECHO, [], ["two"]) == b"two"
    assert await connection.command("SCRIPT", "EXISTS", ECHO.sha) == [1]


async def test_refusal_is_named_without_its_arguments(connection: Connection) -> None:
    await raised_by(connection.command("HSET", "top-secret"), EngineUnavailableError, "refused a command with ERR")
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
        redis.exceptions.ClusterCrossSlotError("Keys in request don't hash to the same slot"): "with MOVED: it is a",
        untrusted: "CERTIFICATE: its certificate is not trusted: name its authority, as in rediss://",
        redis.exceptions.ConnectionError("refused"): "is away (ConnectionError)",
    }
    for error, said in table.items():
        async with aclosing(Connection("redis://127.0.0.1:1", name="desk", timeout=1.0)) as connection:
            assert said in str(connection._failure_of(error, 0.0)), error


async def test_wrong_password_is_away_with_advice_and_shows_nothing(server: EngineServer) -> None:
    url = server.url.replace("hush-hush", "sesame")
    async with aclosing(Connection(url, name="desk", timeout=1.0)) as wrong:
        error = await raised_by(wrong.command("PING"), EngineUnavailableError, "check the user name and the password")
        assert "sesame" not in repr(error) + repr(wrong) + repr(vars(wrong))
        assert wrong.is_away


async def test_password_is_not_seen_by_a_monitor(server: EngineServer) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"AUTH hush-hush\r\nMONITOR\r\n")
    assert (await reader.readline(), await reader.readline()) == (b"+OK\r\n", b"+OK\r\n")
    async with aclosing(Connection(server.url, name="desk", timeout=1.0)) as connection:
        await connection.command("PING")
    seen = b""
    while b"PING" not in seen:
        seen += await reader.readline()
    assert b"hush" not in seen
    writer.close()


async def test_silent_engine_costs_its_timeout_once(server: EngineServer) -> None:
    loop = asyncio.get_running_loop()
    async with aclosing(Connection(server.url, name="desk", timeout=0.2)) as connection:
        await connection.command("PING")
        with server.paused():
            began = loop.time()
            for _ in range(20):
                await raised_by(connection.command("PING"), EngineUnavailableError, "away")
            assert 0.2 <= loop.time() - began < 0.4
        await asyncio.sleep(0.55)
        assert await connection.command("PING") in (b"PONG", True)
        assert not connection.is_away


async def test_borrowed_client_must_return_bytes_and_stays_open(server: EngineServer) -> None:
    async with Redis.from_url(server.url, decode_responses=True) as strings:
        raised(ConfigurationError, Fleet, strings, match="decode_responses")
    async with Redis.from_url(server.url) as client:
        async with Fleet(client, name="desk") as fleet:
            assert (await fleet.status()).engine.latency is not None
        assert await client.ping()


async def test_argument_that_cannot_be_sent_does_not_count_as_an_engine_that_is_away(connection: Connection) -> None:
    error = await raised_by(connection.command("GET", "a\udc80"), EngineUnavailableError, "DATA")
    assert error.code == "DATA"
    assert not connection.is_away


def test_variables_of_a_traceback_do_not_show_the_password() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Fleet("redis//:hunter2@127.0.0.1")
    frames = [entry.frame.f_locals for entry in caught.traceback[1:]]
    assert len(frames) == 3
    values = [value for variables in frames for value in variables.values() if isinstance(value, str)]
    assert values
    assert "hunter2" not in repr(values)


ENGINE, ADDRESS = r"engine must be a url or a redis\.asyncio\.Redis, got", "must be like redis://"
NAME, LEASE = "name must be 1 to 64 letters", "lease must be a number of seconds from"
GROUP = "group must be a non-empty str"


def fleet(**options: Any) -> Fleet:
    """Return a fleet over an engine to which nothing can be sent."""
    return Fleet(Mock(["aclose", "execute_command"]), **options)


def limits(**options: Any) -> RedisLimits:
    return RedisLimits(fleet(), **{"requests_per_second": 50, **options})


def feed(**options: Any) -> RedisFeed[Any]:
    return RedisFeed(fleet(), **{"name": "things", **options})


def keys(name: str = "things", lease: float = 5.0) -> FeedKeys:
    return FeedKeys(connection=fleet(name="desk").connection, name=name, lease=lease, keep=10, max_length=100)


@for_each(
    "make, reason",
    [
        *((lambda wrong=wrong: Fleet(wrong), ENGINE) for wrong in (None, 5, b"redis://127.0.0.1", object())),
        (lambda: Fleet(Redis), ENGINE),  # type: ignore[arg-type]
        (lambda: Fleet(SyncRedis()), ENGINE),
        (lambda: Fleet("http://127.0.0.1"), ADDRESS),
        (lambda: Fleet("redis://:secret@127.0.0.1:port"), ADDRESS),
        *((lambda name=name: fleet(name=name), NAME) for name in (None, "", 5, "two words", "a" * 65)),
        *((lambda seconds=seconds: fleet(timeout=seconds), "timeout must be") for seconds in ("1", 0)),
        *((lambda rate=rate: limits(requests_per_second=rate), "requests_per_") for rate in (0, float("inf"), "50")),
        *((lambda share=share: limits(local_share=share), "local_share must be") for share in (0, 1.5)),
        (lambda: limits(limits=5), "limits must be of type Limits"),
        *((lambda name=name: limits(name=name), NAME) for name in (5, "a:b")),
        (lambda: RedisTokenStore("redis://"), "fleet must be of type Fleet"),  # type: ignore[arg-type]
        (lambda: RedisLimits("redis://", requests_per_second=50), "fleet must be of type Fleet"),  # type: ignore[arg-type]
        (lambda: RedisFeed(None, "things"), "fleet must be of type Fleet"),  # type: ignore[arg-type]
        # in milliseconds, the engine would reject 0 and 1e303, again and again
        *((lambda s=s: RedisTokenStore(fleet(), lease=s), LEASE) for s in (0, 0.001, 1e300, "5")),
        *((lambda s=s: feed(lease=s), LEASE) for s in (0, 1e-4, 1e300, "5")),
        *((lambda key=key: RedisTokenStore(fleet(), encryption_key=key), "generate_key") for key in ("short", "")),
        *((lambda name=name: feed(name=name), NAME) for name in ("a b", "", "a" * 65, "a:b", None)),
        (lambda: feed(key="id"), "key must be a function, got 'id'"),
        (lambda: feed(keep=5, max_length=4), r"max_length must be at least keep \(5\), got 4"),
        (lambda: feed(keep=0), "keep must be"),
        (lambda: feed(max_length="10"), "max_length must be"),
        *((lambda group=group: feed().read_group(group), GROUP) for group in ("", 3, None)),
        (lambda: feed().read_group("g", start="later"), "start must be 'now' or 'beginning', got 'later'"),
        (lambda: feed().read(start=-1), "start must be"),
    ],
)  # fmt: skip
def test_argument_that_cannot_be_used_is_rejected(make: Callable[[], object], reason: str) -> None:
    error = raised(ConfigurationError, make, match=reason)
    assert "secret" not in str(error)


async def test_group_that_is_removed_must_have_a_name() -> None:
    await raised_by(feed().remove_group(""), ConfigurationError, GROUP)


def test_keys_of_a_feed_are_in_one_slot_and_groups_share_the_stream_alone() -> None:
    one, two = keys().group_keys("one"), keys().group_keys("two")
    assert all(key.startswith("{desk}:1:feed:things:") for key in [*keys().keys("lease", "meta"), *one, *two])
    assert not set(keys().keys("lease", "meta")) & set(keys("others").keys("lease", "meta"))
    assert one[:2] == two[:2] == keys().keys("stream", "meta")
    assert len({*one, *two}) == 2 + 2 + 2
    assert keys(lease=0.6).lease_ms == 600
