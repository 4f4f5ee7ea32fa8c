"""Rows of JSON values as record batches: each value in the type of its column, or null."""

import logging
from array import array
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from brokerage_async import errors, models
from brokerage_async.arrow import schema_of
from brokerage_async.arrow.columns import RowReader, event_schema
from brokerage_async.protocol.decoding.adaptive import DecoderRegistry
from brokerage_async.protocol.decoding.issues import Issues
from brokerage_async.protocol.streams.events import MARKET_EVENTS
from tests.protocol.values import raised
from tests.tables import for_each

MOMENT = datetime(2026, 6, 10, 14, tzinfo=UTC)
MS = round(MOMENT.timestamp() * 1000)

VALUES: list[tuple[str, list[Any], list[Any]]] = [
    ("price", [1.5, 2, Decimal("3.25"), "4.5", "NaN", None, "Infinity"], [1.5, 2.0, 3.25, 4.5, None, None, None]),
    ("price", [1.5, "NaN", 2.5], [1.5, None, 2.5]),
    ("price", [Decimal("1e999"), Decimal("0.5")], [None, 0.5]),
    ("price", [1e300, 2**80, -0.01], [1e300, float(2**80), -0.01]),
    ("sequence", [0, 0, 0], [0, 0, 0]),
    ("sequence", [7, 7.0, "7", Decimal(7), 2**62 + 1, None, "NaN"], [7, 7, 7, 7, 2**62 + 1, None, None]),
    ("time", [MS, 0, None, MS + 1, float(MS)], [MOMENT, None, None, MOMENT.replace(microsecond=1000), MOMENT]),
    ("time", [0, 0], [None, None]),
    ("time", [MS, MS], [MOMENT, MOMENT]),
    ("dayId", [20614, 0, None], [date(2026, 6, 10), None, None]),
    ("exchangeCode", ["Q", "", None, 7, "\ud800"], ["Q", "", None, "7", "\ufffd"]),
    ("exchangeCode", ["Q", "Z", "Q"], ["Q", "Z", "Q"]),
    ("exchangeCode", ["Q", "ZZ", ""], ["Q", "ZZ", ""]),
    ("exchangeCode", ["Q", "é"], ["Q", "é"]),
    ("extendedTradingHours", [True, False, None], [True, False, None]),
]
"""Wire key of a `Trade`, values of a column, and what they become."""

UNFIT: list[tuple[str, Any]] = [
    ("price", "high"), ("price", [1]),  ("sequence", 1.5), ("sequence", 2**70), ("sequence", "x"),
    ("time", 2**60), ("dayId", 10**9), ("exchangeCode", {}), ("exchangeCode", True), ("extendedTradingHours", "yes"),
]  # fmt: skip


def column(key: str, values: list[Any], *, strict: bool = False, as_floats: bool = False) -> list[Any]:
    """Return what the values of one column of trades become."""
    issues = Issues("test", strict, DecoderRegistry())
    batch = RowReader(models.Trade, ["eventSymbol", key], issues).batch(
        [each for value in values for each in ("A", value)], array("q", [0] * len(values)), as_floats=as_floats
    )
    names = [name for name in batch.schema.names if name not in ("event_symbol", "received_at")]
    [filled] = [name for name in names if name.replace("_", "") == key.lower()]
    assert all(batch.column(name).null_count == len(values) for name in names if name != filled)
    return list(batch.column(filled).to_pylist())


def test_values_have_the_type_of_their_column_or_are_null(caplog: pytest.LogCaptureFixture) -> None:
    found = [(key, values, column(key, values)) for key, values, _ in VALUES]
    assert found == [(key, values, expected) for key, values, expected in VALUES]
    floats = [(key, values) for key, values, _ in VALUES if Decimal not in map(type, values)]
    assert [column(*each, as_floats=True) for each in floats] == [column(*each) for each in floats]
    assert not caplog.records


@for_each("key, value", UNFIT)
def test_values_that_do_not_fit_are_null_and_reported(caplog: pytest.LogCaptureFixture, key: str, value: Any) -> None:
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        assert column(key, [value, None]) == [None, None]
    assert "null in the batches" in caplog.text
    raised(errors.ResponseDecodeError, column, key, [value, None], strict=True)


def test_huge_exponent_is_not_written_out() -> None:
    """A few bytes of the service must not hold up the loop: as an integer, this number takes longer than a test may."""
    assert column("sequence", [Decimal("1e1000000"), 1]) == [None, 1]
    assert column("time", [Decimal("1e1000000"), MS]) == [None, MOMENT]


def test_schema_is_that_of_the_table_with_floats() -> None:
    for kind, model in MARKET_EVENTS.items():
        schema = event_schema(model)
        table = schema_of(model, decimals="float")
        assert [*schema][:-1] == [field for field in table if field.name != "extra"]
        assert schema.metadata == {b"event_type": kind.encode()}
        assert schema.names[-1] == "received_at"


def test_unknown_column_is_reported_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    issues = Issues("test", registry=DecoderRegistry())
    batch = RowReader(models.Quote, ["mood", "eventSymbol"], issues).batch(["good", "A"], array("q", [1_000_000]))
    assert "$.Quote.mood: unknown column; left out of the batches" in caplog.text
    assert batch.column("event_symbol").to_pylist() == ["A"]
    assert batch.column("received_at").to_pylist() == [datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)]
