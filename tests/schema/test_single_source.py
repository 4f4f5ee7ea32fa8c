"""Wire keys and paths occur in the schema only: hand-written code takes them from the generated package.

The test searches string constants for the paths of endpoints and for unmistakable keys: ``time-in-force``, not
``price``.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from brokerage_async._generated.converters import WIRES
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding.fields import wire_fields

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "brokerage_async" / "_generated"

KEYS = {
    *(key for wire in WIRES.values() for key in wire_fields(wire)),
    *(parameter.wire for operation in OPERATIONS.values() for parameter in operation.parameters),
}
PATHS = {operation.path for operation in OPERATIONS.values()}
DISTINCTIVE = {key for key in KEYS if "-" in key or "[" in key}

ALLOWED = {
    "brokerage_async/http/pager.py": {"page-offset", "per-page"},  # keys of pagination
    "brokerage_async/bulk/universe.py": {"option-products"},  # of a row in a checkpoint, which is not decoded for it
    # JSON of the console.
    "brokerage_async/cli/market.py": {"underlying-symbol", "root-symbol"},
    "brokerage_async/protocol/streams/events.py": {"account-number"},  # of an event whose type the schema lacks
    "brokerage_async/simulator/streams/server.py": {"expires-at"},  # has another form there than in answers
    "brokerage_async/simulator/api/margin.py": {"account-number"},  # in an error message
    # The peers of the benchmarks write their requests by hand.
    "benchmarks/bulk.py": {"symbol[]", "per-page", "/instruments/equities", "/oauth/token"},
    "benchmarks/paging.py": {"page-offset", "per-page", "/instruments/equities"},
    "benchmarks/streams.py": {"/api-quote-tokens", "dxlink-url"},
}
"""Exceptions: wire keys and paths allowed outside the schema, by file."""


def constants(path: Path) -> Iterator[str]:
    """Yield the string constants of a module, docstrings excluded."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def test_sources_contain_no_wire_key_or_path_but_those_that_they_need() -> None:
    assert "time-in-force" in DISTINCTIVE & set(constants(ROOT / "tests" / "simulator" / "harness.py"))
    folders = ("brokerage_async", "codegen", "benchmarks")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py") if GENERATED not in path.parents]
    found = {path.relative_to(ROOT).as_posix(): set(constants(path)) & (DISTINCTIVE | PATHS) for path in files}
    assert {name: keys for name, keys in found.items() if keys} == ALLOWED
