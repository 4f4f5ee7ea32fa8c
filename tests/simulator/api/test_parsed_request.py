"""Parsed request: page slices and sort order."""

from typing import Any

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.simulator.api.handlers import ParsedRequest
from brokerage_async.simulator.ledger import RequestRecord
from tests.simulator.factories import OWNER, START
from tests.tables import for_each


def call(**query: Any) -> ParsedRequest:
    return ParsedRequest(
        operation=OPERATIONS["orders.list"],
        now=START,
        context="/",
        path={},
        query=query,
        body=None,
        customer=OWNER,
        behaviours=(),
        record=RequestRecord(seq=1, at=START, method="GET", target="/"),
    )


def test_slice_has_default_and_requested_size() -> None:
    page = call().slice(250)
    assert (page.start, page.stop, page.count) == (0, 100, 100)
    page = call(page_offset=1, per_page=20).slice(25)
    assert (page.start, page.stop, page.count) == (20, 25, 5)


@for_each("sort, ascending", [("Asc", True), ("asc", True), ("Desc", False), (None, False)])
def test_sort_is_descending_by_default(sort: str | None, ascending: bool) -> None:
    assert call(**({} if sort is None else {"sort": sort})).ascending is ascending
