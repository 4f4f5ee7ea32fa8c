"""Journals of every kind to run the same tests on."""

import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from brokerage_async.journal import Journal, MemoryJournal
from tests import journal_servers
from tests.journal_servers import Durable

POSTGRES = pytest.param("postgres", marks=pytest.mark.postgres)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """Start a server and yield the connection string of a real PostgreSQL server."""
    absent = journal_servers.missing()
    if absent:
        pytest.skip(absent)
    with journal_servers.postgres_server() as dsn:
        yield dsn


@pytest.fixture
def table() -> str:
    return f"j_{uuid.uuid4().hex[:8]}"


def durable_of(request: pytest.FixtureRequest, tmp_path: Path, table: str) -> Durable:
    where = tmp_path / "orders.journal" if request.param == "sqlite" else request.getfixturevalue("server")
    return Durable(request.param, str(where), table)


durable = pytest.fixture(params=["sqlite", POSTGRES])(durable_of)


@pytest.fixture(params=["memory", "sqlite", POSTGRES])
async def journal(request: pytest.FixtureRequest, tmp_path: Path, table: str) -> AsyncIterator[Journal]:
    async with MemoryJournal() if request.param == "memory" else durable_of(request, tmp_path, table).open() as made:
        yield made
