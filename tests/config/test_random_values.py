"""Random values outside of a simulated run; `tests/simulator/test_virtual_run.py` has those inside."""

import random
import uuid

import pytest

from brokerage_async.config.random_values import chance, new_identifier


def test_system_values_neither_read_nor_change_the_random_and_uuid_of_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A program may seed and patch both. Its real orders must have other identifiers in each run."""
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=7))
    drawn = []
    for _ in range(2):
        random.seed(1)
        state = random.getstate()
        drawn.append((chance(), new_identifier()))
        assert random.getstate() == state
    assert drawn[0] != drawn[1]
    assert all(0 <= fraction < 1 and uuid.UUID(name).version == 4 for fraction, name in drawn)
