"""Cancel, replace and edit orders: without an answer the order is read back, and nothing is sent again.

Each change names an order that exists, the service rejects a second replacement of the same order, and the order shows
the result at any later time. Only replacements are journaled, because they may add exposure. Only a refusal that means
*not now* is repeated: the service answers ``cannot_update_order`` for an order that has ended, and for one that is
still on its way to the exchange. It has changed nothing, and the order shows which of the two it was.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Generic, TypeVar

import attrs

from .._generated.models import ComplexOrder, Order, OrderEdit, OrderStatus, PairsEdit, PlacedOrderResponse
from .._generated.operations import (
    COMPLEX_ORDERS_CANCEL,
    COMPLEX_ORDERS_EDIT_PAIRS,
    COMPLEX_ORDERS_GET,
    ORDERS_CANCEL,
    ORDERS_EDIT_DRY_RUN,
    ORDERS_GET,
)
from ..errors import (
    BrokerageError,
    ConfigurationError,
    InvalidRequestError,
    OrderNotCancellableError,
    OrderRefusedError,
    PreflightError,
)
from ..journal.base import JournalEntry
from ..operation import Operation
from ..protocol.order_status import TERMINAL, is_complete
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
    replacement_shown,
)
from .doorbell import early_looks
from .journaled_change import JournaledChange
from .lists import START, OrderLists, Sighting, Window
from .matching import parts_of, successor_differs_in, terms_of
from .preflight import Rejection, is_blank, listed_errors, rejection
from .results import ChangeOutcome, OrderChange, Outcome
from .search import poll_until

__all__ = ["cancel", "cancel_complex", "edit_pairs", "find_replacement", "read_original", "replace"]

NOT_SENT, NOT_APPLIED = "was not sent", "was refused for now and is not applied"
MAY_BE_APPLIED = "may have been applied: the order shows it"

OrderT = TypeVar("OrderT", bound=Order | ComplexOrder)
JudgementT = TypeVar("JudgementT")

CHANGE_OUTCOMES = {
    DeliveryOutcome.CONFIRMED: ChangeOutcome.APPLIED,
    DeliveryOutcome.ACCEPTED: ChangeOutcome.UNKNOWN,  # until the order shows it: any 2xx may come from a captive portal
    DeliveryOutcome.REFUSED: ChangeOutcome.REFUSED,
    DeliveryOutcome.NOT_SENT: ChangeOutcome.NOT_SENT,
    DeliveryOutcome.UNKNOWN: ChangeOutcome.UNKNOWN,
}
STOPPED = {Outcome.REFUSED: DeliveryOutcome.REFUSED, Outcome.NOT_SENT: DeliveryOutcome.NOT_SENT}
UNCERTAIN = (DeliveryOutcome.UNKNOWN, DeliveryOutcome.ACCEPTED)


@attrs.frozen
class _Attempt:
    """The end of a change that was sent once: its outcome, the answer if it shows the result, and the error."""

    delivery: DeliveryOutcome
    answer: Any = None
    error: BrokerageError | None = None


class _Reader(ABC, Generic[OrderT]):
    """Reads the order of a change back; ``order`` is the order as last seen."""

    def __init__(self, context: Context, account_number: str, order_id: str) -> None:
        self.context = context
        self.path = {"account_number": account_number, "id": order_id}
        self.order: OrderT | None = None
        self.fate = NOT_SENT

    @abstractmethod
    async def read(self, *, back: timedelta = timedelta(0)) -> Sighting[Any]:
        """Read it once, as far ``back`` as given. A change makes even an old order part of today's list."""

    def change(self, outcome: ChangeOutcome, error: BrokerageError | None) -> OrderChange:
        """Build the result of a change to this order."""
        order_id = (self.order.id if self.order is not None else None) or self.path["id"]
        shown: dict[str, Any] = {"complex_order" if isinstance(self, _ComplexReader) else "order": self.order}
        return OrderChange(outcome=outcome, order_id=order_id, error=error, **shown)

    @contextmanager
    def describing(self) -> Iterator[None]:
        """Put on a cancellation of the block the names of the order, and the fate of its change."""
        try:
            yield
        except asyncio.CancelledError as cancelled:
            account_number, order_id = self.path["account_number"], self.path["id"]
            cancelled.account_number = account_number  # type: ignore[attr-defined]
            cancelled.order_id = order_id  # type: ignore[attr-defined]
            cancelled.add_note(f"the change of order {order_id} of account {account_number} {self.fate}")
            raise

    def is_of(self, seen: Any) -> bool:
        """Return True unless an answer shows another order."""
        return seen.id in (None, self.path["id"]) and seen.account_number in (None, self.path["account_number"])

    def is_over(self) -> bool:
        """Return True if the order, or every component, has ended."""
        is_shown = parts_of(self.order) or getattr(self.order, "terminal_at", None)
        return bool(is_shown) and all(each.status in TERMINAL for each in parts_of(self.order))

    def is_complete(self) -> bool:
        """Return True if it has ended, and shows all its fills."""
        return self.is_over() and all(map(is_complete, parts_of(self.order)))

    async def send(
        self,
        operation: Operation[Any],
        body: object,
        *,
        shows: Callable[[Any], bool],
        guard: Callable[[], str | None] | None = None,
    ) -> _Attempt:
        """Send a change once, unless ``guard`` objects. Read the order if it is refused."""
        self.fate = MAY_BE_APPLIED
        try:
            answer = await self.context.executor.execute(operation.bind(**self.path, body=body), guard=guard)
        except (ConfigurationError, InvalidRequestError):
            raise
        except BrokerageError as error:
            if (delivery := delivery_of(error)) is DeliveryOutcome.REFUSED:
                self.fate = NOT_APPLIED
                await self.read()
            return _Attempt(delivery, error=error)
        return _Attempt(DeliveryOutcome.CONFIRMED, answer) if shows(answer) else _Attempt(DeliveryOutcome.ACCEPTED)

    async def repeated(
        self,
        policy: ReconcilePolicy,
        attempt: Callable[[], Awaitable[_Attempt]],
        is_done: Callable[[], bool] = lambda: False,
    ) -> _Attempt:
        """Make an attempt, and again while the service refuses it for now, until the bound of the policy.

        ``is_done`` returns True if the order shows that an earlier request has done it.
        """
        loop, made = asyncio.get_running_loop(), await attempt()
        end, pause = loop.time() + policy.give_up, policy.first

        def is_for_now() -> bool:
            is_refused = made.delivery is DeliveryOutcome.REFUSED and isinstance(made.error, OrderNotCancellableError)
            return is_refused and not self.is_over() and not is_done() and loop.time() + pause <= end

        bell = self.context.bell(self.path["account_number"]) if is_for_now() else None
        async with early_looks(bell) as looks:
            while is_for_now():
                await looks.before(loop.time() + pause)
                pause = min(pause * policy.factor, policy.max_interval)
                made = await attempt()
        return made

    async def read_until(
        self, policy: ReconcilePolicy, judge: Callable[..., JudgementT | None], **at_end: bool
    ) -> JudgementT | None:
        """Poll as the policy says until the order allows a judgement. None if it never does.

        ``at_end``: options of ``judge`` for the order that the last of enough complete polls shows. An earlier one, or
        an early look, proves nothing about the end. If the last poll does not show the order, one more goes further
        back: it was not changed for days, or has left the list of live orders.
        """
        judgement: JudgementT | None = None
        latest: OrderT | None = None

        async def poll(**back: timedelta) -> tuple[bool, Sighting[Any]]:
            nonlocal judgement, latest
            sighting = await self.read(**back)
            latest = sighting.orders.get(self.path["id"])
            judgement = None if latest is None else judge(latest)
            return judgement is not None, sighting

        result = await poll_until(policy, poll, self.context.bell(self.path["account_number"]))
        if latest is None and isinstance(self, _OrderReader):
            await poll(back=START)
        if judgement is None and at_end and latest is not None and result is SearchResult.ABSENT:
            judgement = judge(latest, **at_end)
        return judgement


