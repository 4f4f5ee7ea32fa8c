"""Values that consumers of a stream receive."""

from __future__ import annotations

import pytest

from brokerage_async import models
from brokerage_async.protocol.streams.events import ACCOUNT_EVENTS, INDEXED, MARKET_EVENTS, AccountEvent, EventFlag


@pytest.mark.parametrize(
    ("data", "number"),
    [(models.Order(account_number="A"), "A"), ({"account-number": "B"}, "B"), ({"account-number": 7}, None),
     (models.QuoteAlert(), None), (None, None)],
)  # fmt: skip
def test_account_number_of_an_event(data: object, number: str | None) -> None:
    assert AccountEvent(type="X", data=data).account_number == number


def test_indexed_events_are_those_with_flags() -> None:
    assert {model for model in MARKET_EVENTS.values() if hasattr(model(), "event_flags")} == INDEXED


def test_account_events_have_the_names_of_the_service() -> None:
    assert dict(ACCOUNT_EVENTS) == {
        "Order": models.Order,
        "ComplexOrder": models.ComplexOrder,
        "AccountBalance": models.AccountBalance,
        "CurrentPosition": models.Position,
        "TradingStatus": models.TradingStatus,
        "ExternalTransaction": models.ExternalTransaction,
        "OrderChain": models.OrderChain,
        "UnderlyingYearGainSummary": models.UnderlyingYearGainSummary,
        "QuoteAlert": models.QuoteAlert,
        "PublicWatchlists": models.Watchlist,
    }


def test_event_flags_have_the_bits_of_the_protocol() -> None:
    assert {flag.name: flag.value for flag in EventFlag} == {
        "TX_PENDING": 0b1,
        "REMOVE_EVENT": 0b10,
        "SNAPSHOT_BEGIN": 0b100,
        "SNAPSHOT_END": 0b1000,
        "SNAPSHOT_SNIP": 0b1_0000,
        "SNAPSHOT_MODE": 0b100_0000,
    }
