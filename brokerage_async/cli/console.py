"""Printing, prompts, and running a command to its end.

Modules of commands import it for ``--help`` as well, so whatever takes time to import is imported inside.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterable, Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from .lazy import asyncio, errors
from .tables import printable, printable_json, raw, table_of

if TYPE_CHECKING:
    from rich.table import Table

T = TypeVar("T")

WIDE = 1_000  # columns of a line that is not for a terminal: a file, or another program, takes any
INTERRUPTED = 130  # exit code that a shell reports for a program ended by Ctrl-C
ROWS = 30  # most rows of a live table


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run a command to its end.

    One of our errors, or of the system's, becomes one message on stderr and exit code 1. Ctrl-C leaves cleanly with
    130, after the client has been closed.
    """
    try:
        asyncio.run(main)
    except BrokenPipeError:
        raise  # the reader of our output has had enough, which is not an error
    except (errors.BrokerageError, OSError) as error:
        complain(error, style="red")
        address = os.environ.get("BROKERAGE_BASE_URL")
        cause = error if isinstance(error, errors.RequestNotSentError) else error.__cause__
        if address and (isinstance(cause, errors.RequestNotSentError) or "base_url" in str(error)):
            say(f"Is BROKERAGE_BASE_URL right ({address}), and the network up?", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        say("interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None


def complain(error: Exception, *, style: str = "yellow") -> None:
    say(f"{type(error).__name__}: {error}", style=style, err=True)


def say(line: str, *, style: str | None = None, err: bool = False) -> None:
    """Print a line without breaking it."""
    from . import screen

    (screen.err if err else screen.out).print(line, style=style, soft_wrap=True)


def confirm(question: str) -> None:
    """Ask before something is changed. Anything but yes, Ctrl-C included, leaves with exit code 1 and nothing sent."""
    import signal

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's own acts only after the answer
    try:
        agreed = typer.confirm(printable(question))
    except typer.Abort:
        agreed = False
    finally:
        signal.signal(signal.SIGINT, handler)
    if not agreed:
        say("Nothing was sent.")
        raise typer.Exit(1)


def echo_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a value as JSON on stdout: in ASCII where stdout takes no UTF-8, and without control characters."""
    encoding = getattr(sys.stdout, "encoding", None) or ""
    ascii_only = not encoding.lower().startswith("utf")
    typer.echo(printable_json(json.dumps(value, indent=indent, ensure_ascii=ascii_only, default=str)))


def width() -> int:
    """Return how wide a table may be: as the terminal, or as COLUMNS says. Any width without a terminal."""
    from .screen import out

    return out.width if out.is_terminal or "COLUMNS" in os.environ else WIDE


def show(table: Table) -> None:
    """Print a table. Without a terminal, nothing of it is cut."""
    from .screen import PlainConsole, out

    (PlainConsole(file=out.file, width=WIDE) if width() == WIDE else out).print(table)


def show_items(
    items: Iterable[T],
    row: Callable[[T], dict[str, str]],
    title: str,
    *,
    as_json: bool = False,
    empty: str | None = None,
    **layout: Any,
) -> None:
    """Print items as JSON or as the rows of a table, as wide as the terminal (``layout`` as for `table_of`).

    ``empty`` is printed instead of a table without rows.
    """
    items = list(items)
    if as_json:
        echo_json(raw(items))
    elif items or empty is None:
        show(table_of(map(row, items), title, width=width(), **layout))
    else:
        say(empty)


def is_live(*, as_json: bool) -> bool:
    """Return whether `follow` draws a table."""
    from .screen import out

    return out.is_terminal and not as_json


async def follow(
    title: str,
    items: AsyncIterable[T],
    row: Callable[[T], tuple[object, dict[str, str], str | None]],
    record: Callable[[T], dict[str, Any]],
    *,
    as_json: bool,
    count: int | None,
    in_order: bool = False,
    **layout: Any,
) -> None:
    """Show items as they arrive: as lines of JSON, or in a live table. Without a terminal, as lines.

    ``row`` returns the key of an item, its cells by heading, and their style, ``record`` the item as JSON values. The
    table shows the keys that came last, each with all the cells that it got, sorted by time or ``in_order`` of the
    keys. It ends after ``count`` items. ``layout`` is for `table_of`.
    """
    from contextlib import nullcontext

    from rich import box
    from rich.live import Live

    from .screen import out

    latest: dict[Any, tuple[dict[str, str], str | None]] = {}

    def table() -> Table:
        rows = [latest[key] for key in (sorted(latest) if in_order else list(latest))]
        return table_of(
            [cells for cells, _ in rows], title, width=out.width, styles=[style for _, style in rows],
            box=box.SIMPLE_HEAD, **layout,
        )  # fmt: skip

    live = is_live(as_json=as_json)
    drawn = Live(get_renderable=table, console=out, refresh_per_second=8, vertical_overflow="crop") if live else None
    with drawn or nullcontext():
        seen = 0
        async for item in items:
            if as_json:
                echo_json(record(item), indent=None)
            else:
                key, cells, style = row(item)
                before, _ = latest.pop(key, ({}, None))
                latest[key] = before | cells, style
                if len(latest) > ROWS:
                    del latest[next(iter(latest))]
                if not live:
                    say("  ".join(filter(None, cells.values())).replace("\n", ", "))
            seen += 1
            if seen == count:
                return
