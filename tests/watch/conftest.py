"""A client that watches a scripted service on virtual time."""

from collections.abc import AsyncIterator

import pytest

from brokerage_async import Client
from tests.watch.scripted_service import Service, client_of


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
async def client(service: Service) -> AsyncIterator[Client]:
    async with client_of(service) as client:
        yield client
