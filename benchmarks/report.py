"""Writer of the results: RESULTS.md for all Python versions that were measured, and pictures of the latest."""

from __future__ import annotations

import json
import platform
import statistics
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs

from . import charts
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
        "versions": {name: version(name) for name in PACKAGES},
        "results": [attrs.asdict(each) for each in results],
    }
    (folder / f"{python}.json").write_text(json.dumps(kept, indent=1) + "\n")
    write()


def write() -> None:
    """Write the report and the pictures from all results that are kept."""
    runs = [json.loads(path.read_text()) for path in sorted((HERE / "results").glob("*.json"), reverse=True)]
    waited = json.loads((HERE / "waiting.json").read_text())
    (HERE / "RESULTS.md").write_text(INTRODUCTION + _waiting(waited) + "".join(map(_section, runs)))
    (HERE / "results.svg").write_text(charts.costs([Result(**each) for each in runs[0]["results"]], runs[0]["python"]))
    (HERE / "waiting.svg").write_text(charts.waiting(waited))


def lines(results: Sequence[Result]) -> list[str]:
    """Return the results as lines for a terminal."""
    return [
        f"{each.name:66} {_number(each.value, each.unit):>9}  [{each.low:.3g} .. {each.high:.3g}]"
        f"{'' if each.bound is None else f'  bound {each.bound:g}'}{'' if each.aim is None else f', aim {each.aim:g}'}"
        f"{'  MISSED' if each.missed else ''}{f'  ({each.note})' if each.note else ''}"
        for each in results
    ]


def _number(value: float, unit: str) -> str:
    return f"{value:.1f} {unit}" if unit != "x" else f"{value:.3f}"


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
        rows.append(f"| {name} | {_number(each.value, each.unit)} | {spread} | {limits} | {aim} | {each.note} |\n")
    return (
        f"\n## Python {run['python']}\n\n{run['machine']}; {versions}.\n\n"
        "| measure | median | quartiles | bound | aim | |\n|---|---|---|---|---|---|\n" + "".join(rows)
    )
