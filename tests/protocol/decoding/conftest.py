"""A registry that has learned nothing before each test, and a note of the bodies that were parsed as untyped JSON."""

from collections.abc import Iterator
from typing import Any

import pytest

from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.decoding.adaptive import REGISTRY


@pytest.fixture(autouse=True)
def _fresh_registry() -> Iterator[None]:
    REGISTRY.reset()
    yield
    REGISTRY.reset()


@pytest.fixture
def slow_paths(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations whose bodies were parsed as untyped JSON."""
    taken: list[str] = []
    untyped = codec._decode_untyped

    def noting(operation: Any, *arguments: Any) -> Any:
        taken.append(operation.name)
        return untyped(operation, *arguments)

    monkeypatch.setattr(codec, "_decode_untyped", noting)
    return taken
