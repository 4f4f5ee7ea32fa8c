"""docs/simulator.md: the fidelity index names tests that exist, and the life of an order matches the schema."""

import ast
import re
from pathlib import Path

from brokerage_async.protocol.order_status import TERMINAL, TRANSITIONS
from tests.documents import ROOT
from tests.tables import for_each

PAGE = (ROOT / "docs" / "simulator.md").read_text("utf-8")
HERE = Path(__file__).parent
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)))


@for_each("file, name", NAMED)
def test_named_test_exists(file: str, name: str) -> None:
    tree = ast.parse((HERE / file).read_text("utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_row_names_a_test() -> None:
    index = PAGE[PAGE.index("## Fidelity") :]
    rows = [line for line in index.splitlines() if re.match(r"\| (?!---|the doc|deviation)", line)]
    assert len(rows) > 45
    assert all(re.search(r"`[\w/]+\.py::test_\w+` \|$", row) for row in rows)


def test_life_cycle_is_that_of_the_code() -> None:
    assert "(reference/order-statuses.md)" in PAGE[PAGE.index("## Life cycle") : PAGE.index("## Fidelity")]
    table = (ROOT / "docs" / "reference" / "order-statuses.md").read_text("utf-8")
    shown = re.findall(r"^\| ([A-Z][\w ]+) \| \w+ \| \w+ \| ([A-Z][\w ]+)? \|", table, re.MULTILINE)
    assert {(before, after) for before, after in shown if after} == {
        (before, after) for before, following in TRANSITIONS.items() for after in following
    }
    assert {before for before, after in shown if not after} == TERMINAL
