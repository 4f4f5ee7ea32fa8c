"""Cancelling, replacing and editing: sent once, and when no answer comes, the order itself is read back.

None of these needs a journal: each names an order that exists, the service refuses a second replacement of the same
order by itself, and at any later time the order shows what became of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

import attrs

from .._generated.models import ComplexOrder, Order, OrderEdit, PairsEdit, PlacedOrderResponse
from .._generated.operations import COMPLEX_ORDERS_EDIT_PAIRS, COMPLEX_ORDERS_GET, ORDERS_CANCEL, ORDERS_EDIT_DRY_RUN
from ..errors import BrokerageError, ConfigurationError, InvalidRequestError
from ..operation import Executor, Operation
from .decisions import (
    Fate,
    LookPlan,
    cancel_shown,
    fate_of,
    pairs_shown,
    preflight_fate_of,
    replace_shown,
    successor_differs_in,
)
from .preflight import errors_told, is_blank, objection
from .results import ChangeOutcome, OrderChange
from .search import START, OrderLists, Sighting, Window, look_until, terms_of

__all__ = ["cancel", "edit_pairs", "replace"]

T = TypeVar("T")

OUTCOMES = {
    Fate.ANSWERED: ChangeOutcome.APPLIED,
    Fate.ACCEPTED: ChangeOutcome.UNKNOWN,  # until the order shows it: any 2xx may come from a captive portal
    Fate.REFUSED: ChangeOutcome.REFUSED,
    Fate.NOT_SENT: ChangeOutcome.NOT_SENT,
    Fate.UNKNOWN: ChangeOutcome.UNKNOWN,
}


@attrs.frozen
class _Attempt(Generic[T]):
    """How a change that was sent once went: its fate, the answer if it shows the result, and the error."""

    fate: Fate
    answer: T | None
    error: BrokerageError | None


async def cancel(executor: Executor, account_number: str, order_id: str, plan: LookPlan) -> OrderChange:
    """Ask for the cancellation of an order once; see `OrderEntry.cancel`."""
    path = {"account_number": account_number, "id": order_id}
    attempt = await _attempt(executor, ORDERS_CANCEL, path, None, shows=lambda answer: _shows_cancel(answer, order_id))
    fate, reader = attempt.fate, _OrderReader(executor, account_number, order_id)
    if fate in (Fate.UNKNOWN, Fate.ACCEPTED):
        fate = await reader.read_until(plan, lambda seen: cancel_shown(seen.status, seen.replacing_order_id)) or fate
    elif fate is Fate.REFUSED:
        await reader.read()
    return OrderChange(outcome=OUTCOMES[fate], order=attempt.answer or reader.order, error=attempt.error)


def _shows_cancel(answer: Order, order_id: str) -> bool:
    """Whether the answer is this very order, cancelled or about to be: it may have filled in the same moment."""
    return answer.id in (None, order_id) and cancel_shown(answer.status, answer.replacing_order_id) is Fate.ANSWERED


async def replace(
    executor: Executor,
    operation: Operation[Order],
    account_number: str,
    order_id: str,
    body: bytes,
    plan: LookPlan,
    allow_warnings: bool | Collection[str],
) -> OrderChange:
    """Dry-run and then make a replacement (or an edit) once; see `OrderEntry.replace`."""
    path = {"account_number": account_number, "id": order_id}
    try:
        preview: PlacedOrderResponse = await executor.execute(ORDERS_EDIT_DRY_RUN, path=path, body=body)
    except (ConfigurationError, InvalidRequestError):
        raise
    except BrokerageError as error:
        shown = getattr(error, "data", None)
        return OrderChange(
            outcome=OUTCOMES[preflight_fate_of(error)],
            preview=shown if isinstance(shown, PlacedOrderResponse) else None,
            error=error,
        )
    warnings = preview.warnings or ()
    if (stopped := objection(preview, allow_warnings)) is not None:
        return OrderChange(outcome=OUTCOMES[stopped.fate], preview=preview, warnings=warnings, error=stopped.error)
    change = await _replace(executor, operation, path, body, plan)
    return attrs.evolve(change, preview=preview, warnings=warnings)


async def _replace(
    executor: Executor, operation: Operation[Order], path: dict[str, str], body: bytes, plan: LookPlan
) -> OrderChange:
    account_number, order_id, edit = path["account_number"], path["id"], terms_of(body, OrderEdit)
    attempt = await _attempt(
        executor, operation, path, body, shows=lambda answer: _shows_replacement(answer, order_id, edit)
    )
    fate, reader = attempt.fate, _OrderReader(executor, account_number, order_id)
    if fate in (Fate.UNKNOWN, Fate.ACCEPTED):
        shown = await reader.read_until(plan, lambda seen: replace_shown(seen.status, seen.replacing_order_id))
        successor = reader.order.replacing_order_id if reader.order is not None else None
        if shown is Fate.ANSWERED and successor is not None:
            reader = _OrderReader(executor, account_number, successor)
            await reader.read_until(plan, lambda seen: Fate.ANSWERED)
            if edit is not None and reader.order is not None and successor_differs_in(edit, reader.order) is not None:
                shown = Fate.UNKNOWN  # somebody else has replaced the order, it seems
        fate = shown or fate
    elif fate is Fate.REFUSED:
        await reader.read()
    return OrderChange(outcome=OUTCOMES[fate], order=attempt.answer or reader.order, error=attempt.error)


def _shows_replacement(answer: Order, order_id: str, edit: OrderEdit | None) -> bool:
    """Whether the answer is the order that replaces this one, or this one itself, edited in place: with its new terms,
    not with those that it had before."""
    if answer.id == order_id:
        return not answer.replacing_order_id and (edit is None or successor_differs_in(edit, answer) is None)
    return bool(answer.id) and answer.replaces_order_id in (None, order_id)


async def edit_pairs(
    executor: Executor, account_number: str, complex_order_id: str, edit: PairsEdit, plan: LookPlan
) -> OrderChange:
    """Edit a PAIRS order once; see `OrderEntry.edit_pairs`."""
    path = {"account_number": account_number, "id": complex_order_id}
    operation = COMPLEX_ORDERS_EDIT_PAIRS
    attempt = await _attempt(executor, operation, path, edit, shows=lambda answer: not is_blank(answer))
    told = attempt.answer and errors_told(attempt.answer, "the edit found errors", operation.name)
    fate = attempt.fate if told is None else Fate.REFUSED
    seen: ComplexOrder | None = None
    shown: Fate | None = None

    async def look() -> tuple[bool, Sighting]:
        nonlocal seen, shown
        try:
            seen = await executor.execute(COMPLEX_ORDERS_GET, path=path)
        except BrokerageError as failure:
            return False, Sighting(orders={}, complete=False, error=failure)
        wanted = (edit.ratio_price_comparator, edit.ratio_price_threshold)
        found = (seen.ratio_price_comparator, seen.ratio_price_threshold)
        shown = pairs_shown(wanted, found, terminal=bool(seen.terminal_at))
        return shown is not None, Sighting(orders={}, complete=True)

    if fate in (Fate.UNKNOWN, Fate.ACCEPTED):
        await look_until(plan, look)
        fate = shown or fate
    elif fate is Fate.REFUSED:
        await look()
        if told is not None and shown is Fate.ANSWERED:  # errors, and yet the order is as it was asked to be
            fate = Fate.UNKNOWN
    return OrderChange(outcome=OUTCOMES[fate], complex_order=seen, preview=attempt.answer, error=told or attempt.error)


async def _attempt(
    executor: Executor,
    operation: Operation[T],
    path: dict[str, str],
    body: object,
    *,
    shows: Callable[[Any], bool],
) -> _Attempt[T]:
    """Send a change once."""
    try:
        answer = await executor.execute(operation, path=path, body=body)
    except (ConfigurationError, InvalidRequestError):
        raise
    except BrokerageError as error:
        return _Attempt(fate_of(error), None, error)
    shown = bool(shows(answer))
    return _Attempt(fate_of(None, shown=shown), answer if shown else None, None)


class _OrderReader:
    """Reads one order of an account back from the lists; ``order`` is how it was last seen."""

    def __init__(self, executor: Executor, account_number: str, order_id: str) -> None:
        self._lists = OrderLists(executor)
        self._account_number = account_number
        self._order_id = order_id
        self.order: Order | None = None

    async def read(self, *, back: timedelta = timedelta(0)) -> Sighting:
        """Look once, as far ``back`` as said. However old an order is, a change makes it part of today's list."""
        now = datetime.now(UTC)
        window = Window.since(now - back, now)
        sighting = await self._lists.look(self._account_number, {self._order_id}, window, by=lambda order: order.id)
        self.order = sighting.orders.get(self._order_id, self.order)
        return sighting

    async def read_until(self, plan: LookPlan, judge: Callable[[Order], Fate | None]) -> Fate | None:
        """Look as the plan says until the order allows a judgement; None when it never does.

        An order that no look has shown was not changed for days: it is looked for once more, further back.
        """
        judgement: Fate | None = None

        async def look() -> tuple[bool, Sighting]:
            nonlocal judgement
            sighting = await self.read()
            if self._order_id in sighting.orders:
                judgement = judge(sighting.orders[self._order_id])
            return judgement is not None, sighting

        await look_until(plan, look)
        if self.order is None:
            await self.read(back=START)
            judgement = None if self.order is None else judge(self.order)
        return judgement
