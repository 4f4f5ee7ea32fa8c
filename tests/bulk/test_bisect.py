import asyncio
from typing import Any

import pytest

from brokerage_async import errors
from brokerage_async.bulk.batches import Batch
from brokerage_async.bulk.bisect import (
    MAX_CONSECUTIVE_AMBIGUOUS,
    MAX_THROTTLE_PAUSE,
    Bisection,
    failure_scope,
)


class Service:
    """Answers each key in lower case, leaves out the ``unknown`` keys, and raises the error that ``failures`` maps to a
    key of the batch."""

    def __init__(self, unknown: Any = (), **failures: Any) -> None:
        self.unknown, self.failures, self.asked = unknown, failures, []

    async def fetch(self, keys: Any) -> Any:
        self.asked.append("".join(keys))
        for key in keys:
            if key in self.failures:
                raise self.failures[key]
        return {key: key.lower() for key in keys if key not in self.unknown}


def bisection(service: Any, *, scope: Any = failure_scope, concurrency: Any = 1, max_size: Any = 8) -> Any:
    return Bisection(service.fetch, scope, concurrency=concurrency, max_size=max_size)


async def resolved(service: Any, keys: str = "ABCDEFGH", **options: Any) -> Any:
    batch = Batch(tuple(keys))
    await bisection(service, **options).resolve(batch)
    return batch


async def test_resolve_failing_batch_isolates_the_offending_keys() -> None:
    error = errors.BadRequestError("what is C?")
    service = Service(unknown="F", C=error)
    batch = await resolved(service)
    assert batch.failed == {"C": error}
    assert batch.missing == ["F"]
    assert list(batch.found) == ["A", "B", "D", "E", "G", "H"]
    assert service.asked == ["ABCDEFGH", "ABCD", "AB", "CD", "C", "D", "EFGH"]


@pytest.mark.virtual_time
@pytest.mark.parametrize(("wish", "waited"), [(None, 1), (0.0, 1), (30.0, 30), (1e12, MAX_THROTTLE_PAUSE)])
async def test_resolve_throttled_waits_for_a_bounded_time(wish: float | None, waited: Any) -> None:
    service = Service(A=errors.RateLimitError("slow down", retry_after=wish))
    asyncio.get_running_loop().call_later(waited - 0.5, service.failures.clear)
    batch = await resolved(service, "AB")
    assert asyncio.get_running_loop().time() == waited
    assert batch.found == {"A": "a", "B": "b"}
    assert service.asked == ["AB", "AB"]


async def test_resolve_too_many_ambiguous_failures_raises() -> None:
    error = errors.ServerError("out of order", status=500)
    service = Service(**dict.fromkeys("ABCDEFGH", error))
    one = bisection(service)
    for _ in range(4):  # 15 questions each: 8, 4, 2, 1, 1, 2, 1, 1, 4, ...
        await one.resolve(Batch(tuple("ABCDEFGH")))
    with pytest.raises(errors.ServerError):
        await one.resolve(Batch(tuple("ABCDEFGH")))
    assert len(service.asked) == MAX_CONSECUTIVE_AMBIGUOUS


async def test_resolve_success_resets_the_ambiguous_count() -> None:
    one = bisection(Service(A=errors.ServerError("out of order", status=500)))
    for _ in range(MAX_CONSECUTIVE_AMBIGUOUS):
        await one.resolve(batch := Batch(("A", "B")))
        assert list(batch.failed) == ["A"]


DENIED = errors.PermissionDeniedError("not permitted", status=403)


async def test_resolve_denied_key_is_the_failure_of_that_key() -> None:
    one = bisection(service := Service(C=DENIED))
    await one.resolve(batch := Batch(tuple("ABCD")))
    one.raise_if_denied()
    assert (batch.found, batch.failed) == ({"A": "a", "B": "b", "D": "d"}, {"C": DENIED})
    assert service.asked == ["ABCD", "AB", "CD", "C", "D"]


async def test_resolve_any_number_of_denied_keys_is_theirs_once_a_request_succeeded() -> None:
    one = bisection(Service(A=DENIED))
    await one.resolve(Batch(("B",)))
    for _ in range(2 * MAX_CONSECUTIVE_AMBIGUOUS):
        await one.resolve(Batch(("A",)))
    one.raise_if_denied()


async def test_raise_if_denied_without_any_success_is_the_failure_of_the_fetch() -> None:
    one = bisection(Service(A=DENIED, B=errors.BadRequestError("what is B?")))
    one.raise_if_denied()
    await one.resolve(Batch(("A", "B")))
    with pytest.raises(errors.PermissionDeniedError) as caught:
        one.raise_if_denied()
    assert caught.value is DENIED


async def test_resolve_too_many_denials_without_any_success_end_the_fetch() -> None:
    service = Service(A=DENIED)
    one = bisection(service)
    for _ in range(MAX_CONSECUTIVE_AMBIGUOUS - 1):
        await one.resolve(Batch(("A",)))
    with pytest.raises(errors.PermissionDeniedError):
        await one.resolve(Batch(("A",)))
    assert len(service.asked) == MAX_CONSECUTIVE_AMBIGUOUS
