"""Objects of an account as the account stream sends them: like the REST API where it has them."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec

from ..._generated.converters import ExternalTransactionWire
from ..._generated.models import QuantityDirection
from ..accounts.accounts import Account, Position
from ..accounts.transactions import Transaction
from ..api.access import Access
from ..api.accounts import Accounts as AccountHandlers
from ..api.balances import Balances
from ..api.positions import Positions
from ..api.watchlists import public_row
from ..api.wire import money, timestamp
from ..market.calendar import local_date
from ..market.instrument import Instrument
from ..market.public_watchlists import PublicWatchlist
from ..state import State
from ..trading.complex_orders import ComplexOrder
from ..trading.orders import Order
from .order_chains import order_chain
from .year_gains import year_gains

__all__ = ["AccountViews"]


class AccountViews:
    """Objects of an account, as JSON values."""

    def __init__(self, state: State) -> None:
        access = Access(state.accounts, numbers=not state.settings.has("customer_is_me"))
        self._dialect = state.dialect
        self._positions = Positions(access, state.prices, state.dialect)
        self._balances = Balances(access, state.margin_calculator, state.prices, state.dialect, state.settings.has)
        self._accounts = AccountHandlers(access, state.dialect, state.settings.start, state.settings.has)

    def position(self, account: Account, instrument: Instrument, order: Order, now: float) -> dict[str, Any]:
        """Return the position in an instrument after a fill; a closed one has quantity 0 and direction ``Zero``."""
        held = account.positions.get(instrument.symbol)
        position = held or Position(instrument, Decimal(0), Fraction(0), now)
        row = self._positions.row(position, account, now, with_mark=False)
        if held is None:
            row.quantity_direction = QuantityDirection.ZERO
        row.order_id = str(order.number)
        return _json(row)

    def balance(self, account: Account, now: float) -> dict[str, Any]:
        """Return the balance of an account."""
        return _json(self._balances.balance(account, now))

    def trading_status(self, account: Account, now: float) -> dict[str, Any]:
        """Return the restrictions of an account."""
        return _json(self._accounts.status(account, now))

    def complex_order(self, order: ComplexOrder) -> dict[str, Any]:
        """Return a complex order."""
        return _json(order.wire(self._dialect))

    def order_chain(self, account: Account, underlying: str, now: float) -> dict[str, Any] | None:
        """Return the chain of orders in an underlying, None without one."""
        chain = order_chain(account, underlying)
        return None if chain is None else _json(chain)

    def year_gains(self, account: Account, underlying: str, now: float) -> dict[str, Any] | None:
        """Return the gains in an underlying this year, None if it was not traded."""
        gains = year_gains(account, underlying, now)
        return None if gains is None else _json(gains)

    def external_transaction(self, account: Account, movement: Transaction) -> dict[str, Any]:
        """Return a transfer of cash from or to a bank."""
        number, amount, day = movement.wire.id, movement.booked, local_date(movement.executed_at)
        assert isinstance(amount, Decimal)
        wire = ExternalTransactionWire(
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
        return _json(wire)

    def watchlist(self, one: PublicWatchlist) -> dict[str, Any]:
        """Return a public watchlist."""
        return _json(public_row(one))


def _json(wire: Any) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(wire))
    return built
