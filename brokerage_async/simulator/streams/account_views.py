"""Positions and balances as the account stream sends them: like the REST API."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec

from ..._generated.models import QuantityDirection
from ..accounts.accounts import Account, Position
from ..api.access import Access
from ..api.balances import Balances
from ..api.positions import Positions
from ..market.instrument import Instrument
from ..state import State
from ..trading.orders import Order

__all__ = ["AccountViews"]


class AccountViews:
    """Objects of an account, as JSON values."""

    def __init__(self, state: State) -> None:
        access = Access(state.accounts)
        self._dialect = state.dialect
        self._positions = Positions(access, state.prices, state.dialect)
        self._balances = Balances(access, state.margin_calculator, state.prices, state.dialect)

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


def _json(wire: Any) -> dict[str, Any]:
    built: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(wire))
    return built
