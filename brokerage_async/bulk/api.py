"""The bulk fetches of one client: `Bulk`, one method for each endpoint that is worth calling for many symbols."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from datetime import date, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any, TypedDict, TypeVar, Unpack

from .._arguments import check_count, check_date
from .._generated import models
from .._generated.endpoints import Endpoints
from .._generated.operations import MARKET_DATA_BY_TYPE
from ..errors import InvalidRequestError
from ..http.concurrency import ConcurrentMap
from ..http.session import BrokerageSession
from ..protocol.validation.rules import add_months
from ..symbols import instrument_type_of
from .fetch import BulkFetch, FetchBatch, Progress, listed, one_by_one, paged
from .universe import UniverseFetch

T = TypeVar("T")
Symbols = Iterable[str] | AsyncIterable[str]
"""Any source of symbols, of any length; it is read as the fetch proceeds."""

# Parameters of the prices by instrument type.
PRICED: Mapping[str, str] = {
    each.name.replace("_", " ").title(): each.name for each in MARKET_DATA_BY_TYPE.parameters if each.array
}
MAX_PRICED = 100  # symbols in one request for prices, over all instrument types, or for metrics
MAX_MONTHS = 9  # maximum span between the two dates of one request

NOTHING: Mapping[str, Any] = MappingProxyType({})
"""No type is given, so that the form of each symbol implies its own. Or no argument is."""


class BulkOptions(TypedDict, total=False):
    """Options that every bulk fetch has.

    Attributes:
        concurrency: batches in flight. By default 8, and 2 for chains, which may hold thousands of options. The
            client's read lane bounds it as well.
        batch_size: maximum number of symbols in a request. By default 100 where the service takes several, else
            always 1. The length of the URL bounds it as well.
        on_progress: called with ``(done, total or None, elapsed seconds)`` after each batch.
    """

    concurrency: int
    batch_size: int
    on_progress: Progress | None


CHAINS: BulkOptions = {"concurrency": 2}  # where one answer may hold thousands of options


class Bulk:
    """The bulk fetches of one client.

    All take the keyword options of `BulkOptions`: ``concurrency``, ``batch_size`` and ``on_progress``. Chains, futures
    options, warrants, dividends and earnings are requested for one symbol at a time, whatever ``batch_size`` is.

    Invalid arguments raise InvalidRequestError or ConfigurationError before anything is sent.
    An error that is not specific to a symbol, such as a revoked grant, ends the fetch and is raised from it.

    Args:
        endpoints: requests go through these.
        service: names the service. `fetch_to_file` never continues a fetch from a different one.
        session: makes the calls of ``endpoints``. Without one, `universe` keeps to no rates.
    """

    __slots__ = ("_api", "_service", "_session")

    def __init__(self, endpoints: Endpoints, *, service: str = "", session: BrokerageSession | None = None) -> None:
        self._api = endpoints
        self._service = service
        self._session = session

    def equities(self, symbols: Symbols, **options: Unpack[BulkOptions]) -> BulkFetch[models.Equity]:
        """Fetch equities by symbol, such as ``AAPL`` or ``BRK/B``."""
        return self._fetch("equities", symbols, paged(self._api.instruments.equities), models.Equity, **options)

    def equity_options(
        self, symbols: Symbols, *, with_expired: bool | None = None, **options: Unpack[BulkOptions]
    ) -> BulkFetch[models.EquityOption]:
        """Fetch equity options by OCC symbol, such as ``AAPL  260612C00110000``.

        Expired ones are included only ``with_expired``.
        """
        choices = _checked(with_expired=with_expired)
        fetch = listed(partial(self._api.instruments.equity_options, **choices))
        return self._fetch("equity_options", symbols, fetch, models.EquityOption, choices, **options)

    def futures(
        self, symbols: Symbols, *, only_active_futures: bool | None = None, **options: Unpack[BulkOptions]
    ) -> BulkFetch[models.Future]:
        """Fetch futures by symbol, such as ``/ESZ6`` or ``ESZ6``.

        Expired ones are included only if ``only_active_futures`` is False.
        """
        choices = _checked(only_active_futures=only_active_futures)
        fetch = paged(partial(self._api.instruments.futures, **choices))
        return self._fetch("futures", symbols, fetch, models.Future, choices, **options)

    def future_options(self, symbols: Symbols, **options: Unpack[BulkOptions]) -> BulkFetch[models.FutureOption]:
        """Fetch futures options by symbol, such as ``./ESZ6 EW3U6 260918P9100``."""
        read = self._api.instruments.future_option
        return self._each("future_options", symbols, read, models.FutureOption, **options)

    def cryptocurrencies(self, symbols: Symbols, **options: Unpack[BulkOptions]) -> BulkFetch[models.Cryptocurrency]:
        """Fetch cryptocurrencies by pair, such as ``BTC/USD``."""
        fetch = listed(self._api.instruments.cryptocurrencies)
        return self._fetch("cryptocurrencies", symbols, fetch, models.Cryptocurrency, **options)

    def warrants(self, symbols: Symbols, **options: Unpack[BulkOptions]) -> BulkFetch[models.Warrant]:
        """Fetch warrants by symbol."""
        return self._each("warrants", symbols, self._api.instruments.warrant, models.Warrant, **options)

    def market_data(
        self,
        symbols: Symbols,
        *,
        types: Mapping[str, models.InstrumentType | str] = NOTHING,
        include_instrument: bool | None = None,
        **options: Unpack[BulkOptions],
    ) -> BulkFetch[models.MarketDataSnapshot]:
        """Fetch the prices of instruments of any type, up to 100 in one request.

        The type of a symbol follows from its form (`symbols.instrument_type_of`), which is the same for an index and an
        equity: ``types={"SPX": "Index"}`` names it. ``include_instrument`` adds the definition of each instrument.
        Production only, and for funded accounts.
        """
        choices, own = _checked(include_instrument=include_instrument), checked_types(types)
        fetch = listed(lambda symbols: self._api.market_data.by_type(**by_type(symbols, own), **choices))
        arguments = {"types": own or None, **choices}
        return self._fetch("market_data", symbols, fetch, models.MarketDataSnapshot, arguments, MAX_PRICED, **options)

    def market_metrics(self, symbols: Symbols, **options: Unpack[BulkOptions]) -> BulkFetch[models.UnderlyingMetrics]:
        """Fetch volatility, liquidity and earnings of underlyings, up to 100 in one request. Production only."""
        fetch = listed(self._api.market_metrics.list)
        return self._fetch("market_metrics", symbols, fetch, models.UnderlyingMetrics, NOTHING, MAX_PRICED, **options)

    def equity_option_chains(
        self, symbols: Symbols, **options: Unpack[BulkOptions]
    ) -> BulkFetch[list[models.EquityOption]]:
        """Fetch all options on each underlying, such as ``SPX``.

        A chain may hold thousands of options, so the default concurrency is low.
        """
        read = self._api.option_chains.flat
        return self._each("equity_option_chains", symbols, read, models.EquityOption, **(CHAINS | options))

    def nested_option_chains(
        self, symbols: Symbols, **options: Unpack[BulkOptions]
    ) -> BulkFetch[list[models.NestedOptionChain]]:
        """Fetch the options on each underlying by expiration and strike, one chain for each root.

        `chains.OptionChain.of` selects expirations and strikes from a value.
        """
        read = self._api.option_chains.nested
        return self._each("nested_option_chains", symbols, read, models.NestedOptionChain, **(CHAINS | options))

    def futures_option_chains(
        self, product_codes: Symbols, **options: Unpack[BulkOptions]
    ) -> BulkFetch[list[models.FutureOption]]:
        """Fetch the options on the futures of each product, such as ``ES``.

        A chain may hold 20,000 options and take tens of megabytes, so the default concurrency is low.
        """
        read = self._api.instruments.futures_option_chain
        return self._each("futures_option_chains", product_codes, read, models.FutureOption, **(CHAINS | options))

    def nested_futures_option_chains(
        self, product_codes: Symbols, **options: Unpack[BulkOptions]
    ) -> BulkFetch[models.NestedFuturesOptionChain]:
        """Fetch the options on the futures of each product by expiration and strike.

        `chains.OptionChain.of` selects expirations and strikes from a value.
        """
        read, model = self._api.option_chains.nested_futures, models.NestedFuturesOptionChain
        return self._each("nested_futures_option_chains", product_codes, read, model, **(CHAINS | options))

    def dividends(self, symbols: Symbols, **options: Unpack[BulkOptions]) -> BulkFetch[list[models.Dividend]]:
        """Fetch the past dividends of each symbol."""
        return self._each("dividends", symbols, self._api.market_metrics.dividends, models.Dividend, **options)

    def earnings_reports(
        self, symbols: Symbols, start_date: date, *, end_date: date | None = None, **options: Unpack[BulkOptions]
    ) -> BulkFetch[list[models.EarningsReport]]:
        """Fetch the earnings reports of each symbol, until today by default."""
        check_date("start_date", start_date)
        if end_date is not None:
            check_date("end_date", end_date)
        days = {"start_date": start_date, "end_date": end_date}
        read = self._api.market_metrics.earnings_reports
        return self._each("earnings_reports", symbols, read, models.EarningsReport, days, **options)

    def universe(
        self,
        directory: str | os.PathLike[str],
        *,
        kinds: Iterable[str] | None = None,
        underlyings: Iterable[str] | None = None,
        on_progress: Progress | None = None,
    ) -> UniverseFetch:
        """Fetch every instrument into the Parquet partition of today, when awaited.

        ``DIRECTORY/day=2026-06-12/universe.parquet`` has a row for each instrument, sorted by ``symbol``: its ``kind``
        and all fields of its model by their attribute names, with strings encoded in dictionaries and decimals at the
        scale that each column needs. ``manifest.json`` beside it has the counts and misses. The folder appears whole
        or not at all. Until then names of files begin with a dot. After a crash or an error, the same call on the same
        day requests only what it lacks. For a complete partition it returns the result without fetching again.

        Operations keep to the rates of `Limits.published` while it runs, for the whole client, unless the client has
        rates for them. It takes half a second for each underlying.

        Args:
            directory: folder of the partitions. It is created.
            kinds: some of ``equities``, ``futures``, ``future_products``, ``cryptocurrencies``, ``warrants``,
                ``equity_options`` and ``future_options``. None for all.
            underlyings: those whose options are fetched: symbols of equities and indices, such as ``SPX``, and futures
                products with a slash, such as ``/ES``. None for all that the service lists.
            on_progress: called with ``(done, total or None, elapsed seconds)`` after each list and chain.

        Raises:
            ConfigurationError: pyarrow is missing (extra ``arrow``), an argument is invalid, the partition or an
                interrupted run is of other arguments, another run is under way, or a file cannot be written.
            IncompleteFetchError (when awaited): a list failed, and nothing was written. A chain that failed is left
                out and named in the result, and the same call on the same day requests it again.
        """
        return UniverseFetch(self._api, self._session, self._service, directory, kinds, underlyings, on_progress)

    async def sessions(
        self,
        from_date: date,
        to_date: date,
        *,
        instrument_collection: models.InstrumentCollection | str | None = None,
        concurrency: int = 8,
    ) -> list[models.MarketSession]:
        """Return the trading sessions of a range of any length, in order, fetched nine months at a time."""
        read = partial(self._api.market_time.sessions, instrument_collection=instrument_collection)
        return await over_range(
            lambda start, end: read(end, from_date=start), from_date, to_date, concurrency=concurrency
        )

    def _each(
        self, method: str, symbols: Symbols, read: Callable[..., Awaitable[T]], model: type[object],
        arguments: Mapping[str, Any] = NOTHING, /, **options: Unpack[BulkOptions],
    ) -> BulkFetch[T]:  # fmt: skip
        return self._fetch(method, symbols, one_by_one(partial(read, **arguments)), model, arguments, 1, **options)

    def _fetch(
        self,
        method: str,
        symbols: Symbols,
        fetch: FetchBatch[T],
        model: type[object],
        arguments: Mapping[str, object] = NOTHING,
        limit: int = sys.maxsize,
        /,
        *,
        batch_size: int = 100,
        concurrency: int = 8,
        on_progress: Progress | None = None,
    ) -> BulkFetch[T]:
        """Return a fetch in batches of at most ``limit`` symbols, whose values depend on the ``arguments``."""
        given = ", ".join(f"{name}={value}" for name, value in arguments.items() if value is not None)
        return BulkFetch(
            symbols, fetch, batch_size=min(check_count("batch_size", batch_size), limit), concurrency=concurrency,
            on_progress=on_progress, model=model, name=f"{method}({given}) of {self._service}",
        )  # fmt: skip


def _checked(**choices: bool | None) -> Mapping[str, Any]:
    for name, value in choices.items():
        if value is not None and not isinstance(value, bool):
            raise InvalidRequestError(f"{name} must be True or False, got {value!r}")
    return choices


def by_type(symbols: Iterable[str], types: Mapping[str, str]) -> dict[str, Any]:
    """Group symbols by the parameter for their type: the one in ``types``, or the one that their form implies."""
    groups: dict[str, list[str]] = {}
    for symbol in symbols:
        groups.setdefault(PRICED[types.get(symbol) or instrument_type_of(symbol)], []).append(symbol)
    return groups


def checked_types(types: Mapping[str, models.InstrumentType | str]) -> dict[str, str]:
    """Return the types by their names, in the order of the symbols. Raise InvalidRequestError for any other one."""
    if not isinstance(types, Mapping):
        raise InvalidRequestError(f"types must be a mapping of symbols to instrument types, got {types!r}")
    for symbol, name in types.items():
        if not (isinstance(symbol, str) and isinstance(name, str) and name in PRICED):
            raise InvalidRequestError(f"type of {symbol!r} must be one of {', '.join(PRICED)}, got {name!r}")
    return {symbol: str(types[symbol]) for symbol in sorted(types)}


def split_range(from_date: date, to_date: date, *, months: int = MAX_MONTHS) -> list[tuple[date, date]]:
    """Split a range into the fewest consecutive ranges shorter than ``months``, both ends of each included.

    Raises:
        InvalidRequestError: ``to_date`` is before ``from_date``, or one of them is not a date.
        ConfigurationError: ``months`` is less than 1.
    """
    check_date("from_date", from_date)
    check_date("to_date", to_date)
    if to_date < from_date:
        raise InvalidRequestError(f"to_date must not be before from_date, got {from_date} to {to_date}")
    check_count("months", months)
    parts = []
    while from_date < (following := add_months(from_date, months)) <= to_date:
        parts.append((from_date, following - timedelta(days=1)))
        from_date = following
    return [*parts, (from_date, to_date)]


async def over_range(
    fetch: Callable[[date, date], Awaitable[Iterable[T]]],
    from_date: date,
    to_date: date,
    *,
    months: int = MAX_MONTHS,
    concurrency: int = 8,
) -> list[T]:
    """Return the joined results of ``fetch`` over a range of any length.

    ``fetch(from_date, to_date)`` is called for each part. The results keep the order of the dates. At most
    ``concurrency`` parts are in flight. When one of them fails, the others are cancelled and its error raised.
    """
    check_count("concurrency", concurrency)
    parts = split_range(from_date, to_date, months=months)
    mapped = ConcurrentMap(lambda part: fetch(*part), parts, concurrency=concurrency, in_order=True)
    async with aclosing(mapped):
        return [item async for _, part in mapped for item in part]