class _OrderReader(_Reader[Order]):
    """Reads one order of an account back from the lists; ``original`` is the one that it replaces, if given."""

    def __init__(self, context: Context, account_number: str, order_id: str, original: str = "") -> None:
        super().__init__(context, account_number, order_id)
        self._original = original
        self.original: Order | None = None

    async def read(self, *, back: timedelta = timedelta(0)) -> Sighting[Order]:
        now, account_number = self.context.now(), self.path["account_number"]
        wanted, window = {self.path["id"], self._original} - {""}, Window.since(now - back, now)
        lists = OrderLists(self.context.executor)
        sighting = await lists.poll(account_number, wanted, window, by=lambda order: order.id)
        self.order = sighting.orders.get(self.path["id"], self.order)
        self.original = sighting.orders.get(self._original, self.original)
        return sighting


class _ComplexReader(_Reader[ComplexOrder]):
    """Reads a complex order back by its id."""

    async def read(self, *, back: timedelta = timedelta(0)) -> Sighting[Any]:
        try:
            seen: ComplexOrder = await self.context.executor.execute(COMPLEX_ORDERS_GET.bind(**self.path))
        except BrokerageError as failure:
            return Sighting(orders={}, complete=False, error=failure)
        if not self.is_of(seen):
            return Sighting(orders={}, complete=False)
        self.order = seen
        return Sighting(orders={self.path["id"]: seen}, complete=True)


