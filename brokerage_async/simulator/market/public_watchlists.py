"""Watchlists that the service publishes, of the catalogue's own instruments."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import attrs

from ..._generated.converters import PairsEquationWire, PairsWatchlistWire
from ..._generated.models import InstrumentType
from .catalogue import Catalogue
from .cryptocurrencies import CRYPTOCURRENCIES
from .equities import EquityDefinition
from .future_products import FUTURES
from .futures import contract_after

__all__ = ["PublicWatchlist", "pairs_watchlists", "public_watchlists"]

_MOST = 200
_PAIRS = {
    "Index Spreads": (("SPY", 1, "QQQ", 1), ("SPY", 1, "IWM", 3)),
    "Tech Pairs": (("AAPL", 2, "MSFT", 1), ("NVDA", 1, "AMD", 1), ("META", 1, "GOOGL", 4)),
    "Consumer Pairs": (("KO", 1, "F", 7),),
}

Entry = tuple[str, InstrumentType]
"""Symbol and type of an instrument."""


@attrs.frozen(kw_only=True)
class PublicWatchlist:
    """List of instruments with its group and position."""

    number: int
    name: str
    group: str
    entries: tuple[Entry, ...]


def public_watchlists(catalogue: Catalogue) -> list[PublicWatchlist]:
    """Return the public lists, with at most 200 entries each."""
    futures = [contract_after(product, catalogue.today).symbol for product in FUTURES.values()]
    plans: tuple[tuple[str, str, Iterator[Entry]], ...] = (
        ("High Options Volume", "Options", _equities(catalogue, lambda row: row.number <= 10 and not row.is_index)),
        ("Liquid Small Caps", "Equities", _equities(catalogue, lambda row: 5 < row.price < 50)),
        ("Trader's ETFs", "ETFs", _equities(catalogue, lambda row: row.is_etf)),
        ("Market Indices", "Indices", _equities(catalogue, lambda row: row.is_index)),
        ("Futures: All", "Futures", ((symbol, InstrumentType.FUTURE) for symbol in futures)),
        ("Cryptocurrency", "Crypto", ((symbol, InstrumentType.CRYPTOCURRENCY) for symbol in CRYPTOCURRENCIES)),
    )
    return [
        PublicWatchlist(number=300_000 + number, name=name, group=group, entries=tuple(entries)[:_MOST])
        for number, (name, group, entries) in enumerate(plans, start=1)
    ]


def _equities(catalogue: Catalogue, keep: Callable[[EquityDefinition], bool]) -> Iterator[Entry]:
    kinds = {True: InstrumentType.INDEX, False: InstrumentType.EQUITY}
    return ((row.symbol, kinds[row.is_index]) for row in catalogue.equities.definitions if keep(row))


def pairs_watchlists() -> list[PairsWatchlistWire]:
    """Return the lists of pairs as wire structs: the left side bought, the right side sold."""
    return [
        PairsWatchlistWire(name=name, pairs_equations=[_equation(*pair) for pair in pairs], order_index=number)
        for number, (name, pairs) in enumerate(_PAIRS.items(), start=1)
    ]


def _equation(left: str, left_quantity: int, right: str, right_quantity: int) -> PairsEquationWire:
    return PairsEquationWire(
        left_action="Buy",
        left_symbol=left,
        left_quantity=left_quantity,
        right_action="Sell",
        right_symbol=right,
        right_quantity=right_quantity,
    )
