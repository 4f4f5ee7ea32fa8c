"""Lists that arrive page by page: lazily, in order, and with pages fetched ahead when asked to.

The service counts pages from the present state of a list, so rows move between pages while a walk is under way. A row
that comes again on a later page is dropped, and a total that changes is reported once on the logger
``brokerage_async.pager``: a row may then have slipped by. A list that holds nothing new page after page is an error.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import attrs

from .._arguments import check_count
from ..errors import BrokerageError, ResponseDecodeError
from ..operation import Operation, Page, Pager
from ..protocol.decoding.codec import Decoded
from ..protocol.pagination import next_offset
from .dedup import Seen

if TYPE_CHECKING:
    import pyarrow

__all__ = ["OffsetPager", "Page", "Pager"]

T = TypeVar("T")
E = TypeVar("E")

OFFSET = "page-offset"
SIZE = "per-page"

MOST_STALE = 100
"""After so many pages in a row without anything new a list is taken to have no end."""

logger: logging.Logger = logging.getLogger("brokerage_async.pager")


class Fetch(Protocol):
    """Makes one call; see `BrokerageSession.fetch`."""

    async def __call__(
        self,
        operation: Operation[T],
        *,
        path: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
        body: object | None = None,
    ) -> Decoded[T]:
        """Make the call."""
        ...


class OffsetPager(Pager[E], Generic[E]):
    """A `Pager` over page numbers. It can be iterated any number of times; each time asks the service anew.

    A page that fails for a passing reason is asked for again by itself, as every read is. When one fails for good,
    the error's notes name its page offset, from which another walk can go on (``page_offset=`` of the endpoint).
    """

    __slots__ = ("_ahead", "_fetch", "_operation", "_path", "_query")

    def __init__(
        self,
        fetch: Fetch,
        operation: Operation[list[E]],
        path: Mapping[str, object] | None = None,
        query: Mapping[str, object] | None = None,
        *,
        ahead: int = 0,
    ) -> None:
        self._fetch = fetch
        self._operation = operation
        self._path = path
        self._query = dict(query or {})
        self._ahead = ahead

    def __repr__(self) -> str:
        return f"<pager of {self._operation.name}>"

    def __aiter__(self) -> AsyncIterator[E]:
        """The items of all pages, in order."""
        return self._items()

    def pages(self) -> AsyncIterator[Page[E]]:
        """The pages themselves, in order, without the items that an earlier page held."""
        return self._walk()

    async def collect(self, max_items: int | None = None) -> list[E]:
        """All items as a list, or the first ``max_items`` of them, fetching no page that is not needed."""
        _check_bound(max_items)
        items: list[E] = []
        async with aclosing(self._walk(max_items)) as pages:
            async for page in pages:
                items.extend(page.items)
        return items[:max_items]

    def prefetch(self, pages: int) -> OffsetPager[E]:
        """The same list, with up to ``pages`` pages in flight ahead of the one that is being consumed.

        The first page is always fetched alone, because it tells how many there are. Where it does not tell, every
        page is.
        """
        check_count("pages", pages, minimum=0)
        return OffsetPager(self._fetch, self._operation, self._path, self._query, ahead=pages)

    async def to_arrow(self, max_items: int | None = None) -> pyarrow.Table:
        """All items, or the first ``max_items``, as an Arrow table with a column for each field (extra ``frames``).

        Decimals are ``decimal128(38, 18)``, points in time ``timestamp('us', 'UTC')``, dates ``date32``; nested models
        are structs, unknown fields JSON text in ``extra``. Pages are turned into columns as they arrive.
        """
        _check_bound(max_items)
        from ..arrow import joined, table_of  # only here: pyarrow is an extra

        model = self._operation.result
        assert model is not None, "every paginated operation has a model"
        async with aclosing(self._walk(max_items)) as pages:
            tables = [table_of(page.items, model) async for page in pages]
        return joined([table_of((), model), *tables]).slice(0, max_items)

    async def _items(self) -> AsyncGenerator[E, None]:
        async with aclosing(self._walk()) as pages:
            async for page in pages:
                for item in page.items:
                    yield item

    async def _walk(self, max_items: int | None = None) -> AsyncGenerator[Page[E], None]:
        """The pages in order, until the list ends or ``max_items`` are there."""
        if max_items is not None and max_items <= 0:
            return
        course = _Course(self._operation)
        flight: _Flight[E] | None = None
        offset: int | None = self._start
        try:
            while offset is not None:
                page = await (flight.take(offset) if flight is not None and offset in flight else self._page(offset))
                shown = course.take(page)
                offset = None if course.ended else self._following(page)
                if max_items is not None:
                    max_items -= len(shown.items)
                    if max_items <= 0:
                        offset = None
                if offset is not None and self._ahead:
                    end = min(_pages_in_all(page), offset + _pages_for(max_items, page))
                    flight = flight or _Flight(self._page, self._ahead, offset)
                    flight.extend(end)
                yield shown
        finally:
            if flight is not None:
                await flight.close()

    @property
    def _start(self) -> int:
        offset = self._query.get(OFFSET)
        return offset if isinstance(offset, int) else 0

    async def _page(self, offset: int) -> Page[E]:
        given = self._query.get(OFFSET)
        wrong = given is not None and not isinstance(given, int)  # goes out as it is, to be refused with all the rest
        query = self._query | {OFFSET: given if wrong else offset}
        try:
            decoded = await self._fetch(self._operation, path=self._path, query=query)
        except BrokerageError as error:
            if offset > self._start:
                error.add_note(f"the walk can go on from page_offset={offset}")
            raise
        return Page(tuple(decoded.value), decoded.pagination, offset)

    def _following(self, page: Page[E]) -> int | None:
        size = self._query.get(SIZE)
        per_page = size if isinstance(size, int) else None
        return next_offset(page.page_offset, per_page, len(page.items), page.pagination)


class _Flight(Generic[E]):
    """Pages on their way ahead of the consumer.

    They travel in lanes. A lane asks for its next page at once, not when the consumer comes for the last one: lanes
    whose pages come together would otherwise wait for all of them to be decoded, and stay in step for good. As many
    pages as there are lanes may be there already and wait.
    """

    __slots__ = ("_arrived", "_bell", "_broken", "_end", "_fetch", "_lanes", "_most", "_next", "_room")

    def __init__(self, fetch: Callable[[int], Awaitable[Page[E]]], lanes: int, first: int) -> None:
        self._fetch = fetch
        self._most = lanes
        self._next = self._end = first
        self._broken = False
        self._arrived: dict[int, Page[E] | BaseException] = {}
        self._bell = asyncio.Event()
        self._room = asyncio.Semaphore(2 * lanes)
        self._lanes: list[asyncio.Task[None]] = []

    def extend(self, end: int) -> None:
        """Fetch up to the page before ``end``, or no further once a page has failed."""
        if self._broken:
            return
        self._end = end
        self._lanes = [lane for lane in self._lanes if not lane.done()]
        for _ in range(min(end - self._next, self._most) - len(self._lanes)):
            self._lanes.append(asyncio.create_task(self._lane()))

    def __contains__(self, offset: int) -> bool:
        return offset < self._next or (offset < self._end and not all(lane.done() for lane in self._lanes))

    async def take(self, offset: int) -> Page[E]:
        """The page, once it is there."""
        while offset not in self._arrived:
            self._bell.clear()
            await self._bell.wait()
        page = self._arrived.pop(offset)
        if isinstance(page, BaseException):
            raise page
        self._room.release()
        return page

    async def close(self) -> None:
        """Cancel what is on its way."""
        for lane in self._lanes:
            lane.cancel()
        await asyncio.gather(*self._lanes, return_exceptions=True)

    async def _lane(self) -> None:
        while True:
            await self._room.acquire()
            if self._next >= self._end:
                self._room.release()
                return
            offset = self._next
            self._next += 1
            try:
                self._arrived[offset] = await self._fetch(offset)
            except BaseException as error:  # the consumer's, when it comes to this page
                self._arrived[offset] = error
                self._broken, self._end = True, offset
                return
            finally:
                self._bell.set()


class _Course(Generic[E]):
    """What one walk has seen so far, and what follows from it."""

    __slots__ = ("_before", "_identity", "_name", "_seen", "_stale", "_told", "_total", "ended")

    def __init__(self, operation: Operation[list[E]]) -> None:
        self._name = operation.name
        self._identity = _identifying(operation.result)
        self._seen = Seen()
        self._before: tuple[E, ...] = ()
        self._stale = 0
        self._total: int | None = None
        self._told = False
        self.ended = False

    def take(self, page: Page[E]) -> Page[E]:
        """The page without the items of earlier pages. Raises ResponseDecodeError when the list goes nowhere."""
        self._compare_total(page.pagination)
        fresh = self._without_repeats(page.items)
        self._stale = self._stale + 1 if not fresh or page.items == self._before else 0
        self._before = page.items
        # A service that ignores page-offset sends its first page for ever. A single page without anything new may also
        # come from a list that grew by a page at its head; so may several, if their blocks name the pages asked for.
        self.ended = self._stale > 1 and getattr(page.pagination, "page_offset", None) != page.page_offset
        if self.ended:
            logger.warning("%s: the same pages come again and again; the list may be longer", self._name)
        elif self._stale >= MOST_STALE:
            raise ResponseDecodeError(
                f"$.data.items: {MOST_STALE} pages in a row held nothing new, up to page offset {page.page_offset}",
                json_path="$.data.items",
                operation=self._name,
            )
        return page if len(fresh) == len(page.items) else Page(fresh, page.pagination, page.page_offset)

    def _without_repeats(self, items: tuple[E, ...]) -> tuple[E, ...]:
        """What no earlier page held. Within a page the service may say what it likes."""
        for item in self._before:  # remembered only now: most lists are a single page
            if (key := self._key(item)) is not None:
                self._seen.add(key)
        if not self._before:
            return items
        return tuple(item for item in items if (key := self._key(item)) is None or key not in self._seen)

    def _key(self, item: E) -> str | None:
        """What tells a row of the list from all others, where the model has such a field and the row fills it."""
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
    """The field that tells one row of a list from another: its id, or its symbol where rows have no id."""
    if model is None or not attrs.has(model):
        return None
    fields = attrs.fields_dict(model)
    return next((name for name in ("id", "symbol") if name in fields), None)


def _check_bound(max_items: object) -> None:
    if max_items is not None:
        check_count("max_items", max_items, minimum=0)


def _pages_in_all(page: Page[Any]) -> int:
    """How many pages the list has; 0 when the page does not tell."""
    return getattr(page.pagination, "total_pages", None) or 0


def _pages_for(items: int | None, page: Page[Any]) -> int:
    """How many pages like this one hold so many items."""
    return sys.maxsize if items is None else -(-items // max(1, len(page.items)))
