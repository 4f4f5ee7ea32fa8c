"""``brokerage-async fetch``: the instruments or events of many symbols into one file, resumable."""

from __future__ import annotations

import enum
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import attrs
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ..bulk.api import Bulk, BulkFetch
from ..models import Dividend, EarningsReport, Equity, EquityOption, FutureOption, converter
from .console import connect, err, on_real_service, run
from .fetch_checkpoint import Checkpoint
from .fetch_formats import FORMATS, put_in_place

__all__ = ["register"]

SHOWN = 10
"""How many symbols of a kind are named in the report at the end."""


class Kind(enum.StrEnum):
    """What can be fetched."""

    EQUITIES = "equities"
    OPTIONS = "options"
    CHAINS = "chains"
    DIVIDENDS = "dividends"
    EARNINGS = "earnings"


MODELS: dict[Kind, type[Any]] = {
    Kind.EQUITIES: Equity,
    Kind.OPTIONS: EquityOption,
    Kind.CHAINS: FutureOption,
    Kind.DIVIDENDS: Dividend,
    Kind.EARNINGS: EarningsReport,
}


@attrs.frozen(kw_only=True)
class Job:
    """What was asked for on the command line."""

    kind: Kind
    symbols: list[str]
    out: Path
    start_date: datetime | None
    concurrency: int | None
    batch_size: int | None
    raw: bool = False


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("fetch", short_help="Fetch the data of many symbols into one file.")(fetch)


def fetch(
    kind: Annotated[Kind, typer.Argument(help="what to fetch")],
    symbols: Annotated[str, typer.Option(help="file with a symbol on each line (chains: a product code), or -")],
    out: Annotated[Path, typer.Option(help="file to write: .jsonl, .csv or .parquet")],
    start_date: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="first day, for earnings and only there"),
    ] = None,
    concurrency: Annotated[int | None, typer.Option(min=1, help="requests in flight")] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="symbols in one request, where it takes several")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="discard the results of an interrupted run")] = False,
    raw: Annotated[bool, typer.Option("--raw", help="CSV: do not mark cells that begin like a formula")] = False,
) -> None:
    """Fetch what the service knows of many symbols and write it to one file, in the order of the symbols.

    What was fetched is kept in FILE.partial until the file is complete: run the same command again after an
    interruption, and it goes on where it stopped. Symbols that failed are asked again by the next run.
    """
    if out.suffix not in FORMATS:
        raise typer.BadParameter(f"the name has to end in {', '.join(FORMATS)}", param_hint="--out")
    if (start_date is None) is (kind is Kind.EARNINGS):
        told = "earnings need their first day" if start_date is None else f"goes with earnings only, not with {kind}"
        raise typer.BadParameter(told, param_hint="--start-date")
    if out.suffix == ".parquet":
        require_frames()
    job = Job(
        kind=kind, symbols=read_symbols(symbols), out=out,
        start_date=start_date, concurrency=concurrency, batch_size=batch_size, raw=raw,
    )  # fmt: skip
    partial = out.with_name(out.name + ".partial")
    if restart:
        partial.unlink(missing_ok=True)
    run(perform(job, partial))


def require_frames() -> None:
    try:
        from .. import arrow as frames  # noqa: F401
    except ImportError as missing:
        raise typer.BadParameter(str(missing), param_hint="--out") from None


def read_symbols(name: str) -> list[str]:
    """The symbols of a file, or of standard input, each once."""
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
    purpose = {
        "fetch": job.kind,
        "from": os.environ["BROKERAGE_BASE_URL"] if on_real_service() else "simulator",
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
    """Ask for what the checkpoint does not hold yet; the symbols that failed, each with its error."""
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

        async with connect() as client, begin(client.bulk, job, rest, note) as bulk:
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
            assert job.start_date is not None, "checked with the command line"
            return bulk.earnings_reports(symbols, job.start_date.date(), **options)


def progress_bar() -> Progress:
    return Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(),
        console=err, transient=True, disable=not err.is_terminal,
    )  # fmt: skip


def report(job: Job, missing: list[str], failed: dict[str, Exception]) -> None:
    found = len(job.symbols) - len(missing) - len(failed)
    tell(f"{job.out}: {found} of {len(job.symbols)} symbols found")
    if missing:
        tell(f"not known to the service: {some(missing)}")
    for symbol, error in list(failed.items())[:SHOWN]:
        tell(f"failed: {symbol}: {error}")
    if failed:
        tell(f"{len(failed)} failed; run the same command again to ask for them once more")


def some(symbols: list[str]) -> str:
    rest = len(symbols) - SHOWN
    return ", ".join(symbols[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def tell(text: str) -> None:
    err.print(text, markup=False, highlight=False, soft_wrap=True)
