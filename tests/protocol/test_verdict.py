"""Verdict of every decider on every error. The deciders must reproduce these tables."""

import json

from brokerage_async import errors
from brokerage_async.bulk import failure_scope
from brokerage_async.order_entry.decisions import delivery_of, is_permanent, preflight_outcome
from brokerage_async.protocol.response import Response, read_error
from brokerage_async.protocol.retry import Outcome, Processed, verdict_of
from brokerage_async.stream import link
from brokerage_async.watch.feed import is_fatal
from tests.tables import for_each

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
    RateLimitError                                ambiguous     -     -       throttled  unknown   not_sent  no
    RequestNotSentError                           not-sent      -     -       fetch      not_sent  not_sent  no
    RequestNotSentError(code=errors.WITHHELD)     withheld      -     -       fetch      not_sent  not_sent  no
    RequestNotSentError(code=errors.PROXY_AUTHENTICATION)  proxy-login  -  -  fetch      not_sent  not_sent  no
    ResponseDecodeError                           ambiguous     -     -       keys       accepted  not_sent  no
    ResponseDecodeError(status=500)               ambiguous     -     -       keys       accepted  not_sent  no
    ResponseLostError                             lost          -     -       ambiguous  unknown   not_sent  no
    ServerError                                   server-error  -     -       ambiguous  unknown   not_sent  no
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
ROWS = {name: decisions for name, *decisions in map(str.split, DECISIONS.strip().splitlines()[1:])}

ANSWERS = """
    status  page               unauthorized  unconfirmed_user  not_permitted  other         timeout_error
    302     ambiguous          ambiguous     ambiguous         ambiguous      ambiguous     server-error
    400     ambiguous          refused       refused           refused        refused       server-error
    401     unauthorized-page  unauthorized  refused           unauthorized   unauthorized  server-error
    403     ambiguous          refused       refused           refused        refused       server-error
    404     ambiguous          refused       refused           refused        refused       server-error
    406     ambiguous          refused       refused           refused        refused       server-error
    408     ambiguous          ambiguous     ambiguous         ambiguous      ambiguous     server-error
    409     ambiguous          ambiguous     ambiguous         ambiguous      ambiguous     server-error
    422     ambiguous          refused       refused           refused        refused       server-error
    425     ambiguous          ambiguous     ambiguous         ambiguous      ambiguous     server-error
    429     throttled          throttled     throttled         throttled      throttled     server-error
    451     ambiguous          ambiguous     ambiguous         ambiguous      ambiguous     server-error
    499     ambiguous          ambiguous     ambiguous         ambiguous      ambiguous     server-error
    500     server-error       server-error  server-error      server-error   server-error  server-error
    504     server-error       server-error  server-error      server-error   server-error  server-error
"""
HEAD, *LINES = map(str.split, ANSWERS.strip().splitlines())
CELLS = [(int(line[0]), code, outcome) for line in LINES for code, outcome in zip(HEAD[1:], line[1:], strict=True)]


def _polling(error: Exception) -> str:
    return "ends" if is_fatal(error, 1) else "10" if is_fatal(error, 10) and not is_fatal(error, 9) else "-"


def _streaming(error: Exception) -> str:
    return "ends" if link.is_fatal(error) else "3" if link.is_refusal(error) else "-"


def _error(row: str) -> Exception:
    found: Exception = eval(row if "(" in row else f"{row}()", {"errors": errors, **vars(errors)})
    return found


@for_each("row", ROWS)
def test_decisions(row: str) -> None:
    error, decided = _error(row), ["none"] * 7
    decided[1:4] = _polling(error), _streaming(error), failure_scope(error).name.lower()
    if isinstance(error, errors.BrokerageError):
        decided[0] = verdict_of(error).outcome.value
        decided[4:] = delivery_of(error).value, preflight_outcome(error).value, "yes" if is_permanent(error) else "no"
    assert decided == ROWS[row]


def test_decisions_cover_every_error() -> None:
    kinds = {name for name in errors.__all__ if isinstance(kind := getattr(errors, name), type)
             and issubclass(kind, Exception)}  # fmt: skip
    assert kinds - ROWS.keys() == set()


@for_each("status, code, outcome", CELLS)
def test_answer_is_judged_by_status_and_envelope_and_otherwise_by_its_class(
    status: int, code: str, outcome: str
) -> None:
    body = PAGE if code == "page" else json.dumps({"error": {"code": code, "message": "no"}}).encode()
    error = read_error(None, Response(status=status, body=body))
    assert verdict_of(error).outcome is Outcome(outcome)
    assert error.maybe_processed is (verdict_of(error).processed is not Processed.NO)
    assert [_polling(error), _streaming(error), failure_scope(error).name.lower()] == ROWS[type(error).__name__][1:4]
