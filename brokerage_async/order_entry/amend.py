"""Cancel, replace and edit orders: without an answer the order is read back, and nothing is sent again.

Each change names an order that exists, the service rejects a second replacement of the same order, and the order shows
the result at any later time. Only replacements are journaled, because they may add exposure. Only a refusal that means
*not now* is repeated: the service answers ``cannot_update_order`` for an order that has ended, and for one that is
still on its way to the exchange. It has changed nothing, and the order shows which of the two it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

import attrs

from .. import errors
from .._generated import operations
from .._generated.models import ComplexOrder, Order, OrderEdit, OrderStatus, PairsEdit, PlacedOrderResponse
from ..config import new_identifier
from ..journal.base import EntryState, JournalEntry
from ..journal.caps import Usage
from ..operation import Operation
from ..protocol.order_status import TERMINAL, is_complete
from . import decisions
from .context import Attempt, Context, finished, logger
from .decisions import Delivery, DeliveryOutcome, ReconcilePolicy, SearchResult
from .exposure import usage_of_replacement
from .lists import START, OrderLists, Sighting, Window, early_looks, poll_until
from .orders import PlacedOrder, fills_of, parts_of, successor_differs_in, terms_of
from .preflight import SendOptions, dry_run, edit_bodies, is_blank, listed_errors
from .results import ChangeOutcome, OrderChange, put_on

NOT_SENT, NOT_APPLIED = "was not sent", "was refused for now and is not applied"
MAY_BE_APPLIED = "may have been applied: the order shows it"

JudgementT = TypeVar("JudgementT")

CHANGE_OUTCOMES = {
    DeliveryOutcome.CONFIRMED: ChangeOutcome.APPLIED,
    DeliveryOutcome.ACCEPTED: ChangeOutcome.UNKNOWN,  # until the order shows it: any 2xx may come from a captive portal
    DeliveryOutcome.REFUSED: ChangeOutcome.REFUSED,
    DeliveryOutcome.NOT_SENT: ChangeOutcome.NOT_SENT,
    DeliveryOutcome.UNKNOWN: ChangeOutcome.UNKNOWN,
}
UNCERTAIN = (DeliveryOutcome.UNKNOWN, DeliveryOutcome.ACCEPTED)

STATES = {
    ChangeOutcome.APPLIED: EntryState.PLACED,
    ChangeOutcome.FILLED: EntryState.REFUSED,
    ChangeOutcome.REFUSED: EntryState.REFUSED,
    ChangeOutcome.NOT_SENT: EntryState.NOT_SENT,
}
"""States of an entry after a replacement, but for an unknown one, which stays open."""


@attrs.define
class Reader:
    """Reads the order of a change back: a single order from the lists, a complex one by its id.

    Attributes:
        original_id: id of the order that it replaces, if that is to be read, too.
        order, original: both orders as last seen.
        fate: what has become of the change, for a caller that is cancelled.
    """

    context: Context
    account_number: str
    order_id: str
    is_complex: bool = False
    original_id: str = ""
    order: Any = None
    original: Order | None = None
    fate: str = NOT_SENT

    @property
    def path(self) -> dict[str, str]:
        return {"account_number": self.account_number, "id": self.order_id}

    async def read(self, *, back: timedelta = timedelta(0)) -> Sighting[Any]:
        """Read it once, as far ``back`` as given. A change makes even an old order part of today's list."""
        sighting: Sighting[Any]
        if self.is_complex:
            seen, failure = await self.fetch()
            orders = {} if seen is None or not self.is_of(seen) else {self.order_id: seen}
            sighting = Sighting(orders=orders, complete=bool(orders), error=failure)
        else:
            now = self.context.now()
            wanted, window = {self.order_id, self.original_id} - {""}, Window.since(now - back, now)
            lists = OrderLists(self.context.executor, self.account_number)
            sighting = await lists.poll(wanted, window, by=lambda order: order.id)
        self.order = sighting.orders.get(self.order_id, self.order)
        self.original = sighting.orders.get(self.original_id, self.original)
        return sighting

    async def fetch(self) -> tuple[Any, errors.BrokerageError | None]:
        """Return the order that its id shows, or None and why it could not be read."""
        operation: Operation[Any] = operations.COMPLEX_ORDERS_GET if self.is_complex else operations.ORDERS_GET
        try:
            return await self.context.executor.execute(operation.bind(**self.path)), None
        except errors.BrokerageError as failure:
            return None, failure

    def change(self, outcome: ChangeOutcome, error: errors.BrokerageError | None) -> OrderChange:
        shown: dict[str, Any] = {"complex_order" if self.is_complex else "order": self.order}
        order_id = (self.order and self.order.id) or self.order_id
        return OrderChange(outcome=outcome, order_id=order_id, error=error, **shown)

    @contextmanager
    def describing(self) -> Iterator[None]:
        """Put on a cancellation of the block the names of the order, and the fate of its change."""
        try:
            yield
        except asyncio.CancelledError as cancelled:
            note = f"the change of order {self.order_id} of account {self.account_number} {self.fate}"
            put_on(cancelled, note, account_number=self.account_number, order_id=self.order_id)
            raise

    def is_of(self, seen: PlacedOrder) -> bool:
        """Return True unless an answer shows another order."""
        return seen.id in (None, self.order_id) and seen.account_number in (None, self.account_number)

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
    ) -> Delivery:
        """Send a change once, unless ``guard`` objects. Read the order if it is refused."""
        before, self.fate = self.fate, MAY_BE_APPLIED
        try:
            answer = await self.context.executor.execute(operation.bind(**self.path, body=body), guard=guard)
        except (errors.ConfigurationError, errors.InvalidRequestError):
            self.fate = before
            raise
        except errors.BrokerageError as error:
            if (delivery := decisions.delivery_of(error)) is DeliveryOutcome.REFUSED:
                self.fate = NOT_APPLIED
                await self.read()
            return Delivery(delivery, error=error)
        return Delivery(DeliveryOutcome.CONFIRMED, answer) if shows(answer) else Delivery(DeliveryOutcome.ACCEPTED)

    async def repeated(
        self,
        policy: ReconcilePolicy,
        attempt: Callable[[], Awaitable[Delivery]],
        is_done: Callable[[], bool] = lambda: False,
    ) -> Delivery:
        """Make an attempt, and again while the service refuses it for now, until the bound of the policy.

        ``is_done`` returns True if the order shows that an earlier request has done it.
        """
        loop, made = asyncio.get_running_loop(), await attempt()
        end, pause = loop.time() + policy.give_up, policy.first

        def is_for_now() -> bool:
            is_not_now = isinstance(made.error, errors.OrderNotCancellableError)
            is_refused = made.outcome is DeliveryOutcome.REFUSED and is_not_now
            return is_refused and not self.is_over() and not is_done() and loop.time() + pause <= end

        bell = self.context.bell(self.account_number) if is_for_now() else None
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
        latest: PlacedOrder | None = None

        async def poll(**back: timedelta) -> tuple[bool, Sighting[Any]]:
            nonlocal judgement, latest
            sighting = await self.read(**back)
            latest = sighting.orders.get(self.order_id)
            judgement = None if latest is None else judge(latest)
            return judgement is not None, sighting

        result = await poll_until(policy, poll, self.context.bell(self.account_number))
        if latest is None and not self.is_complex:
            await poll(back=START)
        if judgement is None and at_end and latest is not None and result is SearchResult.ABSENT:
            judgement = judge(latest, **at_end)
        return judgement

    async def read_to_the_end(self, policy: ReconcilePolicy) -> None:
        """Poll until the order has ended and shows all its fills, at most until ``give_up``."""
        await self.read_until(_unsettled(policy), lambda _: self.is_complete() or None)


