"""Command line: ``python -m tests.proofs.books [SEEDS FIRST]`` trades 5,000 orders of each seed. See the package."""

from tests.seeded import play_seeds

from .run import play

play_seeds(play)
