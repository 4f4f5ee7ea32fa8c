"""Gains, fees and commissions of one underlying in one calendar year."""

from __future__ import annotations

from decimal import Decimal

import attrs

from ..._generated.converters import UnderlyingYearGainSummaryWire
from ..._generated.models import InstrumentType
from ..accounts.accounts import Account
from ..accounts.transactions import Execution
from ..market.calendar import local_date
from ..trading.fees import Fees, amounts

__all__ = ["year_gains"]

_UNDERLYING = {
    InstrumentType.EQUITY_OPTION: InstrumentType.EQUITY,
    InstrumentType.FUTURE_OPTION: InstrumentType.FUTURE,
}


def year_gains(account: Account, underlying: str, now: float) -> UnderlyingYearGainSummaryWire | None:
    """Return the summary of an underlying in the year of ``now``, None if nothing was traded in that year.

    A position has one average price, so that the gain on lots is that of the year.
    """
    year = local_date(now).year
    scratch = attrs.evolve(account, positions={}, transactions=[])
    gain, fees, kind = Decimal(0), Fees(), None
    for transaction in account.transactions:
        execution, at = transaction.booked, transaction.executed_at
        if isinstance(execution, Execution) and execution.instrument.underlying == underlying:
            realized = scratch.hold(execution.instrument, execution.signed, execution.price, at)
            if local_date(at).year == year:
                gain, fees, kind = gain + realized, fees + execution.fees, execution.instrument.instrument_type
    if kind is None:
        return None
    return UnderlyingYearGainSummaryWire(
        account_number=account.number,
        symbol=underlying,
        instrument_type=_UNDERLYING.get(kind, kind),
        year=year,
        **amounts(
            fees=fees.commission - fees.total,
            commissions=-fees.commission,
            yearly_realized_gain=gain,
            realized_lot_gain=gain,
        ),
    )
