"""Rules over the fields of a body: their arguments, and problems with their places."""

import json
from pathlib import Path
from typing import Any

from codegen.read.document import Document
from codegen.read.rules import read_rules
from codegen.spec import Rule
from tests.tables import for_each

KNOWN = {"price", "sown", "from", "to", "labels"}


def read(rules: Any, folder: Path) -> tuple[tuple[Rule, ...], list[str]]:
    """Return the rules of an object with ``x-rules``, and the problems."""
    (folder / "openapi.yaml").write_text(json.dumps({"x-rules": rules}))
    document = Document(folder)
    return read_rules(document.root(), KNOWN), document.problems


@for_each(
    "rule, arguments",
    [
        (
            {"require": ["price"], "when": {"sown": ["a", "b"]}},
            [("when", {"sown": ("a", "b")}), ("require", ("price",))],
        ),
        ({"forbid": ["price"], "unless": {"sown": [1]}}, [("unless", {"sown": ("1",)}), ("forbid", ("price",))]),
        ({"require-value": {"labels[].kind": ["x"]}}, [("require_value", {"labels[].kind": ("x",)})]),
        ({"exclusive": ["price", "sown"]}, [("exclusive", ("price", "sown"))]),
        ({"distinct": "labels[].text"}, [("distinct", "labels[].text")]),
        ({"max-items": {"labels": 4}}, [("max_items", ("labels", 4))]),
        ({"min-items": {"labels": 2}}, [("min_items", ("labels", 2))]),
        ({"max-total": {"at-most": 9, "of": ["labels", "from"]}}, [("max_total", (("labels", "from"), 9))]),
        ({"require-any": ["labels", "from"]}, [("require_any", ("labels", "from"))]),
        ({"span": {"from": "from", "to": "to", "months": 9}}, [("span", ("from", "to", 9))]),
        ({"positive": ["labels[].size"]}, [("positive", ("labels[].size",))]),
        ({"not-negative": ["price"], "x-provenance": "library"}, [("not_negative", ("price",)), ("library", True)]),
        ({"require": ["price"], "x-provenance": "recorded"}, [("require", ("price",))]),
    ],
)
def test_read_rules_valid_rule_becomes_arguments(rule: dict[str, Any], arguments: list[Any], tmp_path: Path) -> None:
    rules, problems = read([{**rule, "message": "m."}], tmp_path)
    assert problems == []
    assert rules == (Rule(arguments=(*arguments, ("message", "m."))),)


def test_read_rules_none_or_several_invalid_are_reported(tmp_path: Path) -> None:
    (tmp_path / "openapi.yaml").write_text("{}")
    assert read_rules(Document(tmp_path).root(), KNOWN) == ()
    problems = ["[0]: must be a rule, got 7", "[1]: message is missing", "[1]: unknown field 'cost'"]
    assert read([7, {"require": ["cost"]}], tmp_path)[1] == [f"openapi.yaml: $.x-rules{each}" for each in problems]


@for_each(
    "rule, problem",
    [
        (7, "must be a rule, got 7"),
        ({"message": "m."}, "must have exactly one of require, forbid, require-value, require-any, exclusive, "
                            "distinct, max-items, min-items, max-total, span, positive, not-negative, got none"),
        ({"require": ["price"], "forbid": ["sown"], "message": "m."}, "must have exactly one of require, forbid, "
         "require-value, require-any, exclusive, distinct, max-items, min-items, max-total, span, positive, "
         "not-negative, got require, forbid"),
        ({"require": ["price"], "note": "n", "message": "m."}, "unknown key 'note': the keys of a rule are behav"),
        ({"require": ["price"]}, "message is missing"),
        ({"require": ["cost"], "message": "m."}, "unknown field 'cost'"),
        ({"when": {"cost": ["1"]}, "require": ["price"], "message": "m."}, "unknown field 'cost'"),
        ({"positive": ["cost"], "message": "m."}, "unknown field 'cost'"),
        ({"not-negative": ["cost"], "message": "m."}, "unknown field 'cost'"),
        ({"distinct": "tags[].text", "message": "m."}, "unknown field 'tags[].text'"),
        ({"span": {"from": "from", "to": "to", "month": 9}, "message": "m."}, "invalid span: {'from': 'from', "),
        ({"span": {"from": "from", "to": "until", "months": 9}, "message": "m."}, "unknown field 'until'"),
        ({"max-total": {"of": ["labels"]}, "message": "m."}, "invalid max-total: {'of': ['labels']}"),
        ({"max-total": {"of": ["cost"], "at-most": 1}, "message": "m."}, "unknown field 'cost'"),
        ({"require-any": ["cost"], "message": "m."}, "unknown field 'cost'"),
        ({"min-items": {"cost": 1}, "message": "m."}, "unknown field 'cost'"),
        ({"max-items": {"labels": "many"}, "message": "m."}, "invalid max-items: {'labels': 'many'}"),
        ({"when": ["price"], "require": ["sown"], "message": "m."}, "invalid when: ['price']"),
    ],
)  # fmt: skip
def test_read_rules_invalid_rule_is_a_problem(rule: Any, problem: str, tmp_path: Path) -> None:
    _, [found] = read([rule], tmp_path)
    assert found.startswith(f"openapi.yaml: $.x-rules[0]: {problem}")
