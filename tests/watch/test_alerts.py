"""Quote alerts: their kinds of change come from their timestamps."""

from __future__ import annotations

from datetime import UTC, datetime

import attrs
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.watch.diff import Change, ChangeKind
from brokerage_async.watch.lists import AlertKind, alert_changes
from tests.tables import for_each

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@attrs.frozen(kw_only=True)
class Alert:
    created_at: datetime | None = None
    triggered_at: datetime | None = None
    completed_at: datetime | None = None
    expired_at: datetime | None = None
    dismissed_at: datetime | None = None
    threshold: str | None = None


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


stamps = st.builds(Alert, **{f"{kind}_at": st.none() | st.just(NOON) for kind in AlertKind})


@given(st.lists(stamps, min_size=1, max_size=6))
def test_alert_changes_each_timestamp_is_reported_once(lives: list[Alert]) -> None:
    """Timestamps are set and never cleared, so any polling of an alert reports each of them once."""
    merged = [lives[0]]
    for life in lives[1:]:
        news = {name: value for name, value in attrs.asdict(life).items() if value is not None}
        merged.append(attrs.evolve(merged[-1], **news))
    reported: list[str] = []
    before: Alert | None = None
    for after in merged:
        if before != after:
            reported += [change.kind for change in alert_changes(alert_change(before, after))]
        before = after
    expected = {"created"} | {kind for kind in AlertKind if getattr(merged[-1], f"{kind}_at") is not None}
    assert set(reported) - {"changed"} == expected
    assert all(reported.count(kind) == 1 for kind in expected - {"created"})
