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
from tests.tables import for_each

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


def sources() -> Iterator[Path]:
    for folder in ("brokerage_async", "codegen", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not path.is_relative_to(GENERATED):
                yield path


def constants(path: Path) -> Iterator[str]:
    """Yield the string constants of a module, docstrings excluded."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@for_each("path", list(sources()))
def test_source_contains_no_wire_key_or_path(path: Path) -> None:
    assert set(constants(path)) & (DISTINCTIVE | PATHS) <= ALLOWED.get(name_of(path), set())


def test_search_finds_known_keys_and_exceptions_are_needed() -> None:
    assert len(DISTINCTIVE) > 150
    assert {"time-in-force", "account-numbers[]", "is-etf"} <= DISTINCTIVE
    assert "/accounts/{account_number}/orders" in PATHS
    assert "time-in-force" in set(constants(ROOT / "tests" / "simulator" / "harness.py"))
    for name, keys in ALLOWED.items():
        assert keys <= set(constants(ROOT / name)), name
