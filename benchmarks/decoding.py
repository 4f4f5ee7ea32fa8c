"""Decoding and encoding in this process: bytes, dicts, unknown fields, orders."""

import asyncio
from functools import partial
from itertools import cycle, islice
from time import process_time
from timeit import timeit
from typing import Any

import msgspec
import orjson

from brokerage_async import models
from brokerage_async.protocol.decoding import codec
from brokerage_async.protocol.decoding.adaptive import REGISTRY, DecoderRegistry

from . import bodies, peers
from .rounds import Contender, Result, means, ratios, result, times

#: Who is compared with whom: the first with each of the others.
GROUPS = (("ours", "struct"), ("ours", "floor", "msgspec untyped"), ("ours", "peer"), ("our dicts", "peer dicts"),
          ("unknown", "clean"))  # fmt: skip


def measure(rounds: int) -> list[Result]:
    """Measure pages, then bodies that programs poll, then requests and comparisons."""
    columns: dict[str, list[list[float]]] = {}
    details: list[Result] = []
    pages = asyncio.run(bodies.pages())
    for page in pages:
        contenders = _contenders(page)
        for mine, *others in GROUPS:
            # In small groups, because the one after the heaviest finds the caches full of other things.
            taken = times({name: contenders[name] for name in (mine, *others)}, rounds)
            for other in others:
                columns.setdefault(other, []).append(ratios(taken[mine], taken[other]))
        bound = 1.4 if page.model is models.Order else None
        details += [
            result(f"    {page.name}, x peer", columns["peer"][-1], note=f"{len(page.body) / 1e3:.0f} kB"),
            result(f"    {page.name}, x msgspec.Struct", columns["struct"][-1], bound=bound),
        ]
    return [
        result("bytes to 1,000 typed objects, x peer", means(columns["peer"]), bound=0.23, aim=0.19),
        result("bytes to 1,000 typed objects, x msgspec.Struct", means(columns["struct"]), bound=1.40, aim=1.15),
        *details,
        result("    mean of the pages, x orjson.loads untyped", means(columns["floor"])),
        result("    mean of the pages, x msgspec untyped", means(columns["msgspec untyped"])),
        result("converter.structure(list of dicts), x peer", means(columns["peer dicts"]), bound=0.45, aim=0.40),
        result("one unknown field on every row, x clean decode", means(columns["clean"]), bound=1.5, aim=1.1),
        *(_holding(page, rounds) for page in asyncio.run(bodies.holdings())),
        _encode(rounds),
        _compare(next(page for page in pages if page.model is models.Order), rounds),
    ]


#: Bound and aim by body. A strike has five fields only: creating the object is half of its cost, here and there.
#: Numbers that were not seen before cost a conversion each, here and there, which no cache spares.
HOLDINGS = {
    "nested option chain of 5,000 strikes": (0.25, 0.22),
    "market data of 100 symbols": (0.25, 0.22),
    "market data of 100 symbols, polled while prices move": (0.45, 0.35),
    "500 positions": (0.25, 0.2),
}


TIMES_EACH = 5


def _holding(page: bodies.Page, rounds: int) -> Result:
    """Measure one body that programs poll. Each time counts several decodes, because some are short."""
    REGISTRY.reset()
    decode, peer = partial(codec.decode, page.operation, registry=DecoderRegistry()), peers.peer_from_bytes(page.model)
    ours, theirs = (cycle((page.body, *page.later)) for _ in range(2))
    # All are kept until the clock has stopped, as everywhere else: decoding does not include freeing them.
    taken = times(
        {
            "ours": lambda: [decode(body) for body in islice(ours, TIMES_EACH)],
            "theirs": lambda: [peer(body) for body in islice(theirs, TIMES_EACH)],
        },
        rounds,
    )
    note = f"{min(taken['ours']) / TIMES_EACH * 1e3:.2f} ms, {len(page.body) / 1e3:.0f} kB"
    bound, aim = HOLDINGS[page.name]
    return result(f"{page.name}, x peer", ratios(taken["ours"], taken["theirs"]), bound=bound, aim=aim, note=note)


def _contenders(page: bodies.Page) -> dict[str, Contender]:
    REGISTRY.reset()
    rows = page.rows()
    unknown = page.with_rows([{**row, "new-key": "new value"} for row in rows])
    peer, from_bytes = peers.peer_models()[page.model], peers.peer_from_bytes(page.model)
    structs = peers.struct_decoder(page.model)
    kind = list[page.model]  # type: ignore[name-defined]
    clean, learned = DecoderRegistry(), DecoderRegistry()  # One contender's adaptations must not slow down the others.

    def decode(body: bytes, registry: DecoderRegistry) -> Any:
        return codec.decode(page.operation, body, registry=registry).value

    decode(unknown.body, learned)
    return {
        "ours": lambda: decode(page.body, clean),
        "clean": lambda: decode(page.body, clean),
        "peer": lambda: from_bytes(page.body),
        "struct": lambda: structs(page.body),
        "unknown": lambda: decode(unknown.body, learned),
        "floor": lambda: orjson.loads(page.body),
        "msgspec untyped": lambda: msgspec.json.decode(page.body),
        "our dicts": lambda: models.converter.structure(rows, kind),
        "peer dicts": lambda: [peer(**row) for row in rows],
    }


def _encode(rounds: int) -> Result:
    order = bodies.two_leg_order(["AAPL  260618C00150000", "AAPL  260618C00250000"])
    several = partial(timeit, timer=process_time, number=2000)
    encoders = {"ours": partial(codec.encode, order), "theirs": peers.peer_encode(order)}
    taken = times({name: partial(several, encode) for name, encode in encoders.items()}, rounds)
    return result(
        "encode a two-leg order, x peer",
        ratios(taken["ours"], taken["theirs"]),
        bound=0.35,
        aim=0.15,
        note=f"{min(taken['ours']) / 2000 * 1e6:.1f} us",
    )


def _compare(page: bodies.Page, rounds: int) -> Result:
    """Measure ``==`` of equal rows that share no model."""
    ours = [codec.decode(page.operation, page.body).value for _ in range(2)]
    theirs = peers.with_attrs_eq(ours)
    taken = times({"ours": lambda: ours[0] == ours[1], "theirs": lambda: theirs[0] == theirs[1]}, rounds)
    note = f"{min(taken['ours']) / len(ours[0]) * 1e6:.1f} us"
    title = "== of two orders, x the __eq__ that attrs generates"
    return result(title, ratios(taken["ours"], taken["theirs"]), bound=1.2, note=note)
