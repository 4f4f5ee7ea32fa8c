"""Accounts, instruments and orders for tests of parts that need no whole brokerage."""

from decimal import Decimal
from typing import Any

from brokerage_async._generated.models import LegAction, OrderType, TimeInForce
from brokerage_async.models import InstrumentType
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.catalogue import Catalogue, Sizes
from brokerage_async.simulator.market.instrument import Instrument
from brokerage_async.simulator.market.prices import Prices
from brokerage_async.simulator.trading.accounts import Account, Customer
from brokerage_async.simulator.trading.orders import Leg, Order, Terms

START = 1_781_100_000.0
"""2026-06-10T14:00:00Z, a Wednesday, in epoch seconds."""


def market_prices(seed: int = 0, start: float = START) -> Prices:
    """Build the prices of a market with fifty equities."""
    random = KeyedRandom(seed)
    return Prices(Catalogue(Sizes(equities=50), random, start), random)


def order(*quantities: str, number: int = 7, **change: Any) -> Order:
    """Build a buy of one leg per quantity, by default of one share, as a day order at 5 that is in no store."""
    share = Instrument(symbol="X", instrument_type=InstrumentType.EQUITY, underlying="X")
    account = Account(number="A", customer=Customer(1, "one"), kind="Margin", cash=Decimal(1000))
    legs = [Leg(share, LegAction.BUY_TO_OPEN, Decimal(one), Decimal(one)) for one in quantities or ("1",)]
    terms = {"order_type": OrderType.LIMIT, "time_in_force": TimeInForce.DAY, "price": Decimal(5), **change}
    return Order(number=number, account=account, legs=legs, terms=Terms(**terms))
