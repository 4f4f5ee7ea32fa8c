"""Defects to plant: each takes one protection out again. An explorer that does not find them proves nothing.

Each is a small change of the library while it lasts, with the scope that it is hunted in and the most histories
that finding it may take. Nothing else of the explorer depends on the internals that are changed here.
"""

import asyncio
import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import attrs

from brokerage_async import client
from brokerage_async.errors import APIError, AuthenticationError, OrderRefusedError, ServerError
from brokerage_async.http import call
from brokerage_async.journal import sql
from brokerage_async.operation import Effect
from brokerage_async.order_entry import amend, decisions, lists, orders, place, search
from brokerage_async.order_entry.context import Attempt, Instant
from brokerage_async.order_entry.decisions import DeliveryOutcome, SearchResult, Step
from brokerage_async.order_entry.search import IdentifierSearch
from brokerage_async.protocol import retry
from brokerage_async.storage.sqlite_file import SqliteFile

from .scopes import EXHAUSTED
from .search import Found, exhaust

_close, _outcome_of, _leg_differs = place.close, retry.outcome_of, orders._leg_differs
_open, _poll, _release = Attempt.open, lists.OrderLists.poll, place._release


@attrs.frozen
class Plant:
    """A defect, where it is hunted, and the number of the last history that may find it."""

    text: str
    scope: str
    within: int
    patches: Sequence[Any]
    kinds: frozenset[str]
    faults: int


PLANTS: dict[str, Plant] = {}


