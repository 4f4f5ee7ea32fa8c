"""Fetch every instrument at night, say what changed since the night before, and ask the files with DuckDB.

    python examples/universe_changes.py universe/ AAPL SPY /ES

The symbols are the underlyings whose option chains are fetched. Started again after any interruption, it goes on where
it stopped. The exit code is 1 when a chain failed. DuckDB is not a dependency: ``pip install duckdb``.
"""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from pathlib import Path

import duckdb

from brokerage_async import Client
from brokerage_async.bulk import universe_diff

BY_KIND = """
SELECT day, kind, count(*) AS instruments FROM read_parquet('{folder}/day=*/universe.parquet', union_by_name = true)
GROUP BY ALL ORDER BY ALL
"""


def report(folder: Path) -> None:
    """Print what changed between the two newest nights, and the number of instruments of each night."""
    nights = sorted(folder.glob("day=*"))
    if len(nights) > 1:
        changes = universe_diff(nights[-2], nights[-1]).to_pylist()
        for (kind, change), count in sorted(Counter((row["kind"], row["change"]) for row in changes).items()):
            print(f"{kind}: {count} {change}")
        for row in changes[:20]:
            print("  ", row["symbol"], row["change"], row["field"] or "", row["before"] or "", row["after"] or "")
    with duckdb.connect() as database:
        for day, kind, count in database.execute(BY_KIND.format(folder=folder)).fetchall():
            print(day, kind, count)


async def main(arguments: list[str]) -> int:
    folder, *underlyings = arguments
    async with Client.from_env(read_only=True) as client:
        tonight = await client.bulk.universe(folder, underlyings=underlyings)
    for symbol, error in tonight.failed.items():
        print(f"{symbol}: {error}", file=sys.stderr)
    report(Path(folder))
    return 1 if tonight.failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
