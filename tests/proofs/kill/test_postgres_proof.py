"""A short run of the proof, and a test of the server that it kills."""

import pytest

from brokerage_async.journal import EntryKey, JournalError, PostgresJournal
from tests import journal_servers
from tests.proofs.kill.postgres_proof import prove

ABSENT = journal_servers.missing()
KEY = EntryKey("https://api.example.com", "sandbox", "A1", "one")

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.timeout(300),
    pytest.mark.skipif(ABSENT is not None, reason=str(ABSENT)),
]


async def test_workers_that_share_orders_over_a_dying_database_double_and_lose_nothing() -> None:
    violations, tally = await prove(60, 2, seed=1, limit=120)
    assert violations == []
    assert tally["server killed"] == 2
    assert tally["acknowledgements dropped"] > 0
    assert tally["left unsettled (of every worker)"] == 0
    assert tally["brokerage: orders"] > 30


async def test_workers_under_a_guard_that_are_killed_never_pass_its_cap_over_a_dying_database() -> None:
    cap = 25
    violations, tally = await prove(60, 3, seed=2, limit=120, cap=cap)
    assert violations == []
    assert (tally["server killed"], tally["workers killed"]) == (3, 3)
    assert tally["acknowledgements dropped"] > 0
    assert cap - tally["entries: open"] <= tally["brokerage: orders"] <= cap


async def test_what_was_written_survives_the_death_of_the_server() -> None:
    with journal_servers.mortal_server() as server:
        async with PostgresJournal(server.dsn, table="killed", timeout=2) as journal:
            await journal.open(KEY, b"{}", owner="a", lease=5)
            server.kill()
            with pytest.raises(JournalError):
                await journal.now()
            server.start()
            assert await journal.find(KEY) is not None