def plant(
    scope: str, within: int, *kinds: str, faults: int = 1, over: tuple[Any, str] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """List a defect under the name of its function, described by its docstring.

    This number of ``faults`` of these ``kinds`` (default: the scope's) in one history is enough to show it. The
    function takes the place of an attribute, ``over`` an owner and a name, or else it returns the patches.
    """

    def listed(function: Callable[..., Any]) -> Callable[..., Any]:
        patches = function() if over is None else [patch.object(*over, function)]
        text = (function.__doc__ or "").strip()
        PLANTS[function.__name__] = Plant(text, scope, within, patches, frozenset(kinds), faults)
        return function

    return listed


@contextmanager
def planted(name: str | None) -> Iterator[None]:
    """Run the library with that defect, or unchanged."""
    with ExitStack() as stack:
        for each in PLANTS[name].patches if name is not None else ():
            stack.enter_context(each)
        yield


def hunt(name: str) -> Found | None:
    """Play the scope of a plant, with those faults only that it needs, until a history shows it in time."""
    plant = PLANTS[name]
    scope = EXHAUSTED[plant.scope]
    needed = attrs.evolve(scope, kinds=plant.kinds or scope.kinds, faults=min(plant.faults, scope.faults))
    with planted(name):
        found = exhaust(needed, stop=True, limit=plant.within).found
    return found[0] if found else None


@plant("fences", 2000, "repeated", "turned-away", faults=2)
def outcome_unfenced() -> Any:
    """An outcome is recorded by a worker that no longer holds the entry."""
    return [patch.object(sql, "CLOSE", sql.CLOSE.replace(sql.IS_HELD, sql.IS_OPEN))]


@plant("machines", 2000, over=(Attempt, "objection"))
def sent_without_claim(self: Attempt) -> None:
    """An order is sent by a worker whose claim has ended."""


@plant("machines", 2000, over=(Instant, "age"))
def claim_judged_by_one_clock(self: Instant) -> float:
    """A claim is judged by a clock that stands still while the machine is suspended."""
    return self._loop.time() - self._mono


@plant("cancel-alone", 500, over=(place, "close"))
async def cancellation_swallowed(attempt: Attempt, placement: Any) -> Any:
    """A cancellation that meets the end of a helper task is lost."""
    done = asyncio.Event()

    async def helper() -> None:
        try:
            await done.wait()
        except asyncio.CancelledError:  # a helper that is cancelled at its end just ends, as in `wait_for` until 3.11
            if not done.is_set():
                raise

    helping = asyncio.ensure_future(helper())
    await asyncio.sleep(0)
    done.set()
    await helping
    return await _close(attempt, placement)


@plant("one-place", 500, "html-403")
def proxy_page_taken_for_refusal() -> Any:
    """Any answer with a status of 4xx counts as a refusal of the service."""
    judged = property(lambda error: not 400 <= (error.status or 0) < 500 or error.status in {408, 409, 425, 499})
    return [patch.object(APIError, "maybe_processed", judged)]


@plant("one-place", 500, "json-409", over=(call, "outcome_of"))
def repeated_by_code(error: Any) -> retry.Outcome:
    """An answer of any status with the code of a rejected token is repeated with a new token."""
    return retry.Outcome.UNAUTHORIZED if isinstance(error, AuthenticationError) else _outcome_of(error)


@plant("one-place", 1000, "vanished", "absurd-past", faults=2, over=(lists.Window, "is_past"))
def absurd_time_crashes(self: lists.Window, order: Any, newest: Any) -> bool:
    """A time in the year 1 in a list of orders raises OverflowError."""
    if order.received_at is None:
        return False
    margin = timedelta(seconds=lists.MARGIN)
    return bool(order.received_at < min(self.opened_at, newest - timedelta(seconds=self.age())) - margin)


@plant("recover-barred", 1000, over=(place, "_release"))
async def inconclusive_look_counts(attempt: Attempt, note: str, *, looked: bool = False) -> None:
    """A worker that could not read the lists marks the entry as looked at."""
    await _release(attempt, note, looked=True)


@plant("cancel-alone", 500, over=(place, "close"))
async def cancelled_caller_misled(attempt: Attempt, placement: Any) -> Any:
    """A caller that is cancelled while its outcome is recorded is referred to recover()."""
    try:
        return await asyncio.shield(asyncio.ensure_future(place._record(attempt, placement)))
    except asyncio.CancelledError as cancelled:
        place._describe(cancelled, attempt.key, place.MAY_EXIST)
        raise


@plant("foreign", 500, over=(IdentifierSearch, "_predates"))
def older_order_taken(*_: Any) -> bool:
    """An order that was received before the entry was opened is taken for ours."""
    return False


@plant("moved", 500, over=(SqliteFile, "_check_files"))
def moved_journal_unnoticed(self: SqliteFile) -> None:
    """A journal goes on in a file that was moved away from its path."""


@plant("push", 500, "listed-late", "lost", faults=2, over=(search, "poll_until"))
async def early_look_counts(policy: Any, poll: Any, bell: Any = None) -> SearchResult:
    """An early look counts towards absence, as the poll that it comes before."""
    loop, polls = asyncio.get_running_loop(), list[decisions.Poll]()
    began = loop.time()
    async with lists.early_looks(bell) as looks:
        while not isinstance(step := decisions.next_poll(policy, polls), SearchResult):
            await looks.before(began + step)
            found, sighting = await poll()
            polls.append(decisions.Poll(at=step, complete=sighting.complete, found=found))
    return step


@plant("one-place", 500, "html-502", over=(place, "delivery_of"))
def server_error_taken_for_refusal(error: Any, **rest: Any) -> DeliveryOutcome:
    """A 5xx answer counts as a refusal."""
    return DeliveryOutcome.REFUSED if isinstance(error, ServerError) else decisions.delivery_of(error, **rest)


@plant("one-place", 500, "lost", over=(place, "decide"))
def resubmitted_without_searching(delivery: DeliveryOutcome, found: Any = None, **rest: Any) -> Any:
    """An order of unknown outcome is sent again before it was searched for."""
    again = delivery is DeliveryOutcome.UNKNOWN and rest.get("resubmits_left", 0) > 0
    return Step.RESUBMIT if again else decisions.decide(delivery, found, **rest)


@plant("heirs", 2000, "freeze", over=(place.PlaceOrder, "_journal_attempt"))
async def resubmitted_without_claim(self: place.PlaceOrder) -> None:
    """An order is sent again without renewing the claim."""
    self.attempt.lost, self.attempt.since = False, Instant()
    self.entry = attrs.evolve(self.entry, attempts=self.entry.attempts + 1)


@plant("one-place", 500, "lost")
def lost_answer_repeated() -> Any:
    """The session repeats a submit whose answer was lost."""
    changed = retry.TABLE[Effect.MUTATE] | {retry.Outcome.LOST: retry.Action.REPEAT}
    return [patch.dict(retry.TABLE, {Effect.MUTATE: changed})]


@plant("complex-shared", 500, "vanished", over=(orders, "complex_differs_in"))
def complex_order_matched_by_one_component(asked: Any, seen: Any) -> None:
    """A complex order that shares one component with ours is taken for it."""


@plant("complex-alone", 500, "half-listed", over=(lists.OrderLists, "poll"))
async def complex_list_unread(self: lists.OrderLists, *values: Any, **options: Any) -> Any:
    """A complex order that only the list of complex orders shows is sent again."""
    return await _poll(self, *values, **{**options, "complex_orders": False})


@plant("complex-alone", 500, "half-listed", over=(lists.OrderLists, "poll"))
async def order_lists_unread(self: lists.OrderLists, *values: Any, **options: Any) -> Any:
    """A complex order whose components only the lists of orders show is sent again."""

    async def nothing(*_: Any) -> Any:
        return
        yield

    if not options.get("complex_orders"):
        return await _poll(self, *values, **options)
    with patch.object(lists.OrderLists, "_live", nothing), patch.object(lists.OrderLists, "_all", nothing):
        return await _poll(self, *values, **options)


@plant("complex-recover", 1000, "lost")
def complex_order_recovered_as_single() -> Any:
    """A journaled complex order is searched for as a single one."""
    single = functools.partial(orders.AskedOrder, is_complex=False)
    return [patch.object(search, "asked_in", lambda entry: single(entry.key.external_identifier, entry.body))]


@plant("complex-alone", 500, "lost")
def complex_order_resubmitted_without_searching() -> Any:
    """A complex order of unknown outcome is sent again before it was searched for."""
    return PLANTS["resubmitted_without_searching"].patches


@plant("opposite-adversary", 500, "vanished", over=(orders, "_leg_differs"))
def another_side_taken(asked: Any, seen: Any, *, edited: bool) -> bool:
    """An order on the other side under our identifier is taken for ours."""
    return _leg_differs(attrs.evolve(asked, action=seen.action), seen, edited=edited)


@plant("one-place-adversary", 500, "lost", over=(orders, "_leg_differs"))
def relabelled_order_disowned(asked: Any, seen: Any, *, edited: bool) -> bool:
    """An order that opens instead of closing is taken for someone else's."""
    return asked.action != seen.action or _leg_differs(asked, seen, edited=edited)


@plant("one-place-adversary", 500, "lost", over=(client, "_versions"))
def version_not_sent(headers: Any, version: Any) -> dict[str, Any]:
    """A request goes out without the version that was asked for."""
    return {"headers": headers, "own_versions": False}


@plant("one-place-unechoed", 500, "misanswered")
def answer_taken_by_its_terms() -> Any:
    """An answer without an identifier is taken for ours if its terms are."""

    def is_another(self: Any, seen: Any) -> bool:
        if seen.external_identifier:
            return bool(seen.external_identifier != self.name)
        return orders.differs_in(self.components[self.name], seen) is not None

    asked = orders.AskedOrder
    return [patch.object(asked, "is_named_by", lambda *_: True), patch.object(asked, "is_another", is_another)]


@plant("one-place-unechoed", 500, "vanished")
def older_order_without_identifier_taken() -> Any:
    """An order without an identifier is taken for ours although it was received before."""
    after = patch.object(IdentifierSearch, "_is_after", lambda *_: True)
    return [*PLANTS["older_order_taken"].patches, after]


@plant("push-unechoed", 1000, "vanished", "absurd-future", faults=2, over=(IdentifierSearch, "_is_after"))
def order_of_the_future_taken(self: IdentifierSearch, entry: Any, order: Any) -> bool:
    """An order without an identifier is taken for ours although it was received in the future."""
    return not self._predates(entry, order)


@plant("cancel-at-once", 200, over=(amend.Reader, "repeated"))
async def refusal_for_now_taken_for_the_end(self: Any, policy: Any, attempt: Any, is_done: Any = None) -> Any:
    """A refusal is final although the order is just not live yet."""
    return await attempt()


@plant("cancel-filled", 200)
def cancellation_requested_taken_for_cancelled() -> Any:
    """A cancellation counts as won while the exchange has not confirmed it."""
    over = amend.TERMINAL | {"Cancel Requested"}
    complete = patch.object(amend, "is_complete", lambda order: order.status in over)
    return [patch.object(amend, "TERMINAL", over), complete]


@plant("cancel-complex-filled", 200, over=(amend, "_filled"))
def filled_component_overlooked(reader: Any) -> set[Any]:
    """A complex order counts as cancelled although its trigger order was filled first."""
    return set()


@plant("replace-filled", 200, "lost", over=(amend.Reader, "repeated"))
async def unanswered_replacement_repeated(self: Any, policy: Any, attempt: Any, is_done: Any = None) -> Any:
    """A replacement is sent again after its answer was lost."""
    made = await attempt()
    return await attempt() if made.outcome is DeliveryOutcome.UNKNOWN else made


@plant("cancel-filled", 200, over=(amend, "is_complete"))
def terminal_taken_for_complete(order: Any) -> bool:
    """An order counts as finished while the fills of a leg are missing."""
    return order.status in amend.TERMINAL


@plant("replace-filled", 200, over=(decisions, "replacement_shown"))
def contingent_replacement_taken_for_working(*_: Any, **__: Any) -> amend.ChangeOutcome:
    """A replacement counts as applied before its original is cancelled."""
    return amend.ChangeOutcome.APPLIED


@plant("guard", 500, over=(Attempt, "open"))
async def caps_checked_before_the_claim(self: Attempt, body: bytes, *, usage: Any = None, **terms: Any) -> Any:
    """The sums of a guard are read in a transaction before the one that adds to them."""
    entries = await self._journal.entries() if usage is not None else ()
    if usage is not None and len(entries) * usage.value >= usage.max_value_per_day:
        raise OrderRefusedError("refused", code="guard_refused")
    return await _open(self, body, **terms)


@plant("guard", 500, "vanished")
def unknown_order_gives_its_share_back() -> Any:
    """An order of unknown outcome does not count towards the caps of the guard."""
    without = sql.COUNTS.replace("<> 'refused'", "<> 'open'")
    return [patch.object(sql, "EXACT_SUMS", sql.EXACT_SUMS.replace(sql.COUNTS, without))]


@plant("halt", 500, over=(Attempt, "open"))
async def halt_read_before_the_attempt(self: Attempt, body: bytes, **terms: Any) -> Any:
    """A halt is read in a transaction before the one that records an attempt."""
    if await self._journal.halts():
        raise OrderRefusedError("halted", code="halted")
    return await _open(self, body, **terms | {"exempt": True})


@plant("halt", 1000, "vanished")
def halt_not_read_before_another_attempt() -> Any:
    """A halt stops new orders, but not the repetition of an order that is absent."""
    return [
        patch.object(
            sql, "ATTEMPT", sql.ATTEMPT.replace("WHERE account_number IN", "WHERE 1 = 0 AND account_number IN")
        )
    ]


@plant("halt", 1000)
def open_attempts_not_returned() -> Any:
    """A halt does not return the attempts of orders that it finds open."""
    return [patch.object(sql, "HALTED", sql.HALTED.replace("state = 'open'", "state = 'none'"))]


@plant("halt-replace", 1000, over=(Attempt, "open"))
async def replacement_not_journaled(self: Attempt, body: bytes, **terms: Any) -> Any:
    """A replacement is sent without a journal entry, and so without reading halts."""
    return None if terms.get("replaces") else await _open(self, body, **terms)
