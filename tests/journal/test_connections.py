"""The pool of connections to PostgreSQL: bounded, repeated, cut short, and never cancelled from outside."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from brokerage_async.journal import EntryKey, EntryState, JournalError, PostgresJournal, renew_claims
from brokerage_async.journal.sql import OPEN, SHARES, Steps
from tests.http.calls import raised_by
from tests.journal_servers import key
from tests.lossy_proxy import LossyProxy

pytestmark = pytest.mark.postgres

SLEEP = "SELECT pg_sleep(60)"
ROUND_TRIP = 0.02
"""A tenth of a slow link, with leases to scale."""


@asynccontextmanager
async def connections_of(server: str, table: str) -> AsyncIterator[PostgresJournal]:
    """Open a journal to inspect the server with, while the journal of the test is busy."""
    async with PostgresJournal(server, table=f"{table}_b") as beside:
        await beside.now()
        yield beside


async def count_active(beside: PostgresJournal, table: str) -> int:
    """Count the running statements that name the table in a comment."""
    running = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE "
    ((count,),) = await beside._run(f"{running} '%%/* {table} */'")
    return int(count)


async def test_statements_run_beside_each_other_and_broken_connections_are_replaced(server: str, table: str) -> None:
    async with PostgresJournal(server, table=table, connections=3) as journal, connections_of(server, table) as beside:
        await journal.now()
        sleeping = asyncio.gather(*(journal._run(f"SELECT pg_sleep(0.5) /* {table} */") for _ in range(6)))
        await asyncio.sleep(0.25)
        assert await count_active(beside, table) == 3
        await sleeping
        others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        await beside._run(others)
        entry, fresh = await journal.open(key(1), b"", owner="a", lease=30)
        assert (fresh, entry.attempts) == (True, 1)


async def test_renewals_do_not_wait_for_other_statements(server: str, table: str) -> None:
    async with PostgresJournal(server, table=table, connections=1, timeout=1) as journal:
        await journal.open(key(1), b"", owner="a", lease=30)
        busy = [asyncio.create_task(journal._run(SLEEP)) for _ in range(3)]
        assert await journal.renew(key(1), owner="a", lease=30)
        assert await renew_claims(journal, {key(1): "a"}, lease=30) == {key(1)}
        assert not any(task.done() for task in busy)
        for outcome in await asyncio.gather(*busy, return_exceptions=True):
            assert isinstance(outcome, JournalError)


async def test_halt_returns_an_attempt_that_was_being_recorded_when_it_came(server: str, table: str) -> None:
    slowly = OPEN.replace("WHERE :exempt", "FROM pg_sleep(1) WHERE :exempt")
    values = {"body": b"", "owner": "a", "lease": 30, "label": "", "replaces": "", "exempt": 0}
    asleep = f"SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND query LIKE '%%{table}%%'"
    async with PostgresJournal(server, table=table) as journal, connections_of(server, table) as beside:
        await journal.now()
        opening = asyncio.create_task(journal._run(slowly, key(1), **values, **dict.fromkeys(SHARES)))
        while not await beside._run(asleep):  # noqa: ASYNC110 - the server has no event for it
            await asyncio.sleep(0.01)
        assert [entry.key for entry in await journal.halt("why")] == [key(1)]
        assert await opening


async def test_no_live_claim_expires_while_200_orders_are_placed_over_a_slow_link(server: str, table: str) -> None:
    """A rival that claims every entry all the time gets none."""
    lease, orders = 1.0, 200
    async with LossyProxy(server, delay=ROUND_TRIP / 2) as slow, PostgresJournal(slow.dsn, table=table) as journal:
        held = dict[EntryKey, str]()

        async def place(number: int) -> None:
            owner = f"worker {number}"
            assert (await journal.open(key(number), b"", owner=owner, lease=lease))[1]
            held[key(number)] = owner
            for _ in range(3):
                await journal.find(key(number))
            assert await journal.close(key(number), owner=owner, state=EntryState.PLACED)
            del held[key(number)]

        async def renew() -> None:
            while True:
                await renew_claims(journal, dict(held), lease=lease)
                await asyncio.sleep(lease / 3)

        async def rival(beside: PostgresJournal) -> None:
            while True:
                for entry in await beside.entries(state=EntryState.OPEN):
                    assert await beside.claim(entry.key, owner="rival", lease=60) is None
                await asyncio.sleep(0.05)

        async with PostgresJournal(server, table=table) as beside:
            others = [asyncio.create_task(renew()), asyncio.create_task(rival(beside))]
            began = time.monotonic()
            await asyncio.gather(*(place(number) for number in range(orders)))
            assert time.monotonic() - began > 2 * lease, "long enough for claims to expire that are not renewed"
            for task in others:
                assert not task.done()
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)


async def test_a_lost_acknowledgement_is_repeated_and_recognised(server: str, table: str) -> None:
    async with LossyProxy(server) as link, PostgresJournal(link.dsn, table=table) as journal:
        await journal.open(key(1), b"", owner="dead", lease=0)
        link.drop_next()
        entry, fresh = await journal.open(key(2), b"", owner="a", lease=30)
        assert (fresh, entry.attempts, link.dropped) == (True, 1, 1)
        link.drop_next()
        assert (await journal.claim(key(1), owner="a", lease=30)).owner == "a"
        link.drop_next()
        assert await journal.close(key(1), owner="a", state=EntryState.PLACED, order_id="7")
        assert link.dropped == 3


async def test_a_server_that_does_not_answer_is_given_up_and_ends_the_statement_too(server: str, table: str) -> None:
    """Else it would take effect at any later time, when a lock that it waits for is released."""
    async with PostgresJournal(server, table=table, timeout=0.3) as journal, connections_of(server, table) as beside:
        await journal.now()
        began = time.monotonic()
        await raised_by(journal._run(f"{SLEEP} /* {table} */"), JournalError, r"no answer within 0\.3 s")
        assert time.monotonic() - began < 2
        assert await count_active(beside, table) == 1
        assert (await journal.open(key(1), b"", owner="a", lease=30))[1]
        await asyncio.sleep(1.5)
        assert await count_active(beside, table) == 0


async def test_a_worker_whose_machine_is_gone_holds_up_guarded_orders_for_its_timeout(server: str, table: str) -> None:
    """Its connection looks alive to the server, in the middle of the transaction that locks the halts."""
    async with (
        LossyProxy(server) as link,
        PostgresJournal(link.dsn, table=table, timeout=0.5) as gone,
        PostgresJournal(server, table=table) as journal,
    ):
        await journal.now()

        def vanish() -> Steps[None]:
            link.silent = True
            yield "SELECT 1", {}

        await raised_by(gone._perform(vanish, alone=True), JournalError, r"no answer within 0\.5 s")
        began = time.monotonic()
        assert (await journal.open(key(1), b"", owner="a", lease=30))[1]
        assert time.monotonic() - began < 3


async def test_a_link_that_is_silent_is_given_up_in_time(server: str, table: str) -> None:
    """Not even a request to cancel the statement gets through."""
    async with LossyProxy(server) as link, PostgresJournal(link.dsn, table=table, timeout=0.3) as journal:
        await journal.now()
        link.silent = True
        for _ in range(2):  # over the connection that was open, and over a new one
            began = time.monotonic()
            await raised_by(journal.now(), JournalError, r"no answer within 0\.3 s")
            assert time.monotonic() - began < 1.2


async def test_a_cancelled_caller_leaves_at_once_and_its_statement_ends_by_itself(server: str, table: str) -> None:
    async with PostgresJournal(server, table=table, connections=1) as journal, connections_of(server, table) as beside:
        await journal.now()
        leaving = asyncio.create_task(journal._run(f"SELECT pg_sleep(0.5) /* {table} */"))
        waiting = asyncio.create_task(journal.now())
        await asyncio.sleep(0.2)
        leaving.cancel()
        began = time.monotonic()
        await raised_by(leaving, asyncio.CancelledError)
        assert time.monotonic() - began < 0.2
        assert await count_active(beside, table) == 1
        await waiting  # for the same connection
        assert journal._running == set()
        for number in range(30):  # an entry of a cancelled caller is whole or missing
            opening = asyncio.create_task(journal.open(key(number), b"", owner="a", lease=30))
            await asyncio.sleep(number / 10_000)
            opening.cancel()
            await asyncio.gather(opening, return_exceptions=True)
        assert (await journal.open(key(99), b"", owner="a", lease=30))[1]


async def test_closing_waits_for_statements_and_refuses_later_ones(server: str, table: str) -> None:
    journal = PostgresJournal(server, table=table)
    opening = asyncio.create_task(journal.open(key(1), b"", owner="a", lease=30))
    await asyncio.sleep(0)
    for _ in range(2):
        await journal.aclose()
        assert (await opening)[1]
        await raised_by(journal.now(), JournalError, "is closed")


async def test_invalid_values_and_a_serializable_role_cost_no_connection(server: str, table: str) -> None:
    """Concurrent statements would fail in that role, a renewal or an outcome among them."""
    serializable = f"{server} options='-c default_transaction_isolation=serializable'"
    async with PostgresJournal(serializable, table=table, connections=1) as journal:
        ((before,),) = await journal._run("SELECT pg_backend_pid()")
        for wrong in ("\ud800", "\0"):
            with pytest.raises(JournalError, match="cannot be used"):
                await journal.open(EntryKey("o", "sandbox", "A1", wrong), b"", owner="a", lease=30)
        assert await journal._run("SELECT pg_backend_pid()") == [(before,)]
    async with PostgresJournal(serializable, table=table) as journal:
        assert await journal._run("SHOW transaction_isolation") == [("read committed",)]
        await asyncio.gather(*(journal.open(key(1), b"", owner=f"{number}", lease=30) for number in range(8)))


async def set_standby(server: str, name: str) -> None:
    """Configure a synchronous standby of this name. The server notices soon."""
    import psycopg

    async with await psycopg.AsyncConnection.connect(server, autocommit=True) as connection:
        await connection.execute(f"ALTER SYSTEM SET synchronous_standby_names = '{name}'".encode())
        await connection.execute("SELECT pg_reload_conf()")


async def open_until_one_waits(journal: PostgresJournal, beside: PostgresJournal) -> asyncio.Task[Any]:
    """Open entries until the server waits for the standby with one. Return its task."""
    for number in range(1000):
        opening = asyncio.create_task(journal.open(key(number), b"", owner="a", lease=30))
        while not opening.done():
            waiting = await beside._run("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
            if waiting:
                return opening
    raise AssertionError("no commit waits for the standby")


async def test_a_commit_whose_wait_for_the_standby_was_cancelled_is_not_acknowledged(server: str, table: str) -> None:
    """The server calls it a success, with a warning. After a failover the entry would be gone."""
    async with PostgresJournal(server, table=table) as journal, connections_of(server, table) as beside:
        await journal.now()
        await set_standby(server, "none")
        try:
            opening = await open_until_one_waits(journal, beside)
            await beside._run("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
            await raised_by(opening, JournalError, "the wait for the synchronous standby was cancelled")
        finally:
            await set_standby(server, "")
        assert (await journal.open(key(1000), b"", owner="a", lease=30))[1]
