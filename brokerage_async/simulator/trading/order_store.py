"""Every order of the environment, and the transitions between their statuses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal

from ..._generated.models import OrderStatus
from ..accounts.accounts import Account
from ..keyed_random import KeyedRandom
from ..ledger import Ledger
from ..market.calendar import local_date
from .orders import Leg, Order, Terms

__all__ = ["OrderStore"]

_FIRST_NUMBER = 400_000_000


class OrderStore:
    """Stores orders, finds them, and notifies the ledger and listeners of every change."""

    def __init__(self, ledger: Ledger, random: KeyedRandom, *, lists_working: bool = True) -> None:
        self._ledger = ledger
        self._orders: dict[str, Order] = {}
        self._by_account: dict[str, list[Order]] = {}
        self._lists_working = lists_working
        self._working: dict[str, dict[int, Order]] = {}
        self._today: dict[str, tuple[date, dict[int, Order]]] = {}
        self._last_number = _FIRST_NUMBER + random.below(1_000_000, 1)
        self._listeners: list[Callable[[Order, float], None]] = []
        self.version: int = 0

    def on_change(self, listener: Callable[[Order, float], None]) -> None:
        """Call ``listener(order, now)`` after every transition and fill."""
        self._listeners.append(listener)

    def number(self) -> int:
        """Return a number for a new order or complex order."""
        self._last_number += 1
        return self._last_number

    def add(
        self, account: Account, legs: Iterable[Leg], terms: Terms, now: float, *, replaces: Order | None = None
    ) -> Order:
        """Create an order, received at ``now``."""
        order = Order(number=self.number(), account=account, legs=tuple(legs), terms=terms)
        order.received_at = now
        if replaces is not None:
            order.replaces, order.edited = replaces, True
        self._orders[str(order.number)] = order
        self._by_account.setdefault(account.number, []).append(order)
        order.touch(now)
        self._record(order, None, now)
        return order

    def move(self, order: Order, status: OrderStatus, now: float) -> None:
        """Change the status of an order.

        A final one releases its reserved buying power.
        """
        before = order.status
        order.move(status, now)
        if order.is_terminal:
            self.release(order, Decimal(0))
            for event in order.scheduled.values():
                event.cancel()
            order.scheduled.clear()
        self._record(order, before, now)

    def changed(self, order: Order, now: float) -> None:
        """Record a change without a new status, such as a partial fill."""
        order.touch(now)
        self._notify(order, now)

    def release(self, order: Order, keep: Decimal) -> None:
        """Reduce the reserved buying power of an order to ``keep`` dollars."""
        order.account.reserved += keep - order.reserved
        order.reserved = keep

    # Lookup

    def get(self, account: Account, identifier: str) -> Order | None:
        """Return an order of an account by its identifier, or None."""
        order = self._orders.get(identifier)
        return order if order is not None and order.account is account else None

    def find(self, identifier: str) -> Order | None:
        """Return an order of any account by its identifier, or None."""
        return self._orders.get(identifier)

    def of(self, accounts: Iterable[Account]) -> list[Order]:
        """Return orders of accounts, oldest first."""
        lists = [self._by_account.get(account.number, []) for account in accounts]
        if len(lists) == 1:
            return lists[0]
        return sorted((order for orders in lists for order in orders), key=lambda order: order.number)

    def live(self, accounts: Iterable[Account], now: float) -> list[Order]:
        """Return orders of accounts that work, or were created or updated today, oldest first."""
        orders: dict[int, Order] = {}
        for account in accounts:
            orders |= self._orders_of_day(account.number, local_date(now))
            if self._lists_working:
                orders |= self._working.get(account.number, {})
        return [orders[number] for number in sorted(orders)]

    def _orders_of_day(self, account_number: str, day: date) -> dict[int, Order]:
        cached_day, orders = self._today.get(account_number, (day, {}))
        if cached_day != day:
            orders = {number: order for number, order in orders.items() if _day_of(order) == day}
        self._today[account_number] = day, orders
        return orders

    def _record(self, order: Order, before: OrderStatus | None, now: float) -> None:
        self._ledger.transition(
            now=now,
            order_id=str(order.number),
            account_number=order.account.number,
            external_identifier=order.terms.external_identifier,
            before=None if before is None else before.value,
            after=order.status.value,
            terminal=order.is_terminal,
            replaces_order_id=None if order.replaces is None else str(order.replaces.number),
        )
        self._notify(order, now)

    def _notify(self, order: Order, now: float) -> None:
        self.version += 1
        self._orders_of_day(order.account.number, local_date(now))[order.number] = order
        working = self._working.setdefault(order.account.number, {})
        if order.is_terminal:
            working.pop(order.number, None)
        else:
            working[order.number] = order
        for listener in self._listeners:
            listener(order, now)


def _day_of(order: Order) -> date | None:
    return None if order.updated_at is None else local_date(order.updated_at)
