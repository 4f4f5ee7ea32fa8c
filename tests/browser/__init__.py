"""The page and the reference in a real Chromium, without a display: ``nox -s browser``."""
