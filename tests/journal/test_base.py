"""The values that a journal keeps."""

import pickle
from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

from brokerage_async.errors import BrokerageError
from brokerage_async.journal.base import EntryKey, EntryState, JournalEntry, JournalError, renew_claims

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
