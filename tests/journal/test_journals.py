"""The suite that every journal passes, the durable ones between processes, and orders shown otherwise than sent."""

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pytest

from brokerage_async import Client, tickets
from brokerage_async import journal as public
from brokerage_async.errors import BrokerageError, OrderOutcomeUnknownError
from brokerage_async.journal import EntryKey, EntryState, Journal, JournalEntry, JournalError, renew_claims
from brokerage_async.order_entry import ChangeOutcome, OrderEntry, Outcome, Placement, ReconcilePolicy
from brokerage_async.simulator import Simulator, faults
from tests.http.calls import raised_by
from tests.journal.workers import claim_every_entry, start_together
from tests.journal_servers import Durable
from tests.processes import crowd, run_program
from tests.tables import for_each
from tests.trading import COMPLEX, SINGLE, SMALL, Kind, exclusive_orders

ORIGIN, ELSEWHERE = "https://api.example.com", "http://127.0.0.1:8000"
KEY = EntryKey(ORIGIN, "sandbox", "5WT00001", "order-1")
OTHER = EntryKey(ORIGIN, "sandbox", "5WT00001", "order-2")
BODY = b'{"order-type":"Limit"}\0\xff'
NO_TIME = 0.0
LONG = 600.0


async def opened(journal: Journal, key: EntryKey = KEY, *, owner: str = "a", lease: float = LONG) -> JournalEntry:
    entry, fresh = await journal.open(key, BODY, owner=owner, lease=lease)
    assert fresh
    return entry


async def test_entry_comes_back_as_it_was_written_and_is_opened_once(journal: Journal) -> None:
    entry = await opened(journal)
    assert (entry.key, entry.body, entry.state, entry.attempts, entry.owner) == (KEY, BODY, EntryState.OPEN, 1, "a")
    assert abs(entry.opened_at - datetime.now(UTC)) < timedelta(minutes=1)
    assert entry.claimed_until == entry.opened_at + timedelta(seconds=LONG)
    assert await journal.find(KEY) == entry
    assert await journal.open(KEY, b"another body", owner="b", lease=LONG) == (entry, False)
    assert await journal.open(KEY, BODY, owner="a", lease=LONG) == (entry, True), "repeated, it is new to its owner"
    assert await journal.entries("sandbox") == [entry]
    # A statement that was believed lost may arrive late, after its repetition and all that followed.
    await journal.close(KEY, owner="a", state=EntryState.NOT_SENT)
    late, fresh = await journal.open(KEY, BODY, owner="a", lease=LONG)
    assert (fresh, late.state, late.attempts) == (False, EntryState.NOT_SENT, 1)


async def test_the_same_identifier_elsewhere_is_another_entry(journal: Journal) -> None:
    mine = await opened(journal)
    other = await opened(journal, attrs.evolve(KEY, origin=ELSEWHERE))
    assert await journal.entries("sandbox", origin=ORIGIN) == [mine]
    assert await journal.entries(origin=ELSEWHERE, state=EntryState.OPEN) == [other]
    assert await journal.entries("production", origin=ORIGIN) == []
    await opened(journal, attrs.evolve(KEY, environment="production"))
    last = await opened(journal, attrs.evolve(KEY, account_number="5WT00002"))
    assert await journal.entries("sandbox") == [mine, other, last]
    assert len(await journal.entries()) == 4
    assert len(await journal.entries(state=EntryState.OPEN)) == 4


async def test_what_never_left_may_be_opened_again_unchanged(journal: Journal) -> None:
    await opened(journal)
    assert await journal.close(KEY, owner="a", state=EntryState.NOT_SENT, note="connection refused")
    changed, fresh = await journal.open(KEY, b"another body", owner="b", lease=LONG)
    assert (fresh, changed.state) == (False, EntryState.NOT_SENT)
    again, fresh = await journal.open(KEY, BODY, owner="b", lease=LONG)
    assert (fresh, again.state, again.attempts, again.owner, again.note) == (True, EntryState.OPEN, 2, "b", "")
    assert again.closed_at is None