async def cancel(
    context: Context, account_number: str, order_id: str, policy: ReconcilePolicy, *, wait: bool = False
) -> OrderChange:
    """Request the cancellation of an order. See `OrderEntry.cancel`."""
    reader = _OrderReader(context, account_number, order_id)
    with reader.describing():
        return await _cancel(reader, ORDERS_CANCEL, cancel_shown, policy, wait=wait)


async def cancel_complex(
    context: Context, account_number: str, complex_order_id: str, policy: ReconcilePolicy, *, wait: bool = False
) -> OrderChange:
    """Request the cancellation of a complex order. See `OrderEntry.cancel_complex`."""
    reader = _ComplexReader(context, account_number, complex_order_id)
    with reader.describing():
        if wait:  # a component that was filled before does not come first
            await reader.read()
        return await _cancel(reader, COMPLEX_ORDERS_CANCEL, complex_cancel_shown, policy, wait=wait)


async def _cancel(
    reader: _Reader[Any],
    operation: Operation[Any],
    judge: Callable[..., DeliveryOutcome | None],
    policy: ReconcilePolicy,
    *,
    wait: bool,
) -> OrderChange:
    def shows(answer: Any) -> bool:
        return reader.is_of(answer) and judge(answer, settled=True) is DeliveryOutcome.CONFIRMED

    def is_under_way() -> bool:  # by an earlier request
        seen = reader.order
        return seen is not None and not reader.is_over() and judge(seen) is DeliveryOutcome.CONFIRMED

    was_read = reader.order is not None or not isinstance(reader, _ComplexReader)  # else a fill may be an earlier one
    filled = _filled(reader)
    made = await reader.repeated(policy, lambda: reader.send(operation, None, shows=shows), is_under_way)
    delivery, reader.order = made.delivery, made.answer or reader.order
    if delivery is DeliveryOutcome.REFUSED and is_under_way():
        delivery = DeliveryOutcome.CONFIRMED
    if delivery in UNCERTAIN:
        delivery = await reader.read_until(policy, judge, settled=True) or delivery
    is_open = made.delivery is not DeliveryOutcome.NOT_SENT and delivery is not DeliveryOutcome.REFUSED
    if wait and (is_open or reader.is_over()):
        if made.answer is not None or not reader.is_complete():  # an answer need not show the fills
            await reader.read_until(_unsettled(policy), lambda _: reader.is_complete() or None)
        if was_read and _filled(reader) - filled and reader.is_over():
            return reader.change(ChangeOutcome.FILLED, made.error)
        if not reader.is_over():
            delivery = DeliveryOutcome.UNKNOWN
        elif made.delivery in UNCERTAIN:  # an order that was replaced reads `Cancelled` before it names the new one
            delivery = await reader.read_until(policy, judge, settled=True) or DeliveryOutcome.UNKNOWN
        elif is_open:
            delivery = judge(reader.order, settled=True) or delivery
    return reader.change(CHANGE_OUTCOMES[delivery], made.error)


