"""Types of the schema files that are refused. The golden sample and the generated package show how others are read."""

import json
from pathlib import Path
from typing import Any

from codegen.read.document import Document, Node
from codegen.read.types import read_type
from codegen.spec import Type
from tests.tables import for_each

SCHEMAS = {"Season": {"type": "string", "enum": ["Spring"]}, "Bed": {"type": "object", "properties": {}}}


def node_of(schema: dict[str, Any], folder: Path) -> Node:
    (folder / "openapi.yaml").write_text(json.dumps({"property": schema, "schemas": SCHEMAS}))
    node = Document(folder).root().unresolved("property")
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
