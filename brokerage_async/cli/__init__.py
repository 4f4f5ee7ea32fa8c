"""The console, ``brokerage-async`` (extra ``[cli]``): accounts, prices, orders, bulk fetches, watching, any call."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the console script. Say what to install when the extra is missing."""
    try:
        import rich  # noqa: F401 - the commands need it

        from .app import start

        start()
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in {"typer", "rich"}:
            raise
        sys.exit(f"brokerage-async: the console needs {package}; install it with: pip install 'brokerage-async[cli]'")
    except KeyboardInterrupt:  # while modules are imported: a running command ends in its own way
        sys.exit(130)  # as shells report it
