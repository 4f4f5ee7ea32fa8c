"""Tables of rows that fit the terminal, and values as cells and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import attrs
from rich.cells import cell_len
from rich.table import Table

from ..models import converter

__all__ = ["Layout", "Row", "moment", "money", "plain", "raw", "table_of"]

Row = Mapping[str, str]
"""Cells by heading."""

BORDERS = 3
"""Characters that a column needs beside its cells."""

FOLDED = 24
"""Characters that a column whose cells may be folded needs at least."""


@attrs.frozen(kw_only=True)
class Layout:
    """Columns of a table.

    Attributes:
        title: title of the table.
        headings: headings of the columns, in order.
        right: headings of numbers, which are aligned to the right.
        unbroken: headings of cells that stand on one line.
        folded: headings of long cells, which take the room that is left.
        dispensable: headings that are omitted without room for them, in this order; a tuple of them goes together.
    """

    title: str
    headings: tuple[str, ...]
    right: frozenset[str] = frozenset()
    unbroken: frozenset[str] = frozenset()
    folded: frozenset[str] = frozenset()
    dispensable: tuple[str | tuple[str, ...], ...] = ()


def table_of(rows: Iterable[Row], layout: Layout, width: int | None = None) -> Table:
    """Build a table; columns that do not fit into ``width`` are omitted and named below."""
    listed = list(rows)
    room = {heading: BORDERS + _width(heading, listed, layout) for heading in layout.headings}
    left_out: list[str] = []
    for group in layout.dispensable:
        if width is not None and 1 + sum(room.values()) > width:
            headings = (group,) if isinstance(group, str) else group
            left_out += headings
            for heading in headings:
                del room[heading]
    table = Table(title=layout.title, title_justify="left", caption_justify="left")
    if left_out:
        table.caption = f"No room for: {', '.join(left_out)}. --json shows all."
    for heading in room:
        table.add_column(
            heading,
            justify="right" if heading in layout.right else "left",
            overflow="fold",
            no_wrap=heading in layout.unbroken,
        )
    for row in listed:
        table.add_row(*(row[heading] for heading in room))
    return table


def _width(heading: str, rows: Iterable[Row], layout: Layout) -> int:
    widest = max(map(cell_len, (heading, *(row[heading] for row in rows))))
    return min(widest, FOLDED) if heading in layout.folded else widest


def raw(model: Any) -> Any:
    """Return a model as JSON values; None stays None."""
    return None if model is None else converter.unstructure(model)


def plain(amount: Decimal | None) -> str:
    """Return a number without an exponent."""
    return "" if amount is None else format(amount, "f")


def money(amount: Decimal | None) -> str:
    """Return an amount with separators of thousands, and at least cents."""
    if amount is None:
        return ""
    exponent = amount.as_tuple().exponent
    return f"{amount:,.2f}" if not isinstance(exponent, int) or exponent > -2 else f"{amount:,f}"


def moment(at: datetime | None) -> str:
    """Return a date-time in local time."""
    return "" if at is None else f"{at.astimezone():%Y-%m-%d %H:%M:%S}"
