"""``brokerage-async fetch``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from .options import Kind, Simulated

__all__ = ["FORMATS", "register"]

FORMATS = (".jsonl", ".csv", ".parquet")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("fetch", short_help="Fetch the data of many symbols into one file.")(fetch)


def fetch(
    kind: Annotated[Kind, typer.Argument(help="the data to fetch")],
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
    skip_failed: Annotated[
        bool, typer.Option("--skip-failed", help="write the file without symbols that failed")
    ] = False,
    raw: Annotated[bool, typer.Option("--raw", help="CSV: do not mark cells that begin like a formula")] = False,
    simulated: Simulated = False,
) -> None:
    """Fetch the data of many symbols and write it to one file, in the order of the symbols.

    Results are kept in FILE.partial until the file is complete: run the same command again after an interruption,
    and it goes on where it stopped. If symbols fail, the file is not written, and the next run requests only those.
    """
    if out.suffix not in FORMATS:
        raise typer.BadParameter(f"the name must end in {', '.join(FORMATS)}", param_hint="--out")
    if (start_date is None) is (kind is Kind.EARNINGS):
        said = "earnings need their first day" if start_date is None else f"goes with earnings only, not with {kind}"
        raise typer.BadParameter(said, param_hint="--start-date")
    from ..console import run
    from ..fetch import Job, perform, read_symbols, require_arrow

    if out.suffix == ".parquet":
        require_arrow()
    job = Job(
        kind=kind, symbols=read_symbols(symbols), out=out, start_date=start_date, concurrency=concurrency,
        batch_size=batch_size, raw=raw, restart=restart, skip_failed=skip_failed, simulated=simulated,
    )  # fmt: skip
    run(perform(job))
