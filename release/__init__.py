"""Checks before publishing: version, changelog, contents of wheel and sdist, reproducibility."""
