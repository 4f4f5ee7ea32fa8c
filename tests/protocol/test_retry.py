"""Calls that may be retried, and when: the verdict on every error. What decides must reproduce these tables."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import errors
from brokerage_async.bulk import failure_scope
from brokerage_async.config import RetryPolicy
from brokerage_async.operation import Effect
from brokerage_async.order_entry.decisions import delivery_of, is_permanent, preflight_outcome
from brokerage_async.protocol import retry
from brokerage_async.protocol.response import Response, read_error
from brokerage_async.stream import link
from brokerage_async.watch.feed import is_fatal
from tests.tables import for_each

EXPECTED = """
            not-sent lost   server-error throttled unauthorized unauthorized-page refused ambiguous withheld proxy-login
  read      repeat   repeat repeat       wait      refresh      refresh           raise   raise     raise    raise
  preflight repeat   repeat repeat       wait      refresh      refresh           raise   raise     raise    raise
  mutate    repeat   raise  raise        wait      refresh      raise             raise   raise     raise    raise
"""
HEAD, *ROWS = [line.split() for line in EXPECTED.strip().splitlines()]
CELLS = [(row[0], outcome, action) for row in ROWS for outcome, action in zip(HEAD, row[1:], strict=True)]


def test_table() -> None:
    def decided(effect: str, outcome: str) -> retry.Action:
        return retry.decide(Effect(effect), retry.Outcome(outcome), attempt=1, policy=RetryPolicy(), refreshed=False)

    assert [cell for cell in CELLS if decided(*cell[:2]) is not retry.Action(cell[2])] == []
    cells = {(effect.value, outcome.value) for effect in retry.TABLE for outcome in retry.TABLE[effect]}
    assert cells == {(effect, outcome) for effect, outcome, _ in CELLS}


@given(
    effect=st.sampled_from(Effect),
    outcome=st.sampled_from(sorted(set(retry.Outcome) - {retry.Outcome.SUCCESS})),
    attempt=st.integers(1, 10),
    most=st.integers(1, 10),
    refreshed=st.booleans(),
)
def test_no_policy_makes_the_unsafe_safe(effect: Any, outcome: Any, attempt: int, most: int, refreshed: bool) -> None:
    action = retry.decide(effect, outcome, attempt=attempt, policy=RetryPolicy(max_attempts=most), refreshed=refreshed)
    if attempt >= most or (effect is Effect.MUTATE and outcome.maybe_processed):
        assert action is retry.Action.RAISE
    if outcome in {retry.Outcome.UNAUTHORIZED, retry.Outcome.UNAUTHORIZED_PAGE} and refreshed:
        assert action is retry.Action.RAISE


class TestWaiting:
    @given(attempt=st.integers(1, 10_000), fraction=st.floats(0, 1, exclude_max=True))
    def test_full_jitter_under_a_doubling_cap(self, attempt: int, fraction: float) -> None:
        policy = RetryPolicy(base_delay=0.5, max_delay=8)
        assert 0 <= retry.full_jitter(policy).pause(attempt, fraction) <= min(8, 0.5 * 2 ** min(attempt - 1, 60))

    def test_doubles_until_capped_and_throttling_always_waits(self) -> None:
        policy = RetryPolicy(base_delay=0.5, max_delay=3)
        assert [retry.full_jitter(policy).pause(attempt, 1.0) for attempt in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]
        assert [retry.throttling(policy).pause(streak) for streak in (1, 2, 3, 99)] == [0.5, 1.0, 1.5, 1.5]
        wishes = {None: 0.0, 0.0: 0.0, 5.0: 5.0, 86400.0: 60.0, 1e300: 60.0}
        assert {wish: retry.full_jitter(RetryPolicy()).pause(1, 0.0, wish=wish) for wish in wishes} == wishes

    def test_pause_before_repeat_is_half_of_a_doubling_one_or_the_wish_of_the_service(self) -> None:
        for retry_after, attempt, pause in ((None, 1, 0.25), (None, 3, 1.0), (5.0, 1, 5.0)):
            error = errors.ServerError(retry_after=retry_after)
            policy = RetryPolicy(base_delay=0.5)
            assert retry.pause_before_repeat(error, attempt=attempt, policy=policy, chance=0.5) == pause


@for_each("failures, chance, pause", [(1, 1.0, 0.5), (1, 0.0, 0.25), (2, 1.0, 1.0), (7, 1.0, 30.0), (10**6, 0.5, 22.5)])
def test_backoff_doubles_up_to_the_maximum_with_jitter(failures: int, chance: float, pause: float) -> None:
    assert retry.Backoff(jitter=0.5).pause(failures, chance) == pause


@for_each("wish, pauses", [(None, [1.5, 3.0, 6.0]), (7.0, [7.0] * 3), (1e6, [30.0] * 3), (0.0, [1.5, 3.0, 6.0])])
def test_pause_after_429_is_the_wish_within_bounds_or_grows(wish: float | None, pauses: list[float]) -> None:
    error = errors.RateLimitError(retry_after=wish)
    pause = retry.pause_after_429(error, policy=RetryPolicy(base_delay=1.0, max_retry_after=30.0), chance=0.5)
    assert [pause(streak) for streak in (1, 2, 3)] == pauses


class TestBudget:
    def test_an_outage_drains_it_and_lost_answers_cost_more(self) -> None:
        budget = retry.RetryBudget(100)
        assert sum(budget.spend(retry.Outcome.SERVER_ERROR) is not None for _ in range(100)) == 20
        budget = retry.RetryBudget(100)
        assert (budget.spend(retry.Outcome.LOST), budget.spend(retry.Outcome.NOT_SENT)) == (10, 5)
        unbounded = retry.RetryBudget(None)
        assert all(unbounded.spend(retry.Outcome.LOST) == 0 for _ in range(1000))
        for size, earned in ((100, [10]), (10, [0] * 20)):  # successes refill it
            budget = retry.RetryBudget(size)
            budget.spend(retry.Outcome.LOST)
            for cost in earned:
                budget.earn(cost)
            assert budget.tokens == size

    @given(st.lists(st.sampled_from(["spend", "succeed"]), max_size=200))
    def test_stays_within_bounds(self, steps: Any) -> None:
        budget = retry.RetryBudget(30)
        for step in steps:
            if step == "spend":
                budget.spend(retry.Outcome.LOST)
            else:
                budget.earn(0)
            assert 0 <= budget.tokens <= 30


PAGE = b"<html>Forbidden</html>"

# poll and stream: "-" goes on, "10" and "3" end after that number of errors in a row, "ends" ends at once
DECISIONS = """
    error                                         retry         poll  stream  bulk       submit    dry-run   for-ever
    APIError                                      ambiguous     ends  ends    keys       unknown   not_sent  no
    APIError(status=500)                          server-error  ends  ends    keys       unknown   not_sent  no
    AuthenticationError                           ambiguous     10    3       fetch      unknown   not_sent  no
    BadRequestError                               ambiguous     ends  ends    keys       unknown   not_sent  no
    BrokerageError                                refused       ends  ends    fetch      not_sent  not_sent  no
    ConfigurationError                            refused       ends  ends    fetch      not_sent  not_sent  yes
    DeadlineExceededError                         lost          -     -       fetch      unknown   not_sent  no
    DeadlineExceededError(maybe_processed=False)  lost          -     -       fetch      not_sent  not_sent  no
    IncompleteFetchError                          refused       ends  ends    fetch      not_sent  not_sent  no
    InvalidRequestError                           refused       ends  ends    keys       not_sent  not_sent  yes
    MessageTooLargeError                          refused       ends  -       fetch      not_sent  not_sent  no
    NotFoundError                                 ambiguous     ends  ends    keys       unknown   not_sent  no
    OrderError                                    refused       ends  ends    fetch      not_sent  not_sent  no
    OrderNotCancellableError                      ambiguous     ends  ends    keys       unknown   not_sent  no
    OrderNotSentError                             refused       ends  ends    fetch      not_sent  not_sent  no
    OrderOutcomeUnknownError                      refused       ends  ends    fetch      not_sent  not_sent  no
    OrderRefusedError                             refused       ends  ends    fetch      not_sent  not_sent  no
    PermissionDeniedError                         ambiguous     ends  ends    denied     unknown   not_sent  no
    PreflightError                                ambiguous     ends  ends    keys       unknown   not_sent  no
    PreflightError(status=201)                    ambiguous     ends  ends    keys       accepted  refused   no
    RateLimitError                                ambiguous     -     -       throttled  unknown   not_sent  no
    RequestNotSentError                           not-sent      -     -       fetch      not_sent  not_sent  no
    RequestNotSentError(code=errors.WITHHELD)     withheld      -     -       fetch      not_sent  not_sent  no
    RequestNotSentError(code=errors.PROXY_AUTHENTICATION)  proxy-login  -  -  fetch      not_sent  not_sent  no
    ResponseDecodeError                           ambiguous     -     -       keys       accepted  not_sent  no
    ResponseDecodeError(status=500)               ambiguous     -     -       keys       accepted  not_sent  no
    ResponseLostError                             lost          -     -       ambiguous  unknown   not_sent  no
    ServerError                                   server-error  -     -       ambiguous  unknown   not_sent  no
    ServerError(status=201)                       server-error  -     -       keys       accepted  not_sent  no
    SlowConsumerError                             refused       ends  ends    fetch      not_sent  not_sent  no
    StreamError                                   refused       ends  ends    fetch      not_sent  not_sent  no
    StreamRefusedError                            refused       ends  3       fetch      not_sent  not_sent  no
    TokenError                                    refused       ends  ends    fetch      not_sent  not_sent  yes
    TokenError(transient=True)                    refused       -     -       fetch      not_sent  not_sent  no
    TokenError(transient=True,status=429)         refused       -     -       fetch      not_sent  not_sent  no
    TransportError                                lost          -     -       fetch      unknown   not_sent  no
    UnprocessableError                            ambiguous     ends  ends    keys       unknown   not_sent  no
    UnprocessableError(status=200)                ambiguous     ends  ends    keys       accepted  refused   no
    VersionNotSupportedError                      ambiguous     ends  ends    fetch      unknown   not_sent  no
    OSError                                       none          -     -       fetch      none      none      none
    ConnectionResetError                          none          -     -       fetch      none      none      none
    TimeoutError                                  none          -     -       fetch      none      none      none
    TypeError                                     none          ends  ends    fetch      none      none      none
    KeyError                                      none          ends  ends    fetch      none      none      none
    RuntimeError                                  none          ends  ends    fetch      none      none      none
