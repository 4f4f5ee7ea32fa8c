"""Cells and anchors of generated Markdown."""

from __future__ import annotations

from codegen.site.markdown import cell, code, reference, table
from tests.tables import for_each


@for_each(
    "prose, expected",
    [
        ("a | b", "a \\| b"),
        ("a *b* _c_ <d> [e]", "a \\*b\\* \\_c\\_ \\<d\\> \\[e\\]"),
        ("`a_b` and a_b", "`a_b` and a\\_b"),
        ("two\n  lines", "two lines"),
    ],
)
def test_cell_escapes_prose_but_not_literals(prose: str, expected: str) -> None:
    assert cell(prose) == expected


def test_code_keeps_a_bar_inside_its_cell_and_a_table_its_rows() -> None:
    assert code("a|b") == "`a\\|b`"
    assert reference("models.Order") == "{py:obj}`~brokerage_async.models.Order`"
    assert table(("a", "b"), [("1", "2")]) == "| a | b |\n|---|---|\n| 1 | 2 |\n"
    assert table(("a", "b"), []) == ""
