"""Fixtures for the tests of the simulator."""

import pytest

from tests.simulator.harness import Harness


@pytest.fixture
def harness() -> Harness:
    """Return a sandbox with a valid token."""
    return Harness().login()


@pytest.fixture
def production() -> Harness:
    """Return production with a valid token."""
    return Harness(environment="production").login()
