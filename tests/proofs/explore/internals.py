"""Internals that plants change, and their replacements. Nothing else of the explorer depends on them."""

import asyncio
from typing import Any
from unittest.mock import patch

import attrs

from brokerage_async import client
from brokerage_async.errors import APIError, AuthenticationError, OrderRefusedError, ServerError
from brokerage_async.http import call
from brokerage_async.journal import sql
from brokerage_async.operation import Effect
from brokerage_async.order_entry import amend, decisions, lists, orders, place, search
from brokerage_async.order_entry.attempts import Attempt, Instant
from brokerage_async.order_entry.decisions import DeliveryOutcome, SearchResult, Step
from brokerage_async.protocol import retry
from brokerage_async.storage.sqlite_file import SqliteFile

__all__ = [
    "APIError",
    "Attempt",
    "Instant",
    "SqliteFile",
    "age_by_loop",
    "amend",
    "another_by_terms",
    "attempt_once",
    "attempt_unclaimed",
    "attempt_until_answered",
    "call",
    "client",
    "close_hastily",
    "close_with_waiting",
    "hasty",
    "is_past_as_datetime",
    "journal_after_reading",
    "lists",
    "open_unless_replacing",
    "orders",
    "other_action_differs",
    "outcome_by_code",
    "place",
    "poll_counting_early_looks",
    "read_complex_orders_only",
    "read_orders_only",
    "release_as_looked",
    "search",
    "side_ignored",
    "sql",
    "table_with",
    "trusting",
]

ORIGINAL_LEG_DIFFERS = orders._leg_differs
ORIGINAL_OPEN, ORIGINAL_POLL = Attempt.open, lists.OrderLists.poll
ORIGINAL_CLOSE, ORIGINAL_OUTCOME_OF, ORIGINAL_RELEASE = place.close, retry.outcome_of, place._release


def hasty(delivery: DeliveryOutcome, found: SearchResult | None = None, **rest: Any) -> Any:
    """Send again without searching first."""
    again = delivery is DeliveryOutcome.UNKNOWN and rest.get("resubmits_left", 0) > 0
    return Step.RESUBMIT if again else decisions.decide(delivery, found, **rest)


def trusting(error: Any, **rest: Any) -> DeliveryOutcome:
    """Take a server error for a refusal."""
    return DeliveryOutcome.REFUSED if isinstance(error, ServerError) else decisions.delivery_of(error, **rest)


def table_with(outcome: str) -> Any:
    """Return a patch of the retry table that repeats mutations after this outcome."""
    changed = retry.TABLE[Effect.MUTATE] | {retry.Outcome[outcome]: retry.Action.REPEAT}
    return patch.dict(retry.TABLE, {Effect.MUTATE: changed})


def outcome_by_code(error: Any) -> retry.Outcome:
    """Take any answer with the code of a rejected token for a 401."""
    return retry.Outcome.UNAUTHORIZED if isinstance(error, AuthenticationError) else ORIGINAL_OUTCOME_OF(error)


def age_by_loop(self: Instant) -> float:
    """Measure by the event loop's clock alone, which stands still while the machine is suspended."""
    return self._loop.time() - self._mono


def journal_after_reading(*, guard: bool) -> Any:
    """Return a patch that reads the caps or the halts before the transaction that records an attempt."""

    async def journal(self: place.PlaceOrder, usage: Any) -> Any:
        shared, attempt = self.context.journal, self.context.attempt(self.key)
        if not guard and await shared.halts():
            raise OrderRefusedError("halted", code="halted")
        if guard and usage is not None and len(await shared.entries()) * usage.value >= usage.max_value_per_day:
            raise OrderRefusedError("refused", code="guard_refused")
        return attempt, *await attempt.open(self.asked.body, exempt=not guard)

    return patch.object(place.PlaceOrder, "_journal", journal)


async def attempt_unclaimed(self: place.Submission) -> None:
    """Count one more attempt without asking the journal, and take the claim for renewed."""
    self._attempt.lost, self._attempt.since = False, Instant()
    self._entry = attrs.evolve(self._entry, attempts=self._entry.attempts + 1)


