"""A real engine for each test module, and a fleet over it."""

from collections.abc import AsyncIterator, Iterator

import pytest

from brokerage_async.fleet import Fleet
from tests.fleet.engines import EngineServer, engine_server
from tests.fleet.watched_list import Lags, Lists, Things, feed_of


@pytest.fixture(scope="module")
def shared_server() -> Iterator[EngineServer]:
    with engine_server() as server:
        yield server


@pytest.fixture
async def server(shared_server: EngineServer) -> EngineServer:
    """Return the engine of the test module without any keys."""
    async with Fleet(shared_server.url) as fleet:
        await fleet.connection.command("FLUSHALL")
    return shared_server


@pytest.fixture
def lags() -> Lags:
    return Lags()


@pytest.fixture
async def fleet(shared_server: EngineServer, request: pytest.FixtureRequest, lags: Lags) -> AsyncIterator[Fleet]:
    async with Fleet(shared_server.url, name=f"f{abs(hash(request.node.nodeid))}", observers=[lags]) as fleet:
        yield fleet


@pytest.fixture
def feed(fleet: Fleet) -> Things:
    return feed_of(fleet)


@pytest.fixture
def lists() -> Lists:
    return Lists(a=1)
