"""Exchanges typed by hand: what goes out for a call, what comes back for it, and what must be read out of that.

Shapes follow the documented interface (and, where ``observed`` is set, what services have been seen to send); every
value is invented. The same exchanges are replayed without I/O, over real HTTP, and against the simulator.
"""

from tests.vectors import (
    accounts,
    backtests,
    chains,
    complex_orders,
    customers,
    errors,
    holdings,
    instruments,
    lists,
    market,
    orders,
    prices,
    products,
    tokens,
    users,
    variants,
)
from tests.vectors.exchange import Exchange

EXCHANGES: tuple[Exchange, ...] = (
    *market.EXCHANGES,
    *instruments.EXCHANGES,
    *orders.EXCHANGES,
    *accounts.EXCHANGES,
    *customers.EXCHANGES,
    *holdings.EXCHANGES,
    *complex_orders.EXCHANGES,
    *products.EXCHANGES,
    *chains.EXCHANGES,
    *prices.EXCHANGES,
    *lists.EXCHANGES,
    *users.EXCHANGES,
    *backtests.EXCHANGES,
    *tokens.EXCHANGES,
    *variants.EXCHANGES,
)
"""Exchanges that succeed."""

REFUSALS: tuple[Exchange, ...] = errors.EXCHANGES
"""Exchanges that end in an error."""
