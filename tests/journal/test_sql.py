"""The statements that both databases understand, and the journal over them. The suite is in `test_journals.py`."""

import re
from datetime import UTC, datetime
from decimal import Decimal

import attrs
import pytest

from brokerage_async.journal import sql as journal_sql
from brokerage_async.journal.base import EntryKey, EntryState, JournalError
from brokerage_async.journal.caps import Usage
from brokerage_async.journal.sqlite import MemoryJournal
from tests.tables import for_each

ORIGIN = "https://api.example.com"
KEY = EntryKey(ORIGIN, "sandbox", "A1", "one")
STATES = {"open", "not_sent", "abandoned", "refused", "pruned", ""}


class InMemory(MemoryJournal):
    """Journal in memory that records its statements, with a clock to set."""

    def __init__(self) -> None:
        self.seconds = 1000.0
        self.ran: list[str] = []
        super().__init__(clock=lambda: self.seconds)
        self._connection.set_trace_callback(self.ran.append)


async def test_entry_adopted_while_its_order_is_opened_again_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async with MemoryJournal() as journal:
        await journal.open(KEY, b"x", owner="a", lease=30)
        monkeypatch.setattr(journal_sql, "FIND", f"{journal_sql.FIND} AND origin = 'not any more'")
        with pytest.raises(JournalError, match="was adopted by another address, or what forbade it"):
            await journal.open(KEY, b"x", owner="b", lease=30)


async def test_statements_take_values_as_values() -> None:
    statements = [each for each in vars(journal_sql).values() if isinstance(each, str) and "{table}" in each]
    assert len(statements) > 20
    for statement in statements:
        assert set(re.findall(r"'([^']*)'", statement)) <= STATES
    hostile = EntryKey(ORIGIN, "sandbox", "A1", "'; DROP TABLE t; --")
    async with InMemory() as journal:
        await journal.open(hostile, b"'", owner="'", lease=30)
        assert await journal.close(hostile, owner="'", state=EntryState.REFUSED, note="' OR 1=1")
        found = await journal.find(hostile)
        assert (found.key, found.note) == (hostile, "' OR 1=1")


async def test_a_usual_order_takes_one_statement_for_each_step_and_its_caps_one_each() -> None:
    """One for the sums, and one for the net position."""
    async with InMemory() as journal:
        await journal.open(KEY, b"x", owner="a", lease=30)
        await journal.renew(KEY, owner="a", lease=30)
        await journal.close(KEY, owner="a", state=EntryState.PLACED)
        assert [statement.split()[0] for statement in journal.ran] == ["INSERT", "UPDATE", "UPDATE"]
        journal.ran.clear()
        usage = Usage(value=Decimal(1), max_value_per_day=Decimal(2), bought=Decimal(1), max_net_quantity=Decimal(2))
        await journal.open(attrs.evolve(KEY, external_identifier="two"), b"x", owner="a", lease=30, usage=usage)
        assert [statement.split()[0] for statement in journal.ran] == ["SELECT", "SELECT", "INSERT"]


@for_each("claims, statements", [(0, 0), (1, 1), (500, 1), (501, 2)])
async def test_many_claims_are_renewed_in_one_statement(claims: int, statements: int) -> None:
    owners = {EntryKey(ORIGIN, "sandbox", "A1", f"order-{number}"): f"owner {number}" for number in range(claims)}
    async with InMemory() as journal:
        for key, owner in owners.items():
            await journal.open(key, b"", owner=owner, lease=30)
        journal.ran.clear()
        journal.seconds += 20
        assert await journal.renew_many(owners, lease=30) == set(owners)
        assert len(journal.ran) == statements
        ends = {entry.claimed_until for entry in await journal.entries()}
        assert ends <= {datetime.fromtimestamp(1050.0, UTC)}
