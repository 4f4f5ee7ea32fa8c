"""What is booked to an account: trades and cash movements."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import attrs

from .calendar import local_date
from .fees import Fees, effect
from .instrument import Instrument
from .wire import dumps, money, timestamp

__all__ = ["Execution", "Transaction", "cash_movement", "trade"]


@attrs.frozen(kw_only=True)
class Transaction:
    """One booking; ``fields`` are what is sent."""

    number: int
    executed_at: float
    underlying: str | None
    fields: dict[str, Any]
    row: bytes


def _booked(number: int, at: float, underlying: str | None, fields: dict[str, Any]) -> Transaction:
    common = {
        "id": number,
        "executed-at": timestamp(at),
        "transaction-date": local_date(at).isoformat(),
        "currency": "USD",
    }
    whole = {**common, **fields}
    return Transaction(number=number, executed_at=at, underlying=underlying, fields=whole, row=dumps(whole))


def cash_movement(number: int, account_number: str, at: float, kind: str, amount: Decimal) -> Transaction:
    """Money that comes in (positive) or goes out; it has no symbol, action, quantity or price."""
    fields = {
        "account-number": account_number,
        "transaction-type": "Money Movement",
        "transaction-sub-type": kind,
        "description": kind,
        "value": money(abs(amount)),
        "value-effect": effect(-amount),
        "net-value": money(abs(amount)),
        "net-value-effect": effect(-amount),
        "is-estimated-fee": False,
    }
    return _booked(number, at, None, fields)


@attrs.frozen(kw_only=True)
class Execution:
    """Part of one leg of an order, executed at one price."""

    identifier: str
    order_number: int
    instrument: Instrument
    action: str
    quantity: Decimal
    price: Decimal
    fees: Fees

    @property
    def sign(self) -> int:
        """1 for a purchase, -1 for a sale."""
        return 1 if self.action.startswith("Buy") else -1

    @property
    def value(self) -> Decimal:
        """Money that it brings in, negative for a purchase, before fees."""
        return -self.sign * self.quantity * self.price * self.instrument.multiplier


def trade(number: int, account_number: str, at: float, execution: Execution) -> Transaction:
    """The booking of an execution."""
    instrument, value = execution.instrument, execution.value
    net = value - execution.fees.total
    fields: dict[str, Any] = {
        "account-number": account_number,
        "symbol": instrument.symbol,
        "instrument-type": instrument.instrument_type,
        "underlying-symbol": instrument.underlying,
        "transaction-type": "Trade",
        "transaction-sub-type": execution.action,
        "description": f"{execution.action} {execution.quantity:f} {instrument.symbol} @ {money(execution.price)}",
        "action": execution.action,
        "quantity": format(execution.quantity, "f"),
        "price": money(execution.price),
        "value": money(abs(value)),
        "value-effect": effect(-value),
        "net-value": money(abs(net)),
        "net-value-effect": effect(-net),
        "is-estimated-fee": True,
        "order-id": execution.order_number,
        "leg-count": 1,
        "exec-id": execution.identifier,
        "ext-exec-id": execution.identifier,
        **_charged(execution.fees),
    }
    return _booked(number, at, instrument.underlying, fields)


def _charged(fees: Fees) -> dict[str, str]:
    fields = fees.wire()
    return {key: value for key, value in fields.items() if not key.startswith(("total", "per"))}