@for_each("state", [EntryState.PLACED, EntryState.REFUSED, EntryState.ABANDONED])
async def test_what_the_service_has_seen_is_never_opened_again(journal: Journal, state: EntryState) -> None:
    key = attrs.evolve(KEY, external_identifier=state.value)
    await opened(journal, key)
    assert await journal.close(key, owner="a", state=state, order_id="77", note="why")
    entry, fresh = await journal.open(key, BODY, owner="b", lease=LONG)
    assert (fresh, entry.state, entry.order_id, entry.note, entry.owner) == (False, state, "77", "why", None)
    assert entry.closed_at is not None


async def test_closed_entry_cannot_be_claimed_and_keeps_its_first_outcome(journal: Journal) -> None:
    assert await journal.claim(KEY, owner="a", lease=LONG) is None
    await opened(journal)
    assert await journal.close(KEY, owner="a", state=EntryState.PLACED, order_id="77", note="first")
    closed = await journal.find(KEY)
    assert (closed.owner, closed.claimed_until, closed.closed_by) == (None, None, "a")
    assert await journal.close(KEY, owner="a", state=EntryState.PLACED, order_id="77", note="again"), "its own work"
    assert not await journal.close(KEY, owner="a", state=EntryState.REFUSED)
    assert not await journal.close(KEY, owner="b", state=EntryState.PLACED, order_id="78")
    assert not await journal.close(OTHER, owner="a", state=EntryState.REFUSED)
    assert await journal.entries("sandbox", state=EntryState.PLACED) == [closed]
    assert await journal.entries("sandbox", state=EntryState.OPEN) == []
    assert await journal.claim(KEY, owner="a", lease=LONG) is None


async def test_a_claim_is_exclusive_until_it_ends(journal: Journal) -> None:
    await opened(journal, lease=LONG)
    assert await journal.claim(KEY, owner="b", lease=LONG) is None
    assert await journal.renew(KEY, owner="a", lease=NO_TIME)
    assert await journal.claim(KEY, owner="b", lease=LONG) is not None  # the acknowledgement of this one was lost
    again = await journal.claim(KEY, owner="b", lease=LONG)
    assert again.owner == "b"
    assert await journal.claim(KEY, owner="c", lease=LONG) is None
    assert not await journal.renew(KEY, owner="a", lease=LONG)
    assert not await journal.release(KEY, owner="a", note="")
    for attempts in (3, None, 2):  # the last one arrives late
        assert await journal.renew(KEY, owner="b", lease=LONG, attempts=attempts)
    assert (await journal.find(KEY)).attempts == 3


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
    found = await journal.find(KEY)
    assert (found.state, found.owner, found.note) == (EntryState.OPEN, None, "no answer")
    assert found.looked_at is not None
    assert not await journal.release(KEY, owner="a", note="repeated")
    assert await journal.find(KEY) == found
    assert await journal.claim(KEY, owner="b", lease=LONG) is not None
    await opened(journal, OTHER)
    assert await journal.release(OTHER, owner="a", note="cancelled", looked=False)
    found = await journal.find(OTHER)
    assert found == JournalEntry(key=OTHER, body=BODY, opened_at=found.opened_at, note="cancelled"), "it was given up"
    for _ in range(2):  # closing twice is harmless
        await journal.aclose()


async def test_a_repeated_close_never_touches_an_entry_that_was_opened_again(journal: Journal) -> None:
    """The acknowledgement of the first close was lost, and another worker is sending the order by now."""
    await opened(journal, owner="a")
    assert await journal.close(KEY, owner="a", state=EntryState.NOT_SENT, note="429")
    sending, fresh = await journal.open(KEY, BODY, owner="b", lease=LONG)
    assert fresh
    assert not await journal.close(KEY, owner="a", state=EntryState.NOT_SENT, note="429")
    assert await journal.find(KEY) == sending
    assert await journal.close(KEY, owner="b", state=EntryState.NOT_SENT)
    assert not await journal.close(KEY, owner="a", state=EntryState.NOT_SENT, note="429")
    assert (await journal.find(KEY)).closed_by == "b"


