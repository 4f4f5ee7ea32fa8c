"""Handlers of ``option_chains``: the listed equity options, flat, compact and nested, and future options nested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from itertools import groupby
from typing import Any

from ..._generated.converters import (
    CompactOptionChainWire,
    DeliverableWire,
    EquityOptionWire,
    NestedOptionChainWire,
    OptionExpirationWire,
    OptionStrikeWire,
)
from ..._generated.models import InstrumentType, OptionType
from ...protocol.response import Response
from ..market.calendar import local_date
from ..market.catalogue import Catalogue
from ..market.equities import tick_rows
from ..market.instrument import OPTION_TICKS
from .parsed_request import ParsedRequest
from .wire import RefusedError, dumps, item, items

__all__ = ["OptionChains"]

_TICKS = tick_rows(OPTION_TICKS)


class OptionChains:
    """Groups the options of the catalogue that have not expired."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def flat(self, request: ParsedRequest) -> Response:
        """Return all options on an underlying, as the list of equity options has them."""
        return items(self._catalogue.equity_options.rows(self._positions(request)), request.context)

    def compact(self, request: ParsedRequest) -> Response:
        """Return one row of symbols for each root, chain type and expiration cycle."""
        options = self._options(request)
        rows = (_compact(list(group)) for _, group in groupby(sorted(options, key=_chain), key=_chain))
        return items(map(dumps, rows), request.context)

    def nested(self, request: ParsedRequest) -> Response:
        """Return one chain for each root and chain type, by expiration and strike."""
        options = self._options(request)
        rows = (_nested(list(group)) for _, group in groupby(sorted(options, key=_chain), key=_chain))
        return items(map(dumps, rows), request.context)

    def nested_futures(self, request: ParsedRequest) -> Response:
        """Return the option chain of a futures product, by expiration and strike."""
        chain = self._catalogue.chain(request.path["symbol"])
        if chain is None:
            raise RefusedError.not_found("futures product")
        return item(chain.nested, request.context)

    def _options(self, request: ParsedRequest) -> list[EquityOptionWire]:
        table = self._catalogue.equity_options
        return [table.wire(position) for position in self._positions(request)]

    def _positions(self, request: ParsedRequest) -> list[int]:
        """Return the positions of the options on the underlying; 404 without any."""
        table, today, symbol = self._catalogue.equity_options, local_date(request.now), request.path["symbol"]
        found = table.select(range(len(table)), lambda row: row.underlying == symbol and row.expires >= today)
        if not found:
            raise RefusedError.not_found("option chain")
        return found


def _chain(option: EquityOptionWire) -> tuple[Any, ...]:
    return option.root_symbol, option.option_chain_type, option.expiration_type, option.settlement_type


def _deliverable(option: EquityOptionWire) -> DeliverableWire:
    return DeliverableWire(
        id=1,
        root_symbol=option.root_symbol,
        deliverable_type="Shares",
        description=f"{option.shares_per_contract} shares of {option.underlying_symbol}",
        amount=f"{option.shares_per_contract}.0",
        symbol=option.underlying_symbol,
        instrument_type=InstrumentType.EQUITY,
        percent="100",
    )


def _compact(options: list[EquityOptionWire]) -> CompactOptionChainWire:
    first = options[0]
    return CompactOptionChainWire(
        underlying_symbol=first.underlying_symbol,
        root_symbol=first.root_symbol,
        option_chain_type=first.option_chain_type,
        settlement_type=first.settlement_type,
        shares_per_contract=first.shares_per_contract,
        expiration_type=first.expiration_type,
        deliverables=[_deliverable(first)],
        symbols=tuple(option.symbol or "" for option in options),
        streamer_symbols=tuple(option.streamer_symbol or "" for option in options),
    )


def _nested(options: list[EquityOptionWire]) -> NestedOptionChainWire:
    first = options[0]
    return NestedOptionChainWire(
        underlying_symbol=first.underlying_symbol,
        root_symbol=first.root_symbol,
        option_chain_type=first.option_chain_type,
        shares_per_contract=first.shares_per_contract,
        tick_sizes=_TICKS,
        deliverables=[_deliverable(first)],
        expirations=[
            OptionExpirationWire(
                expiration_type=first.expiration_type,
                expiration_date=day,
                days_to_expiration=expiring[0].days_to_expiration,
                settlement_type=first.settlement_type,
                strikes=list(_strikes(expiring)),
            )
            for day, expiring in _by_day(options)
        ],
    )


def _by_day(options: Iterable[EquityOptionWire]) -> Iterator[tuple[date | None, list[EquityOptionWire]]]:
    by_day: dict[date | None, list[EquityOptionWire]] = {}
    for option in options:
        by_day.setdefault(option.expiration_date, []).append(option)
    yield from by_day.items()


def _strikes(options: Iterable[EquityOptionWire]) -> Iterator[OptionStrikeWire]:
    """Yield the strikes of one expiration, each with its call and its put."""
    strikes: dict[str | None, OptionStrikeWire] = {}
    for option in options:
        strike = strikes.setdefault(option.strike_price, OptionStrikeWire(strike_price=option.strike_price))
        if option.option_type is OptionType.CALL:
            strike.call, strike.call_streamer_symbol = option.symbol, option.streamer_symbol
        else:
            strike.put, strike.put_streamer_symbol = option.symbol, option.streamer_symbol
    yield from strikes.values()
