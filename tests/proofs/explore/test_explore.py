"""A few seconds of exploring in the ordinary tests; ``nox -s explore`` does it at length."""

import pytest

from .choices import Choices, Drawn, decode, encode
from .plants import PLANTS, hunt
from .scopes import ADVERSITY, BEYOND, EVERYTHING, EXHAUSTED, mixed
from .search import exhaust, play, quiet, replay, sample

SMALL = (
    "cancel-alone", "cancel-recover", "foreign", "foreign-adversary", "complex-shared", "complex-alone-unechoed",
    "held", "cancel-at-once", "cancel-complex-filled", "guard-clock", "halt-clock",
)  # fmt: skip
"""Scopes that are exhausted in 2 seconds at most."""


@pytest.mark.parametrize("name", SMALL)
def test_scope_exhausted_shows_no_violation(name: str) -> None:
    report = exhaust(EXHAUSTED[name], stop=True)
    assert [(found.history, found.violations) for found in report.found] == []
    assert report.complete > 50


def test_submit_held_longer_than_the_search_is_doubled_by_resubmission() -> None:
    """A client cannot distinguish it from one that was lost: ``resubmit`` says so, and the default is 0."""
    [found] = exhaust(BEYOND["held-resubmitted"], stop=True, limit=500).found
    assert "doubled: 2 orders under ('A1', 'X')" in replay(found.history).violations


def test_sampled_histories_show_no_violation() -> None:
    report = sample(range(150))
    assert [(found.history, found.violations) for found in report.found] == []


@pytest.mark.parametrize("name", PLANTS)
def test_planted_defect_is_found(name: str) -> None:
    found = hunt(name)
    assert found is not None
    assert "raised TypeError" not in str(found.violations), "the plant no longer fits what it takes the place of"


def test_replayed_history_is_the_same() -> None:
    with quiet():
        drawn = [play(mixed(seed), Drawn(seed), traced=True) for seed in range(20)]
    for found in drawn:
        assert replay(found.history) == found


def test_sampled_scopes_cover_everything() -> None:
    scopes = [mixed(seed) for seed in range(200)]
    assert {len(scope.programs) for scope in scopes} == {2, 3}
    assert {scope.journal for scope in scopes} == {"sql", "memory"}
    steps = {step.kind for scope in scopes for program in scope.programs for step in program.steps}
    assert steps == {"place", "recover", "abandon", "wait"}
    assert {kind for scope in scopes for kind in scope.kinds} == EVERYTHING | ADVERSITY
    assert {scope.other is None for scope in scopes} == {True, False}
    assert {(scope.adversary, scope.echoes) for scope in scopes} == {(False, True), (True, True), (True, False)}


def test_history_survives_being_written_down() -> None:
    assert decode(encode("fences", {3: 2, 10: 1})) == ("fences", {3: 2, 10: 1})
    assert decode("fences:") == ("fences", {})


def test_history_of_another_scope_is_rejected() -> None:
    with pytest.raises(ValueError, match="decision 0 has 2 options, the history asks for 7"):
        Choices({0: 7}).pick((0, 1))
