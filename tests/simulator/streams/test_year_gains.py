"""Gains of a year, from the executions of an account."""

from decimal import Decimal

import pytest

from brokerage_async import models
from brokerage_async.simulator.streams.account_views import AccountViews
from tests.simulator.harness import Harness, leg, market

YEAR = 366 * 86400


@pytest.fixture(autouse=True)
def known_price(harness: Harness) -> None:
    harness.sim.set_price("AAPL", 100)


def trade(harness: Harness, quantity: int, action: str = "Buy to Open") -> None:
    harness.place(market(leg(quantity=str(quantity), action=action)))
    harness.wait(20)


def gains(harness: Harness, underlying: str = "AAPL", later: float = 0) -> models.UnderlyingYearGainSummary | None:
    """Return the summary as a client reads it."""
    account = harness.state.accounts.get(harness.account)
    assert account is not None
    sent = AccountViews(harness.state).year_gains(account, underlying, harness.now + later)
    return None if sent is None else models.converter.structure(sent, models.UnderlyingYearGainSummary)


def test_opening_costs_fees_and_gains_nothing(harness: Harness) -> None:
    assert gains(harness) is None
    trade(harness, 1)
    assert gains(harness, "SPY") is None
    assert gains(harness, later=YEAR) is None
    trade(harness, 4000)
    found = gains(harness)
    assert (found.account_number, found.symbol, found.instrument_type) == (harness.account, "AAPL", "Equity")
    assert (found.yearly_realized_gain, found.realized_lot_gain) == (0, 0)
    assert found.fees is not None
    assert found.fees > 0
    assert found.fees_effect == "Debit"
    assert found.extra == {}


@pytest.mark.parametrize(("price", "gain"), [(110, 30), (95, -15)])
def test_gain_is_realized_by_the_part_that_is_closed(harness: Harness, price: int, gain: int) -> None:
    trade(harness, 4)
    harness.sim.set_price("AAPL", price)
    trade(harness, 3, "Sell to Close")
    found = gains(harness)
    assert found.yearly_realized_gain == found.realized_lot_gain == Decimal(abs(gain))
    assert found.yearly_realized_gain_effect == ("Credit" if gain > 0 else "Debit")
