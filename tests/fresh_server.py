"""Servers that tests start themselves, each in a temporary folder."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def fresh_server(make: Callable[[Path], Any], *, prefix: str) -> Iterator[Any]:
    """Start the server that ``make`` returns for a new folder and yield it. Stop it and remove both afterwards."""
    with tempfile.TemporaryDirectory(prefix=prefix, ignore_cleanup_errors=True) as folder:
        server = make(Path(folder))
        try:
            server.start()
            yield server
        finally:
            server.stop()