async def test_close_is_made_by_the_holder_alone_even_when_its_claim_has_expired(journal: Journal) -> None:
    await opened(journal, owner="a", lease=NO_TIME)
    taken = await journal.claim(KEY, owner="b", lease=LONG)
    assert not await journal.close(KEY, owner="a", state=EntryState.NOT_SENT)
    assert await journal.find(KEY) == taken
    await journal.release(KEY, owner="b", note="no answer")
    assert not await journal.close(KEY, owner="b", state=EntryState.PLACED)
    assert (await journal.find(KEY)).state is EntryState.OPEN
    await opened(journal, OTHER, owner="a", lease=NO_TIME)
    assert await journal.close(OTHER, owner="a", state=EntryState.PLACED, order_id="77")


async def test_abandoning_asks_for_no_ownership(journal: Journal) -> None:
    await opened(journal, owner="a", lease=LONG)
    assert await journal.abandon(KEY, note="asked the desk: never arrived")
    entry = await journal.find(KEY)
    assert (entry.state, entry.note, entry.owner) == (EntryState.ABANDONED, "asked the desk: never arrived", None)
    assert entry.closed_at is not None
    assert not await journal.abandon(KEY, note="twice")
    assert not await journal.abandon(OTHER, note="no such entry")
    assert not await journal.close(KEY, owner="a", state=EntryState.PLACED)
    assert await journal.find(KEY) == entry


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


async def test_adopted_entry_moves_with_all_it_holds_unless_it_is_held_closed_or_in_the_way(journal: Journal) -> None:
    old, held = attrs.evolve(KEY, origin=ELSEWHERE), attrs.evolve(OTHER, origin=ELSEWHERE)
    assert not await journal.adopt(old, origin=ORIGIN)
    before = await opened(journal, old, owner="a", lease=NO_TIME)
    for _ in range(2):  # the second is a repetition
        assert await journal.adopt(old, origin=ORIGIN)
    assert await journal.find(old) is None
    assert await journal.find(KEY) == attrs.evolve(before, key=KEY, owner=None, claimed_until=None)
    assert not await journal.renew(old, owner="a", lease=LONG)
    await opened(journal, held, owner="a", lease=LONG)
    assert not await journal.adopt(held, origin=ORIGIN)
    await journal.close(held, owner="a", state=EntryState.PLACED)
    assert not await journal.adopt(held, origin=ORIGIN)
    await opened(journal, old, lease=NO_TIME)
    assert not await journal.adopt(old, origin=ORIGIN)
    assert (await journal.find(old)).state is EntryState.OPEN


async def test_names_are_there_errors_are_ours_and_import_leaves_out_what_may_not_be_needed() -> None:
    assert {"SqliteJournal", "PostgresJournal", "MemoryJournal"} <= set(public.__all__)
    assert issubclass(JournalError, BrokerageError)
    with pytest.raises(AttributeError):
        _ = public.NoSuchJournal  # type: ignore[attr-defined]
    program = "import sys, brokerage_async.journal; sys.exit('sqlite3' in sys.modules or 'psycopg' in sys.modules)"
    assert await run_program("-c", program) == (0, "")


async def test_processes_never_claim_the_same_entry(durable: Durable) -> None:
    async with durable.open() as journal:
        for n in range(50):
            await opened(journal, attrs.evolve(KEY, external_identifier=str(n)), lease=NO_TIME)
    async with crowd() as workers:
        await start_together(workers, claim_every_entry, durable, 3)
        await workers.wait_for_all(30)
        assert sorted(int(name) for _, name in workers.of("claimed")) == list(range(50))


FORKING = """
import asyncio, os, sys
from brokerage_async.journal import EntryKey, JournalError
from tests.journal_servers import Durable

journal = Durable(*sys.argv[1:]).open()
key = EntryKey("https://api.example.com", "sandbox", "A1", "one")

async def main():
    await journal.now()
    child = os.fork()
    if child == 0:
        asyncio._set_running_loop(None)
        try:
            asyncio.new_event_loop().run_until_complete(journal.open(key, b"", owner="child", lease=30))
        except JournalError as error:
            print(error, flush=True)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert await journal.find(key) is None
    await journal.aclose()
    print("the parent goes on")

asyncio.run(main())
"""


