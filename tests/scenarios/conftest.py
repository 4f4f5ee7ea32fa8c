"""A trading floor for each test that asks for it."""

from tests.trading import here

__all__ = ["here"]
