"""Checks of what is about to be published: version, changelog, contents of wheel and sdist, reproducibility."""
