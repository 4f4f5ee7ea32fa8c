"""Definitions and events of many instruments at once: ``client.bulk``.

Every method returns a `BulkFetch`, which asks for nothing until it is iterated or awaited. What is found is found under
the symbol as it was asked for.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import date
from typing import Protocol, TypeVar

from .._arguments import check_count
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
from .bisect import Fetch, Verdict, judge
from .date_ranges import check_date, over_range, split_range
from .fetch import BulkFetch, BulkResult, Progress

__all__ = ["Bulk", "BulkFetch", "BulkResult", "Fetch", "Progress", "Symbols", "Verdict", "judge", "over_range",
           "split_range"]  # fmt: skip

T = TypeVar("T")
Symbols = Iterable[str] | AsyncIterable[str]
"""Any source of symbols, of any length; it is read as the fetch proceeds."""

UNSAFE_SEGMENTS = frozenset({".", ".."})
"""Symbols that cannot stand in a path."""


class _Listed(Protocol):
    @property
    def symbol(self) -> str | None: ...


L = TypeVar("L", bound=_Listed)


class Bulk:
    """The bulk fetches of one client.

    All of them take the same options: ``concurrency`` is the number of batches in flight (the client's read lane bounds
    it as well), ``batch_size`` the most symbols of one request where the service takes several (the length of the URL
    bounds it as well), ``on_progress`` is called with ``(done, total or None, elapsed seconds)`` after each batch.

    Arguments of the wrong kind raise InvalidRequestError or ConfigurationError before anything is asked.
    An error that is not a symbol's fault, such as a revoked grant, ends the fetch and is raised from it.
    """

    __slots__ = ("_endpoints",)

    def __init__(self, endpoints: Endpoints) -> None:
        self._endpoints = endpoints

    def equities(
        self,
        symbols: Symbols,
        *,
        concurrency: int = 8,
        batch_size: int = 100,
        on_progress: Progress | None = None,
    ) -> BulkFetch[Equity]:
        """Equities by symbol, such as ``AAPL`` or ``BRK/B``."""

        async def fetch(batch: tuple[str, ...]) -> Mapping[str, Equity]:
            # No more is asked for than the batch can hold: a full page is the last one, whether it says so or not.
            pages = self._endpoints.instruments.equities(symbols=batch, per_page=len(batch))
            return _by_asked(batch, await pages.collect(max_items=len(batch)))

        return BulkFetch(
            symbols, fetch, concurrency=concurrency, batch_size=batch_size, on_progress=on_progress, model=Equity
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
        """Equity options by OCC symbol, such as ``AAPL  260612C00110000``; expired ones only ``with_expired``."""
        if with_expired is not None and not isinstance(with_expired, bool):
            raise InvalidRequestError(f"with_expired must be True or False, not {with_expired!r}")

        async def fetch(batch: tuple[str, ...]) -> Mapping[str, EquityOption]:
            return _by_asked(
                batch, await self._endpoints.instruments.equity_options(symbols=batch, with_expired=with_expired)
            )

        return BulkFetch(
            symbols, fetch, concurrency=concurrency, batch_size=batch_size, on_progress=on_progress, model=EquityOption
        )

    def warrants(
        self,
        symbols: Symbols,
        *,
        concurrency: int = 8,
        batch_size: int = 1,
        on_progress: Progress | None = None,
    ) -> BulkFetch[Warrant]:
        """Warrants by symbol. The service takes one symbol at a time, whatever ``batch_size`` says."""
        ask = self._endpoints.instruments.warrant
        return BulkFetch(
            symbols,
            _singly(ask),
            concurrency=concurrency,
            batch_size=_one(batch_size),
            on_progress=on_progress,
            model=Warrant,
        )

    def futures_option_chains(
        self,
        product_codes: Symbols,
        *,
        concurrency: int = 2,
        batch_size: int = 1,
        on_progress: Progress | None = None,
    ) -> BulkFetch[list[FutureOption]]:
        """The options on the futures of each product, such as ``ES``.

        A chain may hold 20,000 options and take tens of megabytes, so few are asked for at a time; the service takes
        one product at a time, whatever ``batch_size`` says.
        """
        ask = self._endpoints.instruments.futures_option_chain
        return BulkFetch(
            product_codes,
            _singly(ask),
            concurrency=concurrency,
            batch_size=_one(batch_size),
            on_progress=on_progress,
            model=FutureOption,
        )

    def dividends(
        self,
        symbols: Symbols,
        *,
        concurrency: int = 8,
        batch_size: int = 1,
        on_progress: Progress | None = None,
    ) -> BulkFetch[list[Dividend]]:
        """The past dividends of each symbol. The service takes one symbol at a time, whatever ``batch_size`` says."""
        ask = self._endpoints.market_metrics.dividends
        return BulkFetch(
            symbols,
            _singly(ask),
            concurrency=concurrency,
            batch_size=_one(batch_size),
            on_progress=on_progress,
            model=Dividend,
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
        """The earnings reports of each symbol from ``start_date`` until today, or until ``end_date``. The service takes
        one symbol at a time, whatever ``batch_size`` says."""
        check_date("start_date", start_date)
        if end_date is not None:
            check_date("end_date", end_date)

        def ask(symbol: str) -> Awaitable[list[EarningsReport]]:
            return self._endpoints.market_metrics.earnings_reports(symbol, start_date, end_date=end_date)

        return BulkFetch(
            symbols,
            _singly(ask),
            concurrency=concurrency,
            batch_size=_one(batch_size),
            on_progress=on_progress,
            model=EarningsReport,
        )

    async def sessions(
        self,
        from_date: date,
        to_date: date,
        *,
        instrument_collection: InstrumentCollection | str | None = None,
        concurrency: int = 8,
    ) -> list[MarketSession]:
        """The trading sessions of a range of any length, in order: asked in ranges of nine months, then joined."""

        def ask(start: date, end: date) -> Awaitable[list[MarketSession]]:
            return self._endpoints.market_time.sessions(
                end, from_date=start, instrument_collection=instrument_collection
            )

        return await over_range(ask, from_date, to_date, concurrency=concurrency)


def _one(batch_size: int) -> int:
    """The batch size of an endpoint that takes one symbol; a bound that is none is still refused."""
    return min(check_count("batch_size", batch_size), 1)


def _singly(ask: Callable[[str], Awaitable[T]]) -> Fetch[T]:
    """A fetch over an endpoint that takes one symbol, and answers 404 when it does not know it."""

    async def fetch(batch: tuple[str, ...]) -> Mapping[str, T]:
        (symbol,) = batch
        if symbol in UNSAFE_SEGMENTS:
            raise InvalidRequestError(f"{symbol!r} cannot be sent as a symbol")
        try:
            return {symbol: await ask(symbol)}
        except NotFoundError:
            return {}

    return fetch


def _by_asked(asked: Sequence[str], items: Iterable[L]) -> dict[str, L]:
    """The items by the symbols that were asked for.

    The service may write a symbol with other spaces or other capitals than it was asked for; what it was not asked for
    is left out.
    """
    by_symbol = {item.symbol: item for item in items if item.symbol}
    found = {symbol: by_symbol[symbol] for symbol in asked if symbol in by_symbol}
    if len(found) < min(len(asked), len(by_symbol)):
        unasked = {_folded(symbol): item for symbol, item in by_symbol.items() if symbol not in found}
        for symbol in asked:
            if symbol not in found and (item := unasked.get(_folded(symbol))) is not None:
                found[symbol] = item
    return found


def _folded(symbol: str) -> str:
    return "".join(symbol.split()).upper()
