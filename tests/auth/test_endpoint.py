"""The token endpoint: destination and content of its requests, and the effect of answers on the lane."""

import asyncio
import json
from typing import Any

import attrs
import pytest

from brokerage_async.auth.endpoint import TokenEndpoint
from brokerage_async.config import RefreshToken, RetryPolicy
from brokerage_async.errors import RequestNotSentError, ResponseLostError, TokenError
from brokerage_async.http.limiter import Lane
from tests.fake_transport import FakeTransport, fail
from tests.loops import on_virtual_time
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time

REFRESH = RefreshToken(client_secret="s3cr3t", refresh_token="s3cr3t")
POLICY = RetryPolicy(jitter=lambda: 0.5, max_retry_after=30)


def endpoint(transport: FakeTransport, lane: Lane | None = None, **options: Any) -> TokenEndpoint:
    settings: dict[str, Any] = {"base_url": "https://a.example/v1", "headers": {"User-Agent": "a/1"}, "timeout": 7.0}
    return TokenEndpoint(transport, lane or Lane(1), policy=POLICY, **settings | options)


async def test_call_sends_credentials_to_the_environment_and_hides_them() -> None:
    transport = FakeTransport()
    grant = await endpoint(transport)(REFRESH)
    assert "t1" not in repr(grant)
    assert "s3cr3t" not in repr([(each, each.body, each.secret_body) for each in transport.received])
    (request,) = transport.token_requests
    assert grant.access_token.reveal() == "t1"
    assert (request.method, request.url, request.timeout) == ("POST", "https://a.example/v1/oauth/token", 7.0)
    assert request.headers == {"User-Agent": "a/1", "Content-Type": "application/json"}
    assert json.loads(request.body or b"") == {
        "grant_type": "refresh_token",
        "refresh_token": "s3cr3t",
        "client_secret": "s3cr3t",
    }


@for_each("cause", [RequestNotSentError("refused"), ResponseLostError("dropped")])
async def test_call_without_answer_is_transient(cause: Exception) -> None:
    lane = Lane(1)
    with pytest.raises(TokenError) as caught:
        await endpoint(FakeTransport(token_script=(cause,)), lane)(REFRESH)
    assert caught.value.transient
    assert type(caught.value.__cause__) is type(cause)
    assert lane.in_flight == 0


@for_each("headers, expected", [({}, None), ({"retry_after": "5"}, 5), ({"retry_after": "99"}, 30)])
@on_virtual_time
async def test_call_429_closes_the_lane_for_a_while(headers: dict[str, str], expected: float | None) -> None:
    lane, loop = Lane(1), asyncio.get_running_loop()
    ask = endpoint(FakeTransport(token_script=(fail(429, **headers),)), lane)
    with pytest.raises(TokenError):
        await ask(REFRESH)
    assert not lane.try_acquire(loop.time())
    await ask(REFRESH)
    assert loop.time() == expected if expected else loop.time() > 0


async def test_call_cancelled_in_the_lane_leaves_no_trace() -> None:
    lane = Lane(1)
    transport = FakeTransport(latency=1.0)
    ask = endpoint(transport, lane)
    tasks = [asyncio.create_task(ask(REFRESH)) for _ in range(3)]
    await asyncio.sleep(0.5)
    tasks[0].cancel()
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert (transport.max_in_flight, lane.in_flight, lane.waiting) == (1, 0, 0)
    assert tasks[2].result().access_token.reveal() == "t2"


async def test_call_refused_says_what_to_check() -> None:
    invalid = fail(400, "invalid_client")
    for answer, client_id, advice in (
        (invalid, "stale", "check client_secret and client_id (a refresh token works without one)"),
        (invalid, None, "check client_secret"),
        (fail(401, "unauthorized"), None, "check base_url, which has the path '/v1'"),
    ):
        with pytest.raises(TokenError) as caught:
            await endpoint(FakeTransport(token_script=(answer,)))(attrs.evolve(REFRESH, client_id=client_id))
        assert caught.value.message.endswith(f": {advice}")
        assert not caught.value.transient
