"""Fetch instruments, dividends and earnings of many symbols into files, every night.

    python examples/nightly_fetch.py symbols.txt data/

``symbols.txt`` has one symbol a line. A file of the day appears when it is whole, so the program can be started again
after any interruption and goes on where it stopped: from cron, or with ``Restart=on-failure`` of systemd. The exit code
is 1 while anything is missing.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import date, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from brokerage_async import Client, errors
from brokerage_async.bulk import BulkFetch, fetch_to_file

YEARS_OF_EARNINGS = 2
NEW_YORK = ZoneInfo("America/New_York")


async def fetch(client: Client, symbols: list[str], folder: Path) -> list[errors.BrokerageError]:
    """Write the files of the day that do not exist yet. Return the failures."""
    today = await service_date(client)
    since = today - timedelta(days=365 * YEARS_OF_EARNINGS)
    jobs: dict[str, BulkFetch[Any]] = {
        "equities": client.bulk.equities(symbols),
        "dividends": client.bulk.dividends(symbols, concurrency=4),
        "earnings": client.bulk.earnings_reports(symbols, since, concurrency=4),
    }
    failures: list[errors.BrokerageError] = []
    for name, job in jobs.items():
        out = folder / f"{name}-{today}.csv"
        if out.exists():
            print(f"{out}: complete already")
            continue
        try:
            result = await fetch_to_file(job, out)
        except errors.BrokerageError as error:  # rows received so far are kept beside the file, for the next run
            failures.append(error)
            continue
        print(f"{out}: {result.rows} rows, unknown symbols: {', '.join(result.missing) or 'none'}")
    return failures


async def service_date(client: Client) -> date:
    """Return the date in New York by the service's clock. This machine's may be wrong."""
    await client.market_time.current_sessions(["Equity"])
    return client.watch.now().astimezone(NEW_YORK).date()


async def main(arguments: list[str]) -> int:
    source, folder = map(Path, arguments)
    symbols = [line.strip() for line in source.read_text("utf-8").splitlines() if line.strip()]
    folder.mkdir(parents=True, exist_ok=True)
    async with Client.from_env(read_only=True, deadline=300) as client:
        failures = await fetch(client, symbols, folder)
    for error in failures:
        print(error, file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1:])))
