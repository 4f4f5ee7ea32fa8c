"""Servers that tests start themselves, each in a temporary folder."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, TypeVar

__all__ = ["fresh_server"]


class Startable(Protocol):
    """A server that can be started and stopped."""

    def start(self) -> None:
        """Start it and wait until it answers."""
        ...

    def stop(self) -> None:
        """Stop it, if it runs."""
        ...


S = TypeVar("S", bound=Startable)


@contextmanager
def fresh_server(make: Callable[[Path], S], *, prefix: str) -> Iterator[S]:
    """Start the server that ``make`` returns for a new folder and yield it. Remove both afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        server = make(folder)
        try:
            server.start()
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