async def cancel(reader: Reader, policy: ReconcilePolicy, *, wait: bool = False) -> OrderChange:
    operation: Operation[Any] = operations.COMPLEX_ORDERS_CANCEL if reader.is_complex else operations.ORDERS_CANCEL
    judge: Callable[..., Any] = decisions.complex_cancel_shown if reader.is_complex else decisions.cancel_shown

    def shows(answer: Any) -> bool:
        return reader.is_of(answer) and judge(answer, settled=True) is DeliveryOutcome.CONFIRMED

    def is_under_way() -> bool:  # by an earlier request
        seen = reader.order
        return seen is not None and not reader.is_over() and judge(seen) is DeliveryOutcome.CONFIRMED

    with reader.describing():
        if wait and reader.is_complex:  # a component that was filled before does not come first
            await reader.read()
        was_read = reader.order is not None or not reader.is_complex  # else a fill may be an earlier one
        filled = _filled(reader)
        made = await reader.repeated(policy, lambda: reader.send(operation, None, shows=shows), is_under_way)
        delivery, reader.order = made.outcome, made.shown or reader.order
        if delivery is DeliveryOutcome.REFUSED and is_under_way():
            delivery = DeliveryOutcome.CONFIRMED
        if delivery in UNCERTAIN:
            delivery = await reader.read_until(policy, judge, settled=True) or delivery
        is_open = made.outcome is not DeliveryOutcome.NOT_SENT and delivery is not DeliveryOutcome.REFUSED
        if wait and (is_open or reader.is_over()):
            if made.shown is not None or not reader.is_complete():  # an answer need not show the fills
                await reader.read_to_the_end(policy)
            if was_read and _filled(reader) - filled and reader.is_over():
                return reader.change(ChangeOutcome.FILLED, made.error)
            if not reader.is_over():
                delivery = DeliveryOutcome.UNKNOWN
            elif made.outcome in UNCERTAIN:  # an order that was replaced reads `Cancelled` before it names the new one
                delivery = await reader.read_until(policy, judge, settled=True) or DeliveryOutcome.UNKNOWN
            elif is_open:
                delivery = judge(reader.order, settled=True) or delivery
        return reader.change(CHANGE_OUTCOMES[delivery], made.error)


