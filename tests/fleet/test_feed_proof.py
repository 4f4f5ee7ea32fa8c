"""A small sample of the proof of change feeds, and the checks of the proof themselves."""

from pathlib import Path
from typing import Any

import pytest

from tests.fleet import feed
from tests.fleet.engines import missing

TRUTH = [
    {"id": "1", "key": "a", "before": None, "after": {"n": 1}},
    {"id": "2", "key": "a", "before": {"n": 1}, "after": {"n": 2}},
]
POSITION = {"1": 0, "2": 1}


def handled(number: int, **other: Any) -> dict[str, Any]:
    return TRUTH[number] | {"what": "handled"} | other


def acknowledged(number: int) -> dict[str, Any]:
    return {"what": "acknowledged", "id": TRUTH[number]["id"]}


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ([handled(0)], "1 changes were never seen"),
        ([handled(1), handled(0)], "out of order"),
        ([handled(0), acknowledged(0), handled(0), handled(1)], "handled again after it was acknowledged"),
        ([handled(0), handled(1, before=None)], "one idempotency key, two changes"),
    ],
)
def test_check_group_finds(facts: list[dict[str, Any]], reason: str) -> None:
    with pytest.raises(AssertionError, match=reason):
        feed.check_group(facts, TRUTH, POSITION)
    assert feed.check_group([handled(0), handled(0), acknowledged(0), handled(1)], TRUTH, POSITION) == 3


def test_check_finds_a_change_that_was_never_published(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="a change is missing before"):
        feed.check(TRUTH[1:], {"a": 2}, tmp_path, feed.Outcome())


def test_check_polls_finds_two_pollers_at_a_time() -> None:
    def poll(turn: str, *times: float) -> list[dict[str, Any]]:
        return [{"turn": turn, "what": "begin", "time": time} for time in times]

    outcome = feed.Outcome()
    feed.check_polls([*poll("x", 1, 2), *poll("y", 3)], outcome)
    assert (outcome.turns, outcome.polls) == (2, 3)
    with pytest.raises(AssertionError, match="two pollers at a time"):
        feed.check_polls([*poll("x", 1, 4), *poll("y", 3)], outcome)


@pytest.mark.redis
@pytest.mark.slow
@pytest.mark.skipif(missing() is not None, reason=str(missing()))
async def test_feed_with_pollers_consumers_and_engine_killed_at_random() -> None:
    outcome = await feed.run(200, seed=1)
    assert outcome.changes >= 200
