"""The console: ``brokerage-async demo | simulator | call | fetch | watch | orders`` (extra ``[cli]``)."""

from __future__ import annotations

import io
import logging
import sys

__all__ = ["main"]


def main() -> None:
    """Entry point of the console script; says what to install when the extra is missing."""
    try:
        from .app import app
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in {"typer", "rich"}:
            raise
        sys.exit(f"brokerage-async: the console needs {package}; install it with: pip install 'brokerage-async[cli]'")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal cannot show must not end a command half-way
            stream.reconfigure(errors="replace")
    # A token that cannot be had ends a command, or is told by its watcher: once is enough.
    logging.getLogger("brokerage_async.token").setLevel(logging.ERROR)
    app()
