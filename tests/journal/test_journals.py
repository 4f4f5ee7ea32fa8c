"""The suite that every journal passes, and the durable ones between processes."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import attrs
import pytest

from brokerage_async import journal as public
from brokerage_async.errors import BrokerageError
from brokerage_async.journal import (
    EntryKey,
    EntryState,
    Journal,
    JournalEntry,
    JournalError,
    renew_claims,
)
from tests.journal_servers import Durable

from .programs import ENVIRONMENT, command_of, start_together

ORIGIN = "https://api.example.com"
KEY = EntryKey(ORIGIN, "sandbox", "5WT00001", "order-1")
OTHER = EntryKey(ORIGIN, "sandbox", "5WT00001", "order-2")
BODY = b'{"order-type":"Limit"}\0\xff'
NO_TIME = 0.0
LONG = 600.0


async def opened(journal: Journal, key: EntryKey = KEY, *, owner: str = "a", lease: float = LONG) -> JournalEntry:
    entry, fresh = await journal.open(key, BODY, owner=owner, lease=lease)
    assert fresh
    return entry


async def test_an_entry_comes_back_as_it_was_written(journal: Journal) -> None:
    entry = await opened(journal)
    assert (entry.key, entry.body, entry.state, entry.attempts, entry.owner) == (KEY, BODY, EntryState.OPEN, 1, "a")
    assert abs(entry.opened_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert entry.claimed_until == entry.opened_at + timedelta(seconds=LONG)
    assert await journal.find(KEY) == entry
    assert await journal.entries("sandbox") == [entry]


async def test_a_key_is_opened_once(journal: Journal) -> None:
    entry = await opened(journal)
    again, fresh = await journal.open(KEY, b"another body", owner="b", lease=LONG)
    assert not fresh
    assert again == entry


async def test_the_same_identifier_elsewhere_is_another_entry(journal: Journal) -> None:
    for key in (
        KEY,
        EntryKey(ORIGIN, "production", "5WT00001", "order-1"),
        EntryKey(ORIGIN, "sandbox", "5WT00002", "order-1"),
    ):
        await opened(journal, key)
    assert [entry.key.account_number for entry in await journal.entries("sandbox")] == ["5WT00001", "5WT00002"]
    assert len(await journal.entries()) == 3
    assert len(await journal.entries(state=EntryState.OPEN)) == 3


async def test_what_never_left_may_be_opened_again_unchanged(journal: Journal) -> None:
    await opened(journal)
    assert await journal.close(KEY, owner="a", state=EntryState.NOT_SENT, note="connection refused")
    changed, fresh = await journal.open(KEY, b"another body", owner="b", lease=LONG)
    assert (fresh, changed.state) == (False, EntryState.NOT_SENT)
    again, fresh = await journal.open(KEY, BODY, owner="b", lease=LONG)
    assert (fresh, again.state, again.attempts, again.owner, again.note) == (True, EntryState.OPEN, 2, "b", "")
    assert again.closed_at is None


@pytest.mark.parametrize("state", [EntryState.PLACED, EntryState.REFUSED, EntryState.ABANDONED])
async def test_what_the_service_has_seen_is_never_opened_again(journal: Journal, state: EntryState) -> None:
    await opened(journal)
    assert await journal.close(KEY, owner="a", state=state, order_id="77", note="why")
    entry, fresh = await journal.open(KEY, BODY, owner="b", lease=LONG)
    assert (fresh, entry.state, entry.order_id, entry.note, entry.owner) == (False, state, "77", "why", None)
    assert entry.closed_at is not None


async def test_closed_entry_cannot_be_claimed_and_keeps_its_first_outcome(journal: Journal) -> None:
    assert await journal.claim(KEY, owner="a", lease=LONG) is None
    await opened(journal)
    assert await journal.close(KEY, owner="a", state=EntryState.PLACED, order_id="77")
    assert not await journal.close(KEY, owner="a", state=EntryState.REFUSED)
    assert not await journal.close(OTHER, owner="a", state=EntryState.REFUSED)
    assert (await journal.entries("sandbox", state=EntryState.PLACED))[0].order_id == "77"
    assert await journal.entries("sandbox", state=EntryState.OPEN) == []
    assert await journal.claim(KEY, owner="a", lease=LONG) is None


async def state_of(journal: Journal, key: EntryKey = KEY) -> JournalEntry:
    entry = await journal.find(key)
    assert entry is not None
    return entry


async def test_a_claim_is_exclusive_until_it_ends(journal: Journal) -> None:
    await opened(journal, lease=LONG)
    assert await journal.claim(KEY, owner="b", lease=LONG) is None
    assert await journal.renew(KEY, owner="a", lease=NO_TIME)
    taken = await journal.claim(KEY, owner="b", lease=LONG)
    assert taken.owner == "b"
    assert not await journal.renew(KEY, owner="a", lease=LONG)
    assert not await journal.release(KEY, owner="a", note="")


async def test_a_repeated_claim_is_not_another_worker(journal: Journal) -> None:
    await opened(journal, lease=NO_TIME)
    first = await journal.claim(KEY, owner="b", lease=LONG)  # the acknowledgement of this one was lost
    again = await journal.claim(KEY, owner="b", lease=LONG)
    assert first is not None
    assert again.owner == "b"
    assert await journal.claim(KEY, owner="c", lease=LONG) is None


async def test_renewing_raises_the_number_of_attempts_and_never_lowers_it(journal: Journal) -> None:
    await opened(journal)
    assert await journal.renew(KEY, owner="a", lease=LONG, attempts=3)
    assert await journal.renew(KEY, owner="a", lease=LONG)
    assert await journal.renew(KEY, owner="a", lease=LONG, attempts=2)  # arrives late
    assert (await state_of(journal)).attempts == 3


async def test_renewing_many_claims_keeps_those_that_are_held(journal: Journal) -> None:
    third = EntryKey("http://127.0.0.1:8000", *attrs.astuple(KEY)[1:])
    for key, owner in ((KEY, "a"), (OTHER, "b"), (third, "c")):
        await opened(journal, key, owner=owner, lease=NO_TIME)
    claims = {KEY: "a", OTHER: "not b", third: "c", EntryKey(ORIGIN, "sandbox", "5WT00001", "unknown"): "a"}
    assert await renew_claims(journal, claims, lease=LONG) == {KEY, third}
    assert await journal.claim(KEY, owner="z", lease=LONG) is None
    assert await journal.claim(OTHER, owner="z", lease=LONG) is not None
    assert await renew_claims(journal, {}, lease=LONG) == set()


async def test_a_released_entry_is_open_and_free(journal: Journal) -> None:
    await opened(journal)
    assert await journal.release(KEY, owner="a", note="no answer")
    found = await state_of(journal)
    assert (found.state, found.owner, found.note) == (EntryState.OPEN, None, "no answer")
    assert found.looked_at is not None
    assert not await journal.release(KEY, owner="a", note="repeated")
    assert await state_of(journal) == found
    assert await journal.claim(KEY, owner="b", lease=LONG) is not None
    await opened(journal, OTHER)
    assert await journal.release(OTHER, owner="a", note="cancelled", looked=False)
    found = await state_of(journal, OTHER)
    assert (found.owner, found.note, found.looked_at) == (None, "cancelled", None), "it was given up"


async def test_many_workers_at_once_share_entries_without_overlap(journal: Journal) -> None:
    keys = [EntryKey(ORIGIN, "sandbox", "5WT00001", f"order-{n}") for n in range(10)]
    for key in keys:
        await opened(journal, key, lease=NO_TIME)
    claims = [journal.claim(key, owner=f"w{n}", lease=LONG) for n in range(8) for key in keys]
    taken = [entry for entry in await asyncio.gather(*claims) if entry is not None]
    assert sorted(entry.key.external_identifier for entry in taken) == [key.external_identifier for key in keys]


async def test_a_repeated_close_recognises_its_own_work(journal: Journal) -> None:
    await opened(journal)
    assert await journal.close(KEY, owner="a", state=EntryState.PLACED, order_id="77", note="first")
    closed = await state_of(journal)
    assert (closed.owner, closed.claimed_until, closed.closed_by) == (None, None, "a")
    assert await journal.close(KEY, owner="a", state=EntryState.PLACED, order_id="77", note="again")
    assert not await journal.close(KEY, owner="b", state=EntryState.PLACED, order_id="78")
    assert await state_of(journal) == closed


async def test_a_repeated_close_never_touches_an_entry_that_was_opened_again(journal: Journal) -> None:
    """The acknowledgement of the first close was lost, and another worker is sending the order by now."""
    await opened(journal, owner="a")
    assert await journal.close(KEY, owner="a", state=EntryState.NOT_SENT, note="429")
    sending, fresh = await journal.open(KEY, BODY, owner="b", lease=LONG)
    assert fresh
    assert not await journal.close(KEY, owner="a", state=EntryState.NOT_SENT, note="429")
    assert await state_of(journal) == sending
    assert await journal.close(KEY, owner="b", state=EntryState.NOT_SENT)
    assert not await journal.close(KEY, owner="a", state=EntryState.NOT_SENT, note="429")
    assert (await state_of(journal)).closed_by == "b"


async def test_close_is_made_by_the_holder_alone_even_when_its_claim_has_expired(journal: Journal) -> None:
    await opened(journal, owner="a", lease=NO_TIME)
    taken = await journal.claim(KEY, owner="b", lease=LONG)
    assert not await journal.close(KEY, owner="a", state=EntryState.NOT_SENT)
    assert await state_of(journal) == taken
    await journal.release(KEY, owner="b", note="no answer")
    assert not await journal.close(KEY, owner="b", state=EntryState.PLACED)
    assert (await state_of(journal)).state is EntryState.OPEN
    await opened(journal, OTHER, owner="a", lease=NO_TIME)
    assert await journal.close(OTHER, owner="a", state=EntryState.PLACED, order_id="77")


async def test_open_that_is_repeated_is_new_to_its_owner_and_reopens_nothing_that_it_closed(journal: Journal) -> None:
    """A statement that was believed lost may arrive late, after its repetition and all that followed."""
    first = await opened(journal)
    assert await journal.open(KEY, BODY, owner="a", lease=LONG) == (first, True)
    await journal.close(KEY, owner="a", state=EntryState.NOT_SENT)
    entry, fresh = await journal.open(KEY, BODY, owner="a", lease=LONG)
    assert (fresh, entry.state, entry.attempts) == (False, EntryState.NOT_SENT, 1)


async def test_abandoning_asks_for_no_ownership(journal: Journal) -> None:
    await opened(journal, owner="a", lease=LONG)
    assert await journal.abandon(KEY, note="asked the desk: never arrived")
    entry = await state_of(journal)
    assert (entry.state, entry.note, entry.owner) == (EntryState.ABANDONED, "asked the desk: never arrived", None)
    assert entry.closed_at is not None
    assert not await journal.abandon(KEY, note="twice")
    assert not await journal.abandon(OTHER, note="no such entry")
    assert not await journal.close(KEY, owner="a", state=EntryState.PLACED)
    assert await state_of(journal) == entry


ELSEWHERE = "http://127.0.0.1:8000"


async def test_entries_of_one_service_are_listed_apart(journal: Journal) -> None:
    mine = await opened(journal, KEY)
    other = await opened(journal, attrs.evolve(KEY, origin=ELSEWHERE))
    assert await journal.entries("sandbox", origin=ORIGIN) == [mine]
    assert await journal.entries(origin=ELSEWHERE, state=EntryState.OPEN) == [other]
    assert await journal.entries("production", origin=ORIGIN) == []
    assert await journal.entries("sandbox") == [mine, other]


async def test_an_open_entry_of_another_origin_is_found_where_the_key_has_none(journal: Journal) -> None:
    elsewhere = attrs.evolve(KEY, origin=ELSEWHERE)
    assert await journal.find(KEY, any_origin=True) is None
    other = await opened(journal, elsewhere)
    await opened(journal, attrs.evolve(OTHER, origin=ELSEWHERE))
    assert await journal.find(KEY) is None
    assert await journal.find(KEY, any_origin=True) == other
    for field in ("environment", "account_number", "external_identifier"):
        assert await journal.find(attrs.evolve(KEY, **{field: "none of ours"}), any_origin=True) is None
    mine = await opened(journal, KEY)
    assert await journal.find(KEY, any_origin=True) == mine
    assert await journal.find(elsewhere, any_origin=True) == other
    await journal.close(attrs.evolve(OTHER, origin=ELSEWHERE), owner="a", state=EntryState.PLACED)
    assert await journal.find(OTHER, any_origin=True) is None, "it is closed"


async def test_an_adopted_entry_moves_with_all_it_holds(journal: Journal) -> None:
    old = attrs.evolve(KEY, origin="https://before.example.com")
    before = await opened(journal, old, owner="a", lease=NO_TIME)
    for _ in range(2):  # the second is a repetition
        assert await journal.adopt(old, origin=ORIGIN)
    assert await journal.find(old) is None
    assert await state_of(journal) == attrs.evolve(before, key=KEY, owner=None, claimed_until=None)
    assert not await journal.renew(old, owner="a", lease=LONG)


async def test_what_is_held_closed_or_in_the_way_is_not_adopted(journal: Journal) -> None:
    before = "https://before.example.com"
    old, held = attrs.evolve(KEY, origin=before), attrs.evolve(OTHER, origin=before)
    assert not await journal.adopt(old, origin=ORIGIN)
    await opened(journal, held, owner="a", lease=LONG)
    assert not await journal.adopt(held, origin=ORIGIN)
    await journal.close(held, owner="a", state=EntryState.PLACED)
    assert not await journal.adopt(held, origin=ORIGIN)
    await opened(journal, old, lease=NO_TIME)
    await opened(journal, KEY)
    assert not await journal.adopt(old, origin=ORIGIN)
    assert (await state_of(journal, old)).state is EntryState.OPEN


async def test_closing_twice_is_harmless(journal: Journal) -> None:
    await opened(journal)
    await journal.aclose()
    await journal.aclose()


def test_the_names_are_there_and_errors_are_ours() -> None:
    assert {"SqliteJournal", "PostgresJournal", "MemoryJournal"} <= set(public.__all__)
    assert issubclass(JournalError, BrokerageError)
    with pytest.raises(AttributeError):
        _ = public.NoSuchJournal  # type: ignore[attr-defined]


def test_import_leaves_out_what_may_not_be_needed() -> None:
    program = "import sys, brokerage_async.journal; sys.exit('sqlite3' in sys.modules or 'psycopg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


CLAIMER = """
    import asyncio, sys, time
    from brokerage_async.journal import PostgresJournal, SqliteJournal
    kind, where, table, start = sys.argv[1:]
    async def claim():
        made = SqliteJournal(where) if kind == "sqlite" else PostgresJournal(where, table=table)
        async with made as journal:
            await journal.now()
            print("ready", flush=True)
            sys.stdin.readline()
            for entry in await journal.entries("sandbox"):
                if await journal.claim(entry.key, owner=start, lease=600):
                    print(entry.key.external_identifier, flush=True)
    asyncio.run(claim())
"""


async def test_processes_never_claim_the_same_entry(durable: Durable) -> None:
    async with durable.open() as journal:
        for n in range(50):
            await opened(journal, EntryKey(ORIGIN, "sandbox", "a", str(n)), lease=NO_TIME)
    processes = await asyncio.to_thread(start_together, CLAIMER, durable, 3)
    got = [await asyncio.to_thread(process.communicate, timeout=30) for process in processes]
    assert sorted(int(name) for output, _ in got for name in output.split()) == list(range(50))


FORKING = """
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
    interpreter, *program = command_of(FORKING, durable)
    command = [interpreter, "-W", "ignore::DeprecationWarning", *program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, env=ENVIRONMENT)
    assert done.stderr == ""
    refused, after = done.stdout.splitlines()
    assert "was forked: open a journal of its own in each process" in refused
    assert after == "the parent goes on"
