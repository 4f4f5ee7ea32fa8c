"""Attempts of one call: repetitions, tokens, the deadline, lanes, and observers."""

import asyncio
import logging
import pickle
import time
from email.utils import formatdate
from typing import Any

import pytest

from brokerage_async import errors
from brokerage_async._generated.operations import WATCHLISTS_LIST
from brokerage_async.config import Limits, RetryPolicy, StaticToken
from brokerage_async.http import call
from brokerage_async.http.limiter import LaneName
from brokerage_async.operation import Effect
from brokerage_async.protocol.response import Response
from tests.fake_transport import LOST, NOT_SENT, FakeTransport, fail, ok
from tests.http.calls import CALLS, STEADY, client_of, failure, mutate, now, preflight, raised_by, read, token
from tests.loops import on_virtual_time
from tests.tables import for_each

pytestmark = pytest.mark.virtual_time

INVALID = fail(401, "token_invalid")
FAULTS: dict[Any, Any] = {
    errors.RequestNotSentError: NOT_SENT, errors.ResponseLostError: LOST, errors.ServerError: fail(503),
    errors.RateLimitError: fail(429), errors.AuthenticationError: INVALID,
}  # fmt: skip
FINAL = {(Effect.MUTATE, errors.ResponseLostError), (Effect.MUTATE, errors.ServerError)}
LATER, PAUSE = fail(429, retry_after="9"), "the end of the pause after a 429"


class TestRepeating:
    @for_each("policy", [STEADY, RetryPolicy.none()])
    @for_each("kind", FAULTS)
    @for_each("effect", Effect)
    @on_virtual_time
    async def test_for_ever_ends_in_the_error_itself(self, effect: Any, kind: Any, policy: RetryPolicy) -> None:
        transport = FakeTransport(FAULTS[kind])
        error = await failure(kind, transport, retry=policy, call=CALLS[effect])
        is_repeated = (effect, kind) not in FINAL and policy is STEADY
        sends = 1 if not is_repeated else 2 if kind is errors.AuthenticationError else STEADY.max_attempts
        assert len(transport.requests) == error.attempts == sends
        assert pickle.loads(pickle.dumps(error)).attempts == sends

    @for_each("status", [400, 403, 404, 406, 409, 422, 302])
    @on_virtual_time
    async def test_refusals_are_final(self, status: int) -> None:
        transport = FakeTransport(fail(status))
        assert (await failure(errors.APIError, transport)).status == status
        assert len(transport.requests) == 1

    async def test_call_refused_for_the_user_asks_for_no_fresh_token(self) -> None:
        for code in ("unconfirmed_user", "invalid_credentials"):
            transport = FakeTransport(fail(401, code))
            error = await failure(errors.AuthenticationError, transport)
            assert (error.code, len(transport.requests)) == (code, 1)

    @for_each(
        "header, least, most",
        [
            ("7", 7, 7),
            ("99999999", 60, 60),
            *((header, None, None) for header in ("0", "soon", "-1", -20)),  # as if there were none
            (20, 18, 20),
            (10**6, 60, 60),
        ],
    )
    @for_each("status", [503, 429])
    @on_virtual_time
    async def test_retry_after(self, status: int, header: Any, least: float | None, most: float | None) -> None:
        """The header is a text, or a date that is so many seconds ahead."""
        if isinstance(header, int):
            header = formatdate(time.time() + header, usegmt=True)
        transport = FakeTransport(fail(status, retry_after=header), ok())
        async with client_of(transport) as client:
            await read(client)
        nothing_said = 1.5 if status == 429 else 0.5
        assert (least or nothing_said) <= transport.times[1] <= (most or nothing_said)

    async def test_budget_keeps_an_outage_from_multiplying_the_load(self) -> None:
        transport = FakeTransport(fail(503))
        async with client_of(transport) as client:
            for _ in range(500):
                await raised_by(read(client), errors.ServerError)
        assert len(transport.requests) == 600  # 500 calls, and 500 tokens at 5 each for repetitions

    @for_each("size", [1, 100_000])
    @for_each("way", ["execute", "fetch_if_changed"])
    @on_virtual_time
    async def test_undecodable_success_says_where_it_came_from(self, way: str, size: int) -> None:
        page = Response(status=200, headers={"content-type": "text/html"}, body=b"<html>Log in</html>" + b"x" * size)
        transport = FakeTransport(fail(503), page)
        async with client_of(transport) as client:
            call = getattr(client.session, way)(WATCHLISTS_LIST.bind(), *([b""] if way != "execute" else []))
            error = await raised_by(call, errors.ResponseDecodeError)
        assert (error.operation, error.method, error.path) == ("watchlists.list", "GET", "/watchlists")
        assert (error.status, error.attempts, len(transport.requests)) == (200, 2, 2)  # not repeated


