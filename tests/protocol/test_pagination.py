"""When a paged list ends: the three documented cases, and blocks that are incomplete or contradict themselves."""

import attrs

from brokerage_async.protocol.pagination import next_offset
from tests.tables import for_each


@attrs.frozen(kw_only=True)
class Block:
    per_page: int | None = None
    total_pages: int | None = None
    current_item_count: int | None = None


PAGES_OF_THREE = Block(per_page=10, total_pages=3, current_item_count=10)


@for_each(
    "offset, asked, count, block, following",
    [
        # the total decides
        (0, 10, 10, PAGES_OF_THREE, 1),
        (1, 10, 10, PAGES_OF_THREE, 2),
        (2, 10, 10, PAGES_OF_THREE, None),
        (7, 10, 10, PAGES_OF_THREE, None),  # beyond the end
        (0, 10, 9, attrs.evolve(PAGES_OF_THREE, current_item_count=9), 1),  # a short page in the middle
        (4, 2, 2, Block(per_page=2, total_pages=5, current_item_count=2), None),
        *((0, 10, 10, Block(total_pages=total), None) for total in (0, 1, -1)),
        (0, 10, 10, Block(total_pages=3, current_item_count=-1), 1),
        # without a total, the count of the items
        (0, None, 9, Block(per_page=10, current_item_count=9), None),
        (0, None, 10, Block(per_page=10, current_item_count=10), 1),
        (0, 5000, 250, Block(per_page=250, current_item_count=250), 1),  # the size that the service used
        (0, 10, 8, Block(per_page=10, current_item_count=10), 1),  # rows were left out on the way
        (0, 10, 10, Block(per_page=10, current_item_count=0), 1),  # rows that the service did not count
        (0, 10, 10, Block(current_item_count=10), 1),
        (0, 10, 9, Block(current_item_count=9), None),
        (0, 10, 9, Block(), None),
        (0, None, 9, Block(), 1),
        # without a block
        (3, 10, 9, None, None),
        (3, 10, 10, None, 4),
        (0, None, 5, None, 1),
        # an empty page ends any list
        *(
            (3, size, 0, block, None)
            for size in (10, None)
            for block in (None, Block(), Block(total_pages=9), Block(total_pages=9, current_item_count=0))
        ),
    ],
)
def test_next_offset_follows_total_count_and_size(
    offset: int, asked: int | None, count: int, block: Block | None, following: int | None
) -> None:
    assert next_offset(offset, asked, count, block) == following
