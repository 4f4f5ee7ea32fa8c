"""``brokerage-async fetch``: arguments, progress and report around `brokerage_async.bulk.fetch_to_file`."""

from __future__ import annotations

import enum
import sys
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import say
from .options import Simulated, day
from .service import connect

if TYPE_CHECKING:
    from ..bulk import Bulk, BulkFetch

__all__ = ["FORMATS", "Kind", "fetch"]

FORMATS = (".jsonl", ".csv", ".parquet")
SHOWN = 10
"""Number of symbols of a kind that the final report names."""


class Kind(enum.StrEnum):
    """Data that can be fetched."""

    EQUITIES = "equities"
    OPTIONS = "options"
    FUTURES = "futures"
    FUTURE_OPTIONS = "future-options"
    CRYPTOCURRENCIES = "cryptocurrencies"
    WARRANTS = "warrants"
    PRICES = "prices"
    METRICS = "metrics"
    CHAINS = "chains"
    EQUITY_CHAINS = "equity-chains"
    DIVIDENDS = "dividends"
    EARNINGS = "earnings"


async def fetch(
    kind: Annotated[Kind, typer.Argument(help="the data to fetch")],
    symbols: Annotated[str, typer.Option(help="file with a symbol on each line (chains: a product code), or -")],
    out: Annotated[Path, typer.Option(help="file to write: .jsonl, .csv or .parquet")],
    start_date: Annotated[datetime | None, day("first day, for earnings and only there", "--start-date")] = None,
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
    from rich import progress

    from ..arrow import require
    from ..bulk import Bulk, fetch_to_file
    from ..errors import ConfigurationError, IncompleteFetchError
    from .screen import err

    if out.suffix not in FORMATS:
        raise typer.BadParameter(f"the name must end in {', '.join(FORMATS)}", param_hint="--out")
    if (start_date is None) is (kind is Kind.EARNINGS):
        said = "earnings need their first day" if start_date is None else f"goes with earnings only, not with {kind}"
        raise typer.BadParameter(said, param_hint="--start-date")
    if out.suffix == ".parquet":
        try:
            require("arrow")
        except ConfigurationError as missing:
            raise typer.BadParameter(str(missing), param_hint="--out") from None
    wanted = read_symbols(symbols)
    columns = (
        progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(), progress.TimeRemainingColumn(),
    )  # fmt: skip
    with progress.Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(kind, total=len(wanted))

        def show(done: int, total: int | None, elapsed: float) -> None:
            bar.update(task, completed=done)

        options: dict[str, Any] = {"on_progress": show, "concurrency": concurrency, "batch_size": batch_size}
        options = {name: value for name, value in options.items() if value is not None}
        async with connect(simulated=simulated) as service:
            # An embedded simulator has another port in each run, and serves the same data.
            bulk = Bulk(service.client, service="the simulator") if simulated else service.client.bulk
            started = begin(bulk, kind, wanted, start_date, **options)
            try:
                result = await fetch_to_file(started, out, raw=raw, restart=restart, skip_failed=skip_failed)
            except IncompleteFetchError as error:
                complain_of(error.failed)
                say(f"{out} was not written: run the same command again to retry, or pass --skip-failed", err=True)
                raise typer.Exit(1) from None
    say(f"{result.path}: {result.found} of {len(wanted)} symbols found", err=True)
    if result.resumed:
        say(f"continued: {result.resumed} symbols came from an interrupted run", err=True)
    if result.missing:
        rest = f" and {len(result.missing) - SHOWN} more" if len(result.missing) > SHOWN else ""
        say(f"unknown to the service: {', '.join(result.missing[:SHOWN])}{rest}", err=True)
    complain_of(result.failed)


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


METHODS: Mapping[Kind, tuple[str, Mapping[str, object]]] = {
    Kind.OPTIONS: ("equity_options", {"with_expired": True}),
    Kind.FUTURES: ("futures", {"only_active_futures": False}),
    Kind.PRICES: ("market_data", {}),
    Kind.METRICS: ("market_metrics", {}),
    Kind.CHAINS: ("futures_option_chains", {}),
    Kind.EQUITY_CHAINS: ("equity_option_chains", {}),
    Kind.EARNINGS: ("earnings_reports", {}),
}
"""Methods of `Bulk` whose names differ from their kinds; expired instruments are requested with the others."""


def begin(bulk: Bulk, kind: Kind, symbols: list[str], start_date: datetime | None, **options: Any) -> BulkFetch[Any]:
    """Return the fetch of a kind of data, which has not started."""
    name, more = METHODS.get(kind, (kind.value.replace("-", "_"), {}))
    days = () if start_date is None else (start_date.date(),)
    fetch: BulkFetch[Any] = getattr(bulk, name)(symbols, *days, **more, **options)
    return fetch


def complain_of(failed: Mapping[str, Exception]) -> None:
    """Report the first failed symbols, each with its error."""
    for symbol in list(failed)[:SHOWN]:
        say(f"failed: {symbol}: {failed[symbol]}", err=True)
    if len(failed) > SHOWN:
        say(f"failed: {len(failed) - SHOWN} more", err=True)
