"""Fields and endpoints are written down once: in the schema, from which everything else takes their names.

Looked for are the keys that could be nothing else (``time-in-force``, not ``price``) and the paths of the endpoints, as
text in the source of everything that is not generated.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from brokerage_async._generated.converters import WIRES
from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.protocol.decoding.fields import layout

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "brokerage_async" / "_generated"

KEYS = {
    *(key for wire in WIRES.values() for key in layout(wire)),
    *(parameter.wire for operation in OPERATIONS.values() for parameter in operation.parameters),
}
PATHS = {operation.path for operation in OPERATIONS.values()}
TELLING = {key for key in KEYS if "-" in key or "[" in key}

ALLOWED = {
    "brokerage_async/http/pager.py": {"page-offset", "per-page"},  # what paging is about
    "brokerage_async/cli/fetch.py": {"start-date"},  # of a checkpoint's own JSON
    "brokerage_async/cli/order_tables.py": {"account-number", "external-identifier"},  # of the console's own JSON
    "brokerage_async/simulator/api/margin.py": {"account-number"},  # in a message
    # What is compared with the library there writes its requests by hand.
    "benchmarks/bulk.py": {"symbol[]", "per-page", "/instruments/equities", "/oauth/token"},
    "benchmarks/paging.py": {"page-offset", "per-page", "/instruments/equities"},
}
"""What may stand outside the schema all the same."""


def sources() -> Iterator[Path]:
    for folder in ("brokerage_async", "codegen", "benchmarks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if not path.is_relative_to(GENERATED):
                yield path


def constants(path: Path) -> Iterator[str]:
    """Every text in a module that is no docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    remarks = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in remarks:
            yield node.value


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", list(sources()), ids=name_of)
def test_names_come_from_the_schema(path: Path) -> None:
    assert set(constants(path)) & (TELLING | PATHS) <= ALLOWED.get(name_of(path), set())


def test_something_is_looked_for() -> None:
    assert len(TELLING) > 150
    assert {"time-in-force", "account-numbers[]", "is-etf"} <= TELLING
    assert "/accounts/{account_number}/orders" in PATHS
    assert "time-in-force" in set(constants(ROOT / "tests" / "simulator" / "house.py"))


def test_nothing_is_allowed_that_is_not_there() -> None:
    for name, keys in ALLOWED.items():
        assert keys <= set(constants(ROOT / name)), name
