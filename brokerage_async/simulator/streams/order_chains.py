"""Chains of orders: the executions in one underlying from its first opening until everything is closed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby
from typing import Any

import attrs

from ..._generated.converters import (
    OrderChainEntryWire,
    OrderChainLegWire,
    OrderChainNodeWire,
    OrderChainTotalsWire,
    OrderChainWire,
)
from ..accounts.accounts import Account
from ..accounts.transactions import Execution
from ..trading.fees import Fees, amounts

__all__ = ["order_chain"]

_ZERO = Decimal(0)


@attrs.frozen
class _Step:
    """One execution with its effects: value before fees, whether it opens, and the holdings after it."""

    at: float
    execution: Execution
    value: Decimal
    is_opening: bool
    entries: tuple[OrderChainEntryWire, ...]


def order_chain(account: Account, underlying: str) -> OrderChainWire | None:
    """Return the latest chain of an underlying, None if it was never traded."""
    scratch = attrs.evolve(account, positions={}, transactions=[], cash=_ZERO)
    steps: list[_Step] = []
    for transaction in account.transactions:
        execution = transaction.booked
        if isinstance(execution, Execution) and execution.instrument.underlying == underlying:
            if not scratch.positions:
                steps, scratch.cash = [], _ZERO
            steps.append(_step(scratch, execution, transaction.executed_at))
    if not steps:
        return None
    first, last = steps[0], steps[-1]
    nodes = [_node(list(some)) for _, some in groupby(steps, key=lambda step: step.execution.order_number)]
    if scratch.positions:
        held = OrderChainNodeWire(node_type="open-positions", occurred_at=_time(last.at), entries=list(last.entries))
        nodes.append(held)
    return OrderChainWire(
        id=first.execution.order_number or first.execution.identifier,
        description=f"{underlying} {'spread' if len(last.entries) > 1 else 'position'}",
        underlying_symbol=underlying,
        account_number=account.number,
        created_at=_time(first.at),
        updated_at=_time(last.at),
        computed_data=_totals(steps, scratch),
        lite_nodes_sizes=len(nodes),
        lite_nodes=nodes,
    )


def _step(scratch: Account, execution: Execution, at: float) -> _Step:
    """Book an execution on a copy of the account."""
    instrument = execution.instrument
    is_opening = scratch.held(instrument.symbol) * execution.signed >= 0
    value = scratch.trade(instrument, execution.signed, execution.price, execution.fees.total, at)
    entries = tuple(
        OrderChainEntryWire(
            symbol=held.instrument.symbol,
            instrument_type=held.instrument.instrument_type,
            quantity=_plain(abs(held.quantity)),
            quantity_type="Long" if held.quantity > 0 else "Short",
            quantity_numeric=_plain(held.quantity),
        )
        for held in scratch.positions.values()
    )
    return _Step(at, execution, value, is_opening, entries)


def _totals(steps: Sequence[_Step], scratch: Account) -> OrderChainTotalsWire:
    fees = _fees(steps)
    charges = fees.total - fees.commission
    opening = sum((step.value for step in steps if step.is_opening), _ZERO)
    closing = sum((step.value for step in steps if not step.is_opening), _ZERO)
    # The cost of positions that are still open is not lost; a future costs nothing.
    invested = sum(
        (
            held.quantity * held.average_price * held.instrument.multiplier
            for held in scratch.positions.values()
            if not held.instrument.is_future
        ),
        _ZERO,
    )
    gain = opening + closing + invested
    return OrderChainTotalsWire(
        open=bool(scratch.positions),
        roll_count=0,
        opened_at=_time(steps[0].at),
        last_occurred_at=_time(steps[-1].at),
        **amounts(
            total_fees=-charges,
            total_commissions=-fees.commission,
            realized_gain=gain,
            realized_gain_with_fees=gain - fees.total,
            total_opening_cost=opening,
            total_closing_cost=closing,
            total_cost=opening + closing,
        ),
        winner_realized_and_closed=not scratch.positions and gain > 0,
        winner_realized=gain > 0,
        winner_realized_with_fees=gain > fees.total,
        open_entries=list(steps[-1].entries),
    )


def _node(steps: Sequence[_Step]) -> OrderChainNodeWire:
    """Return the node of one order."""
    first, last = steps[0].execution, steps[-1]
    quantity = sum((step.execution.quantity for step in steps if step.execution.instrument == first.instrument), _ZERO)
    cost = sum((step.value for step in steps), _ZERO)
    return OrderChainNodeWire(
        node_type="order",
        id=first.order_number or first.identifier,
        description=f"{first.action} {_plain(quantity)} {first.instrument.symbol}",
        occurred_at=_time(last.at),
        **amounts(
            total_fees=-_fees(steps).total, total_fill_cost=cost, fill_cost_per_quantity=cost / (quantity or Decimal(1))
        ),
        gcd_quantity=_plain(quantity),
        order_fill_count=len(steps),
        roll=False,
        legs=[_leg(list(some)) for _, some in groupby(steps, key=lambda step: step.execution.instrument.symbol)],
        entries=list(last.entries),
    )


def _leg(steps: Sequence[_Step]) -> OrderChainLegWire:
    execution = steps[0].execution
    quantity = _plain(sum((step.execution.quantity for step in steps), _ZERO))
    return OrderChainLegWire(
        symbol=execution.instrument.symbol,
        instrument_type=execution.instrument.instrument_type,
        action=execution.action,
        fill_quantity=quantity,
        order_quantity=quantity,
    )


def _fees(steps: Iterable[_Step]) -> Fees:
    return sum((step.execution.fees for step in steps), Fees())


def _plain(amount: Decimal) -> Any:
    """Return a quantity as a decimal string without an exponent."""
    return format(amount.normalize(), "f")


def _time(at: float) -> Any:
    """Return a time with an offset without a colon, as recorded."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}.{round(at % 1 * 1000):03d}+0000"
