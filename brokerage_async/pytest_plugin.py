"""Pytest fixtures for programs that use this library: a simulated brokerage and a client of it.

Installing the package beside pytest and pytest-asyncio makes them available::

    async def test_my_strategy(brokerage_simulator, brokerage_client):
        brokerage_simulator.set_price("AAPL", "150.00")
        await my_strategy(brokerage_client)
        brokerage_simulator.clock.advance(60)  # simulated seconds, without waiting
        brokerage_simulator.settle()
        (order,) = brokerage_simulator.ledger.orders(account_number=brokerage_simulator.account_numbers[0])
        assert order.status == "Filled"

Each test has a simulator of its own with the same history. Markers pass options to it::

    @pytest.mark.brokerage_simulator(environment="production", seed=7, rate_limit=20)
    @pytest.mark.brokerage_client(read_only=True)
    async def test_something(brokerage_client): ...

See `Simulator` for faults, prices and the clock.
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
    """Register the markers."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)


def _async_fixture(function: Callable[..., Any]) -> Any:
    """Return a fixture of pytest-asyncio, in any mode; without it a plain one for anyio's plugin."""
    try:
        import pytest_asyncio
    except ImportError:
        return pytest.fixture(function)
    return pytest_asyncio.fixture(function)


def _options(request: pytest.FixtureRequest, name: str) -> dict[str, Any]:
    """Return the keyword arguments of the markers of a name; the nearest marker wins."""
    options: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers(name))):
        if marker.args:  # they would be ignored
            raise pytest.UsageError(f"options of the marker {name} must be keyword arguments, got {marker.args!r}")
        options |= marker.kwargs
    return options


@_async_fixture
async def brokerage_simulator(request: pytest.FixtureRequest) -> AsyncIterator[Simulator]:
    """Provide a `Simulator` that listens on a loopback port during the test."""
    from .simulator import Simulator

    async with Simulator(**_options(request, "brokerage_simulator")) as simulator:
        yield simulator


@_async_fixture
async def brokerage_client(request: pytest.FixtureRequest, brokerage_simulator: Simulator) -> AsyncIterator[Client]:
    """Provide an open `Client` of the test's simulator."""
    async with brokerage_simulator.client(**_options(request, "brokerage_client")) as client:
        yield client
