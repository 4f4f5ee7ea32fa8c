"""Handlers of ``instruments`` for futures, their products and their options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TypeVar

from ..._generated.converters import FutureProductWire, Wire
from ...protocol.response import Response
from ..market.calendar import local_date
from ..market.catalogue import Catalogue
from ..market.future_options import FutureOptionChain, ListedOption
from ..market.future_product_rows import OptionProduct, option_products, product_row
from ..market.future_products import FUTURES, FutureProduct, product_of
from ..market.row_table import RowTable
from .parsed_request import ParsedRequest
from .wire import RefusedError, dumps, item, items

__all__ = ["FutureInstruments"]


T = TypeVar("T")


class FutureInstruments:
    """Serves the futures that are listed on the day of the request, and the option chains of all products."""

    _catalogue: Catalogue

    # Futures

    def futures(self, request: ParsedRequest) -> Response:
        """Return a page of futures: by symbol, product or security id; expired ones only on request."""
        query, today = request.query, local_date(request.now)
        table = self._catalogue.futures(today)
        chosen = list(range(len(table)))
        if "symbols" in query:
            chosen = table.positions(_with_slash(symbol) for symbol in query["symbols"])
        elif "product_codes" in query:
            codes = {code.removeprefix("/") for code in query["product_codes"]}
            chosen = table.select(chosen, lambda row: row.product.code in codes)
        if "security_ids" in query:
            ids, exchange = query["security_ids"], query.get("exchange")
            chosen = table.select(
                chosen, lambda row: row.security_id in ids and exchange in (None, row.product.exchange)
            )
        if query.get("only_active_futures", True):
            chosen = table.select(chosen, lambda row: row.expires >= today)
        page = request.slice(len(chosen))
        return items(table.rows(chosen[page.start : page.stop]), request.context, page)

    def future(self, request: ParsedRequest) -> Response:
        """Return one future; the slash of its symbol may be missing."""
        table = self._catalogue.futures(local_date(request.now))
        positions = table.positions([_with_slash(request.path["symbol"])])
        if not positions:
            raise RefusedError.not_found("instrument")
        return item(table.rows(positions)[0], request.context)

    # Products

    def future_products(self, request: ParsedRequest) -> Response:
        """Return a page of futures products with their option products."""
        return _page_of([*FUTURES.values()], _product_with_options, request)

    def future_product(self, request: ParsedRequest) -> Response:
        """Return one futures product of an exchange."""
        product = FUTURES.get(request.path["code"])
        if product is None or product.exchange != request.path["exchange"]:
            raise RefusedError.not_found("futures product")
        return item(_product_with_options(product), request.context)

    def future_option_products(self, request: ParsedRequest) -> Response:
        """Return a page of products of future options, each with its futures product."""
        return _page_of([*option_products().values()], OptionProduct.details, request)

    def future_option_product(self, request: ParsedRequest) -> Response:
        """Return one product of future options by its root, and by its exchange if the path names one."""
        product = option_products().get(request.path["root_symbol"])
        if product is None or request.path.get("exchange") not in (None, product.product.exchange):
            raise RefusedError.not_found("future option product")
        return item(product.details(), request.context)

    future_option_product_of_exchange = future_option_product

    # Options

    def future_option(self, request: ParsedRequest) -> Response:
        """Return one future option, by its symbol as listed."""
        for chain in self._chains([request.path["symbol"]]):
            positions = chain.table.positions([request.path["symbol"]])
            if positions:
                return item(chain.table.rows(positions)[0], request.context)
        raise RefusedError.not_found("instrument")

    def future_options(self, request: ParsedRequest) -> Response:
        """Return a page of future options, filtered; without expired ones."""
        symbols, exchange = request.query.get("symbols"), request.query.get("exchange")
        passes = _option_filter(request)
        chosen: list[tuple[RowTable[ListedOption], int]] = []
        for chain in self._chains(symbols):
            if exchange in (None, chain.product.exchange):
                positions = range(len(chain.table)) if symbols is None else chain.table.positions(symbols)
                chosen += [(chain.table, position) for position in chain.table.select(positions, passes)]
        page = request.slice(len(chosen))
        rows = (table.rows([position])[0] for table, position in chosen[page.start : page.stop])
        return items(rows, request.context, page)

    def futures_option_chain(self, request: ParsedRequest) -> Response:
        """Return the flat option chain of a futures product."""
        chain = self._catalogue.chain(request.path["symbol"])
        if chain is None:
            raise RefusedError.not_found("futures product")
        return items(chain.table.rows(range(len(chain.table))), request.context)

    def _chains(self, symbols: Iterable[str] | None) -> Iterator[FutureOptionChain]:
        """Yield the chains of the products of some options, or of all products."""
        futures = None if symbols is None else (symbol.partition(" ")[0].removeprefix(".") for symbol in symbols)
        products = FUTURES.values() if futures is None else dict.fromkeys(map(product_of, futures))
        for product in products:
            chain = None if product is None else self._catalogue.chain(product.code)
            if chain is not None:
                yield chain


def _option_filter(request: ParsedRequest) -> Callable[[ListedOption], bool]:
    """Return whether an option passes the filters of the query, apart from symbol and exchange."""
    query, today = request.query, local_date(request.now)
    days = {query[name] for name in ("expiration_date", "maturity_date") if name in query}
    root, strike, ids = query.get("option_root_symbol"), query.get("strike_price"), query.get("security_ids")

    def passes(option: ListedOption) -> bool:
        expiration = option.expiration
        return (
            expiration.day >= today
            and days <= {expiration.day}
            and root in (None, expiration.option_product.root)
            and query.get("option_type") in (None, option.option_type)
            and (strike is None or Decimal(option.strike) == strike)
            and (ids is None or option.security_id in ids)
        )

    return passes


def _product_with_options(product: FutureProduct) -> FutureProductWire:
    return product_row(product, [one.row() for one in option_products().values() if one.product is product])


def _page_of(definitions: Sequence[T], render: Callable[[T], Wire], request: ParsedRequest) -> Response:
    """Return a page of rows that are rendered each time."""
    page = request.slice(len(definitions))
    rows = (dumps(render(one)) for one in definitions[page.start : page.stop])
    return items(rows, request.context, page)


def _with_slash(symbol: str) -> str:
    return symbol if symbol.startswith("/") else f"/{symbol}"
