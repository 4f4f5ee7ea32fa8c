"""The bulk fetches of one client: `Bulk`, one method for each endpoint that is worth calling for many symbols."""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Protocol, TypeVar

from .._arguments import check_count, check_date
from .._generated.endpoints import Endpoints
from .._generated.models import (
    Dividend,
    EarningsReport,
    Equity,
    EquityOption,
    FutureOption,
    InstrumentCollection,
    MarketSession,
    Warrant,
)
from ..errors import InvalidRequestError, NotFoundError
from .bisect import FetchBatch
from .date_ranges import over_range
from .fetch import BulkFetch, Progress

__all__ = ["Bulk", "Symbols"]

T = TypeVar("T")
Symbols = Iterable[str] | AsyncIterable[str]
"""Any source of symbols, of any length; it is read as the fetch proceeds."""

UNSAFE_SEGMENTS = frozenset({".", ".."})
"""Symbols that cannot be a path segment."""


class _Listed(Protocol):
    @property
    def symbol(self) -> str | None: ...


L = TypeVar("L", bound=_Listed)


class Bulk:
    """The bulk fetches of one client.

    All of them take the same options: ``concurrency`` is the number of batches in flight (the client's read lane bounds
    it as well), ``batch_size`` the maximum number of symbols in a request where the service takes several (the length
    of the URL bounds it as well). ``on_progress`` is called with ``(done, total or None, elapsed seconds)`` after each
    batch.

    Invalid arguments raise InvalidRequestError or ConfigurationError before anything is sent.
    An error that is not specific to a symbol, such as a revoked grant, ends the fetch and is raised from it.

    Args:
        endpoints: requests go through these.
        service: names the service. `fetch_to_file` never continues a fetch from another one.
    """

    __slots__ = ("_endpoints", "_service")

    def __init__(self, endpoints: Endpoints, *, service: str = "") -> None:
        self._endpoints = endpoints
        self._service = service

    def equities(
        self,
        symbols: Symbols,
        *,
        concurrency: int = 8,
        batch_size: int = 100,
        on_progress: Progress | None = None,
    ) -> BulkFetch[Equity]:
        """Fetch equities by symbol, such as ``AAPL`` or ``BRK/B``."""

        async def fetch(batch: tuple[str, ...]) -> Mapping[str, Equity]:
            # A page as large as the batch: a full page is the last one, with or without a pagination block.
            pages = self._endpoints.instruments.equities(symbols=batch, per_page=len(batch))
            return _by_requested(batch, await pages.collect(max_items=len(batch)))

        return BulkFetch(
            symbols,
            fetch,
            concurrency=concurrency,
            batch_size=batch_size,
            on_progress=on_progress,
            model=Equity,
            name=self._name("equities"),
        )

    def equity_options(
        self,
        symbols: Symbols,
        *,
        with_expired: bool | None = None,
        concurrency: int = 8,
        batch_size: int = 100,
        on_progress: Progress | None = None,
    ) -> BulkFetch[EquityOption]:
        """Fetch equity options by OCC symbol, such as ``AAPL  260612C00110000``.

        Expired ones are included only ``with_expired``.
        """
        if with_expired is not None and not isinstance(with_expired, bool):
            raise InvalidRequestError(f"with_expired must be True or False, got {with_expired!r}")

        async def fetch(batch: tuple[str, ...]) -> Mapping[str, EquityOption]:
            options = await self._endpoints.instruments.equity_options(symbols=batch, with_expired=with_expired)
            return _by_requested(batch, options)

        return BulkFetch(
            symbols,
            fetch,
            concurrency=concurrency,
            batch_size=batch_size,
            on_progress=on_progress,
            model=EquityOption,
            name=self._name("equity_options", with_expired=with_expired),
        )

    def warrants(
        self,
        symbols: Symbols,
        *,
        concurrency: int = 8,
        batch_size: int = 1,
        on_progress: Progress | None = None,
    ) -> BulkFetch[Warrant]:
        """Fetch warrants by symbol.

        The service takes one symbol at a time, whatever ``batch_size`` is.
        """
        fetch_one = self._endpoints.instruments.warrant
        return BulkFetch(
            symbols,
            _one_by_one(fetch_one),
            concurrency=concurrency,
            batch_size=_one(batch_size),
            on_progress=on_progress,
            model=Warrant,
            name=self._name("warrants"),
        )

    def futures_option_chains(
        self,
        product_codes: Symbols,
        *,
        concurrency: int = 2,
        batch_size: int = 1,
        on_progress: Progress | None = None,
    ) -> BulkFetch[list[FutureOption]]:
        """Fetch the options on the futures of each product, such as ``ES``.

        A chain may hold 20,000 options and take tens of megabytes, so the default concurrency is low. The service takes
        one product at a time, whatever ``batch_size`` is.
        """
        fetch_one = self._endpoints.instruments.futures_option_chain
        return BulkFetch(
            product_codes,
            _one_by_one(fetch_one),
            concurrency=concurrency,
            batch_size=_one(batch_size),
            on_progress=on_progress,
            model=FutureOption,
            name=self._name("futures_option_chains"),
        )

    def dividends(
        self,
        symbols: Symbols,
        *,
        concurrency: int = 8,
        batch_size: int = 1,
        on_progress: Progress | None = None,
    ) -> BulkFetch[list[Dividend]]:
        """Fetch the past dividends of each symbol.

        The service takes one symbol at a time, whatever ``batch_size`` is.
        """
        fetch_one = self._endpoints.market_metrics.dividends
        return BulkFetch(
            symbols,
            _one_by_one(fetch_one),
            concurrency=concurrency,
            batch_size=_one(batch_size),
            on_progress=on_progress,
            model=Dividend,
            name=self._name("dividends"),
        )

    def earnings_reports(
        self,
        symbols: Symbols,
        start_date: date,
        *,
        end_date: date | None = None,
        concurrency: int = 8,
        batch_size: int = 1,
        on_progress: Progress | None = None,
    ) -> BulkFetch[list[EarningsReport]]:
        """Fetch the earnings reports of each symbol, until today by default.

        The service takes one symbol at a time, whatever ``batch_size`` is.
        """
        check_date("start_date", start_date)
        if end_date is not None:
            check_date("end_date", end_date)

        def fetch_one(symbol: str) -> Awaitable[list[EarningsReport]]:
            return self._endpoints.market_metrics.earnings_reports(symbol, start_date, end_date=end_date)

        return BulkFetch(
            symbols,
            _one_by_one(fetch_one),
            concurrency=concurrency,
            batch_size=_one(batch_size),
            on_progress=on_progress,
            model=EarningsReport,
            name=self._name("earnings_reports", start_date=start_date, end_date=end_date),
        )

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

        def fetch_range(start: date, end: date) -> Awaitable[list[MarketSession]]:
            return self._endpoints.market_time.sessions(
                end, from_date=start, instrument_collection=instrument_collection
            )

        return await over_range(fetch_range, from_date, to_date, concurrency=concurrency)

    def _name(self, method: str, **arguments: object) -> str:
        """Return the name of a fetch: all that its values depend on, but for the symbols."""
        given = ", ".join(f"{name}={value}" for name, value in arguments.items() if value is not None)
        return f"{method}({given}) of {self._service}"


