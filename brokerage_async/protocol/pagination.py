"""When a list that arrives page by page ends (document section "Pagination and sorting")."""

from __future__ import annotations

from typing import Protocol

__all__ = ["next_offset"]


class _Block(Protocol):
    """The part of the service's pagination block that decides; every number may be missing."""

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
    3. when the block is absent, and the page is empty or shorter than the ``per-page`` that was asked for.

    Where a total contradicts the item count, the total is believed: one request too many loses nothing, one too few
    would pass part of a list off as the whole. An empty page ends the list in any case, so that no answer can keep
    a caller fetching endlessly.

    Args:
        page_offset: number of the page just received, the first is 0.
        per_page: page size that was asked for, None when that was left to the service.
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
