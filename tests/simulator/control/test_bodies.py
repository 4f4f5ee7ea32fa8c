"""Bodies of the control API: what they take, and what they leave out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from brokerage_async.simulator.control import bodies
from tests.tables import for_each


@for_each(
    "kind, body, expected",
    [
        (bodies.ClockChange, {}, bodies.ClockChange(advance=None, speed=None)),
        (bodies.FaultRule, {"fault": "hang"}, bodies.FaultRule(fault="hang", method="*", path=".*", times=1)),
        (bodies.FillOrder, {}, bodies.FillOrder(quantity=None, price=None)),
        (bodies.RejectOrder, {}, bodies.RejectOrder(reason="Rejected by the exchange")),
        (bodies.PriceChange, {"price": None}, bodies.PriceChange(price=None)),
    ],
)
def test_fields_left_out_have_their_default(kind: type[bodies.Body], body: Any, expected: bodies.Body) -> None:
    assert msgspec.json.decode(msgspec.json.encode(body), type=kind) == expected


@for_each("kind", bodies.Body.__subclasses__())
def test_unknown_fields_are_refused(kind: type[bodies.Body]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"no-such-field": 1}', type=kind)


@for_each(
    "kind, body",
    [
        (bodies.PriceChange, {}),
        (bodies.RateLimit, {}),
        (bodies.FaultRule, {}),
        (bodies.PriceChange, {"price": 150}),
        (bodies.ClockChange, {"advance": "60"}),
        (bodies.FaultRule, {"fault": "hang", "times": 1.5}),
        (bodies.SentRequest, {"method": "GET"}),
    ],
)
def test_missing_fields_and_wrong_types_are_refused(kind: type[bodies.Body], body: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode(body), type=kind)


def test_every_name_is_exported() -> None:
    classes = {each.__name__ for base in (bodies.Body, bodies.View) for each in base.__subclasses__()}
    assert classes | {"Body", "View"} == set(bodies.__all__)
