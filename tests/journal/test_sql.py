"""The statements that both databases understand, and the journal over them. The suite is in `test_journals.py`."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from brokerage_async.journal import sql as journal_sql
from brokerage_async.journal.base import EntryKey, EntryState, JournalError
from brokerage_async.journal.sql import text_of
from brokerage_async.journal.sqlite import MemoryJournal
from tests.tables import for_each

ORIGIN = "https://api.example.com"
KEY = EntryKey(ORIGIN, "sandbox", "A1", "one")
STATEMENTS = (
    "NOW", "OPEN", "FIND", "ENTRIES", "CLAIM", "RENEW", "ATTEMPT", "RELEASE", "CLOSE", "ABANDON", "ADOPT", "HALT",
    "RESUME", "HALTS", "HALTED", "COUNT_OUTCOME", "TRIP", "FORGET_OUTCOMES", "PRUNE", "USED",
)  # fmt: skip
TIMELESS = {"FIND", "ENTRIES", "RESUME", "HALTS", "HALTED", "FORGET_OUTCOMES", "PRUNE"}
STATES = {"open", "not_sent", "abandoned", "refused", "pruned", ""}


class InMemory(MemoryJournal):
    """Journal in memory that records its statements, with a clock to set."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.ran: list[str] = []
        super().__init__(clock=lambda: self.seconds)

    async def _run(self, statement: str, values: Mapping[str, object], **options: bool) -> Sequence[Sequence[Any]]:
        self.ran.append(statement)
        return await super()._run(statement, values, **options)


@for_each("name", STATEMENTS)
def test_nothing_is_left_to_fill_in_but_values(name: str) -> None:
    text = text_of(getattr(journal_sql, name), table="orders", now="clock()")
    assert "{" not in text
    assert "}" not in text
    assert "clock()" in text or name in TIMELESS


def test_no_value_is_ever_part_of_a_statement() -> None:
    for name in STATEMENTS:
        assert set(re.findall(r"'([^']*)'", getattr(journal_sql, name))) <= STATES


class Adopting(InMemory):
    """A journal whose entry another worker adopts between two statements."""

    async def _run(self, statement: str, values: Mapping[str, object], **options: bool) -> Sequence[Sequence[Any]]:
        if statement == journal_sql.FIND:
            self._connection.execute("UPDATE entries SET origin = 'https://elsewhere.example'")
        return await super()._run(statement, values, **options)


async def test_entry_that_is_adopted_while_its_order_is_opened_again_is_an_error_of_the_journal() -> None:
    async with Adopting() as journal:
        await journal.open(KEY, b"x", owner="a", lease=30)
        with pytest.raises(JournalError, match="was adopted by another address, or what forbade it"):
            await journal.open(KEY, b"x", owner="b", lease=30)


async def test_statements_take_values_as_values() -> None:
    hostile = EntryKey(ORIGIN, "sandbox", "A1", "'; DROP TABLE t; --")
    async with InMemory() as journal:
        await journal.open(hostile, b"'", owner="'", lease=30)
        assert await journal.close(hostile, owner="'", state=EntryState.REFUSED, note="' OR 1=1")
        found = await journal.find(hostile)
        assert (found.key, found.note) == (hostile, "' OR 1=1")


async def test_a_usual_order_takes_one_statement_for_each_step() -> None:
    async with InMemory() as journal:
        await journal.open(KEY, b"x", owner="a", lease=30)
        await journal.renew(KEY, owner="a", lease=30)
        await journal.close(KEY, owner="a", state=EntryState.PLACED)
        assert journal.ran == [journal_sql.OPEN, journal_sql.RENEW, journal_sql.CLOSE]


@pytest.mark.parametrize(("claims", "statements"), [(0, 0), (1, 1), (500, 1), (501, 2)])
async def test_many_claims_are_renewed_in_one_statement(claims: int, statements: int) -> None:
    keys = [EntryKey(ORIGIN, "sandbox", "A1", f"order-{number}") for number in range(claims)]
    async with InMemory() as journal:
        for key in keys:
            await journal.open(key, b"", owner=f"owner of {key.external_identifier}", lease=30)
        journal.ran.clear()
        journal.seconds += 20
        owners = {key: f"owner of {key.external_identifier}" for key in keys}
        assert await journal.renew_many(owners, lease=30) == set(keys)
        assert len(journal.ran) == statements
        ends = {entry.claimed_until for entry in await journal.entries()}
        assert ends <= {datetime.fromtimestamp(1050.0, UTC)}