def _filled(reader: _Reader[Any]) -> set[str | None]:
    return {each.id for each in parts_of(reader.order) if each.status == OrderStatus.FILLED}


def _unsettled(policy: ReconcilePolicy) -> ReconcilePolicy:
    """Return a policy that polls until ``give_up``: no visibility delay bounds events at the exchange."""
    return attrs.evolve(policy, visibility_delay=policy.give_up, confirmations=1)


async def replace(
    context: Context,
    operation: Operation[Order],
    path: dict[str, str],
    body: bytes,
    dry_run: bytes,
    policy: ReconcilePolicy,
    allow_warnings: bool | Collection[str],
    fills: int,
    journaled: JournaledChange,
) -> OrderChange:
    """Dry-run a replacement or an edit, then send it once. See `OrderEntry.replace`.

    ``fills`` is how many fills the original had before. Each request is ``journaled`` before it is sent.
    """
    reader, edit = _OrderReader(context, path["account_number"], path["id"]), terms_of(body, OrderEdit)
    preview: PlacedOrderResponse | None = None

    async def attempt() -> _Attempt:
        nonlocal preview
        try:
            preview = await context.executor.execute(ORDERS_EDIT_DRY_RUN.bind(**path, body=dry_run))
            stopped = rejection(preview, allow_warnings)
        except (ConfigurationError, InvalidRequestError):
            raise
        except BrokerageError as error:
            shown = getattr(error, "data", None)
            preview = shown if isinstance(shown, PlacedOrderResponse) else None
            stopped = Rejection(preflight_outcome(error), error)
            if isinstance(error, OrderNotCancellableError):
                await reader.read()
        if stopped is not None:
            return _Attempt(STOPPED[stopped.outcome], error=stopped.error)
        try:
            await journaled.attempt()
        except OrderRefusedError as error:
            return _Attempt(DeliveryOutcome.REFUSED, error=error)
        return await reader.send(
            operation, body, shows=lambda answer: _shows_replacement(answer, reader, edit), guard=journaled.objection
        )

    with reader.describing():
        try:
            made = await reader.repeated(policy, attempt)
            change = await _replaced(reader, made, edit, policy, fills)
        except BaseException:
            await journaled.leave(reader.fate, may_be_applied=reader.fate is MAY_BE_APPLIED)
            raise
        await journaled.close(change)
    return attrs.evolve(change, preview=preview, warnings=(preview and preview.warnings) or ())


async def find_replacement(context: Context, entry: JournalEntry, policy: ReconcilePolicy) -> OrderChange:
    """Return the outcome of a journaled replacement that a crash has interrupted, as both orders show it."""
    reader = _OrderReader(context, entry.key.account_number, entry.replaces)
    return await _replaced(reader, _Attempt(DeliveryOutcome.UNKNOWN), terms_of(entry.body, OrderEdit), policy, 0)


async def read_original(context: Context, path: dict[str, str]) -> tuple[Order | None, str]:
    """Return the order to replace, or None and why it cannot be read."""
    reader = _OrderReader(context, path["account_number"], path["id"])
    with reader.describing():
        try:
            seen = await context.executor.execute(ORDERS_GET.bind(**path))
        except BrokerageError as error:
            return None, str(error)
        return (seen, "") if reader.is_of(seen) else (None, f"the answer shows order {seen.id}")


def _shows_replacement(answer: Order, reader: _OrderReader, edit: OrderEdit | None) -> bool:
    """Return True if the answer is the new order, or this one edited in place, with its new terms."""
    order_id = reader.path["id"]
    if answer.account_number not in (None, reader.path["account_number"]):
        return False
    if edit is not None and (successor_differs_in(edit, answer) is not None or _has_another_day(edit, answer)):
        return False
    if answer.id == order_id:
        return not answer.replacing_order_id
    is_named = edit is not None and answer.external_identifier == edit.external_identifier is not None
    return bool(answer.id) and (answer.replaces_order_id == order_id or (answer.replaces_order_id is None and is_named))


