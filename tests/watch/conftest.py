"""A client that watches a scripted service on virtual time."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from brokerage_async import Client, Environment, RetryPolicy, StaticToken
from brokerage_async.watch import Watch
from tests.watch.scripted_service import NOON, Service


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
async def client(service: Service) -> AsyncIterator[Client]:
    options: Any = {"transport": service, "retry": RetryPolicy.none()}
    async with Client(Environment.sandbox("https://service"), StaticToken("token"), **options) as client:
        client.watch = Watch(client, now=lambda: NOON + timedelta(seconds=asyncio.get_running_loop().time()))
        yield client
