"""Verdict on a history that has ended: the reports to the callers against the brokerage's books."""

import asyncio
from collections.abc import Iterator
from typing import Any

from brokerage_async.errors import ConfigurationError, InvalidRequestError, OrderOutcomeUnknownError
from brokerage_async.journal import EntryState, JournalError
from brokerage_async.order_entry import Outcome, Placement

from .process import Call, Process, Program, Step
from .world import World, name_of

DOCUMENTED = (JournalError, InvalidRequestError, ConfigurationError, OrderOutcomeUnknownError, asyncio.CancelledError)
WILL_LOOK = "recover() will look for it"
SETTLED = (Outcome.PLACED, Outcome.REFUSED, Outcome.NOT_SENT)

Key = tuple[str, str]


def judge(world: World) -> list[str]:
    """Return every violation of a history that has ended. A last recovery by a healthy process comes first."""
    if EntryState.OPEN in world.states().values():
        world.play_alone(Process(world, "Z", Program(steps=(Step("recover"),))))
    violations = list(world.violations)
    entries = {name_of(entry): entry for entry in world.entries() if not entry.replaces}
    reported = [(call, placement) for call in world.calls for placement in placements_of(call)]
    if not world.moves:
        violations += check_books(world, entries)
    for call in world.calls:
        violations += check_call(world, call)
    for call, placement in reported:
        violations += check_reported(world, call, placement)
    if not world.moves:  # an open entry may be in the file that was moved away, where recover() cannot look
        violations += check_promises(world, entries, reported)
    violations += [f"uncaught: {p.name}: {text}" for p in world.processes for text in p.loop.uncaught]
    return violations


def check_books(world: World, entries: dict[Key, Any]) -> Iterator[str]:
    """At most one order for each identifier, each with an entry. Closed entries are true."""
    keys = {(order.account, order.identifier) for order in world.books.orders if order.ours}
    if world.scope.cap and len(keys) > world.scope.cap:
        yield f"overspent: {len(keys)} orders, the guard allows {world.scope.cap}"
    for key in sorted(keys | entries.keys()):
        orders, entry = world.books.of(*key), entries.get(key)
        if len(orders) > 1:
            yield f"doubled: {len(orders)} orders under {key}"
        if entry is None:
            yield f"unwritten: an order under {key} and no entry"
            continue
        if orders and entry.state in (EntryState.NOT_SENT, EntryState.REFUSED):
            yield f"false entry: {key} is closed as {entry.state}, the books have it"
        if not orders and entry.state is EntryState.PLACED:
            yield f"false entry: {key} is closed as placed, the books do not have it"
        if orders and entry.state is EntryState.OPEN and not world.may_stay_open(key):
            yield f"missed: {key} is listed, and stays open after the last recovery"


def check_call(world: World, call: Call) -> Iterator[str]:
    """Check that a cancelled call ends cancelled, and that errors are documented and true."""
    error = call.error
    if call.cancelled and not isinstance(error, asyncio.CancelledError):
        yield f"swallowed: {call} was cancelled and ended with {error!r} / {call.result!r}"
    if error is not None and not isinstance(error, DOCUMENTED):
        yield f"crash: {call} raised {type(error).__name__}: {error}"
    if isinstance(error, asyncio.CancelledError) and not call.cancelled:
        yield f"crash: {call} raised CancelledError uncancelled"
    denies = isinstance(error, JournalError | InvalidRequestError | ConfigurationError)
    if isinstance(error, asyncio.CancelledError):
        denies = any(note.endswith("was not sent") for note in getattr(error, "__notes__", ()))
    if denies and any(send.order is not None for send in world.sends if send.call is call):
        yield f"false: {call} said with {type(error).__name__} that it sent nothing, the books have the order"


def check_reported(world: World, call: Call, placement: Placement) -> Iterator[str]:
    key = (placement.account_number, placement.external_identifier)
    if placement.outcome is Outcome.PLACED:
        ids = {str(order.id) for order in world.books.of(*key)}
        if not ids:
            yield f"false: {call} said that {key} is placed, the books do not have it"
        elif (seen := placement.order or placement.complex_order) is not None and seen.id not in ids:
            yield f"false: {call} took order {seen.id} for {key}"
    elif placement.outcome in (Outcome.REFUSED, Outcome.NOT_SENT):
        for send in world.sends:
            same = (send.account, send.identifier) == key
            if same and send.order is not None and (send.call is call or send in world.sends[: call.earlier]):
                yield f"false: {call} said that {key} is {placement.outcome}, the books have it"
                return


def check_promises(world: World, entries: dict[Key, Any], reported: list[tuple[Call, Placement]]) -> Iterator[str]:
    """Check that an order left to `recover` is open, or that a caller knows its outcome."""
    known = {
        (p.account_number, p.external_identifier)
        for call, p in reported
        if p.outcome in SETTLED or (call.step.kind == "recover" and call.process.name == "Z")
    }
    for call in world.calls:
        if call.step.kind != "place" or not promises(call):
            continue
        key = (call.step.account, call.step.identifier)
        entry = entries.get(key)
        if key in known:
            continue
        closer = world.closed_by.get(key)
        if closer is not None and closer is not call and (closer.process.is_dead or closer.step.kind != "recover"):
            continue  # it has answered to its own caller, which is judged, or died before it could
        if entry is not None and entry.state is EntryState.ABANDONED:
            continue
        if closer is call and call.unacknowledged and not world.books.of(*key):
            continue  # its own record of "not sent" took effect without its knowledge, and nothing is lost
        state = "gone" if entry is None else entry.state.value
        yield f"broken promise: {call} left {key} to recover(), which returned nothing (the entry is {state})"


def promises(call: Call) -> bool:
    """Return True if the caller was referred to `recover`."""
    if isinstance(call.error, OrderOutcomeUnknownError):
        # In progress: the outcome is the other worker's to find. Claim lost: the record may have taken effect.
        return call.error.code not in ("in_progress", "claim_lost")
    notes = getattr(call.error, "__notes__", ())
    return isinstance(call.error, asyncio.CancelledError) and any(WILL_LOOK in note for note in notes)


def placements_of(call: Call) -> list[Placement]:
    """Return the placements that a call returned, or that its exception carries."""
    found = [*call.result] if isinstance(call.result, list) else [call.result]
    found += [*getattr(call.error, "placements", ()), getattr(call.error, "placement", None)]
    return [each for each in found if isinstance(each, Placement)]
