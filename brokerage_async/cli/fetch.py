"""Fetch command: the instruments or events of many symbols in one file, resumable."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..bulk import Bulk, BulkFetch
from ..models import Dividend, EarningsReport, Equity, EquityOption, FutureOption, converter
from .commands.options import Kind
from .console import err, say
from .fetch_checkpoint import Checkpoint
from .fetch_formats import put_in_place
from .service import check_environment, connect

__all__ = ["Job", "perform", "read_symbols", "require_arrow"]

SHOWN = 10
"""Number of symbols of a kind that the final report names."""


MODELS: dict[Kind, type[Any]] = {
    Kind.EQUITIES: Equity,
    Kind.OPTIONS: EquityOption,
    Kind.CHAINS: FutureOption,
    Kind.DIVIDENDS: Dividend,
    Kind.EARNINGS: EarningsReport,
}


@attrs.frozen(kw_only=True)
class Job:
    """Options of a fetch."""

    kind: Kind
    symbols: list[str]
    out: Path
    start_date: datetime | None
    concurrency: int | None
    batch_size: int | None
    raw: bool = False
    simulated: bool = False


def require_arrow() -> None:
    """Refuse Parquet when pyarrow is not installed."""
    try:
        from .. import arrow  # noqa: F401
    except ImportError as missing:
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


async def perform(job: Job, partial: Path) -> None:
    """Fetch the data that the checkpoint lacks, and write all of it to the file."""
    if not job.simulated:
        check_environment()
    purpose = {
        "fetch": job.kind,
        "from": "simulator" if job.simulated else os.environ.get("BROKERAGE_BASE_URL", ""),
        **({"start-date": f"{job.start_date:%Y-%m-%d}"} if job.start_date else {}),
    }
    with Checkpoint(partial, purpose) as checkpoint:
        failed = await fetch_rest(job, checkpoint)
        known = [symbol for symbol in job.symbols if symbol in checkpoint]

        def rows() -> Iterator[tuple[str, Any]]:
            for symbol in known:
                for row in checkpoint.rows(symbol):
                    yield symbol, row

        put_in_place(job.out, rows, MODELS[job.kind], raw=job.raw)
        missing = [symbol for symbol in known if not checkpoint.found(symbol)]
        report(job, missing, failed)
        if failed:
            raise typer.Exit(1)
        checkpoint.discard()


async def fetch_rest(job: Job, checkpoint: Checkpoint) -> dict[str, Exception]:
    """Fetch the symbols missing in the checkpoint; return the failed ones with their errors."""
    rest = [symbol for symbol in job.symbols if symbol not in checkpoint]
    if not rest:
        return {}
    done = len(job.symbols) - len(rest)
    with progress_bar() as progress:
        task = progress.add_task(job.kind, total=len(job.symbols), completed=done)
        noted = 0

        def note(count: int, total: int | None, elapsed: float) -> None:
            nonlocal noted
            for symbol in bulk.missing[noted:]:
                checkpoint.add(symbol, None)
            noted = len(bulk.missing)
            checkpoint.flush()
            progress.update(task, completed=done + count)

        async with connect(simulated=job.simulated) as service, begin(service.client.bulk, job, rest, note) as bulk:
            async for symbol, value in bulk:
                items = value if isinstance(value, list) else [value]
                checkpoint.add(symbol, [converter.unstructure(item) for item in items])
            note(len(rest), len(rest), 0.0)
    return bulk.failed


def begin(
    bulk: Bulk, job: Job, symbols: Iterable[str], note: Callable[[int, int | None, float], None]
) -> BulkFetch[Any]:
    options: dict[str, Any] = {"on_progress": note}
    if job.concurrency is not None:
        options["concurrency"] = job.concurrency
    if job.batch_size is not None:
        options["batch_size"] = job.batch_size
    match job.kind:
        case Kind.EQUITIES:
            return bulk.equities(symbols, **options)
        case Kind.OPTIONS:
            return bulk.equity_options(symbols, with_expired=True, **options)
        case Kind.CHAINS:
            return bulk.futures_option_chains(symbols, **options)
        case Kind.DIVIDENDS:
            return bulk.dividends(symbols, **options)
        case Kind.EARNINGS:
            assert job.start_date is not None, "the command line was checked"
            return bulk.earnings_reports(symbols, job.start_date.date(), **options)


def progress_bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        console=err, transient=True, disable=not err.is_terminal,
    )  # fmt: skip


def report(job: Job, missing: list[str], failed: dict[str, Exception]) -> None:
    found = len(job.symbols) - len(missing) - len(failed)
    say(f"{job.out}: {found} of {len(job.symbols)} symbols found", to=err)
    if missing:
        say(f"unknown to the service: {some(missing)}", to=err)
    for symbol, error in list(failed.items())[:SHOWN]:
        say(f"failed: {symbol}: {error}", to=err)
    if failed:
        say(f"{len(failed)} failed; run the same command again to retry them", to=err)


def some(symbols: list[str]) -> str:
    rest = len(symbols) - SHOWN
    return ", ".join(symbols[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")
