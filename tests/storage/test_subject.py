"""Names of files and tables in messages."""

from __future__ import annotations

from pathlib import Path

import pytest

from brokerage_async.errors import BrokerageError
from brokerage_async.journal import JournalError
from brokerage_async.storage.subject import Subject
from brokerage_async.watch import WatchStateError


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("journal", "orders.db", "the journal orders.db"),
        ("journal", Path("desk") / "orders.db", f"the journal {Path('desk', 'orders.db')}"),
        ("journal", "table orders", "the journal table orders"),
        ("watch state", "state.db", "the watch state state.db"),
    ],
)
def test_subject_as_str_is_kind_and_name(kind: str, name: str | Path, expected: str) -> None:
    assert str(Subject(kind=kind, name=name, error=BrokerageError)) == expected


@pytest.mark.parametrize("error", [JournalError, WatchStateError])
@pytest.mark.parametrize("reason", ["it is a folder", OSError("it is a folder")], ids=["str", "exception"])
def test_unusable_returns_the_error_of_the_subject(error: type[BrokerageError], reason: object) -> None:
    found = Subject(kind="journal", name="j", error=error).unusable(reason)
    assert type(found) is error
    assert str(found) == "the journal j cannot be used: it is a folder"