class TestTokens:
    async def test_401_refreshes_once_and_repeats_and_the_last_attempt_still_drops_the_token(self) -> None:
        transport = FakeTransport(ok(), fail(401), ok())
        async with client_of(transport) as client:
            await read(client)
            await read(client)
        assert transport.tokens_used == ["Bearer t1", "Bearer t1", "Bearer t2"]
        transport = FakeTransport(fail(401), ok())
        async with client_of(transport, retry=RetryPolicy.none()) as client:
            await raised_by(read(client), errors.AuthenticationError)
            await read(client)
        assert transport.tokens_used == ["Bearer t1", "Bearer t2"]

    async def test_static_token_is_not_tried_twice(self) -> None:
        transport = FakeTransport(fail(401))
        await failure(errors.AuthenticationError, transport, StaticToken("abc"))
        assert len(transport.requests) == 1


LATE: dict[str, Any] = {"jitter": lambda: 0.9}


class TestDeadline:
    @for_each(
        "waiting_for, cause, maybe, call, step, tokens, options",
        [
            ("the response", errors.ResponseLostError, True, read, 10.0, (), {}),
            ("the response", errors.ResponseLostError, True, mutate, 10.0, (), {}),
            ("the next one, in 3.6 s", errors.ServerError, True, read, fail(503), (), LATE),
            ("the next one, in 3.6 s", errors.RequestNotSentError, False, mutate, NOT_SENT, (), LATE),
            (PAUSE, errors.RateLimitError, False, read, LATER, (), {}),
            ("an access token", None, False, read, ok(), (10.0,), {}),
            ("an access token", errors.AuthenticationError, False, read, INVALID, (token("a"), 10.0), {}),
            ("an access token", errors.TokenError, False, read, ok(), (fail(503), 10.0), {"base_delay": 1}),
        ],
    )
    @on_virtual_time
    async def test_says_what_it_waited_for_and_chains_the_last_failure(
        self, waiting_for: str, cause: Any, maybe: bool, call: Any, step: Any, tokens: Any, options: Any
    ) -> None:
        transport = FakeTransport(step, token_script=tokens)
        policy = RetryPolicy(**({"base_delay": 4, "jitter": lambda: 0.5} | options))
        error = await failure(errors.DeadlineExceededError, transport, deadline=2, retry=policy, call=call)
        assert now() <= 2
        assert error.maybe_processed is maybe
        counted = f"{error.attempts} attempt{'s' if error.attempts > 1 else ''}"
        assert error.message == f"deadline of 2 s exceeded after {counted}, while waiting for {waiting_for}"
        assert isinstance(error.__cause__, cause or type(None))

    @for_each(
        "limits, waiting_for",
        [
            (Limits(reads=1), "a free slot (Limits)"),
            (Limits(per_operation={"watchlists.list": 0.1}), "the rate of watchlists.list (Limits.per_operation)"),
        ],
    )
    @on_virtual_time
    async def test_names_the_limit_that_it_waited_for(self, limits: Limits, waiting_for: str) -> None:
        async with client_of(FakeTransport(5.0), limits=limits, timeout=60) as client:
            slow = asyncio.create_task(read(client))
            await asyncio.sleep(0.1)
            error = await raised_by(read(client.with_options(deadline=1)), errors.DeadlineExceededError)
            assert error.message.endswith(f", while waiting for {waiting_for}")
            assert (now(), error.maybe_processed) == (pytest.approx(1.1), False)
            await slow
            assert client.session.engine.limiter[LaneName.READS].in_flight == 0

    async def test_tells_a_missing_response_from_an_incomplete_one_and_from_no_connection(self) -> None:
        class Late(FakeTransport):
            async def send(self, request: Any) -> Any:
                await asyncio.sleep(request.timeout)
                raise cause

        for cause, waiting_for in (
            (errors.ResponseLostError("timeout"), "the response"),
            (errors.ResponseLostError("timeout", status=200), "the rest of the response body"),
            (errors.RequestNotSentError("timeout"), "a connection"),
        ):
            for way in (read, mutate):
                options: Any = {"deadline": 1, "call": way, "match": f"waiting for {waiting_for}$"}
                error = await failure(errors.DeadlineExceededError, Late(), StaticToken("t"), **options)
                assert error.__cause__ is cause

    async def test_timeout_of_one_attempt_is_no_deadline_and_none_is_no_bound(self) -> None:
        transport = FakeTransport(100.0, ok())
        async with client_of(transport, timeout=2) as client:
            await read(client)
            assert transport.times == [0, 2.5]
        await failure(errors.ResponseLostError, FakeTransport(100.0), timeout=2, call=mutate)
        async with client_of(FakeTransport(10_000.0), timeout=None) as client:
            await read(client)
            assert now() > 10_000


