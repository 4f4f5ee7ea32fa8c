"""Fixtures for the tests of programs that use this library: a simulated brokerage, and a client of it.

They are there as soon as the package is installed beside pytest and pytest-asyncio::

    async def test_my_strategy(brokerage_simulator, brokerage_client):
        brokerage_simulator.set_price("AAPL", "150.00")
        await my_strategy(brokerage_client)
        brokerage_simulator.clock.advance(60)  # simulated seconds; nobody waits
        brokerage_simulator.settle()
        (order,) = brokerage_simulator.ledger.orders(account_number=brokerage_simulator.account_numbers[0])
        assert order.status == "Filled"

Each test has a simulator of its own, the same every time. Markers set it up otherwise::

    @pytest.mark.brokerage_simulator(environment="production", seed=7, rate_limit=20)
    @pytest.mark.brokerage_client(read_only=True)
    async def test_something(brokerage_client): ...

`Simulator` tells what else can be done to it: faults, prices, the clock.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .client import Client
    from .simulator import Simulator

__all__ = ["brokerage_client", "brokerage_simulator"]

_MARKERS = (
    "brokerage_simulator(**options): options of the Simulator of this test",
    "brokerage_client(**options): options of the Client of this test",
)


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)


def _async_fixture(function: Callable[..., Any]) -> Any:
    """A fixture of pytest-asyncio, whichever its mode; without it a plain one, which anyio's plugin can run."""
    try:
        import pytest_asyncio
    except ImportError:
        return pytest.fixture(function)
    return pytest_asyncio.fixture(function)


def _options(request: pytest.FixtureRequest, name: str) -> dict[str, Any]:
    """Keyword arguments of the markers of a name, the nearest ones winning."""
    options: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers(name))):
        if marker.args:  # they would be left out without a word
            raise pytest.UsageError(f"the marker {name} takes its options by name, not {marker.args!r}")
        options |= marker.kwargs
    return options


@_async_fixture
async def brokerage_simulator(request: pytest.FixtureRequest) -> AsyncIterator[Simulator]:
    """A `Simulator` that listens on a loopback port for the time of the test."""
    from .simulator import Simulator

    async with Simulator(**_options(request, "brokerage_simulator")) as simulator:
        yield simulator


@_async_fixture
async def brokerage_client(request: pytest.FixtureRequest, brokerage_simulator: Simulator) -> AsyncIterator[Client]:
    """A `Client` of the test's simulator, entered and closed."""
    async with brokerage_simulator.client(**_options(request, "brokerage_client")) as client:
        yield client
