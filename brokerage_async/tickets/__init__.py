"""Short constructors for common orders: plain ``NewOrder`` values, and ``NewComplexOrder`` values made of them.

Legs name action and instrument; the order adds price and duration::

    limit(buy_to_open("AAPL", 100), price="187.50")
    vertical("AAPL", date(2026, 6, 12), "C", long=110, short=115, debit="1.85")
    bracket(entry, profit=limit(*closing_legs(entry), price=195), loss=stop(*closing_legs(entry), trigger=180))
    pair(limit(buy_to_open("KO", 100), price=70), limit(sell_to_open("PEP", 40), price=160), at_most="0.44")

Money and quantities are ``Decimal``, ``int`` or plain digits in a ``str``, never floats. Rules of single orders are
checked at placing. Set other fields with ``attrs.evolve(order, ...)``: ``advanced_instructions=None`` switches off the
strict validation that an order whose legs all close asks for, alone or in an OCO, so that it cannot open a position.
"""

from .complex_orders import bracket, one_cancels_other, one_triggers_other, pair
from .legs import buy, buy_to_close, buy_to_open, closing_legs, sell, sell_to_close, sell_to_open
from .orders import limit, market, notional, stop, stop_limit
from .spreads import iron_condor, spread, vertical

__all__ = [
    "bracket",
    "buy",
    "buy_to_close",
    "buy_to_open",
    "closing_legs",
    "iron_condor",
    "limit",
    "market",
    "notional",
    "one_cancels_other",
    "one_triggers_other",
    "pair",
    "sell",
    "sell_to_close",
    "sell_to_open",
    "spread",
    "stop",
    "stop_limit",
    "vertical",
]
