"""Order entry without faults: its parts, its results, and the policy that each call searches by."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import attrs
import pytest

from brokerage_async.errors import ConfigurationError, OrderOutcomeUnknownError
from brokerage_async.journal import EntryKey, EntryState, MemoryJournal
from brokerage_async.order_entry import OrderEntry, Outcome, ReconcilePolicy
from tests.fake_transport import LOST, ok
from tests.http.calls import raised_by
from tests.loops import on_virtual_time
from tests.order_entry.test_amend import Desk
from tests.protocol.values import raised
from tests.tables import for_each
from tests.trading import COMPLEX, POLICY, SINGLE, Floor, Kind, bracket_order, edit, on_floor, order, place_unknown

pytestmark = pytest.mark.virtual_time


@for_each("kind", [SINGLE, COMPLEX])
@on_floor()
async def test_order_is_dry_run_journaled_and_placed_once_under_its_own_identifier(here: Floor, kind: Kind) -> None:
    placement = await kind.place(here.entry, here.account, None)
    name = placement.external_identifier
    assert (placement.outcome, placement.attempts, placement.error) == (Outcome.PLACED, 1, None)
    preview = placement.preview
    assert (preview.buying_power_effect if kind is SINGLE else preview.complex_order) is not None
    assert kind.ids(here, name) == [placement.order_id]
    (entry,) = await here.journaled()
    assert (entry.state, entry.order_id, entry.body) == (EntryState.PLACED, placement.order_id, placement.body)
    body = json.loads(entry.body)
    parts = (body.get("trigger-order", body), *body.get("orders", ()))
    assert [each["external-identifier"] for each in parts] == [f"{name}{other}" for other in ("", *kind.others)]
    requests = [entry.operation for entry in here.sim.ledger.requests]  # nothing more on the happy path
    assert requests == ["oauth.token", f"{kind.namespace}.dry_run", f"{kind.namespace}.submit"]
    assert (await kind.place(here.entry, here.account, None)).external_identifier != name
    numbered = OrderEntry(here.client, here.journal, identifiers=lambda: "number-4")
    assert (await kind.place(numbered, here.account, None)).external_identifier == "number-4"
    third, again = [await kind.place(here.entry, here.account, "my-own") for _ in range(2)]
    assert third.external_identifier == "my-own"
    assert kind.ids(here, "my-own") == [third.order_id] == [again.order_id]
    assert (again.order is None, again.complex_order is None) == (kind is COMPLEX, kind is SINGLE)


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
    assert 0 < (held.claimed_until - await here.journal.now()).total_seconds() <= 7
    await placing
    assert asyncio.get_running_loop().time() - began < POLICY.visibility_delay
    raised(ConfigurationError, here.client.order_entry, here.journal, lease=0, match="lease")


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


def silent(*warnings: dict[str, str]) -> Desk:
    """Return a service whose dry-runs succeed, perhaps with a warning, and that answers no change and no read."""
    passed = ok({"order": {"id": 1}, "complex-order": {"id": 1}, "warnings": warnings})
    dry_runs = dict.fromkeys(("orders__dry_run", "orders__edit_dry_run", "complex_orders__dry_run"), passed)
    return Desk(otherwise=LOST, **dry_runs)


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
    async with silent().client as client:
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
    await raised_by(CALLS[name](here.entry, resubmit=1), TypeError, "'resubmit'")
    if name.startswith("cancel"):
        await raised_by(CALLS[name](here.entry, wait=1), ConfigurationError, "wait must be True or False, got 1")
    assert not here.wire.bodies


@for_each("name", ["place", "place_complex", "replace", "edit"])
async def test_warnings_of_a_dry_run_stop_each_call_unless_it_allows_them(name: str) -> None:
    desk = silent({"code": "w", "message": "hm"})
    async with desk.client as client:
        stopped = await CALLS[name](OrderEntry(client, MemoryJournal()))
        assert str(stopped.outcome) == "refused"
        assert desk.sent_changes() == 0
        with contextlib.suppress(OrderOutcomeUnknownError):
            await CALLS[name](OrderEntry(client, MemoryJournal()), allow_warnings=True)
        assert desk.sent_changes() == 1


@for_each("origin", ["", "https://old.example.com"])
async def test_abandon_closes_the_entry_of_the_origin_that_it_names(origin: str) -> None:
    async with silent().client as client:
        journal = MemoryJournal()
        here = EntryKey(client.environment.origin, "sandbox", "A1", "mine")
        named = attrs.evolve(here, origin=origin or here.origin)
        await journal.open(named, b"{}", owner="dead", lease=0)
        entry = OrderEntry(client, journal)
        assert not await entry.abandon("A1", "mine", note="by hand", origin="https://third.example.com")
        assert await entry.abandon("A1", "mine", note="by hand", origin=origin)
        (closed,) = await journal.entries()
        assert (closed.key, closed.state, closed.note) == (named, EntryState.ABANDONED, "by hand")