class TestObserving:
    async def test_one_record_per_attempt(self) -> None:
        seen = []
        transport = FakeTransport(fail(503, "internal_server_error"), fail(429), LOST, ok(), latency=0.25)
        async with client_of(transport, observers=[seen.append]) as client:
            await read(client)
        assert [(record.number, record.outcome, record.status, record.code, record.pause) for record in seen] == [
            (1, "server-error", 503, "internal_server_error", 0.5),
            (2, "throttled", 429, None, 0.0),
            (3, "lost", None, None, 2.0),
            (4, "success", 200, None, None),
        ]
        assert {record.operation for record in seen} == {"watchlists.list"}
        assert {(record.method, record.path) for record in seen} == {("GET", "/watchlists")}
        waited = [(record.elapsed, record.waited) for record in seen]
        assert waited == [(0.25, 0.25), (0.25, 0.0), (0.25, 1.5), (0.25, 0.0)]  # for a token, and after the 429
        assert seen[-1].response_bytes == len(ok().body)

    async def test_path_is_the_template_and_nothing_private_is_told(self) -> None:
        seen = []
        async with client_of(FakeTransport(ok()), observers=[seen.append]) as client:
            await mutate(client)
            await preflight(client)
        assert (seen[0].path, seen[1].request_bytes) == ("/accounts/{account_number}/orders/{id}", 2)
        assert [private for private in ("5WT1", "t1") if private in repr(seen)] == []

    async def test_abandoned_attempts_are_told_too(self) -> None:
        seen = []
        async with client_of(FakeTransport(100.0), observers=[seen.append], timeout=None) as client:
            call = asyncio.create_task(read(client))
            await asyncio.sleep(3)
            call.cancel()
            await asyncio.wait({call})
        assert [(record.outcome, record.elapsed) for record in seen] == [("abandoned", 3.0)]

    async def test_log_has_operation_attempt_status_time_and_no_secret(self, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG, "brokerage_async")
        transport = FakeTransport(fail(503), fail(401, "token_invalid"), LOST, ok(), latency=0.25)
        async with client_of(transport) as client:
            await preflight(client)
        assert [said for name, _, said in caplog.record_tuples if name == "brokerage_async.session"] == [
            "orders.dry_run attempt 1: server-error (503) in 0.250 s",
            "orders.dry_run attempt 2: unauthorized (401) in 0.250 s",
            "orders.dry_run attempt 3: lost (no answer) in 0.250 s",
            "orders.dry_run attempt 4: success (200) in 0.250 s",
        ]
        assert "s3cr3t" not in caplog.text
        assert "t1" not in caplog.text


async def test_call_of_a_deprecated_operation_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    call._warn_of_deprecation.cache_clear()  # once in a process, whichever test came first
    async with client_of(FakeTransport(ok())) as client:
        for _ in range(2):
            await client.instruments.future_option_product("ES3")
            await read(client)
    [warned] = [message for message in caplog.messages if "deprecated" in message]
    assert warned.startswith("instruments.future_option_product is deprecated by the service")
