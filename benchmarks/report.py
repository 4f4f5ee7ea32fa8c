"""Writes what was measured: RESULTS.md for all Python versions that were measured, and a picture of the latest."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs

from .rounds import Result

HERE = Path(__file__).parent
PACKAGES = ("aiohttp", "attrs", "cattrs", "msgspec", "orjson", "pydantic", "tastytrade")

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
carry their keys in that very order, which suits it best: msgspec reads keys fastest where it expects them.

![Ratios and their bounds](results.svg)
"""


def save(results: Sequence[Result]) -> None:
    """Keep the results of this Python version, and write the report anew from all that are kept."""
    folder = HERE / "results"
    folder.mkdir(exist_ok=True)
    python = ".".join(platform.python_version_tuple()[:2])
    kept = {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {name: version(name) for name in PACKAGES},
        "results": [attrs.asdict(each) for each in results],
    }
    (folder / f"{python}.json").write_text(json.dumps(kept, indent=1) + "\n")
    runs = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"), reverse=True)]
    (HERE / "RESULTS.md").write_text(INTRODUCTION + "".join(map(_section, runs)))
    (HERE / "results.svg").write_text(_picture([Result(**each) for each in runs[0]["results"]], runs[0]["python"]))


def lines(results: Sequence[Result]) -> list[str]:
    """The results as text for a terminal."""
    return [
        f"{each.name:66} {_number(each.value, each.unit):>9}  [{each.low:.3g} .. {each.high:.3g}]"
        f"{'' if each.bound is None else f'  bound {each.bound:g}'}{'' if each.aim is None else f', aim {each.aim:g}'}"
        f"{'  MISSED' if each.missed else ''}{f'  ({each.note})' if each.note else ''}"
        for each in results
    ]


def _number(value: float, unit: str) -> str:
    return f"{value:.1f} {unit}" if unit != "x" else f"{value:.3f}"


def _section(run: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
    rows = []
    for each in (Result(**raw) for raw in run["results"]):
        name = f"&nbsp;&nbsp;{each.name.strip()}" if each.name.startswith(" ") else f"**{each.name}**"
        limits = "" if each.bound is None else f"{each.bound:g}"
        aim = "" if each.aim is None else f"{each.aim:g}"
        spread = f"{each.low:.3g} to {each.high:.3g}"
        rows.append(f"| {name} | {_number(each.value, each.unit)} | {spread} | {limits} | {aim} | {each.note} |\n")
    return (
        f"\n## Python {run['python']}\n\n{run['machine']}; {versions}.\n\n"
        "| measure | median | quartiles | bound | aim | |\n|---|---|---|---|---|---|\n" + "".join(rows)
    )


def _picture(results: Sequence[Result], python: str) -> str:
    """Bars of the measured values as shares of their bounds, the aim marked in each."""
    shown = [each for each in results if each.bound is not None]
    height, left, width = 30, 420, 380
    total = 60 + height * len(shown)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 90} {total}" font-family="sans-serif">',
        f'<rect width="100%" height="{total}" fill="#ffffff"/>',
        f'<text x="10" y="24" font-size="15" fill="#1f2937">Measured, as a share of the bound (Python {python}); '
        "the tick is the aim</text>",
    ]
    for number, each in enumerate(shown):
        top = 44 + number * height
        bound, aim = each.bound or 1.0, each.aim or 0.0
        long, tick = min(1.15, each.value / bound) * width, left + aim / bound * width
        colour = "#b91c1c" if each.missed else "#0f766e"
        parts += [
            f'<text x="{left - 8}" y="{top + 14}" font-size="12" text-anchor="end" fill="#374151">{each.name}</text>',
            f'<rect x="{left}" y="{top}" width="{width}" height="20" fill="#e5e7eb"/>',
            f'<rect x="{left}" y="{top}" width="{long:.1f}" height="20" fill="{colour}"/>',
            f'<rect x="{tick:.1f}" y="{top - 2}" width="2" height="24" fill="#f59e0b"/>',
            f'<text x="{left + width + 8}" y="{top + 14}" font-size="12" fill="#374151">'
            f"{_number(each.value, each.unit)}</text>",
        ]
    return "\n".join([*parts, "</svg>", ""])
