"""A request as its handler sees it."""

from __future__ import annotations

from typing import Any

import pytest

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.simulator.api.call import Call
from brokerage_async.simulator.api.wire import RefusedError
from brokerage_async.simulator.ledger import Entry
from tests.simulator.made import OWNER, START


def call(**query: Any) -> Call:
    return Call(
        operation=OPERATIONS["orders.list"],
        now=START,
        context="/",
        path={},
        query=query,
        body=None,
        customer=OWNER,
        version=None,
        entry=Entry(seq=1, at=START, method="GET", target="/"),
    )


def test_a_page_by_default_and_as_asked_for() -> None:
    page = call().slice(25, default=10, most=20)
    assert (page.start, page.stop, page.count) == (0, 10, 10)
    page = call(page_offset=1, per_page=20).slice(25, default=10, most=20)
    assert (page.start, page.stop, page.count) == (20, 25, 5)


@pytest.mark.parametrize(
    ("query", "domains"),
    [
        ({"page_offset": -1}, ["page-offset"]),
        ({"per_page": 0}, ["per-page"]),
        ({"per_page": 21}, ["per-page"]),
        ({"page_offset": -1, "per_page": -1}, ["page-offset", "per-page"]),
    ],
)
def test_pages_that_cannot_be(query: dict[str, int], domains: list[str]) -> None:
    with pytest.raises(RefusedError) as refused:
        call(**query).slice(25, default=10, most=20)
    assert refused.value.status == 400
    assert [entry.domain for entry in refused.value.errors] == domains


@pytest.mark.parametrize(("sort", "ascending"), [("Asc", True), ("asc", True), ("Desc", False), (None, False)])
def test_the_newest_comes_first_unless_asked_otherwise(sort: str | None, ascending: bool) -> None:
    assert call(**({} if sort is None else {"sort": sort})).ascending is ascending