"""
DECIDED = {name: decisions for name, *decisions in map(str.split, DECISIONS.strip().splitlines()[1:])}

ANSWERS = """
    status page              unauthorized unconfirmed_user invalid_credentials not_permitted other        timeout_error
    302    ambiguous         ambiguous    ambiguous        ambiguous           ambiguous     ambiguous    server-error
    400    ambiguous         refused      refused          refused             refused       refused      server-error
    401    unauthorized-page unauthorized refused          refused             unauthorized  unauthorized server-error
    403    ambiguous         refused      refused          refused             refused       refused      server-error
    404    ambiguous         refused      refused          refused             refused       refused      server-error
    406    ambiguous         refused      refused          refused             refused       refused      server-error
    408    ambiguous         ambiguous    ambiguous        ambiguous           ambiguous     ambiguous    server-error
    409    ambiguous         ambiguous    ambiguous        ambiguous           ambiguous     ambiguous    server-error
    422    ambiguous         refused      refused          refused             refused       refused      server-error
    425    ambiguous         ambiguous    ambiguous        ambiguous           ambiguous     ambiguous    server-error
    429    throttled         throttled    throttled        throttled           throttled     throttled    server-error
    451    ambiguous         ambiguous    ambiguous        ambiguous           ambiguous     ambiguous    server-error
    499    ambiguous         ambiguous    ambiguous        ambiguous           ambiguous     ambiguous    server-error
    500    server-error      server-error server-error     server-error        server-error  server-error server-error
    504    server-error      server-error server-error     server-error        server-error  server-error server-error
