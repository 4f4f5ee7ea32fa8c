"""Values that consumers of a stream receive."""

from __future__ import annotations

import pytest

from brokerage_async import models
from brokerage_async.protocol.streams.events import INDEXED, MARKET_EVENTS, AccountEvent


@pytest.mark.parametrize(
    ("data", "number"),
    [(models.Order(account_number="A"), "A"), ({"account-number": "B"}, "B"), ({"account-number": 7}, None),
     (models.QuoteAlert(), None), (None, None)],
)  # fmt: skip
def test_account_number_of_an_event(data: object, number: str | None) -> None:
    assert AccountEvent(type="X", data=data).account_number == number


def test_indexed_events_are_those_with_flags() -> None:
    assert {model for model in MARKET_EVENTS.values() if hasattr(model(), "event_flags")} == INDEXED
