"""Lists that arrive page by page: lazily, in order, and with pages fetched ahead when asked to."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Generic, Protocol, TypeVar

from .errors import ConfigurationError
from .operation import Operation, Page, Pager
from .protocol.codec import Decoded
from .protocol.pagination import next_offset

__all__ = ["OffsetPager", "Page", "Pager"]

T = TypeVar("T")
E = TypeVar("E")

OFFSET = "page-offset"
SIZE = "per-page"


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
    """A `Pager` over page numbers. It can be iterated any number of times; each time asks the service anew."""

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
        """The pages themselves, in order."""
        return self._pages_ahead() if self._ahead else self._pages()

    async def collect(self, max_items: int | None = None) -> list[E]:
        """All items as a list, or the first ``max_items`` of them, fetching no page that is not needed."""
        items: list[E] = []
        if max_items is not None and max_items <= 0:
            return items
        async with aclosing(self.pages()) as pages:  # type: ignore[type-var]
            async for page in pages:
                items.extend(page.items)
                if max_items is not None and len(items) >= max_items:
                    del items[max_items:]
                    break
        return items

    def prefetch(self, pages: int) -> OffsetPager[E]:
        """The same list, with up to ``pages`` pages in flight ahead of the one that is being consumed.

        The first page is always fetched alone, because it tells how many there are.
        """
        if pages < 0:
            raise ConfigurationError(f"pages must not be negative, not {pages}")
        return OffsetPager(self._fetch, self._operation, self._path, self._query, ahead=pages)

    async def _items(self) -> AsyncIterator[E]:
        async with aclosing(self.pages()) as pages:  # type: ignore[type-var]
            async for page in pages:
                for item in page.items:
                    yield item

    async def _pages(self) -> AsyncIterator[Page[E]]:
        offset: int | None = self._start
        while offset is not None:
            page = await self._page(offset)
            yield page
            offset = self._following(page)

    async def _pages_ahead(self) -> AsyncIterator[Page[E]]:
        page = await self._page(self._start)
        following = self._following(page)
        last = _last_offset(page.pagination)
        flying: deque[asyncio.Task[Page[E]]] = deque()
        ahead = page.page_offset + 1
        try:
            while True:
                while following is not None and ahead <= max(last, following) and len(flying) < self._ahead:
                    flying.append(asyncio.create_task(self._page(ahead)))
                    ahead += 1
                yield page
                if following is None:
                    return
                page = await (flying.popleft() if flying else self._page(following))
                following = self._following(page)
        finally:
            for task in flying:
                task.cancel()
            await asyncio.gather(*flying, return_exceptions=True)

    @property
    def _start(self) -> int:
        offset = self._query.get(OFFSET)
        return offset if isinstance(offset, int) else 0

    async def _page(self, offset: int) -> Page[E]:
        decoded = await self._fetch(self._operation, path=self._path, query=self._query | {OFFSET: offset})
        return Page(tuple(decoded.value), decoded.pagination, offset)

    def _following(self, page: Page[E]) -> int | None:
        size = self._query.get(SIZE)
        per_page = size if isinstance(size, int) else None
        return next_offset(page.page_offset, per_page, len(page.items), page.pagination)


def _last_offset(pagination: Any) -> int:
    total = getattr(pagination, "total_pages", None)
    return -1 if total is None else total - 1
