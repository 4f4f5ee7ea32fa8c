"""A list whose success holds an error beside its data raises that error, however the list is read."""

import json
from typing import Any

import pytest

from brokerage_async import Client, Environment, StaticToken, errors
from brokerage_async._generated.operations import WATCHLISTS_LIST
from brokerage_async.protocol.response import Response
from tests.fake_transport import FakeTransport
from tests.loops import on_virtual_time
from tests.tables import for_each


def answering(body: dict[str, Any]) -> Client:
    transport = FakeTransport(Response(status=201, body=json.dumps(body).encode()))
    return Client(Environment.sandbox("https://api.example.com/v1"), StaticToken("t"), transport=transport)


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
    with pytest.raises(kind):
        await session.execute(WATCHLISTS_LIST.bind())
    with pytest.raises(kind):
        await session.fetch_if_changed(WATCHLISTS_LIST.bind(), None)


@for_each("error", [None, {}, "", []])
@on_virtual_time
async def test_empty_error_is_none(error: object) -> None:
    assert await answering({"data": {"items": []}, "error": error}).session.execute(WATCHLISTS_LIST.bind()) == []
