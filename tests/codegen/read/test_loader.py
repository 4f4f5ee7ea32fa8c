"""YAML close to version 1.2, read by the parser in C where there is one."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from codegen.read import document as loader
from tests.tables import for_each


@for_each("parser", [loader._FAST, loader._EXACT])
@for_each(
    "content, expected",
    [
        ("{a: true, b: false}", {"a": True, "b": False}),
        ("[yes, no, on, off, Yes, TRUE]", ["yes", "no", "on", "off", "Yes", "TRUE"]),
        ("day: 2026-06-12", {"day": "2026-06-12"}),
        ("{number: 7, price: 1.25, nothing: null}", {"number": 7, "price": 1.25, "nothing": None}),
        ("", None),
    ],
)
def test_both_parsers_give_the_same(parser: Any, content: str, expected: Any) -> None:
    assert yaml.load(content, Loader=parser) == loader.parse(content) == expected


@for_each(
    "content, problem, column",
    [("{a: 1, b: {c: 1, c: 2}}", "duplicate key 'c'", 17), ("a: [unclosed", "expected ',' or ']'", 12)],
)
def test_error_names_the_place(content: str, problem: str, column: int) -> None:
    with pytest.raises(yaml.MarkedYAMLError) as caught:
        loader.parse(content)
    assert problem in str(caught.value.problem)
    assert caught.value.problem_mark.column == column
