"""Use on the other side of a fork; `tests/journal/test_journals.py` forks a real process."""

from __future__ import annotations

import os

import pytest

from brokerage_async.journal import JournalError
from brokerage_async.storage.process import ProcessGuard
from brokerage_async.storage.subject import Subject


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
