"""Names in messages, and use on the other side of a fork; `tests/journal/test_journals.py` forks a real process."""

import os
from pathlib import Path

import pytest

from brokerage_async.errors import BrokerageError
from brokerage_async.journal import JournalError
from brokerage_async.storage.subject import ProcessGuard, Subject
from brokerage_async.watch import WatchStateError
from tests.tables import for_each


@for_each(
    "kind, name, expected",
    [
        ("journal", "orders.db", "the journal orders.db"),
        ("journal", Path("desk") / "orders.db", f"the journal {Path('desk', 'orders.db')}"),
        ("journal", "table orders", "the journal table orders"),
        ("watch state", "state.db", "the watch state state.db"),
    ],
)
def test_subject_as_str_is_kind_and_name(kind: str, name: str | Path, expected: str) -> None:
    assert str(Subject(kind=kind, name=name, error=BrokerageError)) == expected


@for_each("error", [JournalError, WatchStateError])
@for_each("reason", ["it is a folder", OSError("it is a folder")])
def test_unusable_returns_the_error_of_the_subject(error: type[BrokerageError], reason: object) -> None:
    found = Subject(kind="journal", name="j", error=error).unusable(reason)
    assert type(found) is error
    assert str(found) == "the journal j cannot be used: it is a folder"


def test_the_first_use_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = ProcessGuard(Subject(kind="journal", name="j", error=JournalError))
    assert not guard.is_forked
    guard.check()
    guard.check()
    own = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: own + 1)
    assert guard.is_forked
    with pytest.raises(JournalError, match=f"the journal j was opened by process {own}"):
        guard.check()
