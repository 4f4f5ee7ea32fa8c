"""Context of all orders of an order entry, and claims: when they hold, how they are renewed, nothing sent without."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from brokerage_async.config import Environment
from brokerage_async.errors import ConfigurationError, InvalidRequestError, OrderOutcomeUnknownError
from brokerage_async.journal import EntryKey, EntryState, JournalError, MemoryJournal
from brokerage_async.order_entry import OrderEntry, Outcome
from brokerage_async.order_entry import context as module
from brokerage_async.order_entry.context import Attempt, Attempts, Context, finished, outlasting
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import faults
from tests.http.calls import raised_by
from tests.protocol.values import raised
from tests.tables import for_each
from tests.trading import POLICY, Floor, cancelled, on_floor, order, place_unknown

pytestmark = pytest.mark.virtual_time

KEY = EntryKey("https://api.example.com", "sandbox", "A1", "mine")
LEASE = 30.0
THERE = datetime(2026, 6, 10, 14, tzinfo=UTC)


class Counting(MemoryJournal):
    """A journal that counts renewals, can be unreachable or hang, and acknowledges late what it renews one by one."""

    def __init__(self, *, late: float = 0.0, hangs: bool = False) -> None:
        super().__init__(clock=lambda: asyncio.get_running_loop().time())
        self._late = late
        self._hangs = hangs
        self.renewals: list[float] = []
        self.reachable = True

    async def renew(self, key: EntryKey, *, owner: str, lease: float, attempts: int | None = None) -> bool:
        held = await super().renew(key, owner=owner, lease=lease, attempts=attempts)
        await asyncio.sleep(self._late)
        return held

    async def renew_many(self, claims: Mapping[EntryKey, str], *, lease: float) -> set[EntryKey]:
        self.renewals.append(asyncio.get_running_loop().time())
        if self._hangs:
            await asyncio.get_running_loop().create_future()
        if not self.reachable:
            raise JournalError("no route to the database")
        return {key for key, owner in claims.items() if await self.renew(key, owner=owner, lease=lease)}


async def opened(journal: MemoryJournal) -> Attempt:
    attempt = Attempt(Attempts(journal, LEASE), KEY)
    await attempt.open(b"{}")
    return attempt


async def test_claim_counts_the_wall_clock_while_the_machine_was_suspended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop's clock stands still then. The workers of other machines go on."""
    wall = 1_000.0
    monkeypatch.setattr(module.time, "time", lambda: wall)
    attempt = await opened(MemoryJournal(clock=lambda: 0.0))
    attempt._attempts.drop(attempt)
    wall += 60
    assert not attempt.holds()
    wall -= 3600  # set back: the loop's clock counts
    assert attempt.holds()


async def test_attempt_within_a_third_of_the_lease_makes_no_statement_and_no_task() -> None:
    journal = Counting()
    attempt = await opened(journal)
    await asyncio.sleep(9)
    assert len(asyncio.all_tasks()) == 1
    await attempt.close(EntryState.PLACED)
    await asyncio.sleep(60)
    assert journal.renewals == []
    journal = Counting(hangs=True)
    attempt = await opened(journal)
    await asyncio.sleep(25)
    assert len(journal.renewals) == 1
    await attempt.close(EntryState.PLACED)  # while a renewal is under way
    await asyncio.sleep(0)
    assert len(asyncio.all_tasks()) == 1


async def test_attempts_are_renewed_all_in_one_statement() -> None:
    journal = Counting()
    attempts = Attempts(journal, LEASE)
    held = [Attempt(attempts, attrs.evolve(KEY, external_identifier=str(number))) for number in range(200)]
    for attempt in held:
        await attempt.open(b"{}")
    await asyncio.sleep(101)
    assert journal.renewals == [10.0 * number for number in range(1, 11)]
    assert all(attempt.holds() for attempt in held)
    for attempt in held:
        await attempt.close(EntryState.PLACED)


