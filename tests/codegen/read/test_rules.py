"""Rules over the fields of a body that are refused. The generated package shows how others are read."""

import json
from pathlib import Path
from typing import Any

from codegen.read.document import Document
from codegen.read.rules import read_rules
from tests.tables import for_each

KNOWN = {"price", "sown", "from", "to", "labels"}


def problems_with(rules: Any, folder: Path) -> list[str]:
    """Return the problems of an object with ``x-rules``."""
    (folder / "openapi.yaml").write_text(json.dumps({"x-rules": rules}))
    document = Document(folder)
    read_rules(document.root(), KNOWN)
    return document.problems


def test_read_rules_none_or_several_invalid_are_reported(tmp_path: Path) -> None:
    (tmp_path / "openapi.yaml").write_text("{}")
    assert read_rules(Document(tmp_path).root(), KNOWN) == ()
    problems = ["[0]: must be a rule, got 7", "[1]: message is missing", "[1]: unknown field 'cost'"]
    found = problems_with([7, {"require": ["cost"]}], tmp_path)
    assert found == [f"openapi.yaml: $.x-rules{each}" for each in problems]


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
    [found] = problems_with([rule], tmp_path)
    assert found.startswith(f"openapi.yaml: $.x-rules[0]: {problem}")
