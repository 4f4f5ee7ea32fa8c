"""Handlers of ``instruments``, ``option_chains`` and ``search``: rows of the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from itertools import groupby, islice
from typing import Any

from ..._generated import converters as wires
from ..._generated.models import InstrumentType, OptionType
from ..market.calendar import local_date
from ..market.catalogue import (
    QUANTITY_PLACES,
    WEEKS,
    FutureOptionChain,
    ListedOption,
    option_products,
    product_details,
    product_row,
    tick_rows,
)
from ..market.instrument import FUTURES, LISTED, OPTION_TICKS, FutureProduct, Instrument, RowTable, product_of
from .request_parser import Handlers, ParsedRequest
from .wire import RefusedError, found, like, same

_FIELD_FILTERS = ("is_etf", "is_index", "lendability")
_PLACES = {
    InstrumentType.BOND: 0,
    InstrumentType.EQUITY: 5,
    InstrumentType.EQUITY_OFFERING: 0,
    InstrumentType.EQUITY_OPTION: 0,
    InstrumentType.FIXED_INCOME_SECURITY: 0,
    InstrumentType.FUTURE: 0,
    InstrumentType.FUTURE_OPTION: 0,
    InstrumentType.LIQUIDITY_POOL: 2,
    InstrumentType.WARRANT: 0,
}
"""Decimal places of a quantity by instrument type; those of a cryptocurrency are its own."""


class Instruments(Handlers):
    """Serves rows of the catalogue, most of them rendered once; futures as they are listed on the day of a request."""

    def futures(self, request: ParsedRequest) -> Any:
        """Return a page of futures: by symbol, product or security id. Expired ones only on request."""
        query, today = request.query, local_date(request.now)
        table = self._catalogue.futures(today)
        chosen = table.definitions
        if "symbols" in query:
            chosen = table.find(map(_with_slash, query["symbols"]))
        elif "product_codes" in query:
            codes = {code.removeprefix("/") for code in query["product_codes"]}
            chosen = [row for row in chosen if row.product.code in codes]
        if "security_ids" in query:
            ids, venue = query["security_ids"], query.get("exchange")
            chosen = [row for row in chosen if row.security_id in ids and venue in (None, row.product.exchange)]
        if query.get("only_active_futures", True):
            chosen = [row for row in chosen if row.expires >= today]
        return request.page(chosen, table.row)

    def future(self, request: ParsedRequest) -> Any:
        """Return one future. The slash of its symbol may be missing."""
        return _only(self._catalogue.futures(local_date(request.now)), request, _with_slash(request.path["symbol"]))

    def future_products(self, request: ParsedRequest) -> Any:
        return request.page([*FUTURES.values()], _product_with_options)

    def future_product(self, request: ParsedRequest) -> Any:
        product = FUTURES.get(request.path["code"])
        if product is None or product.exchange != request.path["exchange"]:
            raise RefusedError.not_found("futures product")
        return _product_with_options(product)

    def future_option_products(self, request: ParsedRequest) -> Any:
        return request.page([*option_products().values()], product_details)

    def future_option_product(self, request: ParsedRequest) -> Any:
        product = option_products().get(request.path["root_symbol"])
        if product is None or request.path.get("exchange") not in (None, product.exchange):
            raise RefusedError.not_found("future option product")
        return product_details(product)

    future_option_product_of_exchange = future_option_product

    def future_option(self, request: ParsedRequest) -> Any:
        return _only(found(next(self._chains([request.path["symbol"]]), None), "instrument").table, request)

    def future_options(self, request: ParsedRequest) -> Any:
        """Return a page of future options, filtered. Without expired ones."""
        symbols, today = request.query.get("symbols"), local_date(request.now)

        def passes(option: ListedOption) -> bool:
            expiration = option.expiration
            return expiration.day >= today and request.admits(
                **same(expiration.day, "expiration_date", "maturity_date"),
                option_root_symbol=expiration.option_product.root_symbol,
                option_type=option.option_type,
                strike_price=Decimal(option.strike),
                security_ids=option.security_id,
            )

        chosen: list[tuple[RowTable[ListedOption], ListedOption]] = []
        for chain in self._chains(symbols):
            if request.admits(exchange=chain.product.exchange):
                chosen += [(chain.table, option) for option in chain.table.find(symbols) if passes(option)]
        return request.page(chosen, lambda place: place[0].row(place[1]))

    def futures_option_chain(self, request: ParsedRequest) -> Any:
        table = found(self._catalogue.chain(request.path["symbol"]), "futures product").table
        return map(table.row, table.definitions)

    def _chains(self, symbols: Iterable[str] | None) -> Iterator[FutureOptionChain]:
        """Yield the chains of the products of some options, or of all products."""
        futures = None if symbols is None else (symbol.partition(" ")[0].removeprefix(".") for symbol in symbols)
        products = FUTURES.values() if futures is None else dict.fromkeys(map(product_of, futures))
        for product in products:
            chain = None if product is None else self._catalogue.chain(product.code)
            if chain is not None:
                yield chain

    def equities(self, request: ParsedRequest) -> Any:
        table, query = self._catalogue.equities, request.query
        chosen = table.find(query.get("symbols"))
        wanted = {name: query[name] for name in _FIELD_FILTERS if name in query}
        if wanted:
            chosen = [row for row in chosen if all(getattr(row, name) == wanted[name] for name in wanted)]
        return request.page(chosen, table.row)

    def equity_options(self, request: ParsedRequest) -> Any:
        """Return equity options, all or by symbol. Expired ones only on request."""
        table, query, today = self._catalogue.equity_options, request.query, local_date(request.now)
        active, with_expired = query.get("active"), query.get("with_expired", False)
        listed = ((table, option) for option in table.definitions)
        chosen = [
            (each, option)
            for each, option in (self._catalogue.options(query["symbols"]) if "symbols" in query else listed)
            if (with_expired or not option.has_expired(today)) and (active is None or option.active == active)
        ]
        paged = "equity_options_in_pages" in request.behaviours
        return request.page(chosen, lambda place: place[0].row(place[1]), paged=paged)

    def equity(self, request: ParsedRequest) -> Any:
        return _only(self._catalogue.equities, request)

    def active_equities(self, request: ParsedRequest) -> Any:
        """Return a page of the equities that are traded: all but the indices."""
        table, wanted = self._catalogue.equities, request.query.get("lendability")
        chosen = [row for row in table.definitions if not row.is_index and wanted in (None, row.lendability)]
        return request.page(chosen, table.row)

    def equity_option(self, request: ParsedRequest) -> Any:
        """Return one equity option. Only one with standard terms if asked for active ones."""
        places, active = self._catalogue.options([request.path["symbol"]]), request.query.get("active", False)
        rows = (table.row(option) for table, option in places if option.active or not active)
        return found(next(rows, None), "instrument")

    def cryptocurrencies(self, request: ParsedRequest) -> Any:
        return _listed(self._catalogue.cryptocurrencies, request)

    def cryptocurrency(self, request: ParsedRequest) -> Any:
        return _only(self._catalogue.cryptocurrencies, request)

    def warrants(self, request: ParsedRequest) -> Any:
        return _listed(self._catalogue.warrants, request)

    def warrant(self, request: ParsedRequest) -> Any:
        return _only(self._catalogue.warrants, request)

    def currency_pairs(self, request: ParsedRequest) -> Any:
        return (
            wires.CurrencyPairWire(
                id=number,
                description=description,
                dx_symbol=symbol,
                symbol=symbol,
                instrument_type=InstrumentType.CURRENCY_PAIR,
            )
            for number, line in enumerate(LISTED["Currency Pair"], start=1)
            for symbol, description in [line.split(maxsplit=1)]
        )

    def quantity_decimal_precisions(self, request: ParsedRequest) -> Any:
        coin, coins = InstrumentType.CRYPTOCURRENCY, self._catalogue.cryptocurrencies.definitions
        places = [(coin, row.symbol, QUANTITY_PLACES) for row in coins]
        return (
            wires.QuantityDecimalPrecisionWire(
                instrument_type=kind, symbol=symbol, value=value, minimum_increment_precision=value
            )
            for kind, symbol, value in (*places, *((kind, None, value) for kind, value in _PLACES.items()))
        )


def _product_with_options(product: FutureProduct) -> wires.FutureProductWire:
    return product_row(product, [option_products()[product.code + week] for week in WEEKS])


def _with_slash(symbol: str) -> str:
    return symbol if symbol.startswith("/") else f"/{symbol}"


def _listed(table: RowTable[Any], request: ParsedRequest) -> Iterator[bytes]:
    return map(table.row, table.find(request.query.get("symbols")))


def _only(table: RowTable[Any], request: ParsedRequest, symbol: str | None = None) -> bytes:
    """Return the row of a symbol, by default the one in the path."""
    return table.row(found(table.get(symbol or request.path["symbol"]), "instrument"))


_DEFAULT_LIMIT = 25
_EXCHANGE = "XNAS"


class Search(Handlers):
    """Searches the equities of the catalogue. Other instruments are not found."""

    def instruments(self, request: ParsedRequest) -> Any:
        query = request.query
        words = query.get("query", "").casefold()
        if InstrumentType.EQUITY not in query.get("types", (InstrumentType.EQUITY,)) or "categories" in query:
            return ()
        hits = (
            like(wires.InstrumentSearchHitWire, row, exchange=_EXCHANGE)
            for row in self._catalogue.equities.definitions
            if words in row.symbol.casefold() or words in row.description.casefold()
        )
        return islice(hits, query.get("limit", _DEFAULT_LIMIT))

    def symbols(self, request: ParsedRequest) -> Any:
        start = request.path["symbol"]
        return (
            like(wires.SymbolSearchHitWire, row, listed_market=_EXCHANGE)
            for row in self._catalogue.equities.definitions
            if row.symbol.startswith(start)
        )


_TICKS = tick_rows(OPTION_TICKS)


class OptionChains(Handlers):
    """Groups the options of the catalogue that have not expired."""

    def flat(self, request: ParsedRequest) -> Any:
        table, options = self._found(request)
        return map(table.row, options)

    def compact(self, request: ParsedRequest) -> Any:
        """Return one row of symbols for each root, chain type and expiration cycle."""
        return (
            like(
                wires.CompactOptionChainWire,
                options[0],
                deliverables=_deliverables(options[0]),
                symbols=tuple(option.symbol or "" for option in options),
                streamer_symbols=tuple(option.streamer_symbol or "" for option in options),
            )
            for options in self._chains(request)
        )

    def nested(self, request: ParsedRequest) -> Any:
        """Return one chain for each root and chain type, by expiration and strike."""
        rows = []
        for options in self._chains(request):
            days = {option.expiration_date: option.days_to_expiration for option in options}
            strikes: dict[date | None, dict[str | None, wires.OptionStrikeWire]] = {day: {} for day in days}
            for option in options:
                new = wires.OptionStrikeWire(strike_price=option.strike_price)
                strike = strikes[option.expiration_date].setdefault(option.strike_price, new)
                if option.option_type is OptionType.CALL:
                    strike.call, strike.call_streamer_symbol = option.symbol, option.streamer_symbol
                else:
                    strike.put, strike.put_streamer_symbol = option.symbol, option.streamer_symbol
            expirations = [
                like(
                    wires.OptionExpirationWire,
                    options[0],
                    expiration_date=day,
                    days_to_expiration=left,
                    strikes=list(strikes[day].values()),
                )
                for day, left in days.items()
            ]
            shared = {"deliverables": _deliverables(options[0]), "tick_sizes": _TICKS}
            rows.append(like(wires.NestedOptionChainWire, options[0], **shared, expirations=expirations))
        return rows

    def nested_futures(self, request: ParsedRequest) -> Any:
        return found(self._catalogue.chain(request.path["symbol"]), "futures product").nested

    def _chains(self, request: ParsedRequest) -> Iterator[list[wires.EquityOptionWire]]:
        """Yield the options on the underlying by root, chain type and expiration cycle."""
        table, listed = self._found(request)

        def chain(option: wires.EquityOptionWire) -> tuple[Any, ...]:
            return option.root_symbol, option.option_chain_type, option.expiration_type, option.settlement_type

        for _, options in groupby(sorted(map(table.render, listed), key=chain), key=chain):
            yield list(options)

    def _found(self, request: ParsedRequest) -> tuple[RowTable[Instrument], list[Instrument]]:
        """Return the options on the underlying with their table; 404 without any."""
        today, symbol = local_date(request.now), request.path["symbol"]
        table = self._catalogue.options_on(symbol)
        options = [row for row in table.definitions if row.underlying == symbol and not row.has_expired(today)]
        return table, found(options or None, "option chain")


def _deliverables(option: wires.EquityOptionWire) -> list[wires.DeliverableWire]:
    deliverable = wires.DeliverableWire(
        id=1,
        root_symbol=option.root_symbol,
        deliverable_type="Shares",
        description=f"{option.shares_per_contract} shares of {option.underlying_symbol}",
        amount=f"{option.shares_per_contract}.0",
        symbol=option.underlying_symbol,
        instrument_type=InstrumentType.EQUITY,
        percent="100",
    )
    return [deliverable]