async def open_unless_replacing(self: Attempt, body: bytes, **terms: Any) -> Any:
    """Record nothing of a replacement."""
    return None if terms.get("replaces") else await ORIGINAL_OPEN(self, body, **terms)


def is_past_as_datetime(self: lists.Window, order: Any, newest: Any) -> bool:
    """Compare as `datetime`, which has a minimum."""
    if order.received_at is None:
        return False
    from datetime import timedelta

    margin = timedelta(seconds=lists.MARGIN)
    return bool(order.received_at < min(self.opened_at, newest - timedelta(seconds=self.age())) - margin)


async def read_orders_only(self: lists.OrderLists, *values: Any, **options: Any) -> Any:
    """Search the lists of single orders only, whatever is searched for."""
    return await ORIGINAL_POLL(self, *values, **{**options, "complex_orders": False})


async def read_complex_orders_only(self: lists.OrderLists, *values: Any, **options: Any) -> Any:
    """Search complex orders in their own list only."""

    async def nothing(*_: Any) -> Any:
        return
        yield

    if not options.get("complex_orders"):
        return await ORIGINAL_POLL(self, *values, **options)
    with patch.object(lists.OrderLists, "_live", nothing), patch.object(lists.OrderLists, "_all", nothing):
        return await ORIGINAL_POLL(self, *values, **options)


async def poll_counting_early_looks(policy: Any, poll: Any, bell: Any = None) -> SearchResult:
    """Count an early look as the poll that it comes before."""
    loop, polls = asyncio.get_running_loop(), list[decisions.Poll]()
    began = loop.time()
    async with lists.early_looks(bell) as looks:
        while not isinstance(step := decisions.next_poll(policy, polls), SearchResult):
            await looks.before(began + step)
            found, sighting = await poll()
            polls.append(decisions.Poll(at=step, complete=sighting.complete, found=found))
    return step


async def release_as_looked(attempt: Attempt, note: str, *, looked: bool = False) -> None:
    """Count every look, also one that could not read the lists."""
    await ORIGINAL_RELEASE(attempt, note, looked=True)


async def close_hastily(attempt: Attempt, placement: Any) -> Any:
    """Leave a cancelled caller without its placement."""
    try:
        return await asyncio.shield(asyncio.ensure_future(place._record(attempt, placement)))
    except asyncio.CancelledError as cancelled:
        place._describe(cancelled, attempt.key, place.MAY_EXIST)
        raise


async def close_with_waiting(attempt: Attempt, placement: Any) -> Any:
    """Wait for a helper that ends itself when it is cancelled at its end, as `asyncio.wait_for` did until 3.11."""
    done = asyncio.Event()

    async def helper() -> None:
        try:
            await done.wait()
        except asyncio.CancelledError:
            if not done.is_set():
                raise

    helping = asyncio.ensure_future(helper())
    await asyncio.sleep(0)
    done.set()
    await helping
    return await ORIGINAL_CLOSE(attempt, placement)


async def attempt_once(self: Any, policy: Any, attempt: Any) -> Any:
    """Take every refusal for the end of the order."""
    return await attempt()


async def attempt_until_answered(self: Any, policy: Any, attempt: Any) -> Any:
    """Send a change again when its answer was lost."""
    made = await attempt()
    return await attempt() if made.outcome is DeliveryOutcome.UNKNOWN else made


def side_ignored(asked: Any, seen: Any, *, edited: bool) -> bool:
    """Compare legs without their actions."""
    return ORIGINAL_LEG_DIFFERS(attrs.evolve(asked, action=seen.action), seen, edited=edited)


def other_action_differs(asked: Any, seen: Any, *, edited: bool) -> bool:
    """Take a leg with another action for a different leg, whichever the side."""
    return asked.action != seen.action or ORIGINAL_LEG_DIFFERS(asked, seen, edited=edited)


def another_by_terms(self: Any, seen: Any) -> bool:
    """Judge an answer without an identifier by its terms."""
    if seen.external_identifier:
        return bool(seen.external_identifier != self.name)
    return orders.differs_in(self.components[self.name], seen) is not None
