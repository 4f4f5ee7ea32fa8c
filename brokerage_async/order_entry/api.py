"""Order entry: the public class `OrderEntry`."""

from __future__ import annotations

from collections.abc import AsyncIterable, Callable, Collection, Iterable
from datetime import datetime
from decimal import Decimal
from typing import Literal, TypedDict, Unpack

import attrs

from .._arguments import check_flag, check_function, check_order_id, check_seconds
from .._generated.models import Comparator, NewComplexOrder, NewOrder, Order, OrderEdit, PairsEdit, TickSize
from .._generated.operations import ORDERS_EDIT, ORDERS_REPLACE
from ..config import new_identifier
from ..errors import InvalidRequestError, OrderOutcomeUnknownError
from ..journal.base import EntryKey, EntryState, Journal
from ..observers import OpenEntries, OrderOutcome
from ..operation import Operation
from ..tickets.ticks import check_ticks
from . import amend
from .cancel_all import CancelAll
from .context import Context, TradingClient, finished, logger, quietly
from .decisions import ReconcilePolicy
from .guard import OrderGuard
from .orders import AskedOrder
from .place import IN_PROGRESS, LEFT, MAY_EXIST, NOT_SENT, SUMMARY, Followed, PlaceOrder, describing
from .preflight import SendOptions, check_options, checked_label, checked_policy, named_complex_order, named_order
from .recovery import Recovery
from .results import Cancellations, JournalStatus, OrderChange, Outcome, Placement, placement_of
from .work import Ladder, Prices, end_of, first_order

DEFAULT_POLICY: ReconcilePolicy = ReconcilePolicy()


class ReconcileOptions(TypedDict, total=False):
    """Options of every call that reads an outcome back where its answer does not show it.

    Attributes:
        visibility_delay: as for `OrderEntry.place`.
        reconcile: how to search for it. By default as the `OrderEntry` says.
    """

    visibility_delay: float | None
    reconcile: ReconcilePolicy | None


class SubmitOptions(ReconcileOptions, total=False):
    """Options of every call that sends an order: as for `OrderEntry.place`, which explains them.

    Attributes:
        allow_warnings: True, or the codes of warnings of the dry-run that do not stop it.
        label: name of the strategy that places it.
    """

    allow_warnings: bool | Collection[str]
    label: str | None


