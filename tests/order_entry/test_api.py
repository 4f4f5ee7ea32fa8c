"""Order entry without faults: its parts, its results, and the policy that each call searches by."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async import Client, Environment, RetryPolicy, StaticToken
from brokerage_async.errors import ConfigurationError, OrderOutcomeUnknownError
from brokerage_async.journal import EntryKey, EntryState, MemoryJournal
from brokerage_async.order_entry import OrderEntry, Outcome, ReconcilePolicy
from brokerage_async.protocol.request import Request
from tests.fake_transport import LOST, FakeTransport, ok
from tests.loops import on_virtual_time
from tests.tables import for_each
from tests.trading import POLICY, Floor, bracket_order, edit, on_floor, order, place_unknown

pytestmark = pytest.mark.virtual_time


async def test_order_is_dry_run_journaled_and_placed_once_under_an_identifier_of_its_own(here: Floor) -> None:
    placement = await here.entry.place(here.account, order())
    assert (placement.outcome, placement.attempts, placement.error) == (Outcome.PLACED, 1, None)
    assert placement.preview.buying_power_effect is not None
    (record,) = here.orders(placement.external_identifier)
    assert record.order_id == placement.order.id
    (entry,) = await here.journaled()
    assert (entry.state, entry.order_id, entry.body) == (EntryState.PLACED, placement.order.id, placement.body)
    assert json.loads(entry.body)["external-identifier"] == placement.external_identifier
    names = [entry.operation for entry in here.sim.ledger.requests]
    assert names == ["oauth.token", "orders.dry_run", "orders.submit"]  # nothing more on the happy path
    second = await here.entry.place(here.account, order())
    assert second.external_identifier != placement.external_identifier
    third = await here.entry.place(here.account, order("my-own"))
    assert third.external_identifier == third.order.external_identifier == "my-own"
    numbered = OrderEntry(here.client, here.journal, identifiers=lambda: "number-4")
    assert (await numbered.place(here.account, order())).external_identifier == "number-4"


async def test_name_without_a_journal_is_used_once_per_client(here: Floor, caplog: pytest.LogCaptureFixture) -> None:
    assert here.client.order_entry(here.journal).journal is here.journal
    assert not caplog.records
    async with here.sim.client() as other:
        view = here.client.with_options(deadline=60)
        entries = [here.client.order_entry(), here.client.order_entry(), view.order_entry(), OrderEntry(view)]
        assert isinstance(entries[0].journal, MemoryJournal)
        placements = [await entry.place(here.account, order("mine")) for entry in entries]
        assert {placement.outcome for placement in placements} == {Outcome.PLACED}
        assert len(here.orders("mine")) == 1
        warned = [each.name for each in caplog.records if "in memory only" in each.getMessage()]
        assert warned == ["brokerage_async.order_entry"]
        assert other.order_entry().journal is not here.client.order_entry().journal


async def test_a_client_hands_looks_and_lease_on(here: Floor) -> None:
    entry = here.client.order_entry(here.journal, reconcile=ReconcilePolicy(visibility_delay=1, first=0.5), lease=7)
    here.on_submit("drop_before")
    began = asyncio.get_running_loop().time()
    placing = asyncio.create_task(place_unknown(here, entry=entry))
    await asyncio.sleep(1)
    (held,) = await here.journaled()
    assert held.claimed_until is not None
    assert 0 < (held.claimed_until - await here.journal.now()).total_seconds() <= 7
    await placing
    assert asyncio.get_running_loop().time() - began < POLICY.visibility_delay
    with pytest.raises(ConfigurationError, match="lease"):
        here.client.order_entry(here.journal, lease=0)


CALLS: dict[str, Callable[..., Awaitable[Any]]] = {
    "place": lambda entry, **options: entry.place("A1", order("mine"), **options),
    "place_complex": lambda entry, **options: entry.place_complex("A1", bracket_order("mine"), **options),
    "recover": lambda entry, **options: entry.recover(**options),
    "cancel": lambda entry, **options: entry.cancel("A1", 1, **options),
    "replace": lambda entry, **options: entry.replace("A1", 1, edit(), **options),
    "edit": lambda entry, **options: entry.edit("A1", 1, edit(), **options),
    "edit_pairs": lambda entry, **options: entry.edit_pairs("A1", 1, ratio_price_threshold=Decimal(2), **options),
    "cancel_complex": lambda entry, **options: entry.cancel_complex("A1", 1, **options),
}


class Silent:
    """A client whose dry-runs succeed, perhaps with a warning, and whose changes and reads all stay unanswered."""

    def __init__(self, *, warned: bool = False) -> None:
        self._warnings = [{"code": "w", "message": "hm"}] if warned else []
        self.changes: list[str] = []
        environment, transport = Environment.sandbox("https://a.example"), FakeTransport(self._answer)
        self.client = Client(environment, StaticToken("t"), transport=transport, retry=RetryPolicy.none())

    def _answer(self, request: Request) -> Any:
        name = request.operation.name
        if name.endswith("dry_run"):
            return ok({"order": {"id": 1}, "complex-order": {"id": 1}, "warnings": self._warnings})
        if request.method != "GET":
            self.changes.append(name)
        return LOST


@for_each("name", CALLS)
@for_each(
    "options, seconds",
    [
        ({}, 120),
        ({"visibility_delay": 300.0}, 300),
        ({"reconcile": ReconcilePolicy(give_up=1, visibility_delay=30)}, 30),
        ({"reconcile": ReconcilePolicy(give_up=1, visibility_delay=30), "visibility_delay": 60.0}, 60),
    ],
)
@on_virtual_time
async def test_each_call_searches_by_its_own_policy(name: str, options: dict[str, Any], seconds: float) -> None:
    """The lists cannot be read: the search ends with the policy."""
    async with Silent().client as client:
        journal = MemoryJournal()
        entry = OrderEntry(client, journal)
        if name == "recover":
            key = EntryKey(client.environment.origin, "sandbox", "A1", "mine")
            await journal.open(key, b"{}", owner="dead", lease=0)
        with contextlib.suppress(OrderOutcomeUnknownError):
            await CALLS[name](entry, **options)
        assert seconds <= asyncio.get_running_loop().time() < seconds + 20


@for_each("name", [name for name in CALLS if name not in ("place", "place_complex")])
@on_floor()
async def test_only_calls_that_place_orders_take_resubmissions_and_wait_is_a_flag(here: Floor, name: str) -> None:
    with pytest.raises(TypeError, match="'resubmit'"):
        await CALLS[name](here.entry, resubmit=1)
    if name.startswith("cancel"):
        with pytest.raises(ConfigurationError, match="wait must be True or False, got 1"):
            await CALLS[name](here.entry, wait=1)
    assert not here.wire.bodies


@for_each("name", ["place", "place_complex", "replace", "edit"])
async def test_warnings_of_a_dry_run_stop_each_call_unless_it_allows_them(name: str) -> None:
    desk = Silent(warned=True)
    async with desk.client as client:
        stopped = await CALLS[name](OrderEntry(client, MemoryJournal()))
        assert str(stopped.outcome) == "refused"
        assert desk.changes == []
        with contextlib.suppress(OrderOutcomeUnknownError):
            await CALLS[name](OrderEntry(client, MemoryJournal()), allow_warnings=True)
        assert len(desk.changes) == 1


@for_each("origin", ["", "https://old.example.com"])
async def test_abandon_closes_the_entry_of_the_origin_that_it_names(origin: str) -> None:
    async with Silent().client as client:
        journal = MemoryJournal()
        here = EntryKey(client.environment.origin, "sandbox", "A1", "mine")
        named = attrs.evolve(here, origin=origin or here.origin)
        await journal.open(named, b"{}", owner="dead", lease=0)
        entry = OrderEntry(client, journal)
        assert not await entry.abandon("A1", "mine", note="by hand", origin="https://third.example.com")
        assert await entry.abandon("A1", "mine", note="by hand", origin=origin)
        (closed,) = await journal.entries()
        assert (closed.key, closed.state, closed.note) == (named, EntryState.ABANDONED, "by hand")