def _one(batch_size: int) -> int:
    """Check the batch size, and return 1: the endpoint takes one symbol."""
    return min(check_count("batch_size", batch_size), 1)


def _one_by_one(fetch_one: Callable[[str], Awaitable[T]]) -> FetchBatch[T]:
    """Adapt an endpoint for one symbol that answers 404 if unknown."""

    async def fetch(batch: tuple[str, ...]) -> Mapping[str, T]:
        (symbol,) = batch
        if symbol in UNSAFE_SEGMENTS:
            raise InvalidRequestError(f"symbol must be usable as a path segment, got {symbol!r}")
        try:
            return {symbol: await fetch_one(symbol)}
        except NotFoundError:
            return {}

    return fetch


def _by_requested(requested: Sequence[str], items: Iterable[L]) -> dict[str, L]:
    """Key the items by the symbols as they were requested.

    The service may spell a symbol with other spaces or capitals. Items that were not requested are dropped.
    """
    by_symbol = {item.symbol: item for item in items if item.symbol}
    found = {symbol: by_symbol[symbol] for symbol in requested if symbol in by_symbol}
    if len(found) < min(len(requested), len(by_symbol)):
        others = {_folded(symbol): item for symbol, item in by_symbol.items() if symbol not in found}
        for symbol in requested:
            if symbol not in found and (item := others.get(_folded(symbol))) is not None:
                found[symbol] = item
    return found


def _folded(symbol: str) -> str:
    return "".join(symbol.split()).upper()
