"""Books executions: the fill, the position, the cash, the fees and the transaction."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from .accounts import Account
from .fees import fees_of
from .orders import Leg, Order
from .transactions import Transaction, cash_movement, trade
from .wire import money, timestamp

__all__ = ["Books"]

_FIRST_NUMBER = 700_000_000


class Books:
    """Numbers and keeps what is booked."""

    def __init__(self) -> None:
        self._last_number = _FIRST_NUMBER

    def execute(
        self, order: Order, leg: Leg, quantity: Decimal, price: Decimal, execution: str, now: float
    ) -> dict[str, Any]:
        """Book one execution of one leg; return the fill as it is kept with the leg (quantity still a decimal)."""
        fees = fees_of(leg.instrument, leg.action, quantity, price)
        account = order.account
        account.trade(leg.instrument, quantity * leg.sign, price, fees.total)
        self._keep(
            account,
            trade(
                self._number(),
                account.number,
                now,
                instrument=leg.instrument,
                action=leg.action,
                quantity=quantity,
                price=price,
                fees=fees,
                order_number=order.number,
                execution=execution,
            ),
        )
        return {
            "ext-group-fill-id": execution.rpartition("-")[0],
            "ext-exec-id": execution,
            "fill-id": f"SIM_{execution}",
            "quantity": quantity,
            "fill-price": money(price),
            "filled-at": timestamp(now),
            "destination-venue": "SIMULATED",
        }

    def move_cash(self, account: Account, kind: str, amount: Decimal, now: float) -> None:
        """Book money that comes in or, negative, goes out."""
        account.cash += amount
        account.version += 1
        self._keep(account, cash_movement(self._number(), account.number, now, kind, amount))

    def _number(self) -> int:
        self._last_number += 1
        return self._last_number

    def _keep(self, account: Account, transaction: Transaction) -> None:
        account.transactions.append(transaction)
