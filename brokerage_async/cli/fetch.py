"""Fetch command: arguments, progress and report around `brokerage_async.bulk.fetch_to_file`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..arrow import require
from ..bulk import Bulk, BulkFetch, FileResult, fetch_to_file
from ..errors import ConfigurationError, IncompleteFetchError
from .commands.options import Kind
from .console import err, say
from .service import connect

__all__ = ["Job", "perform", "read_symbols", "require_arrow"]

SHOWN = 10
"""Number of symbols of a kind that the final report names."""

PLAIN: Mapping[Kind, Callable[..., BulkFetch[Any]]] = {
    Kind.EQUITIES: Bulk.equities,
    Kind.FUTURE_OPTIONS: Bulk.future_options,
    Kind.CRYPTOCURRENCIES: Bulk.cryptocurrencies,
    Kind.WARRANTS: Bulk.warrants,
    Kind.PRICES: Bulk.market_data,
    Kind.METRICS: Bulk.market_metrics,
    Kind.CHAINS: Bulk.futures_option_chains,
    Kind.EQUITY_CHAINS: Bulk.equity_option_chains,
    Kind.DIVIDENDS: Bulk.dividends,
}
"""Fetches that take symbols alone; expired instruments are asked for with the others."""


@attrs.frozen(kw_only=True)
class Job:
    """Options of a fetch."""

    kind: Kind
    symbols: list[str]
    out: Path
    start_date: datetime | None = None
    concurrency: int | None = None
    batch_size: int | None = None
    raw: bool = False
    restart: bool = False
    skip_failed: bool = False
    simulated: bool = False


def require_arrow() -> None:
    """Refuse Parquet when pyarrow is not installed."""
    try:
        require("arrow")
    except ConfigurationError as missing:
        raise typer.BadParameter(str(missing), param_hint="--out") from None


def read_symbols(name: str) -> list[str]:
    """Read symbols from a file or standard input, without duplicates."""
    if name == "-":
        lines = sys.stdin.read().splitlines()
    else:
        try:
            lines = Path(name).read_text(encoding="utf-8-sig").splitlines()
        except OSError as error:
            raise typer.BadParameter(f"{error.strerror}: {name}", param_hint="--symbols") from None
        except UnicodeDecodeError:
            raise typer.BadParameter(f"not a text file in UTF-8: {name}", param_hint="--symbols") from None
    return [symbol for symbol in dict.fromkeys(line.strip() for line in lines) if symbol]


async def perform(job: Job) -> None:
    """Fetch into the file, and report; symbols that failed end the command with exit code 1."""
    with progress_bar() as progress:
        task = progress.add_task(job.kind, total=len(job.symbols))

        def show(done: int, total: int | None, elapsed: float) -> None:
            progress.update(task, completed=done)

        async with connect(simulated=job.simulated) as service:
            # An embedded simulator has another port in each run, and serves the same data.
            bulk = Bulk(service.client, service="the simulator") if job.simulated else service.client.bulk
            try:
                result = await fetch_to_file(
                    begin(bulk, job, on_progress=show),
                    job.out, raw=job.raw, restart=job.restart, skip_failed=job.skip_failed,
                )  # fmt: skip
            except IncompleteFetchError as error:
                complain_of(error.failed)
                say(f"{job.out} was not written: run the same command again to retry, or pass --skip-failed", to=err)
                raise typer.Exit(1) from None
    report(result, len(job.symbols))


def begin(bulk: Bulk, job: Job, **options: Any) -> BulkFetch[Any]:
    """Return the fetch of a job, which has not started."""
    if job.concurrency is not None:
        options["concurrency"] = job.concurrency
    if job.batch_size is not None:
        options["batch_size"] = job.batch_size
    match job.kind:
        case Kind.OPTIONS:
            return bulk.equity_options(job.symbols, with_expired=True, **options)
        case Kind.FUTURES:
            return bulk.futures(job.symbols, only_active_futures=False, **options)
        case Kind.EARNINGS:
            assert job.start_date is not None, "the command line was checked"
            return bulk.earnings_reports(job.symbols, job.start_date.date(), **options)
        case kind:
            return PLAIN[kind](bulk, job.symbols, **options)


def progress_bar() -> Progress:
    """Return a progress bar on stderr, silent unless that is a terminal."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        console=err, transient=True, disable=not err.is_terminal,
    )  # fmt: skip


def report(result: FileResult, asked: int) -> None:
    """Report how many of the ``asked`` symbols the file holds."""
    say(f"{result.path}: {result.found} of {asked} symbols found", to=err)
    if result.resumed:
        say(f"continued: {result.resumed} symbols came from an interrupted run", to=err)
    if result.missing:
        say(f"unknown to the service: {some(result.missing)}", to=err)
    complain_of(result.failed)


def complain_of(failed: Mapping[str, Exception]) -> None:
    """Report the first failed symbols, each with its error."""
    for symbol in list(failed)[:SHOWN]:
        say(f"failed: {symbol}: {failed[symbol]}", to=err)
    if len(failed) > SHOWN:
        say(f"failed: {len(failed) - SHOWN} more", to=err)


def some(symbols: Sequence[str]) -> str:
    """Return the first symbols, and the number of the others."""
    rest = len(symbols) - SHOWN
    return ", ".join(symbols[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
