"""The console, ``brokerage-async`` (extra ``[cli]``): accounts, prices, orders, bulk fetches, watching, any call."""

from __future__ import annotations

import sys

__all__ = ["main"]

INTERRUPTED = 130


def main() -> None:
    """Run the console script."""
    try:
        from .script import start

        start()
    except KeyboardInterrupt:  # while modules are imported: a running command ends in its own way
        sys.exit(INTERRUPTED)