def _filled(reader: Reader) -> set[str | None]:
    return {each.id for each in parts_of(reader.order) if each.status == OrderStatus.FILLED}


def _unsettled(policy: ReconcilePolicy) -> ReconcilePolicy:
    """Return a policy that polls until ``give_up``: no visibility delay bounds events at the exchange."""
    return attrs.evolve(policy, visibility_delay=policy.give_up, confirmations=1)


async def replace(
    reader: Reader, operation: Operation[Order], edit: OrderEdit, options: SendOptions, *, original: Order | None = None
) -> OrderChange:
    """Replace or edit an order once. See `OrderEntry.replace`. Read the ``original`` where it is needed, but not given.

    Its identifier and label go on to the new order, and the guard measures what is added to it.
    """
    edit_bodies(operation, reader.path, edit)  # an edit that breaks the rules needs no request
    context, account_number, is_named = reader.context, reader.account_number, edit.external_identifier is not None
    if original is None and (not is_named or not options.label or context.guard is not None):
        original, failure = await reader.fetch()
        if original is None or not reader.is_of(original):
            reason = failure if original is None else f"the answer shows order {original.id}"
            fate = "cannot be measured, nor inherit a label" if is_named else "is sent without an external identifier"
            text = "the replacement of order %s %s, because it could not be read: %s"
            logger.warning(text, reader.order_id, fate, reason)
            original = None
    inherited = edit.external_identifier if original is None else original.external_identifier
    if not is_named:  # the new order does not inherit it
        edit = attrs.evolve(edit, external_identifier=inherited)
    if not options.label and inherited:
        placed = await context.journal.find(context.key_of(account_number, inherited))
        options = attrs.evolve(options, label="" if placed is None else placed.label)
    try:
        usage = await usage_of_replacement(context, account_number, reader.order_id, original, edit)
    except errors.OrderRefusedError as error:
        return OrderChange(outcome=ChangeOutcome.REFUSED, order=original, order_id=reader.order_id, error=error)
    return await send_replacement(reader, operation, edit, options, fills=len(fills_of(original)), usage=usage)


