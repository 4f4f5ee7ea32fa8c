"""aioresponses as a fixture: responses that replace aiohttp's own, below the client's transport."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import aiohttp
import pytest
from aioresponses import aioresponses

NEEDS_STREAM_WRITER = "stream_writer" in inspect.signature(aiohttp.ClientResponse.__init__).parameters


class Answer(aiohttp.ClientResponse):
    """Response of aioresponses 0.7.9, with the argument that aiohttp 3.14 requires (aioresponses issue 289)."""

    def __init__(self, method: str, url: Any, **context: Any) -> None:
        if NEEDS_STREAM_WRITER:
            context.setdefault("stream_writer", Mock(output_size=0))
        super().__init__(method, url, **context)


@pytest.fixture
def http(monkeypatch: pytest.MonkeyPatch) -> Iterator[aioresponses]:
    """Yield responses by method and address. Other requests fail like a refused connection."""
    monkeypatch.setattr("aioresponses.core.ClientResponse", Answer)
    with aioresponses() as answers:
        yield answers
