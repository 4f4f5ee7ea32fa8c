"""``brokerage-async fetch``: arguments, progress and report around `brokerage_async.bulk.fetch_to_file`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from .command import AsJson, Service, Simulated, add, command_of, connect, day
from .console import echo_json, say, show_items
from .lazy import bulk, errors

FORMATS = (".jsonl", ".csv", ".parquet")
SHOWN = 10  # number of symbols of a kind that the final report names


METHODS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "equities": ("equities", {}),
    "options": ("equity_options", {"with_expired": True}),
    "futures": ("futures", {"only_active_futures": False}),
    "future-options": ("future_options", {}),
    "cryptocurrencies": ("cryptocurrencies", {}),
    "warrants": ("warrants", {}),
    "prices": ("market_data", {}),
    "metrics": ("market_metrics", {}),
    "chains": ("futures_option_chains", {}),
    "equity-chains": ("equity_option_chains", {}),
    "dividends": ("dividends", {}),
    "earnings": ("earnings_reports", {}),
}
"""Kinds of data, and the methods of `Bulk` that fetch them; expired instruments are requested with the others."""


async def fetch(
    kind: str,
    symbols: Annotated[str, typer.Option(help="file with a symbol on each line (chains: a product code), or -")],
    out: Annotated[Path, typer.Option(help="file to write: .jsonl, .csv or .parquet")],
    start_date: Annotated[datetime | None, day("first day, for earnings and only there")] = None,
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
    """Fetch data of many symbols and write it to one file, in the order of the symbols.

    Results are kept in FILE.partial until the file is complete: run the same command again after an interruption,
    and it goes on where it stopped. If symbols fail, the file is not written, and the next run requests only those.
    """
    from ..arrow import require

    if out.suffix not in FORMATS:
        raise typer.BadParameter(f"the name must end in {', '.join(FORMATS)}", param_hint="--out")
    if (start_date is None) is (kind == "earnings"):
        wrong = "earnings need their first day" if start_date is None else f"goes with earnings only, not with {kind}"
        raise typer.BadParameter(wrong, param_hint="--start-date")
    if out.suffix == ".parquet":
        try:
            require("arrow")
        except errors.ConfigurationError as missing:
            raise typer.BadParameter(str(missing), param_hint="--out") from None
    wanted = _read_symbols(symbols)
    with _progress_bar(kind, len(wanted)) as show:
        given = {"on_progress": show, "concurrency": concurrency, "batch_size": batch_size}
        options = {name: value for name, value in given.items() if value is not None}
        async with connect(simulated=simulated) as service:
            name, more = METHODS[kind]
            days = () if start_date is None else (start_date.date(),)
            started = getattr(_bulk_of(service), name)(wanted, *days, **more, **options)
            try:
                result = await bulk.fetch_to_file(started, out, raw=raw, restart=restart, skip_failed=skip_failed)
            except errors.IncompleteFetchError as error:
                _complain_of(error.failed)
                say(f"{out} was not written: run the same command again to retry, or pass --skip-failed", err=True)
                raise typer.Exit(1) from None
    _report(result, f"{result.found} of {len(wanted)} symbols found", "symbols", "unknown to the service")


async def universe(
    out: Annotated[Path, typer.Option(help="directory of the partitions, one a day")],
    symbols: Annotated[
        str | None, typer.Option(help="file with an underlying on each line (futures: /ES), or -; by default all")
    ] = None,
    kind: Annotated[list[str] | None, typer.Option(help="only instruments of this kind; may be repeated")] = None,
    simulated: Simulated = False,
) -> None:
    """Fetch every instrument into the Parquet partition of today, within the published limits.

    Run the same command again after an interruption, and it goes on where it stopped. A complete partition stays.
    """
    underlyings = None if symbols is None else _read_symbols(symbols)
    with _progress_bar("universe", None) as show:
        async with connect(simulated=simulated) as service:
            result = await _bulk_of(service).universe(
                out, kinds=kind or None, underlyings=underlyings, on_progress=show
            )
    counts = ", ".join(f"{count} {name}" for name, count in result.counts.items())
    _report(result, counts, "lists and chains", "without options")


async def diff(
    before: Annotated[Path, typer.Argument(help="partition, or directory whose newest one counts")],
    after: Annotated[Path, typer.Argument(help="likewise")],
    as_json: AsJson = False,
) -> None:
    """Show all listings, delistings and changes between two partitions of `fetch universe`."""
    rows = bulk.universe_diff(before, after).to_pylist()
    cells = ({name: value or "" for name, value in row.items()} for row in rows)
    if as_json:
        echo_json(rows)
    else:
        show_items(cells, lambda row: row, "Changes", empty="Nothing changed.", folded=("before", "after"))


group: typer.Typer = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Fetch the data of many symbols, or of all, into files."
)
for _kind in METHODS:
    group.command(_kind, short_help=f"Fetch {_kind.replace('-', ' ')} into one file.")(command_of(fetch, kind=_kind))
add(group, universe, short_help="Fetch every instrument into the partition of today.")
add(group, diff, short_help="Show what changed between two partitions.")


def _bulk_of(service: Service) -> bulk.Bulk:
    """Return the bulk fetches of a service. All embedded simulators are the same one, whatever their ports."""
    if service.simulator is None:
        return service.client.bulk
    return bulk.Bulk(service.client, service="the simulator", session=service.client.session)


@contextlib.contextmanager
def _progress_bar(name: str, total: int | None) -> Iterator[bulk.Progress]:
    """Show a bar, and yield the function that advances it."""
    from rich import progress

    from .screen import err

    columns = (
        progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(), progress.TimeRemainingColumn(),
    )  # fmt: skip
    with progress.Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(name, total=total)
        yield lambda done, known, _: bar.update(task, completed=done, total=known)


def _report(result: bulk.FileResult | bulk.UniverseResult, what: str, units: str, unknown: str) -> None:
    """Print what was written, how much of it an earlier run had fetched, and the parts that are missing or failed."""
    say(f"{result.path}: {what}", err=True)
    if result.resumed:
        say(f"continued: {result.resumed} {units} came from an interrupted run", err=True)
    if result.missing:
        rest = f" and {len(result.missing) - SHOWN} more" if len(result.missing) > SHOWN else ""
        say(f"{unknown}: {', '.join(result.missing[:SHOWN])}{rest}", err=True)
    _complain_of(result.failed)


def _read_symbols(name: str) -> list[str]:
    """Read symbols from a file or standard input, without duplicates."""
    try:
        lines = (sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8-sig")).splitlines()
    except OSError as error:
        raise typer.BadParameter(f"{error.strerror}: {name}", param_hint="--symbols") from None
    except UnicodeDecodeError:
        raise typer.BadParameter(f"not a text file in UTF-8: {name}", param_hint="--symbols") from None
    return [symbol for symbol in dict.fromkeys(line.strip() for line in lines) if symbol]


def _complain_of(failed: Mapping[str, object]) -> None:
    for symbol in list(failed)[:SHOWN]:
        say(f"failed: {symbol}: {failed[symbol]}", err=True)
    if len(failed) > SHOWN:
        say(f"failed: {len(failed) - SHOWN} more", err=True)