async def test_a_forked_process_is_refused_and_its_parent_goes_on(durable: Durable) -> None:
    _, output = await run_program("-W", "ignore::DeprecationWarning", "-c", FORKING, *attrs.astuple(durable))
    refused, after = output.splitlines()
    assert "was forked: open a journal of its own in each process" in refused
    assert after == "the parent goes on"


POLICY = ReconcilePolicy(first=0.01, visibility_delay=0.05, max_interval=0.02, give_up=0.1)
BOTH = "AAPL was sent as Sell to Close and the service has Sell to Open"


def single(name: str) -> Any:
    order = tickets.limit(tickets.sell_to_close("AAPL", 10), price=900)
    return attrs.evolve(order, external_identifier=name, advanced_instructions=None)


def exclusive(name: str) -> Any:
    made = exclusive_orders(name)
    return attrs.evolve(made, orders=tuple(attrs.evolve(each, advanced_instructions=None) for each in made.orders))


async def place_in_every_way(sim: Simulator, client: Client, journal: Journal, kind: Kind) -> list[Placement]:
    """Place an order that is answered, one whose answer is lost, and one that is recovered and then asked for again."""
    first, later = (OrderEntry(client, journal, reconcile=POLICY) for _ in range(2))

    async def place(entry: OrderEntry, name: str) -> Placement:
        allowed = ["closing_with_no_position"]
        return await kind.place(entry, sim.account_numbers[0], f"{kind.name} {name}", allow_warnings=allowed)

    answered = await place(first, "answered")
    sim.faults.add("POST", kind.submit, "drop_after", times=2)
    lost = await place(first, "lost")
    sim.faults.add("GET", kind.lists, faults.status(403), times=None)
    await raised_by(place(first, "left"), OrderOutcomeUnknownError)
    sim.faults.clear()
    (recovered,) = await later.recover()
    placements = [answered, lost, recovered, await place(later, "left")]
    assert [placement.outcome for placement in placements] == [Outcome.PLACED] * 4
    assert sim.ledger.count(f"{kind.namespace}.submit") == 3
    return placements


def codes_of(placements: list[Placement]) -> list[list[str | None]]:
    return [[warning.code for warning in placement.warnings] for placement in placements]


async def test_close_that_became_an_opening_is_ours(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    for kind, components in ((attrs.evolve(SINGLE, make=single), 1), (attrs.evolve(COMPLEX, make=exclusive), 2)):
        sim = Simulator(**SMALL)
        caplog.clear()
        async with sim.client(transport=sim.transport()) as client:
            placements = await place_in_every_way(sim, client, journal, kind)
        changed = ["position_effect_changed"] * components
        dry_run = ["closing_with_no_position"] * components
        assert codes_of(placements) == [dry_run + changed, dry_run + changed, changed, changed]
        assert caplog.text.count("position_effect_changed") == 3 * components
        entries = await journal.entries("sandbox")
        assert {entry.state for entry in entries} == {EntryState.PLACED}
        assert [each.note for each in (*placements, *entries) if BOTH not in each.note] == []


async def test_order_that_shows_no_identifier_is_known_by_everything_else(journal: Journal) -> None:
    """It is cancelled by its id."""
    for kind in (SINGLE, COMPLEX):
        sim = Simulator(**SMALL, without=["external_identifier_echoed"])
        async with sim.client(transport=sim.transport()) as client:
            placements = await place_in_every_way(sim, client, journal, kind)
            assert codes_of(placements) == [["identifier_not_echoed"]] * 4
            assert [each.note for each in placements if "shows no external identifier" not in each.note] == []
            ids = [str(placement.order_id) for placement in placements]
            assert (ids[2], len(set(ids))) == (ids[3], 3)
            sim.clock.advance(5)  # an order in flight cannot be cancelled yet
            entry = OrderEntry(client, journal, reconcile=POLICY)
            cancel = entry.cancel if kind is SINGLE else entry.cancel_complex
            assert (await cancel(sim.account_numbers[0], ids[0])).outcome is ChangeOutcome.APPLIED
