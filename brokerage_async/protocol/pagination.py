"""Pages of a list: when it ends (document section "Pagination and sorting"), and drift between the pages of one walk.

The service counts pages from the present state of a list, so that rows come again, change or slip by while it is read.
What identifies a row is declared in the schema (``x-identity``). A row that an earlier page held is dropped if it says
the same, and kept if it does not. Everything else is reported on the logger ``brokerage_async.pager``.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Hashable
from itertools import product
from operator import attrgetter
from typing import Any, Generic, TypeVar

import attrs

from .._generated.models import Pagination
from ..errors import ResponseDecodeError
from ..operation import Operation, Page
from .dedup import RowIndex

E = TypeVar("E")

MAX_STALE_PAGES = 100  # pages in a row without a new identity after which a list counts as endless
MAX_HELD = 20_000  # rows that a walk holds to compare later ones with; it keeps two hashes of each earlier one

logger: logging.Logger = logging.getLogger("brokerage_async.pager")


def next_offset(page_offset: int, per_page: int | None, count: int, pagination: Pagination | None) -> int | None:
    """Return the offset of the next page, or None if this one was the last.

    The list ends

    1. when the block's ``total-pages`` is reached;
    2. when the block names no total, and the page holds fewer items than ``per-page``;
    3. when the block is absent, and the page is empty or shorter than the ``per-page`` that was asked for, or that the
       service chooses by default.

    Where a total contradicts the item count, the total is believed: one request too many loses nothing, one too few
    would pass part of a list off as the whole. An empty page ends the list in any case, so that no answer can keep
    a caller fetching endlessly. ``per_page`` is the size that was asked for, else the service's default, None if that
    is unknown.
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


