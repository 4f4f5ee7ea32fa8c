"""Writer of the results: RESULTS.md for all Python versions that were measured, and pictures of the latest."""

from __future__ import annotations

import json
import platform
import statistics
from collections.abc import Mapping, Sequence
from html import escape
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs

from .rounds import Result

HERE = Path(__file__).parent
PACKAGES = ("aiohttp", "attrs", "cattrs", "msgspec", "orjson", "pydantic", "tastytrade", "uvloop")

INTRODUCTION = """\
# What it costs

Written by `nox -s bench` (all Python versions that it was run on); `nox -s bench -- --quick` only prints, with fewer
rounds; `nox -s bench -- --check` exits 1 when a bound is missed. The bounds hold for Python 3.13 and later; older
interpreters are reported beside it.

Contenders take turns, round by round, in one process; times are CPU times of that process, lines are medians of the
ratios within a round, with their quartiles. Bodies come from the embedded simulator: pages of 1,000 equities, equity
options, future options, and orders with two legs and their fills. The *peer* is the tastytrade SDK from PyPI with its
own models and its own client code; fields that it requires and the service document does not name were made optional
for it, so that all decode the same bytes. *msgspec.Struct* is what one would write by hand: every field typed, frozen,
outside of the garbage collector, in the order of the service document, nothing kept that is not declared. The bodies
carry their keys in that very order, which suits it best: msgspec reads keys fastest where it expects them. Where a row
says *over TLS* or *on uvloop*, both sides have the same certificate of 127.0.0.1, or run on the same loop.

![Processor time and memory beside the peer and the limit](results.svg)
"""

WAITED = """
## Seconds that a user waits

10,000 equities in 40 pages of 250 rows (the page of the SDK), over {link}.
Written by `nox -s waiting`: a proxy on loopback delays every byte as such a link does. Every round opens a new
connection; the slow start of TCP and the handshake of TLS, which would add more, are left out. The limit connects, asks
once, and lets all bytes follow one another. Rows of the simulator are more alike than those of the service, so gzip
makes them smaller than it would those.

![Seconds until 10,000 equities are there](waiting.svg)
"""

WAITING = {
    "prefetch": "brokerage_async, `prefetch(8)`",
    "pages": "brokerage_async, page by page",
    "peer": "tastytrade SDK, `Equity.get(session, [], page_offset=None)`",
}


def save(results: Sequence[Result]) -> None:
    """Keep the results of this Python version, and rewrite the report from all that are kept."""
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    python = ".".join(platform.python_version_tuple()[:2])
    kept = {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {name: version(name) for name in PACKAGES if find_spec(name)},
        "results": [attrs.asdict(each) for each in results],
    }
    (folder / f"{python}.json").write_text(json.dumps(kept, indent=1) + "\n")
    write()


def write() -> None:
    """Write the report and the pictures from all results that are kept."""
    runs = [json.loads(path.read_text()) for path in sorted((HERE / "results").glob("*.json"), reverse=True)]
    kept = json.loads((HERE / "waiting.json").read_text())
    (HERE / "RESULTS.md").write_text(INTRODUCTION + _waiting(kept) + "".join(map(_section, runs)))
    (HERE / "results.svg").write_text(costs([Result(**each) for each in runs[0]["results"]], runs[0]["python"]))
    (HERE / "waiting.svg").write_text(waited(kept))


def _waiting(kept: dict[str, Any]) -> str:
    rows = []
    for encoding, case in kept["cases"].items():
        for name, seconds in case["seconds"].items():
            middle = statistics.median(seconds)
            rows.append(
                f"| {encoding} | {WAITING[name]} | {middle:.2f} s | {min(seconds):.2f} to {max(seconds):.2f} s |\n"
            )
        rows.append(f"| {encoding} | limit of the link: {case['bytes']:,} bytes | {case['limit']:.2f} s | |\n")
    versions = ", ".join(f"{name} {number}" for name, number in kept["versions"].items())
    rounds = min(len(seconds) for case in kept["cases"].values() for seconds in case["seconds"].values())
    link = f"{kept['megabits']:g} Mbit/s and a round trip of {kept['milliseconds']:g} ms"
    return (
        f"{WAITED.format(link=link)}\nPython {kept['python']}; {versions}; {rounds} rounds.\n\n"
        "| answers | | median | spread |\n|---|---|---|---|\n" + "".join(rows)
    )


