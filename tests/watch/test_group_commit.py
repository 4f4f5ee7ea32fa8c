"""Numbers that are written together, on the virtual clock."""

from __future__ import annotations

import asyncio
from collections.abc import Set as AbstractSet

import pytest

from brokerage_async.watch.group_commit import GroupCommit

pytestmark = pytest.mark.virtual_time


class Disk:
    """Takes a second for each write, and fails on demand."""

    def __init__(self) -> None:
        self.writes: list[set[int]] = []
        self.done: set[int] = set()
        self.failing = False

    async def write(self, numbers: AbstractSet[int]) -> None:
        await asyncio.sleep(1)
        if self.failing:
            raise OSError("full")
        self.writes.append(set(numbers))
        self.done |= numbers

    def needs_writing(self, number: int) -> bool:
        return number not in self.done


async def test_add_while_a_write_is_under_way_shares_the_next_one() -> None:
    disk = Disk()
    commit = GroupCommit(disk.write, disk.needs_writing)
    async with asyncio.TaskGroup() as group:
        for number in (1, 2, 2):
            group.create_task(commit.add(number))
        await asyncio.sleep(0.5)
        for number in (3, 4, 1):
            group.create_task(commit.add(number))
    assert disk.writes == [{1, 2}, {3, 4}]
    assert asyncio.get_running_loop().time() == 2
    await commit.add(4)
    assert len(disk.writes) == 2


async def test_add_cancelled_is_written_all_the_same() -> None:
    disk = Disk()
    commit = GroupCommit(disk.write, disk.needs_writing)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(commit.add(1), 0.5)
    assert disk.writes == []
    await commit.finish()
    assert disk.writes == [{1}]
    await commit.finish()


async def test_add_failure_is_raised_and_may_be_repeated() -> None:
    disk = Disk()
    disk.failing = True
    commit = GroupCommit(disk.write, disk.needs_writing)
    for outcome in await asyncio.gather(commit.add(1), commit.add(2), return_exceptions=True):
        assert isinstance(outcome, OSError)
    disk.failing = False
    await commit.add(1)
    assert disk.writes == [{1}]
