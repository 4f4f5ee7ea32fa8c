"""A success whose body holds an error beside its data is that error, whatever was asked for."""

import json
from typing import Any

import pytest

from brokerage_async._generated.models import PlacedOrderResponse
from brokerage_async._generated.operations import ORDERS_DRY_RUN, WATCHLISTS_LIST
from brokerage_async.client import Client
from brokerage_async.config import Environment, StaticToken
from brokerage_async.errors import NotFoundError, PreflightError, UnprocessableError
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.response import Response
from tests.fake_transport import FakeTransport

ERROR = {"code": "preflight_check_failure", "message": "no"}


def answering(body: dict[str, Any]) -> Client:
    transport = FakeTransport(Response(status=201, body=json.dumps(body).encode()))
    return Client(Environment.sandbox("https://api.example.com/v1"), StaticToken("t"), transport=transport)


async def test_the_error_of_a_single_resource_is_raised_with_the_data() -> None:
    client = answering({"data": {"order": {"status": "Received"}}, "error": ERROR})
    with pytest.raises(PreflightError, match="no") as caught:
        await client.session.execute(ORDERS_DRY_RUN.bind(account_number="5WT1", body=b"{}"))
    assert isinstance(caught.value.data, PlacedOrderResponse)


@pytest.mark.parametrize("size", [1, 20_000], ids=["at once", "in slices"])
@pytest.mark.parametrize("name", [0, "x"], ids=["untyped", "typed"])
@pytest.mark.parametrize(
    ("error", "kind"),
    [({"code": "record_not_found"}, NotFoundError), ({"code": "other"}, UnprocessableError), ("x", UnprocessableError)],
)
async def test_the_error_of_a_list_is_raised(size: int, name: object, error: object, kind: type[Exception]) -> None:
    body = {"data": {"items": [{"name": name, "group-name": "g" * 20}] * size}, "error": error}
    with pytest.raises(kind):
        await answering(body).session.execute(WATCHLISTS_LIST.bind())
    with pytest.raises(kind):
        await answering(body).session.fetch_if_changed(WATCHLISTS_LIST.bind(), None)


@pytest.mark.parametrize("error", [None, {}, "", []])
async def test_an_empty_error_is_none(error: object) -> None:
    assert await answering({"data": {"items": []}, "error": error}).session.execute(WATCHLISTS_LIST.bind()) == []


def test_the_codec_shows_the_error_beside_the_data() -> None:
    decoded = codec.decode(ORDERS_DRY_RUN, json.dumps({"data": {}, "error": ERROR}).encode())
    assert decoded.error == ERROR
