"""The cost of fields in undocumented forms, once the decoder has adapted to them, and of chunks."""

import logging
import statistics
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from brokerage_async import models
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.decoding.adaptive import DecoderRegistry

from . import bodies
from .bodies import Row, changed
from .rounds import Result, ratios, result, times

ROWS = 500


def measure(rounds: int) -> list[Result]:
    """Measure the forms on 500 orders, then chunks."""
    logging.getLogger("brokerage_async.decode").setLevel(logging.ERROR)  # Each form is reported once.
    orders = bodies.page_of(models.Order)
    chunks = partial(codec.decode_chunks, orders.operation, orders.body, registry=DecoderRegistry())
    taken = times({"chunks": lambda: deque(chunks(), 0), "whole": _decoding(orders, DecoderRegistry())}, rounds)
    whole = result("    chunks of a body, x in one go (1,000 orders)", ratios(taken["chunks"], taken["whole"]))
    return [*_forms(orders, rounds), whole]


def _naive(row: Row, start: str = "received") -> Row:
    """Return the row without the zone of the date-times whose keys begin with ``start``."""
    naive = {key: row[key].removesuffix("+00:00") for key in row if key.startswith(start) and key.endswith("-at")}
    return {**row, **naive}


def _with_legs(row: Row, **changes: Any) -> Row:
    return {**row, "legs": [changed(leg, **changes) for leg in row["legs"]]}


def _with_fills(row: Row, **changes: Any) -> Row:
    legs = [{**leg, "fills": [changed(fill, **changes) for fill in leg["fills"]]} for leg in row["legs"]]
    return {**row, "legs": legs}


def _four(row: Row) -> Row:
    return changed(_naive(row), cancellable="true", price="N/A", underlying_symbol={"symbol": "AAPL"})


#: The first has another bound: its raw list is kept beside the models, so its items are decoded twice. The other none.
LIST_ITEM, NINE = "null among the items of a list", "nine fields at once"

#: A row of the page with fields in an undocumented form.
FORMS: Mapping[str, Callable[[Row], Row]] = {
    "date-time without zone": _naive,
    "five date-times without zone": lambda row: _naive(row, ""),
    "date-time in prose": lambda row: changed(row, received_at=f"Jan 5 2026 {row['id']}"),
    "epoch as a string of digits": lambda row: changed(row, updated_at=f"1784553{row['id'][-6:]}"),
    "boolean as a string": lambda row: changed(row, cancellable="true"),
    "price N/A": lambda row: changed(row, price="N/A"),
    "price as a number": lambda row: changed(row, price=59.73),
    "object for a string": lambda row: changed(row, underlying_symbol={"symbol": "AAPL", "type": "Equity"}),
    "list for a string": lambda row: changed(row, underlying_symbol=["AAPL"]),
    "number for a string": lambda row: changed(row, underlying_symbol=7),
    "boolean for a string": lambda row: changed(row, underlying_symbol=True),
    "string for an integer": lambda row: changed(row, ext_global_order_number=row["id"]),
    "number for an enumeration": lambda row: changed(row, status=4),
    "date in prose": lambda row: changed(row, gtc_date="tomorrow"),
    "string for a nested object": lambda row: changed(row, order_rule="none"),
    "object for a list": lambda row: changed(row, legs={"symbol": "AAPL"}),
    LIST_ITEM: lambda row: changed(row, legs=[*row["legs"], None]),
    "object for a string in each leg": lambda row: _with_legs(row, symbol={"symbol": "AAPL"}),
    "price N/A in each fill": lambda row: _with_fills(row, fill_price="N/A"),
    "four fields at once": _four,
    NINE: lambda row: _naive(changed(_four(row), status=4), ""),
}


def _forms(page: bodies.Page, rounds: int) -> list[Result]:
    rows = page.rows()[:ROWS]
    clean = _decoding(page.with_rows(rows), DecoderRegistry())
    odd = {
        name: _decoding(page.with_rows([change(row) for row in rows]), DecoderRegistry())
        for name, change in FORMS.items()
    }
    taken: dict[str, list[float]] = {}
    names = list(FORMS)
    for start in range(0, len(names), 4):  # In small groups, so that few others come between a form and the clean page.
        group = {name: odd[name] for name in names[start : start + 4]}
        found = times({"clean": clean, **group}, 2 * rounds)
        taken |= {name: ratios(found[name], found["clean"]) for name in group}
    worst = max((taken[name] for name in names if name not in (LIST_ITEM, NINE)), key=statistics.median)
    return [
        result("500 orders, one to four odd fields, the worst, x clean", worst, bound=1.6, aim=1.3),
        *[
            result(f"    {name}, x clean", values, bound=2.0 if name == LIST_ITEM else None)
            for name, values in taken.items()
        ],
    ]


def _decoding(page: bodies.Page, registry: DecoderRegistry) -> Callable[[], Any]:
    """Return a decoder of the page that has adapted to it."""

    def decode() -> Any:
        return codec.decode(page.operation, page.body, registry=registry).value

    for _ in range(2):
        decode()
    return decode