def _has_another_day(edit: OrderEdit, answer: Order) -> bool:
    return edit.gtc_date is not None and answer.gtc_date not in (None, edit.gtc_date)


async def _replaced(
    reader: _OrderReader, made: _Attempt, edit: OrderEdit | None, policy: ReconcilePolicy, fills: int
) -> OrderChange:
    """Return the result of a replacement, as the answer or both orders show it."""
    order_id, account_number = reader.path["id"], reader.path["account_number"]
    delivery, answer = made.delivery, made.answer
    new_id: str | None = None
    if (
        answer is not None
        and answer.id != order_id
        and answer.status in (OrderStatus.CONTINGENT, OrderStatus.RECEIVED, *TERMINAL)
    ):
        new_id = answer.id
    elif delivery in UNCERTAIN:
        delivery = await reader.read_until(policy, replace_shown, settled=True) or delivery
        new_id = reader.order.replacing_order_id if reader.order is not None else None
    if not new_id:
        reader.order = answer or reader.order
        return reader.change(CHANGE_OUTCOMES[delivery], made.error)
    new = _OrderReader(reader.context, account_number, new_id, original=order_id)
    new.order, new.original = answer, reader.order
    outcome = await new.read_until(
        _unsettled(policy),
        lambda seen, settled=False: replacement_shown(seen, new.original, fills=fills, settled=settled),
        settled=True,
    )
    reader.order = new.original
    if new.order is None:  # perhaps by someone else: its terms do not show
        return reader.change(ChangeOutcome.FILLED if _filled(reader) else ChangeOutcome.UNKNOWN, made.error)
    if edit is not None and successor_differs_in(edit, new.order) is not None and not _filled(reader):
        return new.change(ChangeOutcome.UNKNOWN, made.error)  # replaced by someone else, it seems: ours may follow
    if outcome is ChangeOutcome.FILLED and reader.is_over() and not reader.is_complete():
        await reader.read_until(_unsettled(policy), lambda _: reader.is_complete() or None)
    if outcome is ChangeOutcome.FILLED or (outcome is ChangeOutcome.REFUSED and not reader.is_over()):
        return reader.change(outcome, made.error)
    return new.change(outcome or ChangeOutcome.UNKNOWN, made.error)


async def edit_pairs(
    context: Context, account_number: str, complex_order_id: str, edit: PairsEdit, policy: ReconcilePolicy
) -> OrderChange:
    """Edit a PAIRS order once. See `OrderEntry.edit_pairs`."""
    wanted, name = (edit.ratio_price_comparator, edit.ratio_price_threshold), COMPLEX_ORDERS_EDIT_PAIRS.name
    reader = _ComplexReader(context, account_number, complex_order_id)
    preview: PlacedOrderResponse | None = None

    def judge(seen: ComplexOrder) -> DeliveryOutcome | None:
        found = (seen.ratio_price_comparator, seen.ratio_price_threshold)
        return pairs_shown(wanted, found, terminal=bool(seen.terminal_at))

    async def attempt() -> _Attempt:
        nonlocal preview
        made = await reader.send(COMPLEX_ORDERS_EDIT_PAIRS, edit, shows=lambda answer: not is_blank(answer))
        preview = made.answer
        listed = None if preview is None else listed_errors(preview, "the edit found errors", name)
        if listed is not None:
            await reader.read()
            is_done = reader.order is not None and judge(reader.order) is DeliveryOutcome.CONFIRMED
            delivery = DeliveryOutcome.UNKNOWN if is_done else DeliveryOutcome.REFUSED  # errors, and yet it is done
            return _Attempt(delivery, error=listed)
        seen = preview and preview.complex_order
        if preview and not (seen and reader.is_of(seen) and judge(seen) is DeliveryOutcome.CONFIRMED):
            return attrs.evolve(made, delivery=DeliveryOutcome.ACCEPTED)
        return made

    with reader.describing():
        made = await reader.repeated(policy, attempt)
        delivery = made.delivery
        if delivery in UNCERTAIN and not isinstance(made.error, PreflightError):
            delivery = await reader.read_until(policy, judge) or delivery
    return attrs.evolve(reader.change(CHANGE_OUTCOMES[delivery], made.error), preview=preview)