async def test_failed_renewal_is_retried_before_the_claim_ends_and_a_lost_claim_is_not() -> None:
    journal = Counting()
    attempt = await opened(journal)
    journal.reachable = False
    await asyncio.sleep(20)
    assert journal.renewals == [10.0, 13.0, 16.0, 19.0]
    journal.reachable = True
    await asyncio.sleep(9)
    assert attempt.holds()
    await journal.release(KEY, owner=attempt.owner, note="")  # as if the journal's clock had been set ahead
    await journal.claim(KEY, owner="another", lease=LEASE)
    await asyncio.sleep(11)
    assert attempt.objection() == "another worker has taken the journal entry over"
    assert await attempt.close(EntryState.PLACED) is False


async def test_claims_renewed_by_a_slow_statement_count_from_its_beginning() -> None:
    """Another worker may take an entry a lease after the journal renewed it, which may be right at the beginning."""
    journal = Counting(late=8)
    attempt = await opened(journal)
    await asyncio.sleep(10)
    journal.reachable = False  # once the first renewal has begun
    await asyncio.sleep(0.9 * LEASE - 0.1)
    assert attempt.holds()
    await asyncio.sleep(0.2)
    assert not attempt.holds()
    began = asyncio.get_running_loop().time()
    await attempt.repeat(2)
    (entry,) = await journal.entries()
    assert entry.claimed_until == datetime.fromtimestamp(began + LEASE, UTC)
    await attempt.release("", looked=False)


async def test_outlasting_waits_through_one_cancellation_and_no_second() -> None:
    work = asyncio.ensure_future(asyncio.sleep(10))

    async def waiting() -> bool:
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            return await outlasting(asyncio.wait({work}))
        return True

    waits = asyncio.create_task(waiting())
    for _ in range(2):
        await asyncio.sleep(1)
        waits.cancel()
    assert await waits is False
    assert not work.done()
    await work


async def place_turned_away(here: Floor) -> tuple[OrderEntry, Counting, asyncio.Task[Any]]:
    """Place an order that is turned away for a minute, while the journal is unreachable."""
    journal = Counting()
    entry = OrderEntry(here.client, journal, lease=LEASE)
    answer = Response(status=429, headers={"retry-after": "60"})
    here.on_submit(attrs.evolve(faults.status(429), answer=lambda _: answer))
    placing = asyncio.create_task(entry.place(here.account, order("mine")))
    await asyncio.sleep(1)
    journal.reachable = False
    return entry, journal, placing


async def test_order_whose_claim_cannot_be_renewed_is_not_sent(here: Floor) -> None:
    """Another worker has taken it over by then."""
    _, journal, placing = await place_turned_away(here)
    await asyncio.sleep(35)
    other = OrderEntry(here.client, journal, lease=LEASE)
    taking_over = asyncio.create_task(other.place(here.account, order("mine"), resubmit=1))
    error = await raised_by(placing, OrderOutcomeUnknownError, "withheld")
    assert error.code == "in_progress"
    assert (await taking_over).outcome is Outcome.PLACED
    assert len(here.orders("mine")) == 1
    assert here.sim.ledger.count("orders.submit") == 2  # the one turned away, and the other worker's


@for_each("seconds, sends", [(0.9 * LEASE - 0.1, 2), (0.9 * LEASE + 0.1, 1)])
@on_floor()
async def test_order_is_not_sent_again_if_journaling_outlasts_its_claim(
    here: Floor, seconds: float, sends: int
) -> None:
    """The claim counts from before the statement. Another worker may hold the entry when it returns."""
    journal = Counting(late=seconds)
    journal.reachable = False
    entry = OrderEntry(here.client, journal, lease=LEASE)
    if sends == 2:
        here.on_submit("drop_before")
        assert (await entry.place(here.account, order("mine"), resubmit=1)).outcome is Outcome.PLACED
    else:
        assert "withheld" in str(await place_unknown(here, fault="drop_before", entry=entry, resubmit=1))
    assert here.sim.ledger.count("orders.submit") == sends


