"""Arguments of a fleet and its parts: invalid ones are rejected by name before anything is sent."""

from collections.abc import Callable
from typing import Any

import pytest

from brokerage_async.errors import ConfigurationError
from brokerage_async.fleet import Fleet, RedisFeed, RedisLimits, RedisTokenStore
from brokerage_async.fleet.feed_scripts import FeedKeys
from tests.fleet.engines import missing
from tests.tables import for_each

if missing() is None:
    from redis import Redis as SyncRedis
    from redis.asyncio import Redis

pytestmark = [pytest.mark.redis, pytest.mark.skipif(missing() is not None, reason=str(missing()))]

ENGINE, ADDRESS = r"engine must be a url or a redis\.asyncio\.Redis, got", "must be like redis://"
NAME, LEASE = "name must be 1 to 64 letters", "lease must be a number of seconds from"
GROUP = "group must be a non-empty str"


class SilentEngine:
    """A client of an engine that is never asked."""

    async def aclose(self) -> None:
        raise AssertionError("a borrowed client stays open")

    async def execute_command(self, *command: Any) -> None:
        raise AssertionError("nothing may be sent")


def fleet(engine: Any = None, **options: Any) -> Fleet:
    return Fleet(SilentEngine() if engine is None else engine, **options)


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
        (lambda: RedisTokenStore("redis://"), "fleet must be a Fleet"),  # type: ignore[arg-type]
        (lambda: RedisLimits("redis://", requests_per_second=50), "fleet must be a Fleet"),  # type: ignore[arg-type]
        (lambda: RedisFeed(None, "things"), "fleet must be a Fleet"),  # type: ignore[arg-type]
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
    with pytest.raises(ConfigurationError, match=reason) as caught:
        make()
    assert "secret" not in str(caught.value)


async def test_group_that_is_removed_must_have_a_name() -> None:
    with pytest.raises(ConfigurationError, match=GROUP):
        await feed().remove_group("")


def test_keys_of_a_feed_are_in_one_slot_and_groups_share_the_stream_alone() -> None:
    one, two = keys().group_keys("one"), keys().group_keys("two")
    assert all(key.startswith("{desk}:1:feed:things:") for key in [*keys().keys("lease", "meta"), *one, *two])
    assert not set(keys().keys("lease", "meta")) & set(keys("others").keys("lease", "meta"))
    assert one[:2] == two[:2] == keys().keys("stream", "meta")
    assert len({*one, *two}) == 2 + 2 + 2
    assert keys(lease=0.6).lease_ms == 600
