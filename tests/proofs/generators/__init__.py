"""Tools that others wrote, run on the bundled schema: ``nox -s schema``."""
