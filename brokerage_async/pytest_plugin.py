"""Pytest fixtures for programs that use this library: a simulated brokerage and a client of it.

Installing the package beside pytest and pytest-asyncio makes them available::

    async def test_my_strategy(brokerage_simulator, brokerage_client):
        brokerage_simulator.set_price("AAPL", "150.00")
        await my_strategy(brokerage_client)
        brokerage_simulator.clock.advance(60)  # simulated seconds, without waiting
        brokerage_simulator.settle()
        (order,) = brokerage_simulator.ledger.orders(account_number=brokerage_simulator.account_numbers[0])
        assert order.status == "Filled"

Each test has its own simulator with the same history. Markers pass options to it::

    @pytest.mark.brokerage_simulator(environment="production", seed=7, rate_limit=20)
    @pytest.mark.brokerage_client(read_only=True)
    async def test_something(brokerage_client): ...

See `Simulator` for faults, prices and the clock.

A whole program runs on virtual time, in a test function without ``async``::

    def test_my_bot_is_flat_at_the_close(trading_day):
        assert trading_day(my_bot, start="2026-06-10T09:25-04:00", until="2026-06-10T16:00-04:00") == 0
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .client import Client
    from .simulator import Simulator

__all__ = ["brokerage_client", "brokerage_simulator", "trading_day"]


def pytest_configure(config: pytest.Config) -> None:
    for name, kind in (("brokerage_simulator", "Simulator"), ("brokerage_client", "Client")):
        config.addinivalue_line("markers", f"{name}(**options): options of the {kind} of this test")


def _options(request: pytest.FixtureRequest, name: str) -> dict[str, Any]:
    """Return the keyword arguments of the markers of a name. The nearest marker wins."""
    options: dict[str, Any] = {}
    for marker in reversed(list(request.node.iter_markers(name))):
        if marker.args:  # they would be ignored
            raise pytest.UsageError(f"options of the marker {name} must be keyword arguments, got {marker.args!r}")
        options |= marker.kwargs
    return options


def _variant(request: pytest.FixtureRequest, name: str) -> Any:
    """Return the value of the variant of a fixture that runs in the event loop of the test."""
    if "anyio_backend" in request.fixturenames:
        return request.getfixturevalue(f"_{name}_plain")
    marker = request.node.get_closest_marker("asyncio")
    scope = None if marker is None else marker.kwargs.get("loop_scope")
    try:
        scope = scope or request.config.getini("asyncio_default_test_loop_scope")
    except ValueError:  # no pytest-asyncio, or one that gives each test its own loop by default
        scope = "function"
    return request.getfixturevalue(f"_{name}_{scope}")


@pytest.fixture
def brokerage_simulator(request: pytest.FixtureRequest) -> Simulator:
    """Provide a `Simulator` that listens on a loopback port during the test."""
    simulator: Simulator = _variant(request, "brokerage_simulator")
    return simulator


@pytest.fixture
def brokerage_client(request: pytest.FixtureRequest) -> Client:
    """Provide an open `Client` of the test's simulator."""
    client: Client = _variant(request, "brokerage_client")
    return client


@pytest.fixture
def trading_day(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Provide `brokerage_async.simulator.run`, with the options of the markers as defaults."""
    from .simulator import run

    return partial(
        run, client_options=_options(request, "brokerage_client"), **_options(request, "brokerage_simulator")
    )


def _add_variants(scope: str, fixture: Callable[..., Any]) -> None:
    """Add both fixtures for a scope of event loops: pytest-asyncio fixes the scope on the function itself."""

    async def simulator(request: pytest.FixtureRequest) -> AsyncIterator[Simulator]:
        from .simulator import Simulator

        async with Simulator(**_options(request, "brokerage_simulator")) as simulator:
            yield simulator

    async def client(request: pytest.FixtureRequest, brokerage_simulator: Simulator) -> AsyncIterator[Client]:
        async with brokerage_simulator.client(**_options(request, "brokerage_client")) as client:
            yield client

    for function in (simulator, client):
        name = f"_brokerage_{function.__name__}_{scope}"
        globals()[name] = fixture(function, name=name)


_add_variants("plain", pytest.fixture)  # for anyio's plugin
with suppress(ImportError):
    import pytest_asyncio

    for _scope in ("function", "class", "module", "package", "session"):
        _add_variants(_scope, partial(pytest_asyncio.fixture, loop_scope=_scope))
