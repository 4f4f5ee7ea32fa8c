"""When a list that comes in pages ends, and whether they agree (document section "Pagination and sorting")."""

from __future__ import annotations

from typing import Any, Protocol

from ..operation import Page


class _Block(Protocol):
    """The part of the service's pagination block that decides. Every number may be missing."""

    @property
    def per_page(self) -> int | None: ...
    @property
    def total_pages(self) -> int | None: ...
    @property
    def current_item_count(self) -> int | None: ...


def next_offset(page_offset: int, per_page: int | None, count: int, pagination: _Block | None) -> int | None:
    """Return the offset of the next page, or None if this one was the last.

    The list ends

    1. when the block's ``total-pages`` is reached;
    2. when the block names no total, and the page holds fewer items than ``per-page``;
    3. when the block is absent, and the page is empty or shorter than the ``per-page`` that was asked for, or that the
       service chooses by default.

    Where a total contradicts the item count, the total is believed: one request too many loses nothing, one too few
    would pass part of a list off as the whole. An empty page ends the list in any case, so that no answer can keep
    a caller fetching endlessly.

    Args:
        page_offset: number of the page just received, the first is 0.
        per_page: page size that was asked for, else the service's default, None if that is unknown.
        count: how many items the page held.
        pagination: the block that came with the page, None if it is absent.
    """
    following = page_offset + 1
    if pagination is None:
        ended = count == 0 or (per_page is not None and count < per_page)
        return None if ended else following
    if pagination.current_item_count is not None:
        # A row that could not be decoded is missing from count, never from the service's own number.
        count = max(count, pagination.current_item_count)
    if count <= 0:
        return None
    if pagination.total_pages is not None:
        return following if following < pagination.total_pages else None
    size = pagination.per_page if pagination.per_page is not None else per_page
    return None if size is not None and count < size else following


class Reading:
    """The pages of one reading of a list, and whether they can be pages of one state of it.

    The service counts pages from the present state, so that a row can slip by between two pages, or come twice.

    Attributes:
        disagreement: why they cannot be, None if nothing shows it.
    """

    __slots__ = ("_rows", "_start", "_total", "disagreement")

    def __init__(self) -> None:
        self._start: int | None = None
        self._total: int | None = None
        self._rows = 0
        self.disagreement: str | None = None

    def add(self, page: Page[Any]) -> None:
        """Compare the next page with those before it; ``page`` is without the rows that an earlier one held."""
        self._start = page.page_offset if self._start is None else self._start
        block, total = page.pagination, getattr(page.pagination, "total_items", None)
        self._rows += max(len(page.items) + page.repeats, getattr(block, "current_item_count", None) or 0)
        again = page.repeats + page.changed
        if block is None and not page.items:
            return  # the service repeats an answer that has no pages
        if again:
            self._found(f"page {page.page_offset} repeats rows of earlier pages ({again}): the list changed")
        if self._total is not None and total is not None and total != self._total:
            self._found(f"the list changed while it was read: {total} items instead of {self._total}")
        self._total = self._total if total is None else total

    def end(self) -> None:
        """Compare the number of rows with the total, after the last page of a list that was read from its beginning."""
        if self._start == 0 and self._total is not None and self._rows != self._total:
            self._found(f"the list changed while it was read: {self._rows} rows of {self._total}")

    def _found(self, disagreement: str) -> None:
        self.disagreement = self.disagreement or disagreement
