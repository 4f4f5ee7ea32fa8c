"""Writer of the results: RESULTS.md for all Python versions that were measured, and pictures of the latest."""

import json
import platform
import statistics
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs

from codegen.template import from_template

from .rounds import Result

HERE = Path(__file__).parent
WAITING = HERE / "waiting.json"
PACKAGES = ("aiohttp", "attrs", "cattrs", "msgspec", "orjson", "pydantic", "tastytrade", "uvloop")
PEER = "tastytrade SDK (PyPI)"
CONTENDERS = {
    "prefetch": "brokerage_async, `prefetch(8)`",
    "pages": "brokerage_async, page by page",
    "peer": "tastytrade SDK, `Equity.get(session, [], page_offset=None)`",
}
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


def save(results: Sequence[Result]) -> None:
    """Keep the results of this Python version, and rewrite the report from all that are kept."""
    kept = {
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "versions": {name: version(name) for name in PACKAGES if find_spec(name)},
        "results": [attrs.asdict(each) for each in results],
    }
    name = ".".join(platform.python_version_tuple()[:2])
    (HERE / "results" / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n")
    write()


def write() -> None:
    """Write the report and the pictures from all results that are kept."""
    runs = [json.loads(path.read_text()) for path in sorted((HERE / "results").glob("*.json"), reverse=True)]
    for run in runs:
        run["results"] = [Result(**each) for each in run["results"]]
    waiting = json.loads(WAITING.read_text())
    described = {"runs": runs, "waiting": waiting, "contenders": CONTENDERS, "median": statistics.median}
    files = {"RESULTS.md": ("RESULTS.md", {**described, "min": min, "max": max})}
    files["results.svg"] = "bars.svg", _costs(runs[0]["results"], runs[0]["python"])
    files["waiting.svg"] = "bars.svg", _waited(waiting)
    for name, (template, values) in files.items():
        (HERE / name).write_text(from_template(template, values, HERE / "templates"))


def _costs(results: Sequence[Result], python: str) -> dict[str, Any]:
    """Return the picture of processor time and memory: in each group name, share of the longest, label and colour."""
    found = {each.name: each.value for each in results}
    groups = {}
    for title, to_peer, to_limit, limit in TASKS:
        if share := found.get(to_peer):
            shares = [("brokerage_async", share, "ours")]
            if to_limit in found:
                shares.append((limit, share / found[to_limit], "limit"))
            shares.append((PEER, 1.0, "peer"))
            groups[title] = [(name, share, f"{share * 100:.0f} %", colour) for name, share, colour in shares]
    note = f"Share of what the {PEER} needs; shorter is better. Python {python}. Repeat: nox -s bench"
    return {"title": "What it costs", "note": note, "groups": groups}


def _waited(kept: dict[str, Any]) -> dict[str, Any]:
    """Return the picture of the seconds that a user waits, as `_costs` does."""
    longest = max(statistics.median(seconds) for case in kept["cases"].values() for seconds in case["seconds"].values())
    groups = {}
    for encoding, case in kept["cases"].items():
        took = {name: statistics.median(values) for name, values in case["seconds"].items()}
        seconds = [
            ("limit of the link", case["limit"], "limit"),
            ("brokerage_async, prefetch", took["prefetch"], "ours"),
            ("… page by page", took["pages"], "ours too"),
            (PEER, took["peer"], "peer"),
        ]
        title = f"{'Compressed' if encoding == 'gzip' else 'Not compressed'}: {case['bytes'] / 1e6:.1f} MB"
        groups[title] = [(name, each / longest, f"{each:.1f} s", colour) for name, each, colour in seconds]
    link = f"{kept['megabits']:g} Mbit/s, round trip of {kept['milliseconds']:g} ms"
    note = f"Seconds, median, at {link}. Python {kept['python']}. Repeat: nox -s waiting"
    return {"title": "Waiting for 10,000 equities", "note": note, "groups": groups}
