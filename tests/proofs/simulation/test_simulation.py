"""A few seeds in the ordinary tests; ``python -m tests.proofs.simulation`` runs any number."""

import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import Phase, given, note, settings
from hypothesis import strategies as st

from tests.documents import ROOT
from tests.tables import for_each

from . import table
from .bugs import BUGS
from .chaos import MIN_LENGTH
from .run import simulate
from .stages import OVER_HTTP


@pytest.mark.parametrize("seed", range(10))
def test_seed(seed: int) -> None:
    result = simulate(seed)
    assert result.violations == (), f"replay: python -m tests.proofs.simulation --seed {seed} --history"
    assert result.calls > 30


def test_same_seed_same_history_after_another_seed_and_in_another_process() -> None:
    """The order of sets and dictionaries of strings must not leak into the history."""
    other, once = simulate(4), simulate(5)
    assert other.digest != once.digest
    command = [sys.executable, "-m", "tests.proofs.simulation", "--seed", "5"]
    shown = subprocess.check_output(command, text=True, cwd=ROOT, env=os.environ | {"PYTHONHASHSEED": "12345"})
    assert f"history {once.digest}" in shown


@pytest.mark.slow
@for_each("name", BUGS)
def test_planted_bug_is_found_within_50_seeds(name: Any) -> None:
    assert any(simulate(seed, name, length=MIN_LENGTH).violations for seed in range(50))


def test_table_of_faults_is_the_one_in_the_docs() -> None:
    assert table.PAGE.read_text("utf-8") == table.page(), "run: python -m tests.proofs.simulation.table --write"


@pytest.mark.slow
@settings(max_examples=2, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_seed_over_http(seed: int) -> None:
    """Ten minutes over sockets. A smaller seed is not a simpler one, so there is nothing to shrink."""
    note(f"python -m tests.proofs.simulation --http --seed {seed} --history")
    assert simulate(seed, stage=OVER_HTTP, length=MIN_LENGTH).violations == ()


@pytest.mark.slow
@for_each("name", ["silent_resend_when_dropped", "mutation_repeated_when_lost"])
def test_planted_bug_is_found_over_http(name: str) -> None:
    """Only HTTP shows a request that was sent once and arrives twice."""
    found = (simulate(seed, name, stage=OVER_HTTP, length=MIN_LENGTH) for seed in range(9))
    assert any(result.violations for result in found)
