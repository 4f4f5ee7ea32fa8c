"""Tables of rows that fit the terminal, and values as cells and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .lazy import models

if TYPE_CHECKING:
    from datetime import datetime
    from decimal import Decimal

    from rich.table import Table

PADDING = 3
"""Characters that a column needs beside its cells."""

FOLDED = 24
"""Characters that a column whose cells may be folded needs at least."""


def table_of(
    rows: Iterable[Mapping[str, str]],
    title: str,
    *,
    headings: Sequence[str] = (),
    numbers: Collection[str] = (),
    whole: Collection[str] = (),
    folded: Collection[str] = (),
    dispensable: Sequence[str | tuple[str, ...]] = (),
    width: int | None = None,
    styles: Sequence[str | None] = (),
    **options: Any,
) -> Table:
    """Build a table. Columns that do not fit into ``width`` are omitted and named below.

    rich alone would fold or cut cells instead, numbers among them.

    Args:
        rows: cells by heading.
        title: title of the table.
        headings: headings of the columns, by default the keys of the rows.
        numbers: headings of columns that are aligned to the right and stand on one line.
        whole: headings of other columns whose cells stand on one line. A cut one ends in an ellipsis.
        folded: headings of long cells, which take the room that is left.
        dispensable: headings that are omitted without room for them, in this order. A tuple of them goes together.
            Columns of numbers follow, the last one first: a number is never cut.
        width: characters in a line. None: any number.
        styles: styles of the rows.
        options: further options of the table.
    """
    from rich.cells import cell_len
    from rich.table import Table

    listed = list(rows)
    room = {}
    for heading in headings or {name: None for row in listed for name in row}:
        widest = max((cell_len(line) for row in listed for line in row.get(heading, "").splitlines()), default=0)
        widest = max(cell_len(heading), min(widest, FOLDED) if heading in folded else widest)
        room[heading] = PADDING + widest
    omitted: list[str] = []
    for group in (*dispensable, *reversed([heading for heading in room if heading in numbers][1:])):
        if width is not None and 1 + sum(room.values()) > width:
            together = [heading for heading in ([group] if isinstance(group, str) else group) if room.pop(heading, 0)]
            omitted += together
    if omitted:
        options["caption"] = f"No room for: {', '.join(omitted)}. --json shows all."
    table = Table(title=title, title_justify="left", caption_justify="left", **options)
    for heading in room:
        one_line = heading in whole or heading in numbers
        table.add_column(
            heading,
            justify="right" if heading in numbers else "left",
            overflow="ellipsis" if one_line else "fold",
            no_wrap=one_line,
        )
    for index, row in enumerate(listed):
        table.add_row(*(row.get(heading, "") for heading in room), style=styles[index] if styles else None)
    return table


def raw(model: Any) -> Any:
    """Return a model, or a list of them, as JSON values. None stays None."""
    return None if model is None else models.converter.unstructure(model)


def plain(amount: Decimal | None) -> str:
    """Return a number without an exponent."""
    return "" if amount is None else format(amount, "f")


def money(amount: Decimal | None, effect: object = None) -> str:
    """Return an amount with separators of thousands and at least cents, and its effect if there is one."""
    if amount is None:
        return ""
    exponent = amount.as_tuple().exponent
    written = f"{amount:,.2f}" if not isinstance(exponent, int) or exponent > -2 else f"{amount:,f}"
    return f"{written} {effect or ''}".rstrip()


def moment(at: datetime | None, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return a date-time in local time."""
    return "" if at is None else f"{at.astimezone():{form}}"
