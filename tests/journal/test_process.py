"""Journals on the other side of a fork."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from brokerage_async.journal import JournalError
from brokerage_async.journal.process import ProcessGuard
from tests.journal_servers import Durable

PROGRAM = """
    import asyncio, os, sys
    from brokerage_async.journal import EntryKey, JournalError, PostgresJournal, SqliteJournal
    kind, where, table = sys.argv[1:]
    journal = SqliteJournal(where) if kind == "sqlite" else PostgresJournal(where, table=table)
    KEY = EntryKey("https://api.example.com", "sandbox", "A1", "one")

    async def in_the_child():
        try:
            await journal.open(KEY, b"", owner="child", lease=30)
        except JournalError as error:
            print(error, flush=True)
        await journal.aclose()

    async def main():
        await journal.now()
        child = os.fork()
        if child == 0:
            asyncio._set_running_loop(None)
            try:
                asyncio.new_event_loop().run_until_complete(in_the_child())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert await journal.find(KEY) is None
        await journal.aclose()
        print("the parent goes on")

    asyncio.run(main())
"""


def test_a_forked_process_is_refused_and_its_parent_goes_on(durable: Durable) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "ignore::DeprecationWarning",
            "-c",
            textwrap.dedent(PROGRAM),
            durable.kind,
            durable.where,
            durable.table,
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )
    assert done.stderr == ""
    refused, after = done.stdout.splitlines()
    assert "was forked: open a journal of its own in each process" in refused
    assert after == "the parent goes on"


def test_the_first_use_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = ProcessGuard("the journal j")
    assert not guard.is_forked
    guard.check()
    guard.check()
    own = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: own + 1)
    assert guard.is_forked
    with pytest.raises(JournalError, match=f"the journal j was opened by process {own}"):
        guard.check()
