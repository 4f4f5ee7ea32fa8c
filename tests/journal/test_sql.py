"""Values that a journal keeps, and the statements that both databases understand. See also `test_journals.py`."""

import pickle
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async.errors import BrokerageError
from brokerage_async.journal import sql as journal_sql
from brokerage_async.journal.base import EntryKey, EntryState, JournalEntry, JournalError, renew_claims
from brokerage_async.journal.caps import Usage
from brokerage_async.journal.sqlite import MemoryJournal
from tests.tables import for_each

ORIGIN = "https://api.example.com"
KEY = EntryKey(ORIGIN, "sandbox", "5WT00001", "order-1")
ENTRY = JournalEntry(key=KEY, body=b'{"price":"1"}', opened_at=datetime(2026, 3, 2, tzinfo=UTC))


def test_entries_keys_and_states_are_plain_values() -> None:
    assert (ENTRY.state, ENTRY.attempts, ENTRY.note) == (EntryState.OPEN, 1, "")
    assert (ENTRY.order_id, ENTRY.closed_at, ENTRY.looked_at, ENTRY.owner, ENTRY.claimed_until) == (None,) * 5
    assert ENTRY.closed_by is None
    assert EntryKey(ORIGIN, "sandbox", "5WT00001", "order-1") == KEY
    others = {EntryKey(ORIGIN, "production", "5WT00001", "order-1"), EntryKey(ORIGIN, "sandbox", "5WT00002", "order-1"),
              EntryKey(ORIGIN, "sandbox", "5WT00001", "order-2"),
              EntryKey("http://127.0.0.1:8000", "sandbox", "5WT00001", "order-1")}  # fmt: skip
    assert len({KEY, *others}) == 5
    assert "price" not in repr(ENTRY)
    assert "order-1" in repr(ENTRY)
    for value, name in ((ENTRY, "state"), (KEY, "environment")):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            setattr(value, name, "other")
    assert [str(state) for state in EntryState] == ["open", "placed", "refused", "not_sent", "abandoned", "pruned"]
    error = JournalError("disk full")
    assert isinstance(error, BrokerageError)
    assert (error.code, str(error)) == ("journal_unavailable", "disk full")
    assert pickle.loads(pickle.dumps(error)).code == "journal_unavailable"


class OneByOne:
    """A journal of a user, which renews a claim at a time."""

    def __init__(self) -> None:
        self.renewed: list[tuple[EntryKey, str, float]] = []

    async def renew(self, key: EntryKey, *, owner: str, lease: float) -> bool:
        self.renewed.append((key, owner, lease))
        if owner == "broken":
            raise JournalError("disk is full")
        return owner == "me"


async def test_renew_claims_of_a_journal_without_a_batch_tries_every_claim() -> None:
    journal: Any = OneByOne()
    first, second, third = (attrs.evolve(KEY, external_identifier=f"order-{number}") for number in range(3))
    assert await renew_claims(journal, {first: "me", second: "other", third: "me"}, lease=5) == {first, third}
    assert journal.renewed == [(first, "me", 5), (second, "other", 5), (third, "me", 5)]
    journal.renewed.clear()
    with pytest.raises(JournalError, match="disk is full"):
        await renew_claims(journal, {first: "broken", second: "me"}, lease=5)
    assert len(journal.renewed) == 2


ONE = EntryKey(ORIGIN, "sandbox", "A1", "one")
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
        await journal.open(ONE, b"x", owner="a", lease=30)
        monkeypatch.setattr(journal_sql, "FIND", f"{journal_sql.FIND} AND origin = 'not any more'")
        with pytest.raises(JournalError, match="was adopted by another address, or what forbade it"):
            await journal.open(ONE, b"x", owner="b", lease=30)


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
        await journal.open(ONE, b"x", owner="a", lease=30)
        await journal.renew(ONE, owner="a", lease=30)
        await journal.close(ONE, owner="a", state=EntryState.PLACED)
        assert [statement.split()[0] for statement in journal.ran] == ["INSERT", "UPDATE", "UPDATE"]
        journal.ran.clear()
        usage = Usage(value=Decimal(1), max_value_per_day=Decimal(2), bought=Decimal(1), max_net_quantity=Decimal(2))
        await journal.open(attrs.evolve(ONE, external_identifier="two"), b"x", owner="a", lease=30, usage=usage)
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
