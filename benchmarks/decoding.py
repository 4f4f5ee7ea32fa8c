"""Decoding and encoding in this process: bytes, dicts, unknown fields, orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import orjson

from brokerage_async import models
from brokerage_async.protocol import codec, learning

from . import bodies, peers
from .rounds import Result, means, ratios, result, times


def measure(rounds: int) -> list[Result]:
    """All of it."""
    columns: dict[str, list[list[float]]] = {}
    details: list[Result] = []
    for page in bodies.pages():
        taken = times(_contenders(page), rounds)
        for name in ("peer", "struct", "floor", "msgspec untyped"):
            columns.setdefault(name, []).append(ratios(taken["ours"], taken[name]))
        columns.setdefault("dicts", []).append(ratios(taken["our dicts"], taken["peer dicts"]))
        columns.setdefault("unknown", []).append(ratios(taken["unknown"], taken["ours"]))
        note = f"{len(page.body) / 1e3:.0f} kB"
        details += [
            result(f"    {page.name}, x peer", columns["peer"][-1], note=note),
            result(f"    {page.name}, x msgspec.Struct", columns["struct"][-1]),
        ]
    return [
        result("bytes to 1,000 typed objects, x peer", means(columns["peer"]), bound=0.23, aim=0.19),
        result("bytes to 1,000 typed objects, x msgspec.Struct", means(columns["struct"]), bound=1.40, aim=1.15),
        *details,
        result("    mean of the pages, x orjson.loads untyped", means(columns["floor"])),
        result("    mean of the pages, x msgspec untyped", means(columns["msgspec untyped"])),
        result("converter.structure(list of dicts), x peer", means(columns["dicts"]), bound=0.45, aim=0.40),
        result("one unknown field on every row, x clean decode", means(columns["unknown"]), bound=1.5, aim=1.1),
        _encode(rounds),
    ]


def _contenders(page: bodies.Page) -> dict[str, Callable[[], Any]]:
    learning.forget()
    rows = page.rows()
    unknown = page.with_rows([{**row, "new-key": "new value"} for row in rows])
    from_bytes, from_dicts = peers.peer_from_bytes(page.model), peers.peer_from_dicts(page.model)
    structs = peers.struct_decoder(page.model)
    kind = list[page.model]  # type: ignore[name-defined]
    return {
        "ours": lambda: codec.decode(page.operation, page.body).value,
        "peer": lambda: from_bytes(page.body),
        "struct": lambda: structs(page.body),
        "unknown": lambda: codec.decode(page.operation, unknown.body).value,
        "floor": lambda: orjson.loads(page.body),
        "msgspec untyped": lambda: msgspec.json.decode(page.body),
        "our dicts": lambda: models.converter.structure(rows, kind),
        "peer dicts": lambda: from_dicts(rows),
    }


def _encode(rounds: int) -> Result:
    order = bodies.two_leg_order(["AAPL  260618C00150000", "AAPL  260618C00250000"])
    peer = peers.peer_encode(order)
    times_each = 2000

    def ours() -> None:
        for _ in range(times_each):
            codec.encode(order)

    def theirs() -> None:
        for _ in range(times_each):
            peer()

    taken = times({"ours": ours, "theirs": theirs}, rounds)
    note = f"{min(taken['ours']) / times_each * 1e6:.1f} us"
    return result(
        "encode a two-leg order, x peer", ratios(taken["ours"], taken["theirs"]), bound=0.35, aim=0.15, note=note
    )