class DriftDetector(Generic[E]):
    """Comparison of each page of one walk with the pages before it.

    Args:
        operation: the list that is walked.
        max_held: number of rows that are held.

    Attributes:
        repeats: number of rows dropped so far.
        ended: whether the service sends the same pages again, so that the walk has to end.
        disagreement: why the pages cannot be pages of one state of the list, None if nothing shows it.
    """

    def __init__(self, operation: Operation[list[E]], *, max_held: int = MAX_HELD) -> None:
        self._name = operation.name
        self._fields = operation.identity
        self._identity = attrgetter(*self._fields) if self._fields else None
        self._absent = frozenset(
            {None, ""} if len(self._fields) == 1 else product((None, ""), repeat=len(self._fields))
        )
        model: Any = operation.result
        fields = attrs.fields(model) if model is not None and attrs.has(model) else ()
        self._raw_fields = [field.name for field in fields if field.hash is False]  # they do not count in the hash
        self._max_held = max_held
        self._recent: dict[Hashable, E] = {}
        self._pages: deque[list[Hashable]] = deque()
        self._old = RowIndex()
        self._before: tuple[E, ...] = ()
        self._before_keys: list[Hashable] = []
        self._stale = 0
        self._total: int | None = None
        self._warned = set[str]()
        self.ended: bool = False
        self.repeats: int = 0
        self._start: int | None = None
        self._rows = 0
        self.disagreement: str | None = None

    def take(self, page: Page[E]) -> Page[E]:
        """Return the page without the rows that an earlier page held and that say the same.

        Raises:
            ResponseDecodeError: `MAX_STALE_PAGES` pages in a row held no new row, or the service ignores the offset.
        """
        total = getattr(page.pagination, "total_items", None)
        if total is not None and self._total not in (None, total):
            change = f"the list changed from {self._total} to {total} items while it was read"
            self._warn("total", f"{change}; a row may have slipped by between pages")
            self._disagree(f"the list changed while it was read: {total} items instead of {self._total}")
        self._total = self._total if total is None else total
        self._start = page.page_offset if self._start is None else self._start
        self._rows += max(len(page.items), getattr(page.pagination, "current_item_count", None) or 0)
        fresh, changed, known = self._compare(page.items)
        repeats = len(page.items) - len(fresh)
        self.repeats += repeats
        if repeats + changed and (fresh or page.pagination is not None):  # else the service repeats an unpaged answer
            again = f"page {page.page_offset} repeats rows of earlier pages ({repeats + changed})"
            self._disagree(f"{again}: the list changed")
        repeated = not fresh or page.items == self._before
        self._stale = self._stale + 1 if repeated or known == len(page.items) else 0
        self._before = page.items
        # A service that ignores page-offset sends its first page endlessly. A single page without anything new may also
        # come from a list that grew by a page at its head. So may several, if their blocks name the pages asked for.
        self.ended = repeated and self._stale > 1 and getattr(page.pagination, "page_offset", None) != page.page_offset
        if self.ended and page.pagination is not None:
            raise self._endless(
                f"the list has more pages than were read: page {page.page_offset} repeats an earlier one"
            )
        if self.ended:
            logger.debug("%s: the service ignores page-offset, and names no pages: the list came whole", self._name)
        elif self._stale >= MAX_STALE_PAGES:
            raise self._endless(f"{MAX_STALE_PAGES} pages in a row held nothing new, up to offset {page.page_offset}")
        if not repeats and not changed:
            return page
        return Page(fresh, page.pagination, page.page_offset, repeats=repeats, changed=changed)

    def finish(self) -> None:
        """Compare the number of rows with the total, after the last page of a list that was read from its beginning."""
        if self._start == 0 and self._total is not None and self._rows != self._total:
            self._disagree(f"the list changed while it was read: {self._rows} rows of {self._total}")

    def report(self) -> None:
        """Log how many rows the walk has dropped."""
        if self.repeats:
            logger.info("%s: repeated rows dropped: %d", self._name, self.repeats)

    def _compare(self, items: tuple[E, ...]) -> tuple[tuple[E, ...], int, int]:
        """Return the rows to keep, how many of them have changed, and the number of rows with a known identity.

        Repetitions within a page are kept. A page is remembered only when the next one comes: most lists are short.
        """
        if self._identity is None:
            return items, 0, 0
        if self._before:
            held = self._before_keys or self._keys(self._before)
            self._recent.update(zip(held, self._before, strict=True))
            self._recent.pop(None, None)
            self._pages.append(held)
            while len(self._recent) > self._max_held and len(self._pages) > 1:
                for key in self._pages.popleft():
                    if (item := self._recent.pop(key, None)) is not None:
                        self._old.put(hash(key), self._content(item))
        keys = self._before_keys = self._keys(items) if self._recent or self._old else []
        if self._recent.keys().isdisjoint(keys) and not (
            self._old and any(key is not None and self._old.get(hash(key)) is not None for key in keys)
        ):
            return items, 0, 0
        fresh: list[E] = []
        known = 0
        for item, key in zip(items, keys, strict=True):
            found = self._recent.get(key)
            content = self._old.get(hash(key)) if found is None and self._old and key is not None else None
            known += found is not None or content is not None
            if found != item if content is None else content != self._content(item):
                fresh.append(item)
        changed = known - (len(items) - len(fresh))
        if changed:
            same = " and ".join(self._fields)
            self._warn("changed", f"a row with the {same} of an earlier one differs from it otherwise; both are kept")
        return tuple(fresh), changed, known

    def _keys(self, items: tuple[E, ...]) -> list[Hashable]:
        """Return the identity of each row, None for rows without one."""
        identity: Any = self._identity
        keys = list(map(identity, items))
        return keys if self._absent.isdisjoint(keys) else [None if key in self._absent else key for key in keys]

    def _content(self, item: E) -> int:
        """Return a hash of everything that a row says."""
        content = hash(item)
        for name in self._raw_fields:
            if value := getattr(item, name):
                content = hash((content, repr(value)))
        return content

    def _endless(self, reason: str) -> ResponseDecodeError:
        return ResponseDecodeError(f"$.data.items: {reason}", json_path="$.data.items", operation=self._name)

    def _disagree(self, reason: str) -> None:
        self.disagreement = self.disagreement or reason

    def _warn(self, topic: str, message: str) -> None:
        """Log a warning, once for each topic."""
        if topic not in self._warned:
            self._warned.add(topic)
            logger.warning("%s: %s", self._name, message)
