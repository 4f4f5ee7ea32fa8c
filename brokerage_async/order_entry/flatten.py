"""Close the positions of an account at the market, each at most once.

A closing order is named after the state of its position (quantity, direction, times of opening and last change): two
calls that see the same position, in any process of the journal, send one order between them. The next of its names is
used once that order is over without a fill. The record of positions follows fills, so it is read only some seconds
after the last one, and nothing is sent while an earlier closing order of the symbol is unresolved, or while any other
order of it works: one that another call sent before it was filled in part would close too much.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Collection, Iterable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import attrs

from .._generated.models import InstrumentType, NewOrder, Order, Position, QuantityDirection
from .._generated.operations import POSITIONS_LIST
from ..errors import BrokerageError, ConfigurationError, InvalidRequestError
from ..journal.base import EntryState, JournalEntry
from ..protocol.order_status import TERMINAL
from ..tickets import buy, buy_to_close, market, sell, sell_to_close
from .arguments import named_order
from .context import Context
from .decisions import ReconcilePolicy
from .lists import OrderLists
from .orders import asked_in, fills_of
from .place import PlaceOrder
from .results import Outcome, Placement

PREFIX = "close-"
SETTLED = timedelta(seconds=5)
"""Age of the newest fill at which the record of positions has followed it: that took up to 3 s in a loaded sandbox."""
AT_ONCE = 8


async def flatten(
    context: Context,
    account_number: str,
    policy: ReconcilePolicy,
    seen: Iterable[Order],
    unproven: Collection[str],
) -> tuple[Placement, ...]:
    """Place a closing order for each position, but for those whose underlying is among ``unproven``.

    ``seen`` are the orders of the account: their fills show how fresh the record of positions must be.

    Raises:
        BrokerageError: the positions could not be read. Nothing was sent.
        JournalError: the journal could not be read. Nothing was sent.
    """
    times = [fill.filled_at for order in seen for fill in fills_of(order) if fill.filled_at is not None]
    if times and (rest := max(times) + SETTLED - context.now()) > timedelta(0):
        await asyncio.sleep(min(rest, SETTLED).total_seconds())
    positions = await context.executor.execute(POSITIONS_LIST.bind(account_number=account_number))
    try:
        listed = await OrderLists(context.executor).live(account_number)
    except BrokerageError:
        listed = None  # any position may have an order
    working = None if listed is None else [order for order in listed if order.status not in TERMINAL]
    entries = await context.journal.entries(context.environment, origin=context.origin, state=EntryState.OPEN)
    unresolved = {
        entry.key.external_identifier: entry for entry in entries if entry.key.account_number == account_number
    }
    gate = asyncio.Semaphore(AT_ONCE)

    async def close(position: Position) -> Placement:
        async with gate:
            try:
                return await _close(context, account_number, policy, position, unresolved, unproven, working)
            except BrokerageError as error:
                is_certain = isinstance(error, ConfigurationError | InvalidRequestError)
                return Placement(
                    outcome=Outcome.NOT_SENT if is_certain else Outcome.UNKNOWN,
                    account_number=account_number,
                    external_identifier=getattr(error, "external_identifier", None) or _stem(position),
                    code=error.code,
                    error=error,
                    note=f"{position.symbol}: {error}",
                )

    return tuple(await asyncio.gather(*(close(each) for each in positions if _is_open(each))))


async def _close(
    context: Context,
    account_number: str,
    policy: ReconcilePolicy,
    position: Position,
    unresolved: dict[str, JournalEntry],
    unproven: Collection[str],
    working: Collection[Order] | None,
) -> Placement:
    """Close one position, unless an earlier closing order of it is on its way or was filled."""
    may_work = InvalidRequestError(f"{position.symbol} is not closed: an order of it may still work")
    if position.underlying_symbol in unproven or position.symbol in unproven:
        raise may_work

    async def place(name: str, order: NewOrder) -> Placement:
        asked = named_order(account_number, attrs.evolve(order, external_identifier=name), str)
        key = context.key_of(account_number, name)
        placing = PlaceOrder(context=context, key=key, asked=asked, policy=policy, allow_warnings=True, exempt=True)
        return await placing.run()

    stem = _stem(position)
    for name, entry in unresolved.items():
        if name.startswith(stem):
            terms = asked_in(entry).components[name]
            if terms is not None:
                return await place(name, terms)  # searched for, not sent
    order, number, names = _closing(position), 1, f"{stem}-{_state(position)}-"
    if working is None:
        raise may_work
    for each in working:
        is_of_this_state = (each.external_identifier or "").startswith(names)
        if not is_of_this_state and any(leg.symbol == position.symbol for leg in each.legs or ()):
            raise may_work
    while True:
        name = f"{names}{number}"
        known = await context.journal.find(context.key_of(account_number, name))
        if known is None or known.state is not EntryState.ABANDONED:
            placement = await place(name, order)
            if known is None or not _is_spent(placement):
                return placement
        number += 1


def _is_open(position: Position) -> bool:
    return bool(position.quantity) and position.quantity_direction != QuantityDirection.ZERO


def _is_spent(placement: Placement) -> bool:
    """Return True if a closing order of an earlier call is over, and has closed nothing."""
    if placement.outcome is Outcome.REFUSED:
        return True
    order = placement.order
    return order is not None and order.status in TERMINAL and not placement.fills


def _closing(position: Position) -> NewOrder:
    """Return a Market order of the day that closes a position: the one form that all instruments have.

    It needs no price, takes fractions of a share, and the service accepts it for closing even while the market is
    closed.
    """
    symbol, quantity = str(position.symbol), abs(position.quantity or Decimal(0))
    is_short = position.quantity_direction == QuantityDirection.SHORT
    if position.instrument_type == InstrumentType.FUTURE:
        return market((buy if is_short else sell)(symbol, quantity))
    leg = buy_to_close if is_short else sell_to_close
    return market(leg(symbol, quantity, instrument_type=position.instrument_type))


def _stem(position: Position) -> str:
    """Return the beginning of the names of all closing orders of an instrument."""
    return PREFIX + _digest(position.instrument_type, position.symbol)


def _state(position: Position) -> str:
    """Return a name of the state of a position. Any trade in it makes another one."""
    return _digest(position.quantity, position.quantity_direction, position.created_at, position.updated_at)


def _digest(*values: Any) -> str:
    return hashlib.sha256("|".join(map(str, values)).encode()).hexdigest()[:16]