async def send_replacement(
    reader: Reader,
    operation: Operation[Order],
    edit: OrderEdit,
    options: SendOptions,
    *,
    fills: int = 0,
    usage: Usage | None = None,
) -> OrderChange:
    """Dry-run a replacement or an edit, then send it once.

    ``fills`` is how many fills the original had before. Each request is journaled before it is sent, so that a halt and
    the guard of ``usage`` stop it, and `recover` finds it after a crash. The entry has another identifier than the
    order, which keeps its name.
    """
    (body, dry_body), context = edit_bodies(operation, reader.path, edit), reader.context
    sent = terms_of(body, OrderEdit)  # exactly: a price may be an int
    journaled = Attempt(context.attempts, context.key_of(reader.account_number, new_identifier()))
    preview: PlacedOrderResponse | None = None
    sends = 0

    async def attempt() -> Delivery:
        nonlocal preview, sends
        call = operations.ORDERS_EDIT_DRY_RUN.bind(**reader.path, body=dry_body)
        preview, stopped = await dry_run(context.executor, call, options.allow_warnings)
        if stopped is not None:
            if isinstance(stopped.error, errors.OrderNotCancellableError):
                await reader.read()
            return stopped
        try:
            if sends:
                await journaled.repeat(sends + 1)
            else:
                await journaled.open(body, label=options.label, replaces=reader.order_id, usage=usage)
        except errors.OrderRefusedError as error:
            return Delivery(DeliveryOutcome.REFUSED, error=error)
        sends += 1
        return await reader.send(
            operation, body, shows=lambda answer: _shows_replacement(answer, reader, sent), guard=journaled.objection
        )

    async def end(note: str, state: EntryState | None, order_id: str | None = None) -> None:
        if state is None:
            await journaled.release(note, looked=True)
        else:
            await journaled.close(state, order_id=order_id, note=note)

    try:
        made = await reader.repeated(options.policy, attempt)
        change = await _replaced(reader, made, sent, options.policy, fills)
    except BaseException:
        if sends:
            state = None if reader.fate is MAY_BE_APPLIED else EntryState.NOT_SENT
            await finished(lambda: end(reader.fate, state))
        raise
    if change.outcome is not ChangeOutcome.UNKNOWN:
        reader.fate = f"ended as {change.outcome} (order {change.order_id})"
    if sends:
        note = "found no outcome" if change.outcome is ChangeOutcome.UNKNOWN else str(change.error or "")
        order_id = change.order_id if change.outcome is ChangeOutcome.APPLIED else None
        await finished(lambda: end(note, STATES.get(change.outcome), order_id))
    return attrs.evolve(change, preview=preview, warnings=(preview and preview.warnings) or ())


async def find_replacement(context: Context, entry: JournalEntry, policy: ReconcilePolicy) -> OrderChange:
    """Return the outcome of a journaled replacement that a crash has interrupted, as both orders show it."""
    reader = Reader(context, entry.key.account_number, entry.replaces)
    return await _replaced(reader, Delivery(DeliveryOutcome.UNKNOWN), terms_of(entry.body, OrderEdit), policy, 0)


def _shows_replacement(answer: Order, reader: Reader, edit: OrderEdit | None) -> bool:
    """Return True if the answer is the new order, or this one edited in place, with its new terms."""
    order_id = reader.order_id
    if answer.account_number not in (None, reader.account_number):
        return False
    if edit is not None:
        has_another_day = edit.gtc_date is not None and answer.gtc_date not in (None, edit.gtc_date)
        if has_another_day or successor_differs_in(edit, answer) is not None:
            return False
    if answer.id == order_id:
        return not answer.replacing_order_id
    is_named = edit is not None and answer.external_identifier == edit.external_identifier is not None
    return bool(answer.id) and (answer.replaces_order_id == order_id or (answer.replaces_order_id is None and is_named))


