"""Accounts, instruments and orders for tests of parts that need no whole brokerage."""

from decimal import Decimal

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

OWNER = Customer(1, "one")
SHARE = Instrument(symbol="X", instrument_type=InstrumentType.EQUITY, underlying="X")


def market_prices(seed: int = 0, start: float = START) -> Prices:
    """Build the prices of a market with fifty equities."""
    random = KeyedRandom(seed)
    return Prices(Catalogue(Sizes(equities=50), random, start), random)


def account(number: str = "A") -> Account:
    """Build an account with a thousand dollars."""
    return Account(number=number, customer=OWNER, kind="Margin", cash=Decimal(1000))


def legs(*quantities: str, action: LegAction = LegAction.BUY_TO_OPEN) -> list[Leg]:
    """Build one leg per quantity, by default one leg of one share."""
    return [Leg(SHARE, action, Decimal(one), Decimal(one)) for one in quantities or ("1",)]


def terms(**change: object) -> Terms:
    """Build the terms of a day order with limit 5."""
    given = {"order_type": OrderType.LIMIT, "time_in_force": TimeInForce.DAY, "price": Decimal(5), **change}
    return Terms(**given)  # type: ignore[arg-type]


def order(*quantities: str, action: LegAction = LegAction.BUY_TO_OPEN, number: int = 7, **change: object) -> Order:
    """Build an order that is in no store."""
    return Order(number=number, account=account(), legs=legs(*quantities, action=action), terms=terms(**change))
