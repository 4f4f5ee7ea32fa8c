"""A small brokerage and a client of it for each test that asks for them."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from brokerage_async import Client
from brokerage_async.simulator import Simulator
from tests.stream.world import world


@pytest.fixture
async def opened() -> AsyncIterator[tuple[Simulator, Client]]:
    async with world() as made:
        yield made
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == {asyncio.current_task()}, "tasks left behind"


@pytest.fixture
def sim(opened: tuple[Simulator, Client]) -> Simulator:
    return opened[0]


@pytest.fixture
def client(opened: tuple[Simulator, Client]) -> Client:
    return opened[1]


@pytest.fixture
def account(sim: Simulator) -> str:
    return sim.account_numbers[0]
