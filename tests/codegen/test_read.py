"""Reading: names and types, descriptions by other clients, and rules over fields."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from codegen import naming
from codegen.__main__ import CLIENTS, ROOT
from codegen.read.clients import load_clients, request_of
from codegen.read.document import Node, SchemaError
from codegen.read.load import load
from codegen.read.rules import read_rules
from codegen.read.types import read_type
from codegen.spec import Spec, Type
from tests.codegen.support import TOY, document, edit
from tests.protocol.values import raised
from tests.tables import for_each


@for_each(
    "form, fitting, others",
    [
        ("dashes", ["close-at-ext", "class"], ["closeAt", "close_at", "-close", "close--at", "Close", ""]),
        ("underscores", ["access_token"], ["access-token", "_token", ""]),
        ("camel-case", ["startDate", "ETA"], ["start-date", "_eta"]),
        ("operation", ["orders.dry_run"], ["orders", "orders.", "orders.dryRun", "a.b.c", "orders.import"]),
        ("component", ["OrderLeg"], ["orderLeg", "Order-Leg", "None"]),
    ],
)
def test_forms_are_recognised(form: str, fitting: list[str], others: list[str]) -> None:
    assert [name for name in (*fitting, *others) if naming.has_form(form, name)] == fitting


SCHEMAS = {"Season": {"type": "string", "enum": ["Spring"]}, "Bed": {"type": "object", "properties": {}}}


def node_of(schema: dict[str, Any], folder: Path) -> Node:
    node = document(folder, json.dumps({"property": schema, "schemas": SCHEMAS})).root().unresolved("property")
    assert node is not None
    return node


@for_each(
    "schema, problem",
    [
        ({"type": "float"}, "type must be one of string, integer, number, boolean, array, object, got 'float'"),
        ({"type": "string", "format": "day"}, "format must be one of decimal, date, date-time, password, got 'day'"),
        ({"type": "array"}, "items is missing"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
         "nested arrays are unsupported: make the inner one a component"),
        ({"type": "string", "enum": ["a"]}, "inline enumerations are unsupported: make it a component"),
        ({"type": "object", "properties": {"a": {}}}, "inline objects are unsupported: make it a component"),
        ({"type": "integer", "x-wire": ["nan"]}, "unsupported x-wire ['nan'] for kind integer"),
        ({"type": "object", "x-wire": ["empty"]}, "unsupported x-wire ['empty'] for kind object"),
        ({"type": "array", "items": {"type": "string", "format": "date"}, "x-wire": ["empty"]},
         "unsupported x-wire ['empty'] for an array of kind date"),
        ({"type": "array", "items": {"$ref": "#/schemas/Bed"}, "x-wire": ["mapping"]},
         "unsupported x-wire ['mapping'] for an array of kind model"),
        ({"type": "array", "items": {"type": "number"}}, "arrays of numbers are unsupported"),
        ({"type": "integer", "minimum": 1.5}, "unsupported bound minimum: 1.5; only integers have bounds"),
        ({"type": "integer", "exclusiveMinimum": 0}, "unsupported bound exclusiveMinimum: 0; only integers"),
        ({"type": "string", "format": "decimal", "minimum": 0}, "unsupported bound minimum: 0; only integers"),
    ],
)  # fmt: skip
def test_read_type_invalid_schema_is_a_problem(schema: dict[str, Any], problem: str, tmp_path: Path) -> None:
    node = node_of(schema, tmp_path)
    assert isinstance(read_type(node), Type)
    [found] = node.document.problems
    assert found.startswith("openapi.yaml: $.property")
    assert f": {problem}" in found


WRITTEN = """
clients:
  spade: {registry: PyPI, version: 1.0.0, description: "a client of gardens"}
  "@rake/api": {registry: npm, version: 2.0.0, description: "another one"}
requests:
  GET /beds: [spade]
  GET /beds/{}/plants: [spade, "@rake/api"]
  POST /sheds: ["@rake/api"]
left_out:
  POST /sheds: Sheds have gone.
  GET /gnomes: Not described.
"""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    file = tmp_path / "clients.yaml"
    file.write_text(WRITTEN)
    return file


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("GET /beds:", "GET /seeds:", "GET /seeds: add the operation, or a reason to left_out"),
        ("GET /gnomes:", "GET /beds:", "GET /beds: remove it from left_out, the schema has it"),
        ("[spade]", "[hoe]", "GET /beds: client must be listed under clients, got 'hoe'"),
    ],
)
def test_load_clients_reports_disagreements(old: str, new: str, problem: str, written: Path) -> None:
    edit(written, old, new)
    assert raised(SchemaError, load_clients, written, load(TOY)).problems == [f"clients.yaml: {problem}"]


def test_requests_that_the_interop_run_saw_are_listed(spec: Spec) -> None:
    requests = {operation.name: request_of(operation.method, operation.path) for operation in spec.operations}
    comparison = load_clients(CLIENTS, spec)
    report = (ROOT / "docs" / "reference" / "reports" / "interop.md").read_text("utf-8")
    for section in re.split(r"^## (?:PyPI|npm) ", report, flags=re.MULTILINE)[1:]:
        name, version = re.match(r"`([^`]+)` (\S+)", section).groups()  # type: ignore[union-attr]
        seen = {requests[word] for word in re.findall(r"`([a-z_]+\.[a-z_]+)`", section) if word in requests}
        assert len(seen) > 40
        assert all(name in comparison["requests"][request] for request in seen)
        assert version == comparison["clients"][name]["version"]


KNOWN = {"price", "sown", "from", "to", "labels"}


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
    schema = document(tmp_path, json.dumps({"x-rules": [rule]}))
    read_rules(schema.root(), KNOWN)
    [found] = schema.problems
    assert found.startswith(f"openapi.yaml: $.x-rules[0]: {problem}")
