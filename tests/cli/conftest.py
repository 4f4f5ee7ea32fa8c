"""The tree of commands, built once for all tests, as a process of the command line builds it once."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest
import typer.testing
from typer.main import get_command


@pytest.fixture(autouse=True, scope="session")
def _tree_of_commands() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", functools.cache(get_command))
        yield
