"""Pager over offset-paginated lists: lazy, in order, with optional prefetching.

The service counts pages from the present state of a list, so rows move between pages while a walk is under way:
`DriftDetector` finds repeated rows.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import attrs

from .._arguments import check_count
from .._decimals import Decimals
from ..arrow import joined, require, to_arrow, to_pandas, to_polars
from ..errors import LIST_CHANGED, BrokerageError, ResponseDecodeError
from ..operation import BoundCall, Page, Pager
from ..protocol.decoding.codec import Decoded
from ..protocol.pagination import MAX_HELD, DriftDetector, next_offset
from .concurrency import ConcurrentMap

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

E = TypeVar("E")

OFFSET = "page-offset"
SIZE = "per-page"
MAX_READINGS = 3
"""Times that a whole list is read if it changes while it is read."""

Fetch = Callable[[BoundCall[Any]], Awaitable[Decoded[Any]]]
"""Makes one call. See `BrokerageSession.fetch`."""

logger: logging.Logger = logging.getLogger("brokerage_async.pager")


class OffsetPager(Pager[E], Generic[E]):
    """`Pager` over page numbers. Each iteration fetches the list again.

    A page that fails is retried separately, like every read. If it still fails, the error's notes name its page offset,
    where another walk can go on (``page_offset=`` of the endpoint).
    """

    __slots__ = ("_ahead", "_call", "_detector", "_fetch")

    def __init__(self, fetch: Fetch, call: BoundCall[list[E]], *, ahead: int = 0) -> None:
        self._fetch = fetch
        self._call = call
        self._ahead = ahead
        self._detector: DriftDetector[E] = DriftDetector(call.operation)

    @property
    def repeats(self) -> int:
        """See `Pager.repeats`."""
        return self._detector.repeats

    @property
    def disagreement(self) -> str | None:
        """See `Pager.disagreement`."""
        return self._detector.disagreement

    def __repr__(self) -> str:
        return f"<pager of {self._call.operation.name}>"

    async def __aiter__(self) -> AsyncGenerator[E, None]:
        """Iterate over the items of all pages, in order."""
        async with aclosing(self._walk()) as pages:
            async for page in pages:
                for item in page.items:
                    yield item

    def pages(self) -> AsyncGenerator[Page[E], None]:
        """See `Pager.pages`."""
        return self._walk()

    async def collect(self, max_items: int | None = None) -> list[E]:
        """See `Pager.collect`."""
        if max_items is None:
            return await self._read_whole(None)
        check_count("max_items", max_items, minimum=0)
        async with aclosing(self._walk(max_items)) as pages:
            items = [item async for page in pages for item in page.items]
        return items[:max_items]

    async def whole(self, first: Page[E]) -> list[E]:
        """Return all items of a list whose first page is there already.

        Raises:
            ResponseDecodeError: the list changed (code ``list_changed``) in each of `MAX_READINGS` readings.
        """
        items = await self._read_whole(first)
        if self.disagreement is not None:
            name = self._call.operation.name
            raise ResponseDecodeError(f"$.data.items: {self.disagreement}", operation=name, code=LIST_CHANGED)
        return items

    async def _read_whole(self, first: Page[E] | None) -> list[E]:
        items: list[E] = []
        for number in range(1, MAX_READINGS + 1):
            async with aclosing(self._walk(first=first, max_held=sys.maxsize)) as pages:  # they are held anyway
                items = [item async for page in pages for item in page.items]
            if self.disagreement is None or number == MAX_READINGS:
                break
            logger.info("%s: %s; it is read again", self._call.operation.name, self.disagreement)
            first = None
        return items

    def prefetch(self, pages: int) -> OffsetPager[E]:
        """See `Pager.prefetch`."""
        check_count("pages", pages, minimum=0)
        return OffsetPager(self._fetch, self._call, ahead=pages)

    async def to_arrow(self, max_items: int | None = None, *, decimals: Decimals = "exact") -> pyarrow.Table:
        """See `Pager.to_arrow`. Pages are turned into columns as they arrive."""
        if max_items is not None:
            check_count("max_items", max_items, minimum=0)
        none = to_arrow((), self.model, decimals=decimals)
        convert = functools.partial(to_arrow, model=self.model, decimals=decimals)
        async with aclosing(self._walk(max_items)) as pages:
            tables = [await asyncio.to_thread(convert, page.items) async for page in pages]
        return joined([none, *tables]).slice(0, max_items)

    async def to_pandas(self, max_items: int | None = None, *, decimals: Decimals = "exact") -> pandas.DataFrame:
        """See `Pager.to_pandas`."""
        require("pandas")
        items = await self.collect(max_items)
        return await asyncio.to_thread(to_pandas, items, self.model, decimals=decimals)

    async def to_polars(self, max_items: int | None = None, *, decimals: Decimals = "exact") -> polars.DataFrame:
        """See `Pager.to_polars`."""
        require("polars")
        items = await self.collect(max_items)
        return await asyncio.to_thread(to_polars, items, self.model, decimals=decimals)

    @property
    def model(self) -> type[Any]:
        """Class of the items."""
        model = self._call.operation.result
        assert model is not None, "every paginated operation has a model"
        return model

    async def _walk(
        self, max_items: int | None = None, first: Page[E] | None = None, max_held: int = MAX_HELD
    ) -> AsyncGenerator[Page[E], None]:
        """Yield the pages in order until the list ends or ``max_items`` items have come. ``first`` was read before."""
        if max_items is not None and max_items <= 0:
            return
        detector = self._detector = DriftDetector(self._call.operation, max_held=max_held)
        offset: int | None = self._start
        ahead: ConcurrentMap[int, Page[E] | Exception] | None = None
        end, failed = 0, False

        def offsets(offset: int) -> Iterator[int]:
            while offset < end and not failed:
                yield offset
                offset += 1

        async def fetch_ahead(offset: int) -> Page[E] | Exception:
            nonlocal failed
            try:
                return await self._page(offset)
            except Exception as error:  # to be raised when the walk comes to this page
                failed = True
                return error

        try:
            while offset is not None:
                arrived = None if ahead is None else await anext(ahead, None)
                page = first or (await self._page(offset) if arrived is None else arrived[1])
                if isinstance(page, Exception):
                    raise page
                first, ahead = None, ahead if arrived else None
                shown = detector.take(page)
                size = self._call.query.get(SIZE)
                per_page = size if isinstance(size, int) else self._call.operation.page_size
                following = next_offset(page.page_offset, per_page, len(page.items), page.pagination)
                offset = None if detector.ended else following
                if offset is None:
                    detector.finish()
                if max_items is not None:
                    max_items -= len(shown.items)
                    if max_items <= 0:
                        offset = None
                if offset is not None and self._ahead:
                    total = getattr(page.pagination, "total_pages", None) or 0  # 0 if the page does not name it
                    wanted = sys.maxsize if max_items is None else -(-max_items // max(1, len(page.items)))
                    end = min(total, offset + wanted)
                    if ahead is None and offset < end:
                        ahead = ConcurrentMap(fetch_ahead, offsets(offset), concurrency=self._ahead, in_order=True)
                        aiter(ahead)  # the next pages are fetched while this one is used
                yield shown
        finally:
            detector.report()
            if ahead is not None:
                await ahead.aclose()

    @property
    def _start(self) -> int:
        offset = self._call.query.get(OFFSET)
        return offset if isinstance(offset, int) else 0

    async def _page(self, offset: int) -> Page[E]:
        given = self._call.query.get(OFFSET)
        wrong = given is not None and not isinstance(given, int)  # goes out unchanged, to be refused with all the rest
        query = {**self._call.query, OFFSET: given if wrong else offset}
        try:
            decoded = await self._fetch(attrs.evolve(self._call, query=query))
        except BrokerageError as error:
            if offset > self._start:
                error.add_note(f"the walk can go on from page_offset={offset}")
            raise
        return Page(tuple(decoded.value), decoded.pagination, offset)
