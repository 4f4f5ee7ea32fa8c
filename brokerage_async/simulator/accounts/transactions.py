"""Bookings of an account: trades and cash movements."""

from __future__ import annotations

from decimal import Decimal

import attrs

from ..._generated.converters import TransactionWire
from ..._generated.models import LegAction, TransactionSubType, TransactionType
from ..api.wire import Dialect, dumps, money, timestamp
from ..market.calendar import local_date
from ..market.instrument import Instrument
from ..trading.fees import Fees, amounts

__all__ = ["Execution", "Transaction", "cash_movement", "trade"]


@attrs.frozen(kw_only=True)
class Transaction:
    """One booking: the execution or the amount of cash that it is of, as wire struct and as JSON."""

    executed_at: float
    booked: Execution | Decimal
    wire: TransactionWire
    row: bytes


def _transaction(
    number: int, at: float, booked: Execution | Decimal, wire: TransactionWire, dialect: Dialect
) -> Transaction:
    """Complete the fields that every booking has."""
    wire.id = dialect.identifier(number)
    wire.executed_at = timestamp(at)
    wire.transaction_date = local_date(at)
    wire.currency = "USD"
    return Transaction(executed_at=at, booked=booked, wire=wire, row=dumps(wire))


def cash_movement(
    number: int, account_number: str, at: float, kind: str, amount: Decimal, dialect: Dialect
) -> Transaction:
    """Return the booking of a deposit (positive) or withdrawal.

    It has no symbol, action, quantity or price.
    """
    movement = TransactionWire(
        account_number=account_number,
        transaction_type=TransactionType.MONEY_MOVEMENT,
        transaction_sub_type=TransactionSubType(kind),
        description=kind,
        **amounts(value=amount, net_value=amount),
        is_estimated_fee=False,
    )
    return _transaction(number, at, amount, movement, dialect)


@attrs.frozen(kw_only=True)
class Execution:
    """Part of one leg of an order, executed at one price; ``order_number`` is None for an opening position."""

    identifier: str
    order_number: int | None
    instrument: Instrument
    action: LegAction
    quantity: Decimal
    price: Decimal
    fees: Fees

    @property
    def signed(self) -> Decimal:
        """Quantity, negative for a sale."""
        return self.quantity if self.action.startswith("Buy") else -self.quantity


def trade(
    number: int,
    account_number: str,
    at: float,
    execution: Execution,
    value: Decimal,
    dialect: Dialect,
    delivered: str | None = None,
) -> Transaction:
    """Return the booking of an execution.

    ``value`` is its effect on the cash before fees; ``delivered`` the way in which a position ended without a trade.
    """
    instrument = execution.instrument
    what = delivered or str(execution.action)
    booked = TransactionWire(
        account_number=account_number,
        symbol=instrument.symbol,
        instrument_type=instrument.instrument_type,
        underlying_symbol=instrument.underlying,
        transaction_type=TransactionType.RECEIVE_DELIVER if delivered else TransactionType.TRADE,
        transaction_sub_type=TransactionSubType(what),
        description=f"{what} {execution.quantity:f} {instrument.symbol} @ {money(execution.price)}",
        action=execution.action,
        quantity=format(execution.quantity, "f"),
        price=money(execution.price),
        **amounts(value=value, net_value=value - execution.fees.total),
        is_estimated_fee=True,
        order_id=dialect.identifier(execution.order_number),
        leg_count=dialect.quantity(Decimal(1)),
        exec_id=execution.identifier,
        ext_exec_id=execution.identifier,
        **execution.fees.by_kind(),
    )
    return _transaction(number, at, execution, booked, dialect)