async def _replaced(
    reader: Reader, made: Delivery, edit: OrderEdit | None, policy: ReconcilePolicy, fills: int
) -> OrderChange:
    """Return the result of a replacement, as the answer or both orders show it."""
    delivery, answer, new_id = made.outcome, made.shown, None
    may_not_work = (OrderStatus.CONTINGENT, OrderStatus.RECEIVED, *TERMINAL)
    if answer is not None and answer.id != reader.order_id and answer.status in may_not_work:
        new_id = answer.id
    elif delivery in UNCERTAIN:
        delivery = await reader.read_until(policy, decisions.replace_shown, settled=True) or delivery
        new_id = reader.order and reader.order.replacing_order_id
    if not new_id:
        reader.order = answer or reader.order
        return reader.change(CHANGE_OUTCOMES[delivery], made.error)
    new = Reader(reader.context, reader.account_number, new_id, original_id=reader.order_id)
    new.order, new.original = answer, reader.order

    def judge(seen: Order, *, settled: bool = False) -> ChangeOutcome | None:
        return decisions.replacement_shown(seen, new.original, fills=fills, settled=settled)

    outcome = await new.read_until(_unsettled(policy), judge, settled=True)
    reader.order = new.original
    if new.order is None:  # perhaps by someone else: its terms do not show
        return reader.change(ChangeOutcome.FILLED if _filled(reader) else ChangeOutcome.UNKNOWN, made.error)
    if edit is not None and successor_differs_in(edit, new.order) is not None and not _filled(reader):
        return new.change(ChangeOutcome.UNKNOWN, made.error)  # replaced by someone else, it seems: ours may follow
    if outcome is ChangeOutcome.FILLED and reader.is_over() and not reader.is_complete():
        await reader.read_to_the_end(policy)
    is_unchanged = outcome is ChangeOutcome.FILLED or (outcome is ChangeOutcome.REFUSED and not reader.is_over())
    return (reader if is_unchanged else new).change(outcome or ChangeOutcome.UNKNOWN, made.error)


async def edit_pairs(reader: Reader, edit: PairsEdit, policy: ReconcilePolicy) -> OrderChange:
    wanted, operation = (edit.ratio_price_comparator, edit.ratio_price_threshold), operations.COMPLEX_ORDERS_EDIT_PAIRS

    def judge(seen: ComplexOrder) -> DeliveryOutcome | None:
        found = (seen.ratio_price_comparator, seen.ratio_price_threshold)
        return decisions.pairs_shown(wanted, found, terminal=bool(seen.terminal_at))

    async def attempt() -> Delivery:
        made = await reader.send(operation, edit, shows=lambda answer: not is_blank(answer))
        preview: PlacedOrderResponse | None = made.shown
        listed = None if preview is None else listed_errors(preview, "the edit found errors", operation.name)
        if listed is not None:
            await reader.read()
            is_done = reader.order is not None and judge(reader.order) is DeliveryOutcome.CONFIRMED
            delivery = DeliveryOutcome.UNKNOWN if is_done else DeliveryOutcome.REFUSED  # errors, and yet it is done
            return Delivery(delivery, preview, listed)
        seen = preview and preview.complex_order
        if preview and not (seen and reader.is_of(seen) and judge(seen) is DeliveryOutcome.CONFIRMED):
            return attrs.evolve(made, outcome=DeliveryOutcome.ACCEPTED)
        return made

    with reader.describing():
        made = await reader.repeated(policy, attempt)
        delivery = made.outcome
        if delivery in UNCERTAIN and not isinstance(made.error, errors.PreflightError):
            delivery = await reader.read_until(policy, judge) or delivery
    return attrs.evolve(reader.change(CHANGE_OUTCOMES[delivery], made.error), preview=made.shown)
