"""Service of invented dividends, and a program that fetches them into a file and kills itself on the way.

``python -m tests.bulk.killed_fetch POINT FILE``
"""

import asyncio
import os
import signal
import sys
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from brokerage_async.bulk import BulkFetch, fetch_to_file
from brokerage_async.bulk.to_file import Checkpoint
from brokerage_async.models import Dividend
from brokerage_async.storage import files

KEYS = [f"K{number:02}" for number in range(20)]
UNKNOWN = [key for key in KEYS if key.endswith("3")]
POINTS = ("request", "line", "rows", "before replacing", "after replacing")


class Service:
    """Two dividends for each key, none for keys that end in 3."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.errors: dict[str, Exception] = {}
        self.stuck_at: str | None = None
        self.rows = 2

    async def __call__(self, batch: tuple[str, ...]) -> Mapping[str, Any]:
        self.asked += batch
        if self.stuck_at in batch:
            await asyncio.Event().wait()
        for key in batch:
            if key in self.errors:
                raise self.errors[key]
        dividends = [Dividend(amount=Decimal(f"{number}.50")) for number in range(self.rows)]
        return {key: dividends for key in batch if key not in UNKNOWN}

    def fetch(self, keys: Any = KEYS, **options: Any) -> BulkFetch[Any]:
        settings: dict[str, Any] = {"batch_size": 4, "concurrency": 1, "model": Dividend, "name": "dividends"}
        return BulkFetch(keys, self, **settings | options)


def die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class KilledService(Service):
    """Service that records the requested keys and kills its process at a given point."""

    def __init__(self, point: str, out: Path) -> None:
        super().__init__()
        self.point = point
        self.record = out.with_name(f"{out.name}.asked")

    async def __call__(self, batch: tuple[str, ...]) -> Mapping[str, Any]:
        with self.record.open("a") as asked:
            asked.write("".join(f"{key}\n" for key in batch))
        if self.point == "request" and "K09" in batch:
            die()
        return await super().__call__(batch)


def arrange(point: str) -> None:
    """Let this process die at a point of its work on the files."""
    flush, rows = Checkpoint.flush, Checkpoint.rows

    def die_within_a_line(self: Any) -> None:
        flush(self)
        if "K09" in self:
            self._file.write(b'["K12",[{"amount":"1')
            self._file.flush()
            die()

    def die_between_rows(self: Any, key: str) -> Any:
        if key == "K09":
            die()
        return rows(self, key)

    places = {
        "line": (Checkpoint, "flush", die_within_a_line),
        "rows": (Checkpoint, "rows", die_between_rows),
        "before replacing": (files, "_sync", die),
        "after replacing": (Checkpoint, "discard", die),
    }
    if point in places:
        setattr(*places[point])


if __name__ == "__main__":
    arrange(sys.argv[1])
    file = Path(sys.argv[2])
    asyncio.run(fetch_to_file(KilledService(sys.argv[1], file).fetch(), file))
