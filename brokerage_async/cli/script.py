"""Console script: streams, logging and tracebacks of a terminal, then the command."""

from __future__ import annotations

import io
import os
import sys
from types import TracebackType


def start() -> None:
    """Set up streams and logging, and run the command. Say what to install when the extra is missing."""
    try:
        import rich  # noqa: F401 - the commands need it
        from typer.main import get_command

        from .app import app
        from .completion import VARIABLE, complete
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        if package not in {"typer", "rich"}:
            raise
        sys.exit(f"brokerage-async: the console needs {package}; install it with: pip install 'brokerage-async[cli]'")
    command = get_command(app)
    if VARIABLE in os.environ:
        print(*complete(command, sys.argv[1:]), sep="\n")
        return
    import logging

    from .console import PlainFormatter

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # characters that a terminal cannot show must not end a command
            stream.reconfigure(errors="replace")
    # An error of the token ends a command, or its watcher reports it: once is enough.
    logging.getLogger("brokerage_async.token").setLevel(logging.ERROR)
    handler = logging.StreamHandler()
    handler.setFormatter(PlainFormatter("%(message)s"))
    logging.basicConfig(handlers=[handler])
    sys.excepthook = print_traceback
    command()  # calling the app itself would put typer's own hook in place of this one


def print_traceback(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
    """Print an unexpected exception, which may quote the service."""
    import traceback

    from .console import printable

    sys.stderr.write(printable("".join(traceback.format_exception(kind, error, where))))
