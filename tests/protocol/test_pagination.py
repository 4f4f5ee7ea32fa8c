"""When a paged list ends: the three documented cases, and blocks that are incomplete or contradict themselves."""

from typing import Any

import attrs

from brokerage_async.protocol.pagination import next_offset
from tests.tables import for_each


@attrs.frozen(kw_only=True)
class Block:
    per_page: int | None = None
    total_pages: int | None = None
    current_item_count: int | None = None


class TestTotalPages:
    def test_asks_for_the_following_page_until_the_last(self) -> None:
        block = Block(per_page=10, total_pages=3, current_item_count=10)
        assert next_offset(0, 10, 10, block) == 1
        assert next_offset(1, 10, 10, block) == 2
        assert next_offset(2, 10, 10, block) is None

    @for_each("total", [0, 1, -1])
    def test_a_list_of_one_page_or_none_is_over_at_once(self, total: int) -> None:
        assert next_offset(0, 10, 10, Block(total_pages=total)) is None

    def test_a_page_beyond_the_end_ends_the_list(self) -> None:
        assert next_offset(7, 10, 10, Block(total_pages=3, current_item_count=10)) is None

    def test_a_full_last_page_needs_no_further_request(self) -> None:
        assert next_offset(4, 2, 2, Block(per_page=2, total_pages=5, current_item_count=2)) is None

    def test_a_short_page_in_the_middle_does_not_lose_the_rest(self) -> None:
        assert next_offset(0, 10, 9, Block(per_page=10, total_pages=3, current_item_count=9)) == 1


class TestItemCount:
    def test_a_page_shorter_than_the_block_says_is_the_last(self) -> None:
        assert next_offset(0, None, 9, Block(per_page=10, current_item_count=9)) is None
        assert next_offset(0, None, 10, Block(per_page=10, current_item_count=10)) == 1

    def test_the_size_that_the_service_used_counts_not_the_size_asked_for(self) -> None:
        assert next_offset(0, 5000, 250, Block(per_page=250, current_item_count=250)) == 1

    def test_rows_that_were_dropped_on_the_way_do_not_shorten_the_page(self) -> None:
        assert next_offset(0, 10, 8, Block(per_page=10, current_item_count=10)) == 1

    def test_rows_that_the_service_did_not_count_are_there_all_the_same(self) -> None:
        assert next_offset(0, 10, 10, Block(total_pages=3, current_item_count=-1)) == 1
        assert next_offset(0, 10, 10, Block(per_page=10, current_item_count=0)) == 1

    def test_the_size_asked_for_stands_in_for_a_missing_one(self) -> None:
        assert next_offset(0, 10, 10, Block(current_item_count=10)) == 1
        assert next_offset(0, 10, 9, Block(current_item_count=9)) is None
        assert next_offset(0, 10, 9, Block()) is None
        assert next_offset(0, None, 9, Block()) == 1


class TestNoBlock:
    def test_an_empty_or_short_page_is_the_last(self) -> None:
        assert next_offset(3, 10, 0, None) is None
        assert next_offset(3, 10, 9, None) is None
        assert next_offset(3, 10, 10, None) == 4

    def test_without_a_size_only_an_empty_page_is_the_last(self) -> None:
        assert next_offset(0, None, 5, None) == 1
        assert next_offset(1, None, 0, None) is None


@for_each("block", [None, Block(), Block(total_pages=9), Block(total_pages=9, current_item_count=0)])
def test_an_empty_page_always_ends_the_list(block: Any) -> None:
    assert next_offset(0, 10, 0, block) is None
    assert next_offset(0, None, 0, block) is None
