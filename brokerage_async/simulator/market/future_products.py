"""Futures products: price levels, contract sizes, margins and strikes.

Every product lists quarterly contracts.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from importlib.resources import files

import attrs

_FILE = (files("brokerage_async.simulator.market") / "listed.txt").read_text("utf-8")
LISTED: Mapping[str, list[str]] = {
    head.strip("[]"): lines for head, *lines in (section.splitlines() for section in _FILE.strip().split("\n\n"))
}
"""Well-known instruments with their price levels: lines of equities, cryptocurrencies, and futures by sector."""


@attrs.frozen(kw_only=True)
class FutureProduct:
    """Futures product: price level, contract size, initial margin per contract, option strikes."""

    code: str
    name: str
    price: Decimal
    multiplier: Decimal
    tick: Decimal
    margin: Decimal
    strike_step: Decimal
    sector: str
    exchange: str

    @property
    def is_physical(self) -> bool:
        """Whether the underlying is delivered rather than settled in cash."""
        return self.sector in _DELIVERED

    @property
    def is_small(self) -> bool:
        """Whether it is a micro or mini contract."""
        return self.name.startswith(("Micro", "Small", "Mini "))

    @property
    def streamer_exchange(self) -> str:
        """Code of the exchange in streamer symbols."""
        return _STREAMER_EXCHANGES[self.exchange]


_DELIVERED = frozenset({"Energy", "Metals", "Interest Rates", "Agriculture", "FX"})
_STREAMER_EXCHANGES = {"CME": "XCME", "CFE": "XCBF", "SMALLS": "SMFE"}


FUTURES: Mapping[str, FutureProduct] = {
    code: FutureProduct(
        code=code,
        name=name,
        price=Decimal(price),
        multiplier=Decimal(multiplier),
        tick=Decimal(tick),
        margin=Decimal(margin),
        strike_step=Decimal(step),
        sector=sector,
        exchange=exchange,
    )
    for section, lines in LISTED.items()
    for sector, _, exchange in [section.partition(", ")]
    if exchange
    for line in lines
    for code, price, multiplier, tick, margin, step, name in [line.split(maxsplit=6)]
}
"""Futures products by code; the first has the large option chain."""


def product_of(symbol: str) -> FutureProduct | None:
    """Return the product of a future's symbol (``/ESZ6``), None for an unknown one."""
    return FUTURES.get(symbol[1:-2]) if symbol.startswith("/") else None
