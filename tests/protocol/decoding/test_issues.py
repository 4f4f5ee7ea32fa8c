"""Warnings and strict errors about an invalid value: its path, the reason, and the result."""

import json
from typing import Any

import pytest

from brokerage_async._generated.operations import ORDERS_GET, ORDERS_LIST
from brokerage_async.errors import ResponseDecodeError
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.decoding.adaptive import DecoderRegistry
from tests.tables import for_each


@for_each(
    "body, issue, outcome",
    [
        ({"data": {"items": [{"status": [1]}]}}, "$.data.items[].status: expected str, got a list",
         "kept as raw JSON in extra"),
        ({"data": {"items": [{"legs": [7]}]}}, "$.data.items[].legs[]: expected an object, got a number", "left out"),
        ({"data": {"items": [7]}}, "$.data.items[]: expected an object, got a number", "left out"),
        ({"data": {"items": None}}, "$.data.items: expected a list, got null", "read as an empty list"),
        ({"data": []}, "$.data: expected an object with items, got a list", "read all the same"),
        ({"items": []}, "$: the items are not under data", "read all the same"),
        ({"data": {"items": []}, "context": 7}, "$.context: expected a string, got a number", "ignored"),
        ({"data": {"items": []}, "pagination": []}, "$.pagination: expected an object, got a list", "ignored"),
    ],
)  # fmt: skip
def test_an_issue_names_its_outcome(body: Any, issue: str, outcome: str, caplog: pytest.LogCaptureFixture) -> None:
    content = json.dumps(body).encode()
    codec.decode(ORDERS_LIST, content, registry=DecoderRegistry())
    assert [record.getMessage() for record in caplog.records] == [f"orders.list: {issue}; {outcome}"]
    caplog.clear()
    with pytest.raises(ResponseDecodeError) as caught:
        codec.decode(ORDERS_LIST, content, strict=True, registry=DecoderRegistry())
    assert caught.value.message == f"{issue.replace('[]', '[0]')}; rejected in strict mode"
    assert not caplog.records


def test_decode_resource_outside_data_or_page_is_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    order = codec.decode(ORDERS_GET, b'{"id": "1", "status": "Live", "symbol": "A"}', registry=DecoderRegistry())
    assert order.value.id == "1"
    assert [record.getMessage() for record in caplog.records] == [
        "orders.get: $: the resource is not under data; read all the same"
    ]
    with pytest.raises(ResponseDecodeError) as caught:
        codec.decode(ORDERS_LIST, b"\n<!doctype html><title>Welcome</title>")
    assert caught.value.message == "$: an HTML page came back instead of JSON: check base_url"
