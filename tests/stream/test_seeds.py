"""A few histories of streams and watchers by seed; ``nox -s proofs -- streams`` runs 1,000."""

from tests.stream.seeds import run_seed
from tests.tables import for_each


@for_each("seed", [1, 2])
def test_history_of_a_seed(seed: int) -> None:
    history = run_seed(seed)
    assert history.problems == []
    assert history.counts["gaps"] > 3
    assert history.counts["changes"] > 20
