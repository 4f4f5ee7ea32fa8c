"""Every instrument of the simulated service, created at first use and rendered once."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from functools import cached_property

import attrs

from ..._generated.converters import CryptocurrencyWire, DestinationVenueSymbolWire
from ..._generated.models import InstrumentType
from ..keyed_random import KeyedRandom, key_of
from .calendar import local_date
from .equities import (
    EquityDefinition,
    OptionDefinition,
    WarrantDefinition,
    equities,
    equity_options,
    equity_row,
    known_equities,
    option_row,
    warrant_row,
    warrants,
)
from .futures import chain_rows, future_instrument, future_option_instrument
from .instrument import FUTURES, Instrument, parse_occ
from .row_table import RowTable

__all__ = ["Catalogue", "Sizes"]

_CRYPTO = {"BTC/USD": Decimal(105_000), "ETH/USD": Decimal(2_600), "SOL/USD": Decimal(150)}
_SMALL_CHAIN = 400


@attrs.frozen(kw_only=True)
class Sizes:
    """Numbers of rows in the instrument lists."""

    equities: int = 10_000
    equity_options: int = 5_000
    chain_rows: int = 20_000
    warrants: int = 200


class Catalogue:
    """Instruments, as rows to be sent and as tradable objects."""

    def __init__(self, sizes: Sizes, random: KeyedRandom, opened: float) -> None:
        self._sizes = sizes
        self._random = random
        self.opened: float = opened
        self._chains: dict[str, bytes] = {}
        self._instruments: dict[tuple[InstrumentType, str], Instrument | None] = {}

    @property
    def today(self) -> date:
        """Start date of the simulation; expirations are relative to it."""
        return local_date(self.opened)

    @cached_property
    def equities(self) -> RowTable[EquityDefinition]:
        """All equities."""
        definitions = equities(self._sizes.equities, self._random)
        return RowTable(definitions, lambda row: row.symbol, lambda row: equity_row(row, self.opened))

    @cached_property
    def equity_options(self) -> RowTable[OptionDefinition]:
        """All equity options, including expired ones."""
        today = self.today
        definitions = equity_options(self._sizes.equity_options, list(self.equities.definitions), today)
        return RowTable(definitions, lambda row: row.symbol, lambda row: option_row(row, today))

    @cached_property
    def warrants(self) -> RowTable[WarrantDefinition]:
        """All warrants."""
        definitions = warrants(self._sizes.warrants, list(self.equities.definitions))
        return RowTable(definitions, lambda row: row.symbol, warrant_row)

    @cached_property
    def cryptocurrencies(self) -> RowTable[str]:
        """All cryptocurrencies, by symbol."""
        return RowTable(list(_CRYPTO), lambda symbol: symbol, _cryptocurrency_row)

    def chain(self, product_code: str) -> bytes | None:
        """Return the rows of a product's option chain, joined by commas.

        None for an unknown product.
        """
        product = FUTURES.get(product_code)
        if product is None:
            return None
        if product_code not in self._chains:
            large = product_code == next(iter(FUTURES))
            count = self._sizes.chain_rows if large else min(self._sizes.chain_rows, _SMALL_CHAIN)
            self._chains[product_code] = b",".join(chain_rows(product, count, self.today))
        return self._chains[product_code]

    def instrument(self, instrument_type: InstrumentType, symbol: str) -> Instrument | None:
        """Return the tradable instrument of ``symbol``, or None."""
        key = (instrument_type, symbol)
        if key not in self._instruments:
            self._instruments[key] = self._find(instrument_type, symbol)
        return self._instruments[key]

    def equity(self, symbol: str) -> EquityDefinition | None:
        """Return the equity of a symbol, or None.

        Well-known ones do not need the whole list.
        """
        return known_equities().get(symbol) or self.equities.get(symbol)

    def is_underlying(self, symbol: str) -> bool:
        """Return whether a symbol is that of a listed equity, future or cryptocurrency."""
        if symbol.startswith("/"):
            return symbol[1:-2] in FUTURES
        return symbol in _CRYPTO or self.equity(symbol) is not None

    def base_price(self, underlying: str) -> Decimal:
        """Return the price level around which an underlying moves."""
        equity = None if underlying in _CRYPTO or underlying.startswith("/") else self.equity(underlying)
        if equity is not None:
            return equity.price
        if underlying in _CRYPTO:
            return _CRYPTO[underlying]
        product = FUTURES.get(underlying[1:-2])
        return product.price if product is not None else Decimal(10 + key_of(underlying) % 90)

    def _find(self, instrument_type: InstrumentType, symbol: str) -> Instrument | None:
        match instrument_type:
            case InstrumentType.EQUITY:
                equity = self.equity(symbol)
                return None if equity is None or equity.is_index else equity.instrument()
            case InstrumentType.EQUITY_OPTION:
                return self._find_option(symbol)
            case InstrumentType.FUTURE:
                return future_instrument(symbol)
            case InstrumentType.FUTURE_OPTION:
                return future_option_instrument(symbol)
            case InstrumentType.CRYPTOCURRENCY if symbol in _CRYPTO:
                return Instrument(symbol=symbol, instrument_type=instrument_type, underlying=symbol)
            case _:
                return None

    def _find_option(self, symbol: str) -> Instrument | None:
        """Return the option of a symbol, for any expiration and strike on a listed equity."""
        parsed = parse_occ(symbol)
        if parsed is None or self.equity(parsed[0]) is None:
            return None
        root, expires, option_type, strike = parsed
        return OptionDefinition(
            symbol=symbol, underlying=root, expires=expires, option_type=option_type, strike=strike, active=True
        ).instrument()


def _cryptocurrency_row(symbol: str) -> CryptocurrencyWire:
    name, number = symbol.partition("/")[0], list(_CRYPTO).index(symbol) + 1
    venue = DestinationVenueSymbolWire(
        id=100 + number,
        symbol=symbol,
        destination_venue="ZERO_HASH_CLOB",
        max_quantity_precision=8,
        max_price_precision=2,
        routable=True,
    )
    return CryptocurrencyWire(
        id=number,
        symbol=symbol,
        instrument_type=InstrumentType.CRYPTOCURRENCY,
        short_description=name,
        description=f"{name} to USD",
        is_closing_only=False,
        active=True,
        tick_size="0.01",
        streamer_symbol=f"{symbol}:CXTALP",
        destination_venue_symbols=[venue],
    )
