"""The console: ``brokerage-async demo | simulator | call | fetch | watch | orders`` (extra ``[cli]``)."""

from __future__ import annotations

import io
import logging
import sys
import traceback
from types import TracebackType

__all__ = ["main"]


def main() -> None:
    """Entry point of the console script; says what to install when the extra is missing."""
    try:
        from .app import app
        from .terminal import PlainFormatter
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in {"typer", "rich"}:
            raise
        sys.exit(f"brokerage-async: the console needs {package}; install it with: pip install 'brokerage-async[cli]'")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal cannot show must not end a command half-way
            stream.reconfigure(errors="replace")
    # An error of the token ends a command, or its watcher reports it: once is enough.
    logging.getLogger("brokerage_async.token").setLevel(logging.ERROR)
    handler = logging.StreamHandler()
    handler.setFormatter(PlainFormatter("%(message)s"))
    logging.basicConfig(handlers=[handler])
    sys.excepthook = print_traceback
    app()


def print_traceback(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    """Print an unexpected exception, which may quote the service."""
    from .terminal import printable

    sys.stderr.write(printable("".join(traceback.format_exception(kind, error, where))))
