"""Answers that are not what their status says: a success that holds an error, and a refusal by a proxy."""

import json
from typing import Any
from unittest.mock import AsyncMock, Mock

from brokerage_async import Client, errors
from brokerage_async._generated.operations import WATCHLISTS_LIST
from brokerage_async.protocol.response import Response
from brokerage_async.tickets import buy_to_open, limit
from tests.fake_transport import FakeTransport
from tests.http.calls import client_of, raised_by
from tests.loops import on_virtual_time
from tests.tables import for_each


def answering(body: dict[str, Any]) -> Client:
    return client_of(FakeTransport(Response(status=201, body=json.dumps(body).encode())))


@for_each("size", [1, 20_000])  # at once, and in slices
@for_each("name", [0, "x"])  # untyped, and typed
@for_each(
    "error, kind",
    [
        ({"code": "record_not_found"}, errors.NotFoundError),
        ({"code": "other"}, errors.UnprocessableError),
        ("x", errors.UnprocessableError),
    ],
)
@on_virtual_time
async def test_error_of_a_list_is_raised(size: int, name: object, error: object, kind: type[Exception]) -> None:
    body = {"data": {"items": [{"name": name, "group-name": "g" * 20}] * size}, "error": error}
    session = answering(body).session
    await raised_by(session.execute(WATCHLISTS_LIST.bind()), kind)
    await raised_by(session.fetch_if_changed(WATCHLISTS_LIST.bind(), None), kind)


@for_each("error", [None, {}, "", []])
@on_virtual_time
async def test_empty_error_is_none(error: object) -> None:
    assert await answering({"data": {"items": []}, "error": error}).session.execute(WATCHLISTS_LIST.bind()) == []


@for_each("failure", [None, errors.TokenError("no more tokens")])
@on_virtual_time
async def test_submit_answered_by_a_401_page_renews_the_token_and_is_not_hidden_if_that_fails(
    failure: Exception | None,
) -> None:
    """A `TokenError` would say that nothing was sent."""
    answer = Response(status=401, body=b"<html><body>Request rejected</body></html>")
    get_token, invalidate = AsyncMock(return_value="invented"), Mock(return_value=True, side_effect=failure)
    provider, transport = Mock(get_token=get_token, invalidate=invalidate), FakeTransport(answer)
    caught: errors.APIError | None = None
    async with client_of(transport, provider) as client:
        try:
            await client.orders.submit("5WT1", limit(buy_to_open("AAPL", 1), price="1.00"))
        except errors.AuthenticationError as error:
            caught = error
    assert caught is not None
    assert caught.maybe_processed
    invalidate.assert_called_once_with("invented")
    assert len(transport.requests) == 1
