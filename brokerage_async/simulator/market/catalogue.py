"""Every instrument of the simulated service, created at first use and rendered once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from functools import cache, cached_property, lru_cache

import attrs

from ..._generated.converters import WarrantWire
from ..._generated.models import InstrumentType
from ..keyed_random import KeyedRandom, key_of
from . import equities as shares
from .calendar import local_date
from .equities import CRYPTOCURRENCIES, Cryptocurrency, EquityDefinition, known_equities, option_row
from .futures import Contract, FutureOptionChain, contract_after, contracts, future_instrument, future_option_instrument
from .instrument import FUTURES, Instrument, RowTable, parse_occ, product_of

_SMALL_CHAIN = 400
_KEPT_CHAINS = 32
"""Option chains made on request that stay in memory."""


@attrs.frozen(kw_only=True)
class Sizes:
    """Numbers of rows in the instrument lists."""

    equities: int = 10_000
    equity_options: int = 5_000
    """Of the list of all. Chains of other equities are made when they are requested."""
    chain_rows: int = 20_000
    warrants: int = 200


class Catalogue:
    """Instruments, as rows to be sent and as tradable objects."""

    def __init__(self, sizes: Sizes, random: KeyedRandom, opened: float) -> None:
        self._sizes = sizes
        self._random = random
        self.opened: float = opened
        self._chains: dict[str, FutureOptionChain] = {}
        self._futures: tuple[date, RowTable[Contract]] | None = None
        self.is_live: bool = False
        self.listed: dict[tuple[InstrumentType, str], Instrument] = {}
        """Instruments of a live source, the only ones there are if it `is_live`, and their shares and indices."""
        self.listed_equities: dict[str, EquityDefinition] = {}
        self.missing: dict[str, str] = {}
        """Why symbols of a live source are not listed."""
        self._made_chain = lru_cache(_KEPT_CHAINS)(self._make_chain)
        self._found = cache(self._find)

    @property
    def today(self) -> date:
        """Start date of the simulation. Expirations are relative to it."""
        return local_date(self.opened)

    @cached_property
    def equities(self) -> RowTable[EquityDefinition]:
        definitions = shares.equities(self._sizes.equities, self._random)
        return RowTable(definitions, lambda row: row.symbol, lambda row: shares.equity_row(row, self.opened))

    @cached_property
    def equity_options(self) -> RowTable[Instrument]:
        """All equity options, including expired ones."""
        today = self.today
        definitions = shares.equity_options(self._sizes.equity_options, list(self.equities.definitions), today)
        return RowTable(definitions, lambda row: row.symbol, lambda row: option_row(row, today))

    @cached_property
    def _listed_underlyings(self) -> frozenset[str]:
        return frozenset(option.underlying for option in self.equity_options.definitions)

    def options_on(self, underlying: str) -> RowTable[Instrument]:
        """Return a table that holds all options on an equity, including expired ones, beside others.

        Chains of equities whose options are not in the list are made when they are requested, always the same.
        """
        return self.equity_options if underlying in self._listed_underlyings else self._made_chain(underlying)

    def options(self, symbols: Iterable[str]) -> Iterator[tuple[RowTable[Instrument], int]]:
        """Yield the equity options of some symbols that are listed or belong to a chain, as table and position."""
        by_table: dict[RowTable[Instrument], list[str]] = {}
        for symbol in symbols:
            parsed = parse_occ(symbol)
            equity = None if parsed is None else self.equity_of_root(parsed[0])
            table = self.equity_options if equity is None else self.options_on(equity.symbol)
            by_table.setdefault(table, []).append(symbol)
        for table, found in by_table.items():
            yield from ((table, position) for position in table.positions(found))

    def equity_of_root(self, root: str) -> EquityDefinition | None:
        slashed = (equity for equity in known_equities().values() if equity.root == root)
        return self.equity(root) or next(slashed, None)

    def _make_chain(self, underlying: str) -> RowTable[Instrument]:
        equity, today = self.equity(underlying), self.today
        made = [] if equity is None or not equity.optionable else list(shares.options_on(equity, today))
        return RowTable(made, lambda row: row.symbol, lambda row: option_row(row, today))

    @cached_property
    def warrants(self) -> RowTable[WarrantWire]:
        made = shares.warrants(self._sizes.warrants, self.equities.definitions)
        return RowTable(made, lambda row: row.symbol or "", lambda row: row)

    @cached_property
    def cryptocurrencies(self) -> RowTable[Cryptocurrency]:
        return RowTable(list(CRYPTOCURRENCIES.values()), lambda row: row.symbol, Cryptocurrency.row)

    def futures(self, today: date) -> RowTable[Contract]:
        if self._futures is None or self._futures[0] != today:
            fronts = {code: contract_after(product, today) for code, product in FUTURES.items()}
            listed = [contract for product in FUTURES.values() for contract in contracts(product, today)]
            table = RowTable(listed, lambda row: row.symbol, lambda row: row.row(today, fronts[row.product.code]))
            self._futures = today, table
        return self._futures[1]

    def chain(self, product_code: str) -> FutureOptionChain | None:
        product = FUTURES.get(product_code)
        if product is None:
            return None
        if product_code not in self._chains:
            large = product_code == next(iter(FUTURES))
            count = self._sizes.chain_rows if large else min(self._sizes.chain_rows, _SMALL_CHAIN)
            self._chains[product_code] = FutureOptionChain(product, count, self.today)
        return self._chains[product_code]

    def future_option(self, streamer_contract: str, code: str) -> Instrument | None:
        """Return the option on a future by the parts of its streamer symbol (``ES2M26``, ``C6000``), or None."""
        chains = (self.chain(product) for product in FUTURES if streamer_contract.startswith(product))
        symbols = (chain.symbol_of(streamer_contract, code) for chain in chains if chain is not None)
        symbol = next(filter(None, symbols), None)
        return None if symbol is None else self.instrument(InstrumentType.FUTURE_OPTION, symbol)

    def instrument(self, instrument_type: InstrumentType, symbol: str) -> Instrument | None:
        return self.listed.get((instrument_type, symbol)) if self.is_live else self._found(instrument_type, symbol)

    def equity(self, symbol: str) -> EquityDefinition | None:
        """Return the equity of a symbol, or None. Well-known ones do not need the whole list."""
        if self.is_live:
            return self.listed_equities.get(symbol)
        return known_equities().get(symbol) or self.equities.get(symbol)

    def is_underlying(self, symbol: str) -> bool:
        """Return whether a symbol names a listed equity, future or cryptocurrency."""
        return product_of(symbol) is not None or symbol in CRYPTOCURRENCIES or self.equity(symbol) is not None

    def is_obscure(self, symbol: str) -> bool:
        """Return whether an underlying is one of the many made up ones."""
        return not (product_of(symbol) or symbol in CRYPTOCURRENCIES or symbol in known_equities())

    def base_price(self, underlying: str) -> Decimal:
        """Return the price level around which an underlying moves."""
        priced = CRYPTOCURRENCIES.get(underlying) or product_of(underlying) or self.equity(underlying)
        return Decimal(10 + key_of(underlying) % 90) if priced is None else priced.price

    def _find(self, instrument_type: InstrumentType, symbol: str) -> Instrument | None:
        match instrument_type:
            case InstrumentType.EQUITY:
                equity = self.equity(symbol)
                return None if equity is None or equity.is_index else equity.instrument()
            case InstrumentType.EQUITY_OPTION:
                parsed = parse_occ(symbol)
                if parsed is None:
                    return None
                root, expires, option_type, strike = parsed
                equity = self.equity_of_root(root)
                if not strike or equity is None or not equity.optionable:
                    return None
                return shares.equity_option(equity.symbol, expires, option_type, strike, symbol=symbol)
            case InstrumentType.FUTURE:
                return future_instrument(symbol, self.today)
            case InstrumentType.FUTURE_OPTION:
                return future_option_instrument(symbol)
            case InstrumentType.CRYPTOCURRENCY if symbol in CRYPTOCURRENCIES:
                return CRYPTOCURRENCIES[symbol].instrument()
            case _:
                return None
