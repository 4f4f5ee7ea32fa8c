"""Tests over a table report every row that fails."""

import pytest

from tests.tables import for_each


async def test_for_each_runs_every_row_of_its_tables_and_reports_all_that_fail() -> None:
    seen: list[object] = []

    @for_each("left, right", [(1, 1), (1, 2), (3, 3), (4, 5)])
    def compare(fixture: str, left: int, right: int) -> None:
        seen.append((fixture, left, right))
        assert left == right

    with pytest.raises(ExceptionGroup, match="2 of 4 rows failed") as caught:
        compare(fixture="f")
    assert [each.__notes__ for each in caught.value.exceptions] == [["row: left=1, right=2"], ["row: left=4, right=5"]]
    assert seen == [("f", 1, 1), ("f", 1, 2), ("f", 3, 3), ("f", 4, 5)]

    @for_each("first", "ab")
    @for_each("second", [1, 2])
    async def note(first: str, second: int) -> None:
        assert (first, second) != ("b", 1)

    with pytest.raises(ExceptionGroup) as caught:
        await note()
    assert caught.group_contains(AssertionError, depth=2)
    with pytest.raises(AssertionError, match="empty table"):
        for_each("value", [])(lambda value: None)
