import asyncio

import pytest

from brokerage_async import errors
from brokerage_async.bulk.batches import Batch
from brokerage_async.bulk.bisect import LONGEST_WAIT, PATIENCE, Halving, Verdict, judge


class Service:
    """Answers each key with its small letters, knows nothing of ``unknown``, and raises what ``failures`` holds for a
    key of the batch."""

    def __init__(self, unknown=(), **failures):
        self.unknown, self.failures, self.asked = unknown, failures, []

    async def fetch(self, keys):
        self.asked.append("".join(keys))
        for key in keys:
            if key in self.failures:
                raise self.failures[key]
        return {key: key.lower() for key in keys if key not in self.unknown}


def halving(service, *, verdict=judge, concurrency=1, size=8):
    return Halving(service.fetch, verdict, concurrency=concurrency, size=size)


async def answered(service, keys="ABCDEFGH", **options):
    batch = Batch(0, tuple(keys))
    await halving(service, **options).answer(batch)
    return batch


async def test_an_answer_sorts_the_keys():
    service = Service(unknown="CF")
    batch = await answered(service)
    assert (batch.found, batch.missing, batch.failed) == ({key: key.lower() for key in "ABDEGH"}, ["C", "F"], {})
    assert service.asked == ["ABCDEFGH"]


async def test_a_batch_that_fails_is_halved_until_the_guilty_stand_alone():
    error = errors.BadRequestError("what is C?")
    service = Service(unknown="F", C=error)
    batch = await answered(service)
    assert batch.failed == {"C": error}
    assert batch.missing == ["F"]
    assert list(batch.found) == ["A", "B", "D", "E", "G", "H"]
    assert service.asked == ["ABCDEFGH", "ABCD", "AB", "CD", "C", "D", "EFGH"]


@pytest.mark.looptime
@pytest.mark.parametrize(("wish", "waited"), [(None, 1), (0.0, 1), (30.0, 30), (1e12, LONGEST_WAIT)])
async def test_a_refusal_for_the_rate_is_waited_out_but_not_for_ever(looptime, wish, waited):
    service = Service(A=errors.RateLimitError("slow down", retry_after=wish))
    asyncio.get_running_loop().call_later(waited - 0.5, service.failures.clear)
    batch = await answered(service, "AB")
    assert looptime == waited
    assert batch.found == {"A": "a", "B": "b"}
    assert service.asked == ["AB", "AB"]


async def test_what_is_nobodys_fault_is_raised():
    error = errors.TokenError("the grant was revoked")
    with pytest.raises(errors.TokenError) as caught:
        await answered(Service(C=error))
    assert caught.value is error


async def test_doubt_ends_when_nothing_is_answered_for_long():
    error = errors.ServerError("out of order", status=500)
    service = Service(**dict.fromkeys("ABCDEFGH", error))
    one = halving(service)
    for number in range(4):  # 15 questions each: 8, 4, 2, 1, 1, 2, 1, 1, 4, ...
        await one.answer(Batch(number, tuple("ABCDEFGH")))
    with pytest.raises(errors.ServerError):
        await one.answer(Batch(4, tuple("ABCDEFGH")))
    assert len(service.asked) == PATIENCE


async def test_an_answer_in_between_takes_the_doubt_away():
    one = halving(Service(A=errors.ServerError("out of order", status=500)))
    for number in range(PATIENCE):
        await one.answer(batch := Batch(number, ("A", "B")))
        assert list(batch.failed) == ["A"]


async def test_the_verdict_can_be_another():
    batch = await answered(Service(A=KeyError()), "AB", verdict=lambda error: Verdict.KEYS)
    assert list(batch.failed) == ["A"]


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (errors.RateLimitError("429"), Verdict.AGAIN),
        (errors.ServerError("500"), Verdict.DOUBT),
        (errors.ResponseLostError("cut off"), Verdict.DOUBT),
        (errors.AuthenticationError("401"), Verdict.END),
        (errors.PermissionDeniedError("403"), Verdict.END),
        (errors.VersionNotSupportedError("406"), Verdict.END),
        (errors.NotFoundError("404"), Verdict.KEYS),
        (errors.UnprocessableError("422"), Verdict.KEYS),
        (errors.InvalidRequestError("unsendable"), Verdict.KEYS),
        (errors.ResponseDecodeError("no JSON", json_path="$", operation="orders.list"), Verdict.KEYS),
        (errors.RequestNotSentError("refused"), Verdict.END),
        (errors.DeadlineExceededError("too late"), Verdict.END),
        (KeyError(), Verdict.END),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value.name,
)
def test_whose_fault_an_error_is(error, verdict):
    assert judge(error) is verdict
