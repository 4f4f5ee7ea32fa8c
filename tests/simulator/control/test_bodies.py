"""Bodies of the control API: accepted fields, and defaults for omitted ones."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from brokerage_async.simulator.control import views
from tests.tables import for_each


@for_each(
    "kind, body, expected",
    [
        (views.ClockChange, {}, views.ClockChange(advance=None, speed=None)),
        (views.FaultRule, {"fault": "hang"}, views.FaultRule(fault="hang", method="*", path=".*", times=1)),
        (views.FillOrder, {}, views.FillOrder(quantity=None, price=None)),
        (views.RejectOrder, {}, views.RejectOrder(reason="Rejected by the exchange")),
        (views.PriceChange, {"price": None}, views.PriceChange(price=None)),
    ],
)
def test_fields_left_out_have_their_default(kind: type[views.Body], body: Any, expected: views.Body) -> None:
    assert msgspec.json.decode(msgspec.json.encode(body), type=kind) == expected


@for_each("kind", views.Body.__subclasses__())
def test_unknown_fields_are_refused(kind: type[views.Body]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"no-such-field": 1}', type=kind)


@for_each(
    "kind, body",
    [
        (views.PriceChange, {}),
        (views.RateLimit, {}),
        (views.FaultRule, {}),
        (views.PriceChange, {"price": 150}),
        (views.ClockChange, {"advance": "60"}),
        (views.FaultRule, {"fault": "hang", "times": 1.5}),
        (views.SentRequest, {"method": "GET"}),
    ],
)
def test_missing_fields_and_wrong_types_are_refused(kind: type[views.Body], body: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode(body), type=kind)