@for_each("owner, least", [("dead", POLICY.visibility_delay + LEASE), (None, POLICY.visibility_delay)])
@on_floor()
async def test_worker_taking_over_waits_a_lease_before_sending(here: Floor, owner: str | None, least: float) -> None:
    """If its clock disagrees with the journal's, the other worker may trust its claim for one more lease."""
    await here.client.authorize()
    await place_unknown(here, fault="drop_before")
    if owner is not None:
        (left,) = await here.journaled()
        assert await here.journal.claim(left.key, owner=owner, lease=0)
    began = asyncio.get_running_loop().time()
    taking_over = OrderEntry(here.client, here.journal, lease=LEASE)
    assert (await taking_over.place(here.account, order("mine"), resubmit=1)).outcome is Outcome.PLACED
    assert asyncio.get_running_loop().time() - began > least
    assert len(here.orders("mine")) == 1


async def test_withheld_order_that_no_other_worker_took_was_not_sent(here: Floor) -> None:
    entry, journal, placing = await place_turned_away(here)
    placement = await placing
    assert placement.outcome is Outcome.NOT_SENT
    assert "withheld: the claim on the journal entry could not be renewed for 60 s" in placement.note
    journal.reachable = True
    again = await entry.place(here.account, order("mine"))
    assert (again.outcome, again.attempts) == (Outcome.PLACED, 2)
    assert len(here.orders("mine")) == 1


async def test_statement_that_fails_after_its_caller_was_cancelled_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def failing() -> None:
        await asyncio.sleep(2)
        raise JournalError("no connection")

    reported: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))
    await cancelled(finished(failing), 1)
    assert asyncio.get_running_loop().time() == 2
    assert "could not finish a statement of the journal: no connection" in caplog.text
    await raised_by(finished(failing), JournalError)
    assert reported == []


def client_of(name: str = "sandbox", **session: Any) -> Any:
    environment = Environment.sandbox if name == "sandbox" else Environment.production
    return SimpleNamespace(session=SimpleNamespace(**session), environment=environment("https://api.example.com/v1"))


def context_of(client: Any, journal: MemoryJournal | None, lease: float, *, push: bool = False) -> Context:
    return Context(client, journal, lease, push=push, guard=None)


def test_context_has_key_time_and_lease() -> None:
    for name in ("sandbox", "production"):
        key = context_of(client_of(name), MemoryJournal(), 30.0).key_of("A1", "mine")
        assert key == EntryKey("https://api.example.com", name, "A1", "mine")
    known: list[datetime | None] = [None, THERE]
    context = context_of(client_of(service_now=lambda: known[0]), MemoryJournal(), 30.0)
    assert abs(context.now() - datetime.now(UTC)) < timedelta(minutes=1)
    known.pop(0)
    assert context.now() == THERE
    assert context_of(client_of(), MemoryJournal(), 12.5).attempts.lease == 12.5


@for_each("name", ["now", "open", "find", "entries", "claim", "renew", "release", "close", "abandon", "adopt"])
def test_journal_without_one_of_its_methods_is_rejected(name: str) -> None:
    """A method that is missed in the middle of placing an order would be missed too late."""
    journal = MemoryJournal()
    setattr(journal, name, None)
    raised(ConfigurationError, context_of, client_of(), journal, 30.0, match=rf"journal.*\b{name}\b")


def test_account_without_events_has_no_doorbell_and_raises_no_error() -> None:
    """An order may have been sent: its outcome is found by polling then."""

    def doorbell(account_numbers: Any, events: frozenset[str]) -> Any:
        if account_numbers != ("A1",):
            raise InvalidRequestError("no events of this account")
        return ("doorbell of A1", events)

    client = client_of()
    client.stream = SimpleNamespace(check_account=lambda: None, doorbell=doorbell)
    context = context_of(client, MemoryJournal(), 30.0, push=True)
    assert context.bell("A1") == ("doorbell of A1", {"Order", "ComplexOrder"})
    assert context.bell("") is None
    assert context_of(client, MemoryJournal(), 30.0).bell("A1") is None


def test_memory_journal_is_shared_by_the_clients_of_a_session_without_an_engine() -> None:
    first, second = (type("Session", (), {})() for _ in range(2))  # such as a program's own executor
    there = client_of().environment
    clients: Any = [SimpleNamespace(session=each, environment=there) for each in (first, first, second)]
    one, same, other = (context_of(client, None, 30.0).journal for client in clients)
    assert one is same
    assert one is not other
