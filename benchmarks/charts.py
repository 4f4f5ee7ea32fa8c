"""Pictures of the measurements: ours, the peer and the limit side by side, for each task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from statistics import median
from typing import Any

import attrs

from .rounds import Result

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
        "the same, x bare aiohttp with msgspec.Struct",
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
            bars = [Bar("brokerage_async", found[to_peer], _percent(found[to_peer]), "ours")]
            if to_limit in found:
                share = found[to_peer] / found[to_limit]
                bars.append(Bar(limit, share, _percent(share), "limit"))
            groups[title] = [*bars, Bar(PEER, 1.0, "100 %", "peer")]
    note = f"Share of what the {PEER} needs; shorter is better. Python {python}. Repeat: nox -s bench"
    return draw("What it costs", note, groups)


def waiting(kept: Mapping[str, Any]) -> str:
    """Return the picture of the seconds that a user waits."""
    groups = {}
    for encoding, case in kept["cases"].items():
        seconds = {name: median(values) for name, values in case["seconds"].items()}
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


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")
