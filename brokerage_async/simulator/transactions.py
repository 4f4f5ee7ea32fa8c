"""What is booked to an account: trades and cash movements."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import attrs

from .calendar import local_date
from .fees import Fees, effect
from .instrument import Instrument
from .wire import dumps, money, timestamp

__all__ = ["Transaction", "cash_movement", "trade"]


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


def trade(
    number: int,
    account_number: str,
    at: float,
    *,
    instrument: Instrument,
    action: str,
    quantity: Decimal,
    price: Decimal,
    fees: Fees,
    order_number: int,
    execution: str,
) -> Transaction:
    """One execution of one leg."""
    value = -quantity * price * instrument.multiplier * (1 if action.startswith("Buy") else -1)
    net = value - fees.total
    fields: dict[str, Any] = {
        "account-number": account_number,
        "symbol": instrument.symbol,
        "instrument-type": instrument.instrument_type,
        "underlying-symbol": instrument.underlying,
        "transaction-type": "Trade",
        "transaction-sub-type": action,
        "description": f"{action} {quantity:f} {instrument.symbol} @ {money(price)}",
        "action": action,
        "quantity": format(quantity, "f"),
        "price": money(price),
        "value": money(abs(value)),
        "value-effect": effect(-value),
        "net-value": money(abs(net)),
        "net-value-effect": effect(-net),
        "is-estimated-fee": True,
        "order-id": order_number,
        "leg-count": 1,
        "exec-id": execution,
        "ext-exec-id": execution,
    }
    charged = {
        "regulatory-fees": fees.regulatory,
        "clearing-fees": fees.clearing,
        "commission": fees.commission,
        "proprietary-index-option-fees": fees.proprietary,
    }
    for name, amount in charged.items():
        fields[name] = money(amount)
        fields[f"{name}-effect"] = effect(amount)
    return _booked(number, at, instrument.underlying, fields)
