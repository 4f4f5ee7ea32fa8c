"""Changes have fields and an item, and equal items keep their objects. `test_poll.py` tests which changes there are."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.models import QuoteAlert
from brokerage_async.watch.diff import Change, ChangeKind, changed_fields, differing, keyed
from tests.watch.scripted_service import NOON

pairs = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)))


@given(pairs, pairs)
def test_keyed_equal_items_keep_their_objects(old: Any, new: Any) -> None:
    before = keyed(old, lambda item: item[0])
    after = keyed(new, lambda item: item[0], before)
    assert after == {key: (key, value) for key, value in new}
    assert all(item is before[key] for key, item in after.items() if before.get(key) == item)
    assert list(differing(after, keyed(new, lambda item: item[0], after))) == []


def test_change_has_fields_and_item() -> None:
    old, new = QuoteAlert(symbol="A", created_at=NOON), QuoteAlert(symbol="A", triggered_at=NOON, threshold="5")
    change = Change(kind=ChangeKind.CHANGED, key=1, before=old, after=new, at=NOON)
    assert (set(change.fields), change.item) == ({"created_at", "triggered_at", "threshold"}, new)
    gone = Change(kind=ChangeKind.REMOVED, key=1, before=old, after=None, at=NOON)
    assert (gone.fields, gone.item) == ((), old)
    assert changed_fields({"a": 1, "b": 2}, {"b": 3, "c": 4}) == ("a", "b", "c")
    assert changed_fields(1, 2) == changed_fields(old, {}) == ()
