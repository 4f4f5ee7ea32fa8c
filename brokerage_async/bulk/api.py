"""The bulk fetches of one client: `Bulk`, one method for each endpoint that is worth calling for many symbols."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterable, Iterable
from datetime import date
from functools import partial
from types import MappingProxyType
from typing import TypedDict, TypeVar, Unpack

from .._arguments import check_count, check_date
from .._generated.endpoints import Endpoints
from .._generated.models import (
    Cryptocurrency,
    Dividend,
    EarningsReport,
    Equity,
    EquityOption,
    Future,
    FutureOption,
    InstrumentCollection,
    MarketDataSnapshot,
    MarketSession,
    NestedFuturesOptionChain,
    NestedOptionChain,
    UnderlyingMetrics,
    Warrant,
)
from ..errors import InvalidRequestError
from ..http.session import BrokerageSession
from .by_symbol import Types, by_type, checked_types, listed, one_by_one, over_range, paged
from .fetch import BulkFetch, FetchBatch, Progress
from .universe import UniverseFetch

T = TypeVar("T")
Symbols = Iterable[str] | AsyncIterable[str]
"""Any source of symbols, of any length; it is read as the fetch proceeds."""

MAX_PRICED = 100
"""Symbols in one request for prices, over all instrument types, or for metrics."""

BY_FORM: Types = MappingProxyType({})
"""No type is given: the form of each symbol implies its own."""


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


CHAINS: BulkOptions = {"concurrency": 2}
"""Defaults where one answer may hold thousands of options."""


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

    def equities(self, symbols: Symbols, **options: Unpack[BulkOptions]) -> BulkFetch[Equity]:
        """Fetch equities by symbol, such as ``AAPL`` or ``BRK/B``."""
        return self._fetch("equities()", symbols, paged(self._api.instruments.equities), Equity, **options)

    def equity_options(
        self, symbols: Symbols, *, with_expired: bool | None = None, **options: Unpack[BulkOptions]
    ) -> BulkFetch[EquityOption]:
        """Fetch equity options by OCC symbol, such as ``AAPL  260612C00110000``.

        Expired ones are included only ``with_expired``.
        """
        _check_choice("with_expired", with_expired)
        read = self._api.instruments.equity_options
        fetch = listed(lambda batch: read(symbols=batch, with_expired=with_expired))
        return self._fetch(_call("equity_options", with_expired=with_expired), symbols, fetch, EquityOption, **options)

    def futures(
        self, symbols: Symbols, *, only_active_futures: bool | None = None, **options: Unpack[BulkOptions]
    ) -> BulkFetch[Future]:
        """Fetch futures by symbol, such as ``/ESZ6`` or ``ESZ6``.

        Expired ones are included only if ``only_active_futures`` is False.
        """
        _check_choice("only_active_futures", only_active_futures)
        fetch = paged(partial(self._api.instruments.futures, only_active_futures=only_active_futures))
        return self._fetch(_call("futures", only_active_futures=only_active_futures), symbols, fetch, Future, **options)

    def future_options(self, symbols: Symbols, **options: Unpack[BulkOptions]) -> BulkFetch[FutureOption]:
        """Fetch futures options by symbol, such as ``./ESZ6 EW3U6 260918P9100``."""
        fetch = one_by_one(self._api.instruments.future_option)
        return self._fetch("future_options()", symbols, fetch, FutureOption, 1, **options)

    def cryptocurrencies(self, symbols: Symbols, **options: Unpack[BulkOptions]) -> BulkFetch[Cryptocurrency]:
        """Fetch cryptocurrencies by pair, such as ``BTC/USD``."""
        fetch = listed(lambda batch: self._api.instruments.cryptocurrencies(symbols=batch))
        return self._fetch("cryptocurrencies()", symbols, fetch, Cryptocurrency, **options)

    def warrants(self, symbols: Symbols, **options: Unpack[BulkOptions]) -> BulkFetch[Warrant]:
        """Fetch warrants by symbol."""
        return self._fetch("warrants()", symbols, one_by_one(self._api.instruments.warrant), Warrant, 1, **options)

    def market_data(
        self,
        symbols: Symbols,
        *,
        types: Types = BY_FORM,
        include_instrument: bool | None = None,
        **options: Unpack[BulkOptions],
    ) -> BulkFetch[MarketDataSnapshot]:
        """Fetch the prices of instruments of any type, up to 100 in one request.

        The type of a symbol follows from its form (`symbols.instrument_type_of`), which is the same for an index and an
        equity: ``types={"SPX": "Index"}`` names it. ``include_instrument`` adds the definition of each instrument.
        Production only, and for funded accounts.
        """
        _check_choice("include_instrument", include_instrument)
        own, read = checked_types(types), self._api.market_data.by_type
        fetch = listed(lambda batch: read(**by_type(batch, own), include_instrument=include_instrument))
        name = _call("market_data", types=own or None, include_instrument=include_instrument)
        return self._fetch(name, symbols, fetch, MarketDataSnapshot, MAX_PRICED, **options)

    def market_metrics(self, symbols: Symbols, **options: Unpack[BulkOptions]) -> BulkFetch[UnderlyingMetrics]:
        """Fetch volatility, liquidity and earnings of underlyings, up to 100 in one request.

        Production only.
        """
        fetch = listed(self._api.market_metrics.list)
        return self._fetch("market_metrics()", symbols, fetch, UnderlyingMetrics, MAX_PRICED, **options)

    def equity_option_chains(self, symbols: Symbols, **options: Unpack[BulkOptions]) -> BulkFetch[list[EquityOption]]:
        """Fetch all options on each underlying, such as ``SPX``.

        A chain may hold thousands of options, so the default concurrency is low.
        """
        fetch = one_by_one(self._api.option_chains.flat)
        return self._fetch("equity_option_chains()", symbols, fetch, EquityOption, 1, **(CHAINS | options))

    def nested_option_chains(
        self, symbols: Symbols, **options: Unpack[BulkOptions]
    ) -> BulkFetch[list[NestedOptionChain]]:
        """Fetch the options on each underlying by expiration and strike, one chain for each root.

        `chains.OptionChain.of` selects expirations and strikes from a value.
        """
        fetch = one_by_one(self._api.option_chains.nested)
        return self._fetch("nested_option_chains()", symbols, fetch, NestedOptionChain, 1, **(CHAINS | options))

    def futures_option_chains(
        self, product_codes: Symbols, **options: Unpack[BulkOptions]
    ) -> BulkFetch[list[FutureOption]]:
        """Fetch the options on the futures of each product, such as ``ES``.

        A chain may hold 20,000 options and take tens of megabytes, so the default concurrency is low.
        """
        fetch = one_by_one(self._api.instruments.futures_option_chain)
        return self._fetch("futures_option_chains()", product_codes, fetch, FutureOption, 1, **(CHAINS | options))

    def nested_futures_option_chains(
        self, product_codes: Symbols, **options: Unpack[BulkOptions]
    ) -> BulkFetch[NestedFuturesOptionChain]:
        """Fetch the options on the futures of each product by expiration and strike.

        `chains.OptionChain.of` selects expirations and strikes from a value.
        """
        fetch, model = one_by_one(self._api.option_chains.nested_futures), NestedFuturesOptionChain
        return self._fetch("nested_futures_option_chains()", product_codes, fetch, model, 1, **(CHAINS | options))

    def dividends(self, symbols: Symbols, **options: Unpack[BulkOptions]) -> BulkFetch[list[Dividend]]:
        """Fetch the past dividends of each symbol."""
        fetch = one_by_one(self._api.market_metrics.dividends)
        return self._fetch("dividends()", symbols, fetch, Dividend, 1, **options)

    def earnings_reports(
        self, symbols: Symbols, start_date: date, *, end_date: date | None = None, **options: Unpack[BulkOptions]
    ) -> BulkFetch[list[EarningsReport]]:
        """Fetch the earnings reports of each symbol, until today by default."""
        check_date("start_date", start_date)
        if end_date is not None:
            check_date("end_date", end_date)
        read = partial(self._api.market_metrics.earnings_reports, start_date=start_date, end_date=end_date)
        name = _call("earnings_reports", start_date=start_date, end_date=end_date)
        return self._fetch(name, symbols, one_by_one(read), EarningsReport, 1, **options)

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
        instrument_collection: InstrumentCollection | str | None = None,
        concurrency: int = 8,
    ) -> list[MarketSession]:
        """Return the trading sessions of a range of any length, in order.

        They are fetched nine months at a time.
        """
        read = partial(self._api.market_time.sessions, instrument_collection=instrument_collection)
        return await over_range(
            lambda start, end: read(end, from_date=start), from_date, to_date, concurrency=concurrency
        )

    def _fetch(
        self,
        name: str,
        symbols: Symbols,
        fetch: FetchBatch[T],
        model: type[object],
        limit: int = sys.maxsize,
        /,
        *,
        batch_size: int = 100,
        concurrency: int = 8,
        on_progress: Progress | None = None,
    ) -> BulkFetch[T]:
        """Return a fetch in batches of at most ``limit`` symbols."""
        return BulkFetch(
            symbols, fetch, batch_size=min(check_count("batch_size", batch_size), limit), concurrency=concurrency,
            on_progress=on_progress, model=model, name=f"{name} of {self._service}",
        )  # fmt: skip


def _call(method: str, **arguments: object) -> str:
    """Return the name of a fetch: all that its values depend on, but for the symbols."""
    given = ", ".join(f"{name}={value}" for name, value in arguments.items() if value is not None)
    return f"{method}({given})"


def _check_choice(name: str, value: object) -> None:
    if value is not None and not isinstance(value, bool):
        raise InvalidRequestError(f"{name} must be True or False, got {value!r}")
