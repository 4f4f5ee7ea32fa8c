"""Idempotency keys of stored changes."""

from typing import Any

import attrs

from brokerage_async.watch import StoredChange
from tests.tables import for_each

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
