"""Commands in the process of the tests, on services of the tests."""

import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest
import typer.testing
from typer.main import get_command

from brokerage_async import Client, cli
from brokerage_async.cli import screen
from brokerage_async.cli.service import Service
from brokerage_async.simulator import Simulator

from .commands import SMALL, ConnectTo


@pytest.fixture(autouse=True, scope="session")
def _tree_of_commands() -> Iterator[None]:
    """Build the tree of commands once for all tests, as a process of the command line builds it once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(screen.out, "_width", None)  # the width in COLUMNS of a worker of pytest-xdist
        patch.setattr(typer.testing, "_get_command", functools.cache(get_command))
        yield


@pytest.fixture
def connect_to(monkeypatch: pytest.MonkeyPatch) -> ConnectTo:
    """Return a function that connects the commands to clients that are made, and prepared, for each of them."""

    def connect_to(make: Callable[[], Client], prepare: Callable[[Client], Awaitable[object]] | None = None) -> None:
        @contextlib.asynccontextmanager
        async def connect(*, simulated: bool) -> AsyncIterator[Service]:
            assert not simulated
            async with make() as client:
                if prepare is not None:
                    await prepare(client)
                yield Service(client)

        for command in vars(cli).values():
            if hasattr(command, "connect"):
                monkeypatch.setattr(command, "connect", connect)

    return connect_to


@pytest.fixture
def service(connect_to: ConnectTo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Simulator:
    """Connect commands to a simulator that outlives them, its first account and a journal."""
    simulator = Simulator(**SMALL)
    connect_to(simulator.client)
    monkeypatch.setenv("BROKERAGE_ACCOUNT", simulator.account_numbers[0])
    monkeypatch.setenv("BROKERAGE_JOURNAL", str(tmp_path / "orders.journal"))
    return simulator
