"""Objects of an account as the account stream sends them: like the REST API where it has them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import Any

import attrs

from ..._generated import converters as wires
from ..._generated.models import QuantityDirection
from ..api.accounts import Positions
from ..api.wire import money, timestamp
from ..market.calendar import local_date
from ..trading.accounts import Account, Execution, Fees, Position, Transaction, amounts


def year_gains(account: Account, underlying: str, now: float) -> wires.UnderlyingYearGainSummaryWire | None:
    """Return the summary of an underlying in the year of ``now``, None if nothing was traded in that year.

    A position has one average price, so that the gain on lots equals the year's gain.
    """
    year = local_date(now).year
    scratch = attrs.evolve(account, positions={}, transactions=[])
    gain, fees, kind = Decimal(0), Fees(), None
    for transaction in account.transactions:
        execution, at = transaction.booked, transaction.executed_at
        if isinstance(execution, Execution) and execution.instrument.underlying == underlying:
            realized = scratch.hold(execution.instrument, execution.signed, execution.price, at)
            if local_date(at).year == year:
                gain, fees, kind = gain + realized, fees + execution.fees, execution.instrument.underlying_type
    if kind is None:
        return None
    return wires.UnderlyingYearGainSummaryWire(
        account_number=account.number,
        symbol=underlying,
        instrument_type=kind,
        year=year,
        **amounts(
            fees=fees.commission - fees.total,
            commissions=-fees.commission,
            yearly_realized_gain=gain,
            realized_lot_gain=gain,
        ),
    )


_ZERO = Decimal(0)


@attrs.frozen
class _Step:
    """One execution with its effects: value before fees, whether it opens, and the holdings after it."""

    at: float
    execution: Execution
    value: Decimal
    is_opening: bool
    entries: tuple[wires.OrderChainEntryWire, ...]


def order_chain(account: Account, underlying: str, now: float = 0.0) -> wires.OrderChainWire | None:
    """Return the latest chain of an underlying, None if it was never traded."""
    scratch = attrs.evolve(account, positions={}, transactions=[], cash=_ZERO)
    steps: list[_Step] = []
    for transaction in account.transactions:
        execution = transaction.booked
        if isinstance(execution, Execution) and execution.instrument.underlying == underlying:
            if not scratch.positions:
                steps, scratch.cash = [], _ZERO
            at, instrument = transaction.executed_at, execution.instrument
            is_opening = scratch.held(instrument.symbol) * execution.signed >= 0
            value = scratch.trade(instrument, execution.signed, execution.price, execution.fees.total, at)
            entries = tuple(
                wires.OrderChainEntryWire(
                    symbol=held.instrument.symbol,
                    instrument_type=held.instrument.instrument_type,
                    quantity=_plain(abs(held.quantity)),
                    quantity_type="Long" if held.quantity > 0 else "Short",
                    quantity_numeric=_plain(held.quantity),
                )
                for held in scratch.positions.values()
            )
            steps.append(_Step(at, execution, value, is_opening, entries))
    if not steps:
        return None
    first, last = steps[0], steps[-1]
    nodes = [_node(list(some)) for _, some in groupby(steps, key=lambda step: step.execution.order_number)]
    if scratch.positions:
        entries_held = list(last.entries)
        still_open = wires.OrderChainNodeWire(
            node_type="open-positions", occurred_at=_time(last.at), entries=entries_held
        )
        nodes.append(still_open)
    return wires.OrderChainWire(
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


def _totals(steps: Sequence[_Step], scratch: Account) -> wires.OrderChainTotalsWire:
    fees = _fees(steps)
    charges = fees.total - fees.commission
    opening = sum((step.value for step in steps if step.is_opening), _ZERO)
    closing = sum((step.value for step in steps if not step.is_opening), _ZERO)
    # The cost of positions that are still open is not lost. A future costs nothing.
    invested = sum(
        (
            held.quantity * held.average_price * held.instrument.multiplier
            for held in scratch.positions.values()
            if not held.instrument.is_future
        ),
        _ZERO,
    )
    gain = opening + closing + invested
    return wires.OrderChainTotalsWire(
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


def _node(steps: Sequence[_Step]) -> wires.OrderChainNodeWire:
    first, last = steps[0].execution, steps[-1]
    quantity = sum((step.execution.quantity for step in steps if step.execution.instrument == first.instrument), _ZERO)
    cost = sum((step.value for step in steps), _ZERO)
    legs = []
    for _, some in groupby([step.execution for step in steps], key=lambda execution: execution.instrument.symbol):
        execution, *others = some
        filled = _plain(sum((each.quantity for each in others), execution.quantity))
        leg = wires.OrderChainLegWire(
            symbol=execution.instrument.symbol,
            instrument_type=execution.instrument.instrument_type,
            action=execution.action,
            fill_quantity=filled,
            order_quantity=filled,
        )
        legs.append(leg)
    return wires.OrderChainNodeWire(
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
        legs=legs,
        entries=list(last.entries),
    )


def _fees(steps: Iterable[_Step]) -> Fees:
    return sum((step.execution.fees for step in steps), Fees())


def _plain(amount: Decimal) -> Any:
    """Return a quantity as a decimal string without an exponent."""
    return format(amount.normalize(), "f")


def _time(at: float) -> Any:
    """Return a time with an offset without a colon, as recorded."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%S}.{round(at % 1 * 1000):03d}+0000"


def position_row(positions: Positions, account: Account, execution: Execution, now: float) -> wires.PositionWire:
    """Return the position after an execution. A closed one has quantity 0 and direction ``Zero``."""
    instrument = execution.instrument
    held = account.positions.get(instrument.symbol)
    row = positions.row(held or Position(instrument, _ZERO, Fraction(0), now), account, now, with_mark=False)
    if held is None:
        row.quantity_direction = QuantityDirection.ZERO
    row.order_id = None if execution.order_number is None else str(execution.order_number)
    return row


def external_transaction(account: Account, movement: Transaction) -> wires.ExternalTransactionWire:
    """Return a transfer of cash from or to a bank."""
    number, amount, day = movement.wire.id, movement.booked, local_date(movement.executed_at)
    assert isinstance(amount, Decimal)
    return wires.ExternalTransactionWire(
        id=int(str(number)),
        account_number=account.number,
        amount=Decimal(money(abs(amount))),
        bank_account_type="Checking",
        banking_date=day,
        created_at=timestamp(movement.executed_at),
        direction="Deposit" if amount > 0 else "Withdrawal",
        disbursement_type="Partial",
        ext_transfer_id=f"SIM-{number}",
        funds_available_date=day,
        is_cancelable=False,
        is_clearing_accepted=True,
        state="Completed",
        transfer_method="ACH",
        updated_at=timestamp(movement.executed_at),
    )
