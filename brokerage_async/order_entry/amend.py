"""Cancel, replace and edit orders: each request is sent once, and without an answer the order is read back.

No journal is needed: each change names an order that exists, the service rejects a second replacement of the same order
by itself, and the order shows the result at any later time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Generic, TypeVar

import attrs

from .._generated.models import ComplexOrder, Order, OrderEdit, PairsEdit, PlacedOrderResponse
from .._generated.operations import (
    COMPLEX_ORDERS_CANCEL,
    COMPLEX_ORDERS_EDIT_PAIRS,
    COMPLEX_ORDERS_GET,
    ORDERS_CANCEL,
    ORDERS_EDIT_DRY_RUN,
)
from ..errors import BrokerageError, ConfigurationError, InvalidRequestError
from ..operation import Executor, Operation
from .context import Context
from .decisions import (
    DeliveryOutcome,
    ReconcilePolicy,
    SearchResult,
    cancel_shown,
    complex_cancel_shown,
    delivery_of,
    pairs_shown,
    preflight_outcome,
    replace_shown,
)
from .lists import START, OrderLists, Sighting, Window
from .matching import successor_differs_in, terms_of
from .preflight import is_blank, listed_errors, rejection
from .results import ChangeOutcome, OrderChange, Outcome
from .search import poll_until

__all__ = ["cancel", "cancel_complex", "edit_pairs", "replace"]

NOT_SENT = "was not sent"
MAY_BE_APPLIED = "may have been applied: the order shows it"

T = TypeVar("T")

CHANGE_OUTCOMES = {
    DeliveryOutcome.CONFIRMED: ChangeOutcome.APPLIED,
    DeliveryOutcome.ACCEPTED: ChangeOutcome.UNKNOWN,  # until the order shows it: any 2xx may come from a captive portal
    DeliveryOutcome.REFUSED: ChangeOutcome.REFUSED,
    DeliveryOutcome.NOT_SENT: ChangeOutcome.NOT_SENT,
    DeliveryOutcome.UNKNOWN: ChangeOutcome.UNKNOWN,
}
UNCERTAIN = (DeliveryOutcome.UNKNOWN, DeliveryOutcome.ACCEPTED)


@attrs.frozen
class _Attempt(Generic[T]):
    """The end of a change that was sent once: its outcome, the answer if it shows the result, and the error."""

    delivery: DeliveryOutcome
    answer: T | None
    error: BrokerageError | None


async def cancel(context: Context, account_number: str, order_id: str, policy: ReconcilePolicy) -> OrderChange:
    """Request the cancellation of an order once; see `OrderEntry.cancel`."""
    path, executor = {"account_number": account_number, "id": order_id}, context.executor
    reader = _OrderReader(context, account_number, order_id)
    with _describing(path, MAY_BE_APPLIED):
        attempt = await _attempt(executor, ORDERS_CANCEL, path, None, shows=lambda seen: _shows_cancel(seen, path))
        delivery = attempt.delivery
        if delivery in UNCERTAIN:
            shown = await reader.read_until(
                policy,
                lambda seen: cancel_shown(seen.status, seen.replacing_order_id),
                settled=lambda seen: cancel_shown(seen.status, seen.replacing_order_id, settled=True),
            )
            delivery = shown or delivery
        elif delivery is DeliveryOutcome.REFUSED:
            await reader.read()
    return reader.change(delivery, attempt)


def _shows_cancel(answer: Order, path: dict[str, str]) -> bool:
    """Return True if the answer is this very order, cancelled or about to be: it may have filled in that moment."""
    shown = cancel_shown(answer.status, answer.replacing_order_id, settled=True)
    return _is_of(path, answer) and answer.id in (None, path["id"]) and shown is DeliveryOutcome.CONFIRMED


def _is_of(path: dict[str, str], answer: Order) -> bool:
    return answer.account_number in (None, path["account_number"])


async def replace(
    context: Context,
    operation: Operation[Order],
    account_number: str,
    order_id: str,
    body: bytes,
    policy: ReconcilePolicy,
    allow_warnings: bool | Collection[str],
) -> OrderChange:
    """Dry-run a replacement or an edit, then send it once; see `OrderEntry.replace`."""
    path = {"account_number": account_number, "id": order_id}
    try:
        with _describing(path, NOT_SENT):
            preview: PlacedOrderResponse = await context.executor.execute(ORDERS_EDIT_DRY_RUN.bind(**path, body=body))
    except (ConfigurationError, InvalidRequestError):
        raise
    except BrokerageError as error:
        shown = getattr(error, "data", None)
        return OrderChange(
            outcome=_not_made(preflight_outcome(error)),
            order_id=order_id,
            preview=shown if isinstance(shown, PlacedOrderResponse) else None,
            error=error,
        )
    warnings = preview.warnings or ()
    if (stopped := rejection(preview, allow_warnings)) is not None:
        outcome = _not_made(stopped.outcome)
        return OrderChange(outcome=outcome, order_id=order_id, preview=preview, warnings=warnings, error=stopped.error)
    with _describing(path, MAY_BE_APPLIED):
        change = await _replace(context, operation, path, body, policy)
    return attrs.evolve(change, preview=preview, warnings=warnings)


def _not_made(outcome: Outcome) -> ChangeOutcome:
    return ChangeOutcome.REFUSED if outcome is Outcome.REFUSED else ChangeOutcome.NOT_SENT


async def _replace(
    context: Context, operation: Operation[Order], path: dict[str, str], body: bytes, policy: ReconcilePolicy
) -> OrderChange:
    account_number, order_id, edit = path["account_number"], path["id"], terms_of(body, OrderEdit)
    attempt = await _attempt(
        context.executor, operation, path, body, shows=lambda answer: _shows_replacement(answer, path, edit)
    )
    delivery, reader = attempt.delivery, _OrderReader(context, account_number, order_id)
    if delivery in UNCERTAIN:
        shown = await reader.read_until(
            policy,
            lambda seen: replace_shown(seen.status, seen.replacing_order_id),
            settled=lambda seen: replace_shown(seen.status, seen.replacing_order_id, settled=True),
        )
        successor = reader.order.replacing_order_id if reader.order is not None else None
        if shown is DeliveryOutcome.CONFIRMED and successor is not None:
            original, reader = reader, _OrderReader(context, account_number, successor)
            await reader.read_until(policy, lambda seen: DeliveryOutcome.CONFIRMED)
            if reader.order is None:
                shown, reader = DeliveryOutcome.UNKNOWN, original  # perhaps by someone else: its terms do not show
            elif edit is not None and successor_differs_in(edit, reader.order) is not None:
                shown = DeliveryOutcome.UNKNOWN  # replaced by someone else, it seems
        delivery = shown or delivery
    elif delivery is DeliveryOutcome.REFUSED:
        await reader.read()
    return reader.change(delivery, attempt)


def _shows_replacement(answer: Order, path: dict[str, str], edit: OrderEdit | None) -> bool:
    """Return True if the answer is the new order, or this one edited in place, with its new terms."""
    if not _is_of(path, answer) or (edit is not None and successor_differs_in(edit, answer) is not None):
        return False
    if answer.id == path["id"]:
        return not answer.replacing_order_id
    return bool(answer.id) and answer.replaces_order_id in (None, path["id"])


async def edit_pairs(
    context: Context, account_number: str, complex_order_id: str, edit: PairsEdit, policy: ReconcilePolicy
) -> OrderChange:
    """Edit a PAIRS order once; see `OrderEntry.edit_pairs`."""
    path = {"account_number": account_number, "id": complex_order_id}
    wanted = (edit.ratio_price_comparator, edit.ratio_price_threshold)

    def judge(seen: ComplexOrder) -> DeliveryOutcome | None:
        found = (seen.ratio_price_comparator, seen.ratio_price_threshold)
        return pairs_shown(wanted, found, terminal=bool(seen.terminal_at))

    reader = _ComplexReader(context.executor, path, judge)
    with _describing(path, MAY_BE_APPLIED):
        attempt = await _attempt(
            context.executor, COMPLEX_ORDERS_EDIT_PAIRS, path, edit, shows=lambda answer: not is_blank(answer)
        )
        name = COMPLEX_ORDERS_EDIT_PAIRS.name
        listed = attempt.answer and listed_errors(attempt.answer, "the edit found errors", name)
        delivery = attempt.delivery if listed is None else DeliveryOutcome.REFUSED
        seen = attempt.answer and attempt.answer.complex_order
        if delivery is DeliveryOutcome.CONFIRMED and not (seen and reader.is_shown_by(seen)):
            delivery = DeliveryOutcome.ACCEPTED
        if delivery in UNCERTAIN:
            await poll_until(policy, reader.poll, context.bell(account_number))
            delivery = reader.shown or delivery
        elif delivery is DeliveryOutcome.REFUSED:
            await reader.poll()
            if listed is not None and reader.shown is DeliveryOutcome.CONFIRMED:
                delivery = DeliveryOutcome.UNKNOWN  # errors, and yet the order has its new terms
    return OrderChange(
        outcome=CHANGE_OUTCOMES[delivery],
        complex_order=reader.order,
        preview=attempt.answer,
        error=listed or attempt.error,
    )


async def cancel_complex(
    context: Context, account_number: str, complex_order_id: str, policy: ReconcilePolicy
) -> OrderChange:
    """Request the cancellation of a complex order once; see `OrderEntry.cancel_complex`."""
    path = {"account_number": account_number, "id": complex_order_id}
    reader = _ComplexReader(context.executor, path, complex_cancel_shown)
    with _describing(path, MAY_BE_APPLIED):
        shows = _ComplexReader(context.executor, path, _settled_cancel).is_shown_by
        attempt = await _attempt(context.executor, COMPLEX_ORDERS_CANCEL, path, None, shows=shows)
        delivery = attempt.delivery
        if delivery in UNCERTAIN:
            result = await poll_until(policy, reader.poll, context.bell(account_number))
            shown = reader.shown
            if result is SearchResult.ABSENT and reader.order is not None:
                shown = _settled_cancel(reader.order)
            delivery = shown or delivery
        elif delivery is DeliveryOutcome.REFUSED:
            await reader.poll()
    order = attempt.answer or reader.order
    return OrderChange(outcome=CHANGE_OUTCOMES[delivery], complex_order=order, error=attempt.error)


def _settled_cancel(seen: ComplexOrder) -> DeliveryOutcome | None:
    return complex_cancel_shown(seen, settled=True)


class _ComplexReader:
    """Reads a complex order back; ``shown`` is the result of a change, as far as ``judge`` can see it."""

    def __init__(
        self, executor: Executor, path: dict[str, str], judge: Callable[[ComplexOrder], DeliveryOutcome | None]
    ) -> None:
        self._executor = executor
        self._path = path
        self._judge = judge
        self.order: ComplexOrder | None = None
        self.shown: DeliveryOutcome | None = None

    async def poll(self) -> tuple[bool, Sighting[Any]]:
        """Read it once; see `poll_until`."""
        try:
            seen: ComplexOrder = await self._executor.execute(COMPLEX_ORDERS_GET.bind(**self._path))
        except BrokerageError as failure:
            return False, Sighting(orders={}, complete=False, error=failure)
        if not self._is_of(seen):
            return False, Sighting(orders={}, complete=False)
        self.order, self.shown = seen, self._judge(seen)
        return self.shown is not None, Sighting(orders={}, complete=True)

    def is_shown_by(self, seen: ComplexOrder) -> bool:
        """Return True if an answer shows this very order, changed."""
        return self._is_of(seen) and self._judge(seen) is DeliveryOutcome.CONFIRMED

    def _is_of(self, seen: ComplexOrder) -> bool:
        return seen.id in (None, self._path["id"]) and seen.account_number in (None, self._path["account_number"])


@contextmanager
def _describing(path: dict[str, str], fate: str) -> Iterator[None]:
    """Put on a cancellation of the block the names of the order, and ``fate``."""
    try:
        yield
    except asyncio.CancelledError as cancelled:
        account_number, order_id = path["account_number"], path["id"]
        cancelled.account_number = account_number  # type: ignore[attr-defined]
        cancelled.order_id = order_id  # type: ignore[attr-defined]
        cancelled.add_note(f"the change of order {order_id} of account {account_number} {fate}")
        raise


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
        answer = await executor.execute(operation.bind(**path, body=body))
    except (ConfigurationError, InvalidRequestError):
        raise
    except BrokerageError as error:
        return _Attempt(delivery_of(error), None, error)
    shown = bool(shows(answer))
    return _Attempt(delivery_of(None, shown=shown), answer if shown else None, None)


class _OrderReader:
    """Reads one order of an account back from the lists; ``order`` is the order as last seen."""

    def __init__(self, context: Context, account_number: str, order_id: str) -> None:
        self._context = context
        self._lists = OrderLists(context.executor)
        self._account_number = account_number
        self._order_id = order_id
        self.order: Order | None = None

    def change(self, delivery: DeliveryOutcome, attempt: _Attempt[Order]) -> OrderChange:
        """Build the result of a change to this order."""
        order = attempt.answer or self.order
        order_id = (order.id if order is not None else None) or self._order_id
        return OrderChange(outcome=CHANGE_OUTCOMES[delivery], order=order, order_id=order_id, error=attempt.error)

    async def read(self, *, back: timedelta = timedelta(0)) -> Sighting[Order]:
        """Poll once, as far ``back`` as given. A change makes even an old order part of today's list."""
        now = self._context.now()
        window = Window.since(now - back, now)
        sighting = await self._lists.poll(self._account_number, {self._order_id}, window, by=lambda order: order.id)
        self.order = sighting.orders.get(self._order_id, self.order)
        return sighting

    async def read_until(
        self,
        policy: ReconcilePolicy,
        judge: Callable[[Order], DeliveryOutcome | None],
        *,
        settled: Callable[[Order], DeliveryOutcome | None] | None = None,
    ) -> DeliveryOutcome | None:
        """Poll as the policy says until the order allows a judgement; None if it never does.

        ``settled`` judges the order that the last of enough complete polls shows: an earlier one, or an early look,
        proves nothing about the end. If the last poll does not show the order, one more poll goes further back: it was
        not changed for days, or has left the list of live orders.
        """
        judgement: DeliveryOutcome | None = None
        latest: Order | None = None

        async def poll() -> tuple[bool, Sighting[Order]]:
            nonlocal judgement, latest
            sighting = await self.read()
            latest = sighting.orders.get(self._order_id)
            judgement = None if latest is None else judge(latest)
            return judgement is not None, sighting

        result = await poll_until(policy, poll, self._context.bell(self._account_number))
        if latest is None:
            latest = (await self.read(back=START)).orders.get(self._order_id)
            judgement = None if latest is None else judge(latest)
        if judgement is None and settled is not None and latest is not None and result is SearchResult.ABSENT:
            judgement = settled(latest)
        return judgement