class OrderEntry:
    """Places, changes and cancels orders. Each is submitted at most once. Built by ``client.order_entry()``.

    Args:
        client: the client to place orders with.
        journal: where orders are recorded before they are sent. None keeps them in memory only, in one journal for all
            order entry of the client and its views, and logs a warning once: nothing can be recovered after a crash.
        guard: caps on everything that is placed or replaced. ``client.orders`` and ``client.request`` stay outside of
            it, and of `halt`.
        reconcile: how to search for an order of unknown outcome, unless a call says otherwise.
        lease: seconds until the journal entries of a crashed worker are free for others. Nothing is sent in the
            last tenth of a lease that could not be renewed.
        identifiers: returns a new external identifier for an order without one. No two may be equal, even after a
            restart. By default a UUID from the system's randomness.
        push: whether events of the account stream bring the next look for an order of unknown outcome forward. They
            decide nothing: the polls go on at their times, and an early look counts only if it finds the order. See
            ``client.stream``.
    """

    def __init__(
        self,
        client: TradingClient,
        journal: Journal | None = None,
        *,
        guard: OrderGuard | None = None,
        reconcile: ReconcilePolicy = DEFAULT_POLICY,
        lease: float = 30.0,
        identifiers: Callable[[], str] = new_identifier,
        push: bool = False,
    ) -> None:
        check_function("identifiers", identifiers)
        self._context = Context(client, journal, lease, push=push, guard=guard)
        self._policy = checked_policy(reconcile)
        self._identifiers = identifiers

    @property
    def journal(self) -> Journal:
        """The journal that records the orders."""
        return self._context.journal

    async def place(
        self,
        account_number: str,
        order: NewOrder,
        *,
        allow_warnings: bool | Collection[str] = False,
        resubmit: int = 0,
        visibility_delay: float | None = None,
        reconcile: ReconcilePolicy | None = None,
        label: str | None = None,
        tick_sizes: Iterable[TickSize] | None = None,
    ) -> Placement:
        """Place an order at most once, and return its outcome (section Orders).

        The order gets an external identifier if it has none, is validated, dry-run, journaled, and submitted: the same
        bytes each time. When the answer does not show its outcome, the order lists of the account are searched for it.
        An identifier that the journal knows is never sent again: its order is looked up or searched for instead.

        Args:
            account_number: the account to trade in.
            order: the order. See `brokerage_async.tickets` for short ways to write one.
            allow_warnings: True submits despite any warning of the dry-run, a collection of codes despite these. Known
                codes are in `models.PreflightCode`. An unknown code is logged as a warning.
            resubmit: how many times the order may be sent again once it is absent. With 0, an absent order stays
                unknown. Anything else relies on the visibility delay: an order that is held on the way for longer than
                all polls, and processed then, is placed twice. Services have been seen to hold one longer than a
                client waits.
            visibility_delay: seconds within which an order that has reached the service is listed. Overrides
                ``reconcile.visibility_delay``.
            reconcile: how to search for it.
            label: name of the strategy that places it, which can be halted alone. See `halt`.
            tick_sizes: table of the instrument, such as ``equity.tick_sizes``. A price or trigger between two ticks is
                then refused. Otherwise the venue rejects it, after the dry-run has accepted it. See
                `brokerage_async.tickets.round_to_tick`.

        Returns:
            A placement with the outcome ``PLACED``, ``REFUSED`` or ``NOT_SENT``; ``error`` and ``note`` say why. One
            that a halt or the guard stops is ``REFUSED``, with an ``error`` of code ``halted`` or ``guard_refused``:
            its ``errors`` name the caps. ``placement.require()`` raises unless it is placed.

        Raises:
            InvalidRequestError: the order breaks documented rules, a price is between two ticks (code ``off_tick``),
                or its external identifier belongs to another order (code ``identifier_in_use``). It was not submitted.
            ConfigurationError: the client cannot place orders. It was not submitted.
            JournalError: the order cannot be journaled (disk full, read-only). This call did not submit it. Under an
                identifier that was used before, an earlier call may have.
            OrderOutcomeUnknownError: it may or may not have been placed. The entry stays open for `recover`. Placing
                the order again under the same identifier searches for it again. ``code`` is ``absent`` (not listed
                after the visibility delay), ``undetermined`` (the lists could not be read), ``identifier_conflict``
                (another order carries the identifier, or orders without one may be this order), ``in_progress``
                (another worker holds the entry) or ``claim_lost`` (not sent by this call, but the journal cannot show
                that no other worker sent it).
            asyncio.CancelledError: with the attributes ``account_number``, ``external_identifier`` and ``placement``
                (None while the outcome is not known), and a note that says whether the order may have been placed. An
                unexpected error of a transport or journal of the caller's own carries the same.
        """
        options = self._options(resubmit, allow_warnings, label, visibility_delay=visibility_delay, reconcile=reconcile)
        asked = named_order(account_number, order, self._identifiers)
        if tick_sizes is not None:
            check_ticks(order, tick_sizes)
        return await self._place(account_number, asked, options)

    async def place_complex(
        self,
        account_number: str,
        complex_order: NewComplexOrder,
        *,
        resubmit: int = 0,
        **options: Unpack[SubmitOptions],
    ) -> Placement:
        """Place a complex order at most once. Otherwise like `place`, with its options but for ``tick_sizes``.

        It is named by the external identifier of its first component: of ``trigger_order``, or of the first of
        ``orders``. Components without an identifier get ``<name>.1``, ``<name>.2``. When the answer does not show its
        outcome, the lists of orders and of complex orders are searched for all of them.

        Returns:
            A placement with ``complex_order`` in place of ``order``; ``order_id`` is the id of the complex order.

        Raises:
            InvalidRequestError: as for `place`. Or two components have the same identifier, or some have one but not
                the first. It was not submitted.
        """
        checked = self._options(resubmit, **options)
        asked = named_complex_order(account_number, complex_order, self._identifiers)
        return await self._place(account_number, asked, checked)

    async def halt(
        self, reason: str, *, account_number: str | None = None, label: str | None = None
    ) -> list[Placement]:
        """Stop every new submission on this journal, in all processes and across restarts, until `resume`.

        The halt is read in the transaction that records each attempt. So nothing is sent under an attempt that was not
        recorded before this returns. Cancellations still go out. A stopped order is ``REFUSED`` with code ``halted``.

        Args:
            reason: the reason, for those who see orders stopped. That of a halt that exists is kept.
            account_number: stop this account only.
            label: stop the orders of this ``label`` only.

        Returns:
            The orders that are open, oldest first: attempts recorded before the halt, which may still be sent, and
            orders of unknown outcome. Each with the outcome ``UNKNOWN``.

        Raises:
            JournalError: the journal did not answer. The halt may be in effect: repeat it.
        """
        if not isinstance(reason, str) or not reason:
            raise InvalidRequestError(f"reason must be a non-empty string, got {reason!r}")
        entries = await self._context.journal.halt(reason, **_scope(account_number, label))
        note = "recorded before the halt: it may still be sent, or may have been placed"
        return [placement_of(entry, Outcome.UNKNOWN, code=IN_PROGRESS, note=note) for entry in entries]

    async def resume(self, *, account_number: str | None = None, label: str | None = None) -> bool:
        """Lift the halt of exactly this scope. Return False if there is none.

        The outcomes that automatic halts have counted are forgotten.
        """
        return await self._context.journal.resume(**_scope(account_number, label))

    async def status(self) -> JournalStatus:
        """Return the halts in effect and the open entries of this environment. Observers get an `OpenEntries`."""
        journal = self._context.journal
        entries = await journal.entries(self._context.environment, state=EntryState.OPEN)
        status = JournalStatus(halts=tuple(await journal.halts()), open=tuple(entries), now=await journal.now())
        self._context.report(OpenEntries(count=len(entries), oldest=status.oldest))
        return status

    async def work(
        self,
        account_number: str,
        order: NewOrder,
        prices: Iterable[Decimal] | AsyncIterable[Decimal],
        *,
        every: float,
        until: datetime | Literal["close"] | None = None,
        allow_warnings: bool | Collection[str] = False,
        reconcile: ReconcilePolicy | None = None,
        label: str | None = None,
        tick_sizes: Iterable[TickSize] | None = None,
    ) -> Placement:
        """Work one order through a ladder of prices until it is over, and return its last state.

        The order is placed at the first price as `place` does it, and replaced at each further price: one replacement
        at a time, sent once, so that one order at most works at any moment. A replacement is for the quantity that
        remains. A step that is refused, or that a fill has ended, leaves the order at its price until the next one.
        After the last price, or at ``until``, the rest is cancelled.

        The journal keeps the order open under its external identifier all the while. A caller that is cancelled, or a
        crash, leaves it working at its last price: `recover` finds it there. The same call under the same identifier
        goes on with it, after its current price if that is in the list.

        Args:
            account_number: the account to trade in.
            order: a Limit or Stop Limit order. Its own price is not used.
            prices: positive, unsigned prices, at most 1000. See `brokerage_async.tickets.prices_toward` for those of
                each tick between two. Or an asynchronous iterator, which is asked for each price when it is due.
            every: seconds that a price is tried.
            until: when to cancel the rest: an aware date-time, or ``"close"`` for the next close of the stock
                exchange. The last price is tried until then. None: for ``every`` seconds, like the others.
            allow_warnings: as for `place`, for each step.
            reconcile: how to search for an order of unknown outcome.
            label: as for `place`, for each step.
            tick_sizes: as for `place`. Every price is checked before anything is sent, those of an asynchronous
                iterator before each step.

        Returns:
            The placement of the last order, with the orders that it replaced in ``replaced`` and the fills of all in
            ``fills``. ``note`` tells of steps that were not taken, and whether the order may still work.

        Raises:
            InvalidRequestError: as for `place`. Or ``prices`` has no price, or one that is not a positive Decimal, or
                ``until`` has passed. Nothing was sent. An asynchronous iterator may cause it later: the order works on.
            BrokerageError: ``until`` is ``"close"`` and the sessions could not be read. Nothing was sent.
            OrderOutcomeUnknownError: as for `place`: the first order may or may not have been placed.
            asyncio.CancelledError: as for `place`. ``placement`` is the order as last seen, which works on.
        """
        options = self._options(0, allow_warnings, label, reconcile=reconcile)
        check_seconds("every", every)
        ladder_prices = Prices(order, prices, tick_sizes)
        with describing(self._context.key_of(account_number, order.external_identifier or ""), NOT_SENT):
            end = await end_of(self._context, order, until)
            first = await first_order(self._context, account_number, order, ladder_prices)
        asked = named_order(account_number, first, self._identifiers)

        async def replace(working: Order, price: Decimal) -> OrderChange:
            edit = OrderEdit.of(first, price=price, external_identifier=asked.name)
            return await self._change(account_number, str(working.id), ORDERS_REPLACE, edit, options, working)

        ladder = Ladder(self._context, first, ladder_prices, every, end, options.policy, replace)
        placement = await self._place(account_number, asked, options, followed=ladder.climb)
        if ladder.has_begun or placement.outcome is not Outcome.PLACED:
            return placement
        with describing(self._context.key_of(account_number, asked.name), LEFT):
            return await ladder.climb(placement)  # `recover` has closed the entry of an order that still works

    async def cancel_all(
        self,
        account_number: str,
        *,
        where: Callable[[Order], bool] | None = None,
        flatten: bool = False,
        reconcile: ReconcilePolicy | None = None,
    ) -> Cancellations:
        """Cancel all working orders of an account, and look until the lists prove it.

        Complex orders come first, and are cancelled as wholes. Requests go out eight at a time, within the limits of
        the client. An order that still works is asked for again after each look, whatever its request met, for at most
        ``reconcile.give_up`` seconds in all. No single order raises. Orders that appear in the meantime are cancelled
        as well: `halt` those who place them first.

        With ``flatten``, a Market order of the day then closes each position, at most once: its external identifier is
        made from the position, and two calls that see the same position send one order between them. While the market
        is closed it waits for the next session. A position is left alone, and its closing order ``NOT_SENT``, while an
        order of its underlying may still work, or if one for it has appeared since.

        Args:
            account_number: the account.
            where: returns True for the orders that are to be cancelled. One component selects its complex order.
            flatten: whether to close all positions. Not with ``where``.
            reconcile: how long to look, and how often.

        Returns:
            By order id, what became of each: ``cancelled``, ``filled`` or ``unknown``, with its fills. ``is_proven`` is
            False if the lists did not prove the end, and ``closing`` has the closing orders.

        Raises:
            BrokerageError: the order lists could not be read at all, or the positions could not.
            ConfigurationError: the client cannot cancel orders. Nothing was sent.
            InvalidRequestError: ``flatten`` together with ``where``. Nothing was sent.
        """
        policy = self._policy_for(reconcile=reconcile)
        check_flag("flatten", flatten)
        if where is not None:
            check_function("where", where)
            if flatten:
                raise InvalidRequestError("where must be None with flatten: an order that works on could open again")
        return await CancelAll(self._context, account_number, policy, where).run(flatten=flatten)

    async def recover(
        self, *, report: Callable[[str], object] | None = None, **options: Unpack[ReconcileOptions]
    ) -> list[Placement]:
        """Find the outcome of every order that is open in the journal: call it when a program starts.

        Orders that are found are closed as placed. The others are returned as unknown and stay open. Nothing is ever
        sent again. Several workers may recover at once: each entry is handled, and returned, by one of them. The
        accounts are searched independently of each other.

        Each thing that it waits for is logged (level INFO), with the time until when at most, and passed to ``report``
        as a sentence.

        Returns:
            One `Placement` for each entry that this call handled, oldest first. An unknown one carries account,
            external identifier, body, time, attempts, and the findings of the search in ``code`` and ``note``. The code
            ``other_origin`` marks an order that was journaled for another address of the service: see `adopt`.

        Raises:
            JournalError: the journal cannot be read or written.
            asyncio.CancelledError: like any error, with an attribute ``placements``: those handled until then, which
                are closed in the journal and returned by no later call.
        """
        say = None if report is None else check_function("report", report)
        return await Recovery(self._context, self._policy_for(**options), say).run()

    async def abandon(self, account_number: str, external_identifier: str, *, note: str, origin: str = "") -> bool:
        """Close an open entry by hand, because a person has found out its outcome; ``note`` says which.

        ``origin`` names the address that it was journaled for, if not this client's. Returns False if no such entry is
        open.
        """
        key = self._context.key_of(account_number, external_identifier)
        return await self._context.journal.abandon(attrs.evolve(key, origin=origin) if origin else key, note=note)

    async def adopt(self, account_number: str, external_identifier: str, *, origin: str) -> bool:
        """Move an open entry of another ``origin`` to this client's service, which has changed its address.

        The next `recover` searches for it. Returns False if no such entry is open, a worker holds it, or this service
        has an entry under that identifier.
        """
        key = EntryKey(origin, self._context.environment, account_number, external_identifier)
        return await self._context.journal.adopt(key, origin=self._context.origin)

    async def cancel(
        self, account_number: str, order_id: int | str, *, wait: bool = False, **options: Unpack[ReconcileOptions]
    ) -> OrderChange:
        """Request the cancellation of an order once. Without an answer, read the order back (section Orders).

        ``APPLIED`` means `Cancelled` or `Cancel Requested`: until the exchange confirms, the order can still fill.
        ``REFUSED`` means that the order was terminal already. Where it was replaced, the order working in its place is
        ``order.replacing_order_id`` and can be cancelled under that id. ``UNKNOWN``: it showed none of this in time.

        An order cannot be cancelled before it is `Live`. While the service refuses that for now, the request is
        repeated, with growing pauses, for at most ``reconcile.give_up`` seconds. ``REFUSED`` with an order that is not
        terminal means that this bound was reached: the order still works. An unanswered request is not repeated, but
        another call may do so at any time: it cancels this very order or nothing.

        With ``wait``, it returns only when the order is over and shows all its fills, at most ``reconcile.give_up``
        seconds later. ``APPLIED`` then means `Cancelled` (``fills`` has those from before), ``FILLED`` that the order
        was filled first, ``UNKNOWN`` that it was not over in time.

        Raises:
            ConfigurationError: the client cannot cancel or change orders. Nothing was sent.
            asyncio.CancelledError: with the attributes ``account_number`` and ``order_id``, and a note.
        """
        reader = amend.Reader(self._context, account_number, check_order_id("order_id", order_id))
        return await amend.cancel(reader, self._policy_for(**options), wait=check_flag("wait", wait))

    async def replace(
        self, account_number: str, order_id: int | str, edit: OrderEdit, **options: Unpack[SubmitOptions]
    ) -> OrderChange:
        """Replace a working order once: dry-run, then the same terms. Without an answer, read the order back.

        The new order is sent with the ``external_identifier`` of ``edit``. Without one, the original is read first, and
        its identifier is sent.

        It is journaled before it is sent, for `halt`, the guard and `recover`. ``label`` is that of the original unless
        it is given: without it, the original is read first, too. ``REFUSED`` with an ``error`` of code ``halted`` or
        ``guard_refused``: it was not sent.

        A new order that is `Contingent` waits until the exchange has cancelled the original. It is waited for, at most
        ``reconcile.give_up`` seconds: ``APPLIED`` once the original is gone or the new order works, ``FILLED`` with the
        original and its fills if a fill came first, which ends the new order. ``UNKNOWN`` with an order whose terms
        differ from ``edit`` means that someone else has replaced it.

        An order cannot be replaced before it is `Live`: dry-run and request are repeated as by `cancel` while the
        service refuses them for now. An unanswered request is never repeated.

        Raises:
            InvalidRequestError: the edit breaks documented rules. Nothing was sent.
            JournalError: the edit cannot be journaled. It was not sent.
            ConfigurationError, asyncio.CancelledError: as for `cancel`.
        """
        return await self._change(account_number, order_id, ORDERS_REPLACE, edit, self._options(**options))

    async def edit(
        self, account_number: str, order_id: int | str, edit: OrderEdit, **options: Unpack[SubmitOptions]
    ) -> OrderChange:
        """Edit a working order once. Otherwise like `replace`."""
        return await self._change(account_number, order_id, ORDERS_EDIT, edit, self._options(**options))

    async def edit_pairs(
        self,
        account_number: str,
        complex_order_id: int | str,
        *,
        ratio_price_comparator: Comparator | None = None,
        ratio_price_threshold: Decimal | None = None,
        **options: Unpack[ReconcileOptions],
    ) -> OrderChange:
        """Change the ratio condition of a PAIRS order once. Without an answer, read the complex order back.

        Repeated as by `cancel` while the service refuses it for now.

        Raises:
            InvalidRequestError: the values break documented rules. Nothing was sent.
            ConfigurationError, asyncio.CancelledError: as for `cancel`.
        """
        edit = PairsEdit(ratio_price_comparator=ratio_price_comparator, ratio_price_threshold=ratio_price_threshold)
        checked = check_order_id("complex_order_id", complex_order_id)
        reader = amend.Reader(self._context, account_number, checked, is_complex=True)
        return await amend.edit_pairs(reader, edit, self._policy_for(**options))

    async def cancel_complex(
        self,
        account_number: str,
        complex_order_id: int | str,
        *,
        wait: bool = False,
        **options: Unpack[ReconcileOptions],
    ) -> OrderChange:
        """Request the cancellation of a complex order once. Without an answer, read the complex order back.

        ``APPLIED`` means that no component works any more, and that at least one is `Cancelled` or `Cancel Requested`:
        until the exchange confirms, it can still fill. ``REFUSED`` means that it was finished already. With ``wait``,
        as for `cancel`: ``FILLED`` means that at least one component was filled first. The complex order is read before
        the request then, so that an earlier fill does not count. Repeated like `cancel` while it is refused for now.

        Raises:
            ConfigurationError, asyncio.CancelledError: as for `cancel`.
        """
        checked = check_order_id("complex_order_id", complex_order_id)
        reader = amend.Reader(self._context, account_number, checked, is_complex=True)
        return await amend.cancel(reader, self._policy_for(**options), wait=check_flag("wait", wait))

    async def _change(
        self,
        account_number: str,
        order_id: int | str,
        operation: Operation[Order],
        edit: OrderEdit,
        options: SendOptions,
        original: Order | None = None,
    ) -> OrderChange:
        reader = amend.Reader(self._context, account_number, check_order_id("order_id", order_id))
        with reader.describing():
            change = await amend.replace(reader, operation, edit, options, original=original)
            code = change.error.code if change.error is not None else None
            await self._count(change.outcome.value, code, new_identifier())
        return change

    async def _place(
        self, account_number: str, asked: AskedOrder, options: SendOptions, followed: Followed | None = None
    ) -> Placement:
        """Place an order, and count its outcome for observers and automatic halts."""
        key = self._context.key_of(account_number, asked.name)
        placing = PlaceOrder(context=self._context, key=key, asked=asked, options=options, followed=followed)
        name = f"{account_number} {asked.name}"
        try:
            placement = await placing.run()
        except OrderOutcomeUnknownError as unknown:
            with describing(key, MAY_EXIST):
                await self._count(Outcome.UNKNOWN.value, unknown.code, name)
            raise
        code = placement.error.code if placement.error is not None else None
        with describing(key, SUMMARY[placement.outcome], placement):
            await self._count(placement.outcome.value, code, name)
        return placement

    async def _count(self, outcome: str, code: str | None, name: str) -> None:
        is_halted = outcome == Outcome.REFUSED and code == "halted"
        self._context.report(OrderOutcome(outcome="halted" if is_halted else outcome, code=code or ""))
        guard, rule = self._context.guard, None
        if guard is None or is_halted:
            return
        if outcome == Outcome.UNKNOWN and code != IN_PROGRESS:  # another worker holds that one
            rule = guard.halt_after_unknown
        elif outcome == Outcome.REFUSED:
            rule = guard.halt_after_refusals
        if rule is not None:
            count, seconds = rule
            reason = f"automatic: {count} times {outcome} within {seconds:g} s"

            async def count_it() -> None:
                trip = self._context.journal.trip(outcome, name, count=count, seconds=seconds, reason=reason)
                if await quietly("count an outcome for automatic halts", trip):
                    logger.error("new orders are halted: %s", reason)

            await finished(count_it)  # one that is missing may keep trading going

    def _options(
        self,
        resubmit: int = 0,
        /,  # without a name: the options of a change come by name, and it is never sent again
        allow_warnings: bool | Collection[str] = False,
        label: str | None = None,
        **options: Unpack[ReconcileOptions],
    ) -> SendOptions:
        policy = self._policy_for(**options)
        check_options(allow_warnings, resubmit)
        return SendOptions(policy=policy, allow_warnings=allow_warnings, resubmit=resubmit, label=checked_label(label))

    def _policy_for(
        self, visibility_delay: float | None = None, reconcile: ReconcilePolicy | None = None
    ) -> ReconcilePolicy:
        policy = self._policy if reconcile is None else checked_policy(reconcile)
        return policy if visibility_delay is None else attrs.evolve(policy, visibility_delay=visibility_delay)


def _scope(account_number: str | None, label: str | None) -> dict[str, str | None]:
    """Return the scope of a halt. An empty name is refused: in the journal it stands for all."""
    if account_number is not None and (not isinstance(account_number, str) or not account_number):
        raise InvalidRequestError(f"account_number must be a non-empty string or None, got {account_number!r}")
    return {"account_number": account_number, "label": checked_label(label) or None}
