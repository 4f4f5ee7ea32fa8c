"""Order entry: every order is placed once, or known to be unknown.

The service does not recognise a repeated order, and a request whose answer got lost may have been processed. So
`OrderEntry.place` writes each order down before it is sent, sends it once, and when no answer tells what became of
it, looks for its external identifier among the orders of the account.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Collection
from decimal import Decimal
from os import PathLike
from typing import Any, Protocol, TypeGuard
from weakref import WeakKeyDictionary

import attrs

from .._arguments import check_function, check_methods, check_seconds
from .._generated.models import Comparator, NewOrder, Order, OrderEdit, PairsEdit
from .._generated.operations import ORDERS_EDIT, ORDERS_EDIT_DRY_RUN, ORDERS_REPLACE, ORDERS_SUBMIT
from ..config import Environment
from ..errors import ConfigurationError, InvalidRequestError
from ..journal.base import EntryKey, EntryState, Journal
from ..journal.memory import MemoryJournal
from ..operation import Executor, Operation
from ..protocol.request import encode_body
from ..protocol.validation import requests as validation
from . import amend as order_changes
from . import recovery
from .decisions import LookPlan
from .place import Submission
from .results import ChangeOutcome, OrderChange, Outcome, Placement
from .submit import Desk

__all__ = ["ChangeOutcome", "LookPlan", "OrderChange", "OrderEntry", "Outcome", "Placement"]

logger: logging.Logger = logging.getLogger("brokerage_async.order_entry")

USUAL_PLAN: LookPlan = LookPlan()

_MEMORIES: WeakKeyDictionary[object, MemoryJournal] = WeakKeyDictionary()


class TradingClient(Protocol):
    """What order entry needs of a client: something that makes calls, and the name of its environment."""

    @property
    def session(self) -> Executor:
        """What makes the calls."""
        ...

    @property
    def environment(self) -> Environment:
        """The environment that the calls go to; entries of another one are left alone."""
        ...


class OrderEntry:
    """Places, changes and cancels orders so that none is doubled and none is lost. Made by ``client.order_entry()``.

    Args:
        client: what to place orders with.
        journal: where orders are written down before they are sent. None keeps them in memory only, in one journal
            for all order entry of the client and its views, which is logged once as a warning: after a crash nothing
            can be recovered then.
        looks: how an order of unknown outcome is looked for, unless a call says otherwise.
        lease: seconds after which the journal entries of a worker that died are free for others.
        identifiers: makes external identifiers for orders that have none, each another one, also after a restart.
    """

    def __init__(
        self,
        client: TradingClient,
        journal: Journal | None = None,
        *,
        looks: LookPlan = USUAL_PLAN,
        lease: float = 30.0,
        identifiers: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        check_function("identifiers", identifiers)
        if journal is None:
            journal = _memory_of(client)
        if isinstance(journal, str | PathLike):
            raise ConfigurationError(f"a journal is opened with SqliteJournal({str(journal)!r}), and closed by you")
        check_methods("journal", journal, "now", "open", "find", "entries", "claim", "renew", "release", "close")
        if check_seconds("lease", lease) is None:
            raise ConfigurationError("a lease must end: a worker that died would hold its orders for ever")
        self._desk = Desk(executor=client.session, journal=journal, environment=client.environment.name, lease=lease)
        self._looks = _checked_plan(looks)
        self._identifiers = identifiers

    @property
    def journal(self) -> Journal:
        """Where the orders are written down."""
        return self._desk.journal

    async def place(
        self,
        account_number: str,
        order: NewOrder,
        *,
        allow_warnings: bool | Collection[str] = False,
        resubmit: int = 0,
        settle: float | None = None,
        looks: LookPlan | None = None,
    ) -> Placement:
        """Place an order exactly once, and say what became of it (section Orders).

        The order gets an external identifier if it has none, is checked, dry-run, journaled, and submitted: the same
        bytes each time. When the answer does not tell its outcome, it is looked for in the lists of the account. An
        identifier that the journal knows is never sent again: its order is looked up, or looked for, instead.

        Args:
            account_number: the account to trade in.
            order: the order; see `brokerage_async.tickets` for short ways to write one.
            allow_warnings: True submits in spite of warnings of the dry-run, a collection of codes in spite of those.
            resubmit: how many times the order may be sent again once it is found absent. With 0, an absent order
                stays unknown. Anything else relies on ``settle``: an order that reaches the service later than that
                would be placed twice.
            settle: seconds within which an order that has reached the service is listed; overrides that of ``looks``.
            looks: how to look for it.

        Returns:
            The outcome: ``PLACED``, ``REFUSED`` or ``NOT_SENT``, with ``error`` and ``note`` saying why.

        Raises:
            InvalidRequestError: the order breaks documented rules, or its external identifier belongs to another
                order (code ``identifier_in_use``). It was not submitted.
            ConfigurationError: the client cannot place orders. Nothing was sent.
            JournalError: the order cannot be written down (disk full, read-only). It was not submitted.
            OrderOutcomeUnknownError: it may or may not have been placed. The entry stays open for `recover`; placing
                the order again under the same identifier looks for it again. ``code`` is ``absent`` (not listed after
                the settling time), ``undetermined`` (the lists could not be read), ``identifier_conflict`` (another
                order was found under the identifier) or ``in_progress`` (another worker is placing it now).
            asyncio.CancelledError: with attributes ``account_number`` and ``external_identifier``, and a note that
                says whether the order may have been placed.
        """
        plan = self._plan(settle, looks)
        _check_options(allow_warnings, resubmit)
        if not isinstance(order, NewOrder):
            raise InvalidRequestError(f"an order is a NewOrder, not {type(order).__name__}")
        named = order.external_identifier is not None and order.external_identifier != ""
        if not named:
            order = attrs.evolve(order, external_identifier=self._identifiers())
        name = order.external_identifier
        if not _is_name(name):
            raise InvalidRequestError(
                f"the external identifier {name!r} is none by which an order could be found again: it must be text "
                "without blanks around it and without invisible characters"
            )
        body = _checked_bytes(ORDERS_SUBMIT, {"account_number": account_number}, order)
        key = EntryKey(self._desk.environment, account_number, name)
        return await Submission(self._desk, key, body, plan, resubmit, named=named).place(allow_warnings)

    async def recover(self, *, settle: float | None = None, looks: LookPlan | None = None) -> list[Placement]:
        """Find out what became of every order that is open in the journal: call it when a program starts.

        Orders that are found are closed as placed. The others are returned as unknown and stay open; nothing is ever
        sent again. Several workers may recover at once: each entry is handled, and returned, by one of them.

        Returns:
            One `Placement` for each entry that this call handled, oldest first. An unknown one carries account,
            external identifier, body, time, attempts and what looking for it has shown.

        Raises:
            JournalError: the journal cannot be read or written.
            asyncio.CancelledError: as any error, with an attribute ``placements``: what was handled until then, which
                is closed in the journal and returned by no later call.
        """
        return await recovery.recover(self._desk, self._plan(settle, looks))

    async def abandon(self, account_number: str, external_identifier: str, *, note: str) -> bool:
        """Close an open entry that needs no more looking after, because a person has found out what became of it.

        ``note`` says what. False when there is no such open entry.
        """
        key = EntryKey(self._desk.environment, account_number, external_identifier)
        return await self._desk.journal.close(key, state=EntryState.ABANDONED, note=note)

    async def cancel(
        self, account_number: str, order_id: int | str, *, settle: float | None = None, looks: LookPlan | None = None
    ) -> OrderChange:
        """Ask for the cancellation of an order, once; without an answer, read the order back (section Orders).

        ``APPLIED`` means `Cancelled` or `Cancel Requested`: until the exchange confirms, the order can still fill.
        ``REFUSED`` means that the order was terminal already; where it was replaced, the order working in its place is
        ``order.replacing_order_id`` and can be cancelled under that id. ``UNKNOWN``: it showed none of this in time.

        Raises:
            ConfigurationError: the client cannot cancel orders; nothing was sent.
        """
        return await order_changes.cancel(self._desk.executor, account_number, _id(order_id), self._plan(settle, looks))

    async def replace(
        self,
        account_number: str,
        order_id: int | str,
        edit: OrderEdit,
        *,
        allow_warnings: bool | Collection[str] = False,
        settle: float | None = None,
        looks: LookPlan | None = None,
    ) -> OrderChange:
        """Replace a working order, once: dry-run, then the same bytes; without an answer, read the order back.

        ``UNKNOWN`` with an order of other terms than those of ``edit`` means that somebody else has replaced it.

        Raises:
            InvalidRequestError: the edit breaks documented rules; nothing was sent.
            ConfigurationError: the client cannot change orders; nothing was sent.
        """
        return await self._change(ORDERS_REPLACE, account_number, _id(order_id), edit, allow_warnings, settle, looks)

    async def edit(
        self,
        account_number: str,
        order_id: int | str,
        edit: OrderEdit,
        *,
        allow_warnings: bool | Collection[str] = False,
        settle: float | None = None,
        looks: LookPlan | None = None,
    ) -> OrderChange:
        """Edit a working order, once; otherwise as `replace`."""
        return await self._change(ORDERS_EDIT, account_number, _id(order_id), edit, allow_warnings, settle, looks)

    async def edit_pairs(
        self,
        account_number: str,
        complex_order_id: int | str,
        *,
        ratio_price_comparator: Comparator | None = None,
        ratio_price_threshold: Decimal | None = None,
        settle: float | None = None,
        looks: LookPlan | None = None,
    ) -> OrderChange:
        """Change the ratio condition of a PAIRS order, once; without an answer, read the complex order back.

        Raises:
            InvalidRequestError: the values break documented rules; nothing was sent.
            ConfigurationError: the client cannot change orders; nothing was sent.
        """
        edit = PairsEdit(ratio_price_comparator=ratio_price_comparator, ratio_price_threshold=ratio_price_threshold)
        plan = self._plan(settle, looks)
        return await order_changes.edit_pairs(self._desk.executor, account_number, _id(complex_order_id), edit, plan)

    async def _change(
        self,
        operation: Operation[Order],
        account_number: str,
        order_id: str,
        edit: OrderEdit,
        allow_warnings: bool | Collection[str],
        settle: float | None,
        looks: LookPlan | None,
    ) -> OrderChange:
        _check_options(allow_warnings)
        path = {"account_number": account_number, "id": order_id}
        body = _checked_bytes(ORDERS_EDIT_DRY_RUN, path, edit)
        plan = self._plan(settle, looks)
        return await order_changes.replace(
            self._desk.executor, operation, account_number, order_id, body, plan, allow_warnings
        )

    def _plan(self, settle: float | None, looks: LookPlan | None) -> LookPlan:
        plan = self._looks if looks is None else _checked_plan(looks)
        return plan if settle is None else attrs.evolve(plan, settle=settle)


def _memory_of(client: TradingClient) -> MemoryJournal:
    """The one journal in memory of a client, which its views share: an identifier is used once in all of them."""
    shared = getattr(client.session, "engine", client.session)
    journal = _MEMORIES.get(shared)
    if journal is None:
        logger.warning("orders are journaled in memory only: nothing can be recovered after this process")
        journal = _MEMORIES[shared] = MemoryJournal()
    return journal


def _checked_plan(looks: LookPlan) -> LookPlan:
    if not isinstance(looks, LookPlan):
        raise ConfigurationError(f"looks must be a LookPlan, not {type(looks).__name__}")
    return looks


def _check_options(allow_warnings: object, resubmit: object = 0) -> None:
    """Refuse options that would only be looked at when the order is under way."""
    if not isinstance(resubmit, int) or resubmit < 0:
        raise InvalidRequestError(f"resubmit must be a number of times, not {resubmit!r}")
    codes = isinstance(allow_warnings, str) or validation.is_array(allow_warnings)
    if not isinstance(allow_warnings, bool) and not codes:
        raise InvalidRequestError(f"allow_warnings must be True, False or codes, not {type(allow_warnings).__name__}")


def _is_name(name: object) -> TypeGuard[str]:
    """Whether any service keeps a text as it is."""
    return isinstance(name, str) and name != "" and name.isprintable() and name == name.strip()


def _id(order_id: object) -> str:
    """An order's id as text; anything else than an id would be read as one, such as ``None`` as "None"."""
    if isinstance(order_id, bool) or not isinstance(order_id, int | str):
        raise InvalidRequestError(f"an order id is a text or an integer, not {type(order_id).__name__}")
    return str(order_id)


def _checked_bytes(operation: Operation[Any], path: dict[str, str], model: NewOrder | OrderEdit) -> bytes:
    """The bytes of a request body that keeps the documented rules."""
    validation.check(operation, path, None, model)
    return encode_body(operation, model)
