"""Pager over offset-paginated lists: lazy, in order, with optional prefetching.

The service counts pages from the present state of a list, so rows move between pages while a walk is under way. A row
that comes again on a later page is dropped, and a total that changes is reported once on the logger
``brokerage_async.pager``: a row may then have slipped by. A list that holds nothing new page after page is an error.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import attrs

from .._arguments import check_count
from .._values import Decimals
from ..arrow import joined, require, to_arrow, to_pandas, to_polars
from ..errors import BrokerageError, ResponseDecodeError
from ..operation import BoundCall, Operation, Page, Pager
from ..protocol.decoding.codec import Decoded
from ..protocol.pagination import next_offset
from .dedup import CompactSet
from .prefetch import Prefetcher

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

__all__ = ["OffsetPager", "Page", "Pager"]

T = TypeVar("T")
E = TypeVar("E")

OFFSET = "page-offset"
SIZE = "per-page"

MAX_STALE_PAGES = 100
"""Pages in a row without anything new after which a list counts as endless."""

logger: logging.Logger = logging.getLogger("brokerage_async.pager")


class Fetch(Protocol):
    """Fetch of one call; see `BrokerageSession.fetch`."""

    async def __call__(self, call: BoundCall[T]) -> Decoded[T]:
        """Make the call."""
        ...


class OffsetPager(Pager[E], Generic[E]):
    """`Pager` over page numbers. Each iteration fetches the list again.

    A page that fails is retried by itself, as every read is. When one fails for good, the error's notes name its page
    offset, from which another walk can go on (``page_offset=`` of the endpoint).
    """

    __slots__ = ("_ahead", "_call", "_fetch")

    def __init__(self, fetch: Fetch, call: BoundCall[list[E]], *, ahead: int = 0) -> None:
        self._fetch = fetch
        self._call = call
        self._ahead = ahead

    def __repr__(self) -> str:
        return f"<pager of {self._call.operation.name}>"

    def __aiter__(self) -> AsyncIterator[E]:
        """Iterate over the items of all pages, in order."""
        return self._items()

    def pages(self) -> AsyncIterator[Page[E]]:
        """Iterate over the pages, in order, without items of earlier pages."""
        return self._walk()

    async def collect(self, max_items: int | None = None) -> list[E]:
        """Return all items, or the first ``max_items``, without fetching a page too many."""
        _check_bound(max_items)
        items: list[E] = []
        async with aclosing(self._walk(max_items)) as pages:
            async for page in pages:
                items.extend(page.items)
        return items[:max_items]

    def prefetch(self, pages: int) -> OffsetPager[E]:
        """Return a pager that fetches up to ``pages`` pages ahead of the consumer.

        The first page is always fetched alone, because it names the number of pages. If it does not, nothing is
        fetched ahead.
        """
        check_count("pages", pages, minimum=0)
        return OffsetPager(self._fetch, self._call, ahead=pages)

    async def to_arrow(self, max_items: int | None = None, *, decimals: Decimals = "exact") -> pyarrow.Table:
        """Return all items, or the first ``max_items``, as an Arrow table; see `brokerage_async.arrow.to_arrow`.

        Pages are turned into columns as they arrive.

        Raises:
            ConfigurationError: pyarrow is missing (extra ``arrow``), or a number fits no column.
        """
        _check_bound(max_items)
        none = to_arrow((), self._model, decimals=decimals)
        convert = functools.partial(to_arrow, model=self._model, decimals=decimals)
        async with aclosing(self._walk(max_items)) as pages:
            tables = [await asyncio.to_thread(convert, page.items) async for page in pages]
        return joined([none, *tables]).slice(0, max_items)

    async def to_pandas(self, max_items: int | None = None, *, decimals: Decimals = "exact") -> pandas.DataFrame:
        """Return all items, or the first ``max_items``, as a frame; see `brokerage_async.arrow.to_pandas`.

        Raises:
            ConfigurationError: pandas is missing (extra ``pandas``), or a number fits no column.
        """
        require("pandas")
        items = await self.collect(max_items)
        return await asyncio.to_thread(to_pandas, items, self._model, decimals=decimals)

    async def to_polars(self, max_items: int | None = None, *, decimals: Decimals = "exact") -> polars.DataFrame:
        """Return all items, or the first ``max_items``, as a frame; see `brokerage_async.arrow.to_polars`.

        Raises:
            ConfigurationError: Polars is missing (extra ``polars``), or a number fits no column.
        """
        require("polars")
        items = await self.collect(max_items)
        return await asyncio.to_thread(to_polars, items, self._model, decimals=decimals)

    @property
    def _model(self) -> type[Any]:
        model = self._call.operation.result
        assert model is not None, "every paginated operation has a model"
        return model

    async def _items(self) -> AsyncGenerator[E, None]:
        async with aclosing(self._walk()) as pages:
            async for page in pages:
                for item in page.items:
                    yield item

    async def _walk(self, max_items: int | None = None) -> AsyncGenerator[Page[E], None]:
        """Yield the pages in order until the list ends or ``max_items`` items have come."""
        if max_items is not None and max_items <= 0:
            return
        detector = DriftDetector(self._call.operation)
        prefetcher: Prefetcher[E] | None = None
        offset: int | None = self._start
        try:
            while offset is not None:
                ahead = prefetcher is not None and offset in prefetcher
                page = await (prefetcher.take(offset) if prefetcher and ahead else self._page(offset))
                shown = detector.take(page)
                offset = None if detector.ended else self._following(page)
                if max_items is not None:
                    max_items -= len(shown.items)
                    if max_items <= 0:
                        offset = None
                if offset is not None and self._ahead:
                    end = min(_pages_in_all(page), offset + _pages_for(max_items, page))
                    prefetcher = prefetcher or Prefetcher(self._page, self._ahead, offset)
                    prefetcher.extend(end)
                yield shown
        finally:
            if prefetcher is not None:
                await prefetcher.close()

    @property
    def _start(self) -> int:
        offset = self._call.query.get(OFFSET)
        return offset if isinstance(offset, int) else 0

    async def _page(self, offset: int) -> Page[E]:
        given = self._call.query.get(OFFSET)
        wrong = given is not None and not isinstance(given, int)  # goes out as it is, to be refused with all the rest
        query = {**self._call.query, OFFSET: given if wrong else offset}
        try:
            decoded = await self._fetch(attrs.evolve(self._call, query=query))
        except BrokerageError as error:
            if offset > self._start:
                error.add_note(f"the walk can go on from page_offset={offset}")
            raise
        return Page(tuple(decoded.value), decoded.pagination, offset)

    def _following(self, page: Page[E]) -> int | None:
        size = self._call.query.get(SIZE)
        per_page = size if isinstance(size, int) else None
        return next_offset(page.page_offset, per_page, len(page.items), page.pagination)


class DriftDetector(Generic[E]):
    """Detects in one walk what the service repeats, changes or never ends."""

    __slots__ = ("_before", "_identity", "_name", "_seen", "_stale", "_told", "_total", "ended")

    def __init__(self, operation: Operation[list[E]]) -> None:
        self._name = operation.name
        self._identity = _identifying(operation.result)
        self._seen = CompactSet()
        self._before: tuple[E, ...] = ()
        self._stale = 0
        self._total: int | None = None
        self._told = False
        self.ended: bool = False

    def take(self, page: Page[E]) -> Page[E]:
        """Return the page without the items of earlier pages.

        Raises:
            ResponseDecodeError: `MAX_STALE_PAGES` pages in a row held nothing new.
        """
        self._compare_total(page.pagination)
        fresh = self._without_repeats(page.items)
        self._stale = self._stale + 1 if not fresh or page.items == self._before else 0
        self._before = page.items
        # A service that ignores page-offset sends its first page endlessly. A single page without anything new may also
        # come from a list that grew by a page at its head; so may several, if their blocks name the pages asked for.
        self.ended = self._stale > 1 and getattr(page.pagination, "page_offset", None) != page.page_offset
        if self.ended:
            logger.warning("%s: the service repeats the same pages; the list may be longer", self._name)
        elif self._stale >= MAX_STALE_PAGES:
            raise ResponseDecodeError(
                f"$.data.items: {MAX_STALE_PAGES} pages in a row held nothing new, up to offset {page.page_offset}",
                json_path="$.data.items",
                operation=self._name,
            )
        return page if len(fresh) == len(page.items) else Page(fresh, page.pagination, page.page_offset)

    def _without_repeats(self, items: tuple[E, ...]) -> tuple[E, ...]:
        """Return the items that no earlier page held; repetitions within a page are kept."""
        for item in self._before:  # remembered only now: most lists are a single page
            if (key := self._key(item)) is not None:
                self._seen.add(key)
        if not self._before:
            return items
        return tuple(item for item in items if (key := self._key(item)) is None or key not in self._seen)

    def _key(self, item: E) -> str | None:
        """Return the identifier of a row, or None if the model or the row has none."""
        value = None if self._identity is None else getattr(item, self._identity)
        return None if value is None else str(value)

    def _compare_total(self, pagination: Any) -> None:
        total = getattr(pagination, "total_items", None)
        if total is None:
            return
        if self._total not in (None, total) and not self._told:
            self._told = True
            logger.warning(
                "%s: the list changed from %d to %d items while it was read; a row may have slipped by between pages",
                self._name,
                self._total,
                total,
            )
        self._total = total


def _identifying(model: type[Any] | None) -> str | None:
    """Return the field that identifies a row: its id, or its symbol where rows have no id."""
    if model is None or not attrs.has(model):
        return None
    fields = attrs.fields_dict(model)
    return next((name for name in ("id", "symbol") if name in fields), None)


def _check_bound(max_items: object) -> None:
    if max_items is not None:
        check_count("max_items", max_items, minimum=0)


def _pages_in_all(page: Page[Any]) -> int:
    """Return the number of pages of the list, or 0 if the page does not name it."""
    return getattr(page.pagination, "total_pages", None) or 0


def _pages_for(items: int | None, page: Page[Any]) -> int:
    """Return how many pages like this one hold ``items`` items."""
    return sys.maxsize if items is None else -(-items // max(1, len(page.items)))