"""
DELIVERIES = {"refused": "refused", "unauthorized": "not_sent", "throttled": "not_sent"}
CODES, *LINES = map(str.split, ANSWERS.strip().splitlines())
OUTCOMES = [(int(line[0]), code, outcome) for line in LINES for code, outcome in zip(CODES[1:], line[1:], strict=True)]


def _polling(error: Exception) -> str:
    return "ends" if is_fatal(error, 1) else "10" if is_fatal(error, 10) and not is_fatal(error, 9) else "-"


def _streaming(error: Exception) -> str:
    return "ends" if link.is_fatal(error) else "3" if link.is_refusal(error) else "-"


def _error(row: str) -> Exception:
    found: Exception = eval(row if "(" in row else f"{row}()", {"errors": errors, **vars(errors)})
    return found


@for_each("row", DECIDED)
def test_decisions(row: str) -> None:
    error, decided = _error(row), ["none"] * 7
    decided[1:4] = _polling(error), _streaming(error), failure_scope(error).name.lower()
    if isinstance(error, errors.BrokerageError):
        decided[0] = retry.verdict_of(error).outcome.value
        decided[4:] = delivery_of(error).value, preflight_outcome(error).value, "yes" if is_permanent(error) else "no"
    assert decided == DECIDED[row]


def test_decisions_cover_every_error() -> None:
    kinds = {name for name in errors.__all__ if isinstance(kind := getattr(errors, name), type)
             and issubclass(kind, Exception)}  # fmt: skip
    assert kinds - DECIDED.keys() == set()


@for_each("status, code, outcome", OUTCOMES)
def test_answer_is_judged_by_status_and_envelope_and_else_by_its_class(status: int, code: str, outcome: str) -> None:
    body = PAGE if code == "page" else json.dumps({"error": {"code": code, "message": "no"}}).encode()
    error = read_error(None, Response(status=status, body=body))
    assert retry.verdict_of(error).outcome is retry.Outcome(outcome)
    assert error.maybe_processed is (retry.verdict_of(error).processed is not retry.Processed.NO)
    name = {408: "ServerError", 425: "ServerError", 429: "RateLimitError"}.get(status, type(error).__name__)
    expected = DECIDED["ServerError" if code == "timeout_error" else name][1:4]
    assert [_polling(error), _streaming(error), failure_scope(error).name.lower()] == expected
    delivery = DELIVERIES.get(outcome, "unknown") if (status, outcome) != (401, "refused") else "not_sent"
    is_judged = delivery == "refused" and not isinstance(error, errors.AuthenticationError)
    assert (delivery_of(error).value, preflight_outcome(error).value == "refused") == (delivery, is_judged)
    assert is_permanent(error) is (outcome in ("refused", "unauthorized"))
