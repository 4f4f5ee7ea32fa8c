"""Simulated brokerages for the tests of the simulator."""

from __future__ import annotations

import pytest

from tests.simulator.house import House


@pytest.fixture
def house() -> House:
    """A sandbox with a valid token."""
    return House().login()


@pytest.fixture
def production() -> House:
    """Production with a valid token."""
    return House(environment="production").login()
