"""A few histories of streams and watchers by seed; ``nox -s proofs -- streams`` runs 1,000."""

from tests.stream.seeds import play
from tests.tables import for_each


@for_each("seed", [1, 2])
def test_history_of_a_seed(seed: int) -> None:
    counts = play(seed)
    assert counts["gaps"] > 3
    assert counts["changes"] > 20