def _section(run: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
    rows = []
    for each in (Result(**raw) for raw in run["results"]):
        name = f"&nbsp;&nbsp;{each.name.strip()}" if each.name.startswith(" ") else f"**{each.name}**"
        limits = "" if each.bound is None else f"{each.bound:g}"
        aim = "" if each.aim is None else f"{each.aim:g}"
        spread = f"{each.low:.3g} to {each.high:.3g}"
        rows.append(f"| {name} | {each.shown} | {spread} | {limits} | {aim} | {each.note} |\n")
    return (
        f"\n## Python {run['python']}\n\n{run['machine']}; {versions}.\n\n"
        "| measure | median | quartiles | bound | aim | |\n|---|---|---|---|---|---|\n" + "".join(rows)
    )


# -- pictures: ours, the peer and the limit side by side, for each task

COLOURS = {"ours": "#0f766e", "ours too": "#5eaaa2", "peer": "#9ca3af", "limit": "#f59e0b"}
WIDTH, LEFT, BAR, GAP = 760, 190, 20, 26
"""Pixels: of the picture, of the names, of a bar, and between tasks."""

PEER = "tastytrade SDK (PyPI)"
TASKS = (
    (
        "Typed objects from JSON: 1,000 rows",
        "bytes to 1,000 typed objects, x peer",
        "bytes to 1,000 typed objects, x msgspec.Struct",
        "hand-written msgspec",
    ),
    (
        "25,000 equities over HTTP: processor time of the client",
        "25 pages x 1,000 equities over HTTP, client CPU, x peer",
        "25 pages x 1,000 equities over HTTP, client CPU, x bare aiohttp with msgspec.Struct",
        "bare aiohttp + msgspec",
    ),
    ("Memory of an equity", "memory per equity (100,000 held), x peer", None, ""),
    ("JSON of an order with two legs", "encode a two-leg order, x peer", None, ""),
)
"""Title, results as ratios to the peer and to the limit, and the name of the limit."""


@attrs.frozen
class Bar:
    """One bar: its name, length and label, and a colour of `COLOURS`."""

    name: str
    value: float
    text: str
    colour: str


def costs(results: Sequence[Result], python: str) -> str:
    """Return the picture of processor time and memory, as shares of the peer's."""
    found = {each.name: each.value for each in results}
    groups = {}
    for title, to_peer, to_limit, limit in TASKS:
        if to_peer in found:
            shares = [("brokerage_async", found[to_peer], "ours")]
            if to_limit in found:
                shares.append((limit, found[to_peer] / found[to_limit], "limit"))
            bars = [Bar(name, share, f"{share * 100:.0f} %", colour) for name, share, colour in shares]
            groups[title] = [*bars, Bar(PEER, 1.0, "100 %", "peer")]
    note = f"Share of what the {PEER} needs; shorter is better. Python {python}. Repeat: nox -s bench"
    return draw("What it costs", note, groups)


def waited(kept: Mapping[str, Any]) -> str:
    """Return the picture of the seconds that a user waits."""
    groups = {}
    for encoding, case in kept["cases"].items():
        seconds = {name: statistics.median(values) for name, values in case["seconds"].items()}
        megabytes = case["bytes"] / 1e6
        groups[f"{'Compressed' if encoding == 'gzip' else 'Not compressed'}: {megabytes:.1f} MB"] = [
            Bar("limit of the link", case["limit"], f"{case['limit']:.1f} s", "limit"),
            Bar("brokerage_async, prefetch", seconds["prefetch"], f"{seconds['prefetch']:.1f} s", "ours"),
            Bar("… page by page", seconds["pages"], f"{seconds['pages']:.1f} s", "ours too"),
            Bar(PEER, seconds["peer"], f"{seconds['peer']:.1f} s", "peer"),
        ]
    link = f"{kept['megabits']:g} Mbit/s, round trip of {kept['milliseconds']:g} ms"
    note = f"Seconds, median, at {link}. Python {kept['python']}. Repeat: nox -s waiting"
    return draw("Waiting for 10,000 equities", note, groups)


def draw(title: str, note: str, groups: Mapping[str, Sequence[Bar]]) -> str:
    """Return a picture with a group of bars for each task, on an opaque ground: readable on light and dark pages."""
    longest = max(bar.value for bars in groups.values() for bar in bars)
    scale = (WIDTH - LEFT - 80) / longest
    parts = [_label(20, 32, title, size=18, weight="600"), _label(20, 54, note, size=12, colour="#57606a")]
    top = 76
    for task, bars in groups.items():
        parts.append(_label(20, top + 14, task, size=13, weight="600"))
        top += 24
        for bar in bars:
            width, fill = max(2.0, bar.value * scale), COLOURS[bar.colour]
            parts += [
                _label(LEFT - 8, top + 14, bar.name, anchor="end"),
                f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR - 4}" rx="2" fill="{fill}"/>',
                _label(LEFT + width + 6, top + 13, bar.text, weight="600"),
            ]
            top += BAR
        top += GAP
    alternative = "; ".join(
        f"{task}: " + ", ".join(f"{bar.name} {bar.text}" for bar in bars) for task, bars in groups.items()
    )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}" '
        'role="img" font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif">'
    )
    ground = f'<rect x="0.5" y="0.5" width="{WIDTH - 1}" height="{top - 1}" rx="8" fill="#ffffff" stroke="#d0d7de"/>'
    described = f"<title>{escape(title)}</title><desc>{escape(alternative)}</desc>"
    return "\n".join([head, described, ground, *parts, "</svg>", ""])


def _label(
    x: float,
    y: float,
    text: str,
    *,
    size: int = 12,
    weight: str = "400",
    colour: str = "#1f2328",
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y}" font-size="{size}" font-weight="{weight}" fill="{colour}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )
