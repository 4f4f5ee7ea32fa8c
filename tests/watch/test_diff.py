"""Differences between two lists, and kinds of alerts."""

from datetime import UTC, datetime
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.errors import ConfigurationError
from brokerage_async.watch.diff import (
    Change,
    ChangeKind,
    change_of,
    changed_fields,
    differing,
    keyed,
    state_of,
)
from brokerage_async.watch.lists import alert_changes
from tests.tables import for_each

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
states = st.dictionaries(st.integers(0, 9), st.integers(0, 3), max_size=8)
pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)))


@attrs.frozen(kw_only=True)
class Alert:
    created_at: datetime | None = None
    triggered_at: datetime | None = None
    completed_at: datetime | None = None
    expired_at: datetime | None = None
    dismissed_at: datetime | None = None
    threshold: str | None = None


def apply(state: dict[Any, Any], changes: list[Change[Any]]) -> dict[Any, Any]:
    result = dict(state)
    for change in changes:
        assert result.get(change.key) == change.before
        if change.after is None:
            del result[change.key]
        else:
            result[change.key] = change.after
    return result


def test_state_of_items_or_snapshot() -> None:
    def key(alert: Alert) -> str | None:
        return alert.threshold

    one, other = Alert(threshold="1"), Alert(threshold="2")
    assert state_of(None, key) is None
    assert state_of([one, other, Alert()], key) == {"1": one, "2": other}
    assert state_of({"1": one, "2": other}, key) == {"1": one, "2": other}


@for_each("wrong", [5, "text", [5], {"1": None}])
def test_state_of_invalid_seed_raises(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="seed must hold items of the collection"):
        state_of(wrong, lambda alert: alert.threshold)


@given(states, states)
def test_diff_leads_to_the_other_state_with_each_key_once(before: Any, after: Any) -> None:
    changes = [change_of(key, before.get(key), after.get(key), NOON) for key in differing(before, after)]
    assert apply(before, changes) == after
    assert len({change.key for change in changes}) == len(changes)
    for change in changes:
        assert change.before != change.after
        expected = {(True, False): "added", (False, False): "changed", (False, True): "removed"}
        assert change.kind == expected[change.before is None, change.after is None]
    assert list(differing(after, dict(after))) == []


@given(pairs, pairs)
def test_keyed_equal_items_keep_their_objects(old: Any, new: Any) -> None:
    before = keyed(old, lambda item: item[0])
    after = keyed(new, lambda item: item[0], before)
    assert after == {key: (key, value) for key, value in new}
    for key, item in after.items():
        if before.get(key) == item:
            assert item is before[key]
    assert keyed(["a", "", "b"], lambda item: item or None) == {"a": "a", "b": "b"}


def test_diff_keeps_the_order_and_ends_with_removed() -> None:
    assert list(differing({"a": 1, "b": 1, "c": 1}, {"d": 1, "b": 2})) == ["d", "b", "a", "c"]


def test_changed_fields_of_models_and_mappings() -> None:
    assert changed_fields(Alert(created_at=NOON), Alert(triggered_at=NOON, threshold="1")) == (
        "created_at",
        "triggered_at",
        "threshold",
    )
    assert changed_fields({"a": 1, "b": 2}, {"b": 3, "c": 4}) == ("a", "b", "c")
    assert changed_fields(Alert(), None) == changed_fields(1, 2) == changed_fields(Alert(), {}) == ()


def test_change_has_fields_and_item() -> None:
    change = Change(kind=ChangeKind.CHANGED, key=1, before=Alert(), after=Alert(threshold="5"), at=NOON)
    assert change.fields == ("threshold",)
    assert change.item == Alert(threshold="5")
    gone = Change(kind=ChangeKind.REMOVED, key=1, before=Alert(threshold="5"), after=None, at=NOON)
    assert gone.fields == ()
    assert gone.item == Alert(threshold="5")


def alert_change(before: Alert | None, after: Alert | None) -> Change[Alert]:
    kind = ChangeKind.ADDED if before is None else ChangeKind.REMOVED if after is None else ChangeKind.CHANGED
    return Change(kind=kind, key="x", before=before, after=after, at=NOON)


@for_each(
    "before, after, kinds",
    [
        (None, Alert(created_at=NOON), ["created"]),
        (None, Alert(), ["created"]),
        (None, Alert(created_at=NOON, triggered_at=NOON, completed_at=NOON), ["created", "triggered", "completed"]),
        (Alert(created_at=NOON), Alert(created_at=NOON, triggered_at=NOON), ["triggered"]),
        (Alert(triggered_at=NOON), Alert(triggered_at=NOON, completed_at=NOON), ["completed"]),
        (Alert(), Alert(expired_at=NOON), ["expired"]),
        (Alert(), Alert(dismissed_at=NOON), ["dismissed"]),
        (Alert(), Alert(threshold="3"), ["changed"]),
        (Alert(triggered_at=NOON), Alert(), ["changed"]),
        (Alert(), None, ["removed"]),
    ],
)
def test_alert_changes_kinds_come_from_timestamps(before: Alert | None, after: Alert | None, kinds: list[str]) -> None:
    changes = alert_changes(alert_change(before, after))
    assert [change.kind for change in changes] == kinds
    assert {(change.before, change.after) for change in changes} == {(before, after)}
