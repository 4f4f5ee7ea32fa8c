"""Watchlists that the service publishes, of the catalogue's own instruments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

import attrs

from ..._generated.converters import PairsEquationWire, PairsWatchlistWire
from ..._generated.models import InstrumentType
from ..clock import Signal
from .catalogue import Catalogue
from .equities import CRYPTOCURRENCIES, EquityDefinition
from .futures import contract_after
from .instrument import FUTURES

_MOST = 200
_FIRST_NUMBER = 300_000
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


class PublicWatchlists:
    """The public watchlists of an environment."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._initial = cache(partial(public_watchlists, catalogue))
        self._published: dict[str, PublicWatchlist] = {}
        self.on_change: Signal[PublicWatchlist, float] = Signal()

    def all(self) -> list[PublicWatchlist]:
        """Return the lists: first those that the service began with."""
        known = {one.name: one for one in self._initial()} | self._published
        return list(known.values())

    def publish(self, name: str, symbols: Sequence[str], now: float) -> None:
        """Publish a list of equities, or replace the entries of one.

        Raises:
            ValueError: a symbol is unknown.
        """
        found = [self._catalogue.instrument(InstrumentType.EQUITY, symbol) for symbol in symbols]
        entries = tuple((each.symbol, each.instrument_type) for each in found if each is not None)
        if len(entries) < len(symbols):
            raise ValueError(f"symbols must be known equities, got {list(symbols)}")
        before = {one.name: one for one in self.all()}
        number, group = _FIRST_NUMBER + len(before) + 1, "Published"
        if (old := before.get(name)) is not None:
            number, group = old.number, old.group
        new = self._published[name] = PublicWatchlist(number=number, name=name, group=group, entries=entries)
        self.on_change.emit(new, now)


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
        PublicWatchlist(number=_FIRST_NUMBER + number, name=name, group=group, entries=tuple(entries)[:_MOST])
        for number, (name, group, entries) in enumerate(plans, start=1)
    ]


def _equities(catalogue: Catalogue, keep: Callable[[EquityDefinition], bool]) -> Iterator[Entry]:
    kinds = {True: InstrumentType.INDEX, False: InstrumentType.EQUITY}
    return ((row.symbol, kinds[row.is_index]) for row in catalogue.equities.definitions if keep(row))


def pairs_watchlists() -> list[PairsWatchlistWire]:
    """Return the lists of pairs as wire structs: the left side bought, the right side sold."""
    return [
        PairsWatchlistWire(
            name=name,
            pairs_equations=[
                PairsEquationWire(
                    left_action="Buy",
                    left_symbol=left,
                    left_quantity=bought,
                    right_action="Sell",
                    right_symbol=right,
                    right_quantity=sold,
                )
                for left, bought, right, sold in pairs
            ],
            order_index=number,
        )
        for number, (name, pairs) in enumerate(_PAIRS.items(), start=1)
    ]
