"""Simulated brokerages for the tests of the simulator."""

from __future__ import annotations

import asyncio

import pytest

from tests.simulator.house import House

# looptime asks for the current loop of tests that have none, which would make one that nobody closes.
asyncio.set_event_loop(None)


@pytest.fixture
def house() -> House:
    """A sandbox with a valid token."""
    return House().login()


@pytest.fixture
def production() -> House:
    """Production with a valid token."""
    return House(environment="production").login()
