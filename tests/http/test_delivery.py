"""What a failed send says about the request: never sent, answered, or maybe processed."""

from __future__ import annotations

import inspect
import ssl

import aiohttp
from aiohttp import client_exceptions

from brokerage_async.http import delivery
from brokerage_async.http.delivery import Delivery, classify
from tests.tables import for_each

EVERY = [
    kind
    for kind in vars(client_exceptions).values()
    if inspect.isclass(kind) and issubclass(kind, aiohttp.ClientError) and kind is not aiohttp.ClientError
]
ELSE = [TimeoutError, ConnectionResetError, BrokenPipeError, ssl.SSLError, OSError, ValueError, RuntimeError]


def blank(kind: type[BaseException]) -> BaseException:
    """An instance without its constructor: only the class counts."""
    return kind.__new__(kind)


@for_each("kind", [*EVERY, *ELSE])
def test_what_was_never_written_was_never_sent(kind: type[BaseException]) -> None:
    assert classify(blank(kind), written=False) is Delivery.NEVER_SENT


@for_each("kind", ELSE)
def test_what_aiohttp_does_not_name_may_have_been_processed(kind: type[BaseException]) -> None:
    assert classify(blank(kind), written=True) is Delivery.MAYBE_PROCESSED


@for_each("kind", EVERY)
def test_never_sent_wins_over_answered_and_all_else_is_doubt(kind: type[BaseException]) -> None:
    expected = Delivery.MAYBE_PROCESSED
    if issubclass(kind, delivery.ANSWERED):
        expected = Delivery.ANSWERED
    if issubclass(kind, delivery.NEVER_SENT):
        expected = Delivery.NEVER_SENT
    assert classify(blank(kind), written=True) is expected


def test_a_proxy_that_refuses_the_tunnel_answered_but_the_request_never_left() -> None:
    assert issubclass(aiohttp.ClientHttpProxyError, delivery.ANSWERED)
    assert classify(blank(aiohttp.ClientHttpProxyError), written=True) is Delivery.NEVER_SENT


@for_each(
    "kind",
    [aiohttp.ServerDisconnectedError, aiohttp.ServerTimeoutError, aiohttp.SocketTimeoutError, aiohttp.ClientOSError],
)
def test_a_connection_that_dropped_leaves_doubt(kind: type[BaseException]) -> None:
    assert classify(blank(kind), written=True) is Delivery.MAYBE_PROCESSED
