"""Items, keys and changes as a state stores them."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async.errors import ConfigurationError
from brokerage_async.models import Order, OrderStatus
from brokerage_async.watch import AlertKind, Change, ChangeKind, PositionKey, StoredChange, WatchStateError
from brokerage_async.watch.state import ItemCodec
from tests.tables import for_each

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def by_id(item: Any) -> Any:
    return item["id"]


@for_each(
    "key, expected",
    [
        ("a", '"a"'),
        (1, "1"),
        ("1", '"1"'),
        (date(2026, 3, 2), '"2026-03-02"'),
        (PositionKey("A1", "AAPL", "Equity"), '["A1","AAPL","Equity"]'),
    ],
)
def test_key_text_distinguishes_keys(key: Any, expected: str) -> None:
    assert ItemCodec[Any](None).text_of(key) == expected


def test_key_text_without_lasting_form_is_rejected() -> None:
    with pytest.raises(ConfigurationError, match="a watcher with a state must be str, int, date or tuple, got <obj"):
        ItemCodec[Any](None).text_of(object())


def test_store_models_are_restored_as_equal_changes() -> None:
    before = Order(id="7", price=Decimal("1.50"), status=OrderStatus.LIVE, received_at=NOON, extra={"new-field": [1]})
    after = Order(id="7", price=Decimal("1.55"), status=OrderStatus("Brand New"))
    change = Change(kind=ChangeKind.CHANGED, key="7", before=before, after=after, at=NOON)
    codec: ItemCodec[Order] = ItemCodec(lambda order: order.id, Order)
    assert codec.restore(codec.store(change, 1)) == change
    assert codec.read(codec.text_of("7"), codec.encode(before)) == ("7", before)


def test_restore_gives_the_kind_and_needs_an_item() -> None:
    codec: ItemCodec[Any] = ItemCodec(by_id)
    stored = StoredChange(
        sequence=3, key='"a"', kind="dismissed", at=NOON.isoformat(), before=None, after=b'{"id":"a"}'
    )
    assert codec.restore(stored).kind is AlertKind.DISMISSED
    with pytest.raises(WatchStateError, match="change 3 of the watch state holds no item"):
        codec.restore(attrs.evolve(stored, after=None))


@for_each("item", [{"id": "a", "at": NOON}, {"id": ("a", 1)}, {"id": "a", 1: 2}, {"id": float("nan")}])
def test_store_item_that_json_does_not_keep_is_rejected(item: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"items must be JSON values, got dict.*: pass item_type"):
        ItemCodec[Any](by_id).encode(item)


@for_each("item_type, data", [(None, b'{"id":'), (Order, b"7")])
def test_decode_unreadable_item_is_a_state_error(item_type: Any, data: bytes) -> None:
    with pytest.raises(WatchStateError, match="an item of the watch state cannot be read"):
        ItemCodec[Any](by_id, item_type).read('"a"', data)


CHANGE = StoredChange(sequence=7, key="a", kind="changed", at="2026-03-02T12:00:00+00:00", before=b"1", after=b"2")


def test_idempotency_key_is_that_of_the_change_in_its_state() -> None:
    key = CHANGE.idempotency_key("s")
    assert key == attrs.evolve(CHANGE, at="2026-03-03T12:00:00+00:00").idempotency_key("s")
    assert key != CHANGE.idempotency_key("t")
    assert len(key) == 32


@for_each(
    "other", [{"sequence": 8}, {"key": "b"}, {"kind": "added"}, {"before": None}, {"before": b"12", "after": b""}]
)
def test_idempotency_key_of_another_change_differs(other: dict[str, Any]) -> None:
    assert attrs.evolve(CHANGE, **other).idempotency_key("s") != CHANGE.idempotency_key("s")
