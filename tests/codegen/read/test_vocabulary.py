"""Vocabulary of the schema files: types, clients and loading."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from codegen.__main__ import CLIENTS, ROOT
from codegen.read import document as loader
from codegen.read.clients import load_clients, request_of
from codegen.read.document import Document, Node
from codegen.read.load import SchemaError, load
from codegen.read.types import read_type
from codegen.read.vocabulary import check_vocabulary
from codegen.spec import Spec, Type
from tests.codegen.support import TOY, edit
from tests.tables import for_each


def problems_with(folder: Path) -> list[str]:
    """Return the problems that the vocabulary check alone finds."""
    document = Document(folder)
    check_vocabulary(document)
    return document.problems


def test_check_vocabulary_toy_schema_has_no_problems() -> None:
    assert problems_with(TOY) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("x-scope: read", "x-scopes: read", "$.paths.Beds.get: unknown key 'x-scopes': the x- keys are x-aliases, "),
        ("x-effect: mutate", "x-effect: change",
         "$.paths.Bed.patch: x-effect must be one of read, preflight, mutate, got 'change'"),
        ("x-scope: trade", "x-scope: write", "$.paths.Bed.patch: x-scope must be one of read, trade, got 'write'"),
        ("x-result: many", "x-result: all", "$.paths.Beds.get: x-result must be one of one, many, got 'all'"),
        ("x-open-enum: true", "x-open-enum: false", "$.schemas.Season: x-open-enum must be one of True, got False"),
        ("x-wire: [date-text, empty]", "x-wire: [date-text, roman]",
         "$.schemas.Plant.properties.sown: x-wire must list forms out of integer, number, string, epoch-ms, "
         "epoch-day, zero, nan, non-finite, empty, date-text, loose, minus-one, mapping, got 'roman'"),
        ("x-wire: [date-text, empty]", "x-wire: roman", "$.schemas.Plant.properties.sown: x-wire must list forms"),
        ("frost-days:", "frostDays:",
         "$.schemas.Plant.properties: property must be lower-case words joined by dashes, got 'frostDays'"),
        ("frost-days:", "frost_days:",
         "$.schemas.Plant.properties: property must be lower-case words joined by dashes, got 'frost_days'"),
        ("schemas:\n  Season:", "schemas:\n  season: {}\n  Season:",
         "$.schemas: component name must be a class name such as OrderLeg, got 'season'"),
    ],
)  # fmt: skip
def test_check_vocabulary_unknown_word_is_a_problem(old: str, new: str, problem: str, toy: Path) -> None:
    edit(toy / "garden.yaml", old, new)
    assert [found for found in problems_with(toy) if found.startswith(f"garden.yaml: {problem}")]


@for_each(
    "keys, fitting, other, form",
    [
        ("dashes", "expires-in", "access_token", "lower-case words joined by dashes"),
        ("underscores", "access_token", "expires-in", "lower-case words joined by underscores"),
        ("camel-case", "expiresIn", "expires-in", "words joined by capitals"),
    ],
)
def test_check_vocabulary_keys_of_a_file_decide_on_its_property_names(
    keys: str, fitting: str, other: str, form: str, tmp_path: Path
) -> None:
    (tmp_path / "openapi.yaml").write_text("{}")
    (tmp_path / "a.yaml").write_text(
        f"x-keys: {keys}\nschemas: {{Token: {{properties: {{{fitting}: {{}}, {other}: {{}}}}}}}}"
    )
    assert problems_with(tmp_path) == [f"a.yaml: $.schemas.Token.properties: property must be {form}, got {other!r}"]


@for_each(
    "content, problem",
    [
        ("x-keys: spaces", "$: x-keys must be one of dashes, underscores, camel-case, got 'spaces'"),
        ('a: [{b: {$ref: "#/nowhere"}}]', "$.a[0].b: $ref '#/nowhere': 'nowhere' not found in openapi.yaml"),
    ],
)
def test_check_vocabulary_unknown_keys_or_reference_is_a_problem(content: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "openapi.yaml").write_text(content)
    assert problems_with(tmp_path) == [f"openapi.yaml: {problem}"]


SCHEMAS = {"Season": {"type": "string", "enum": ["Spring"]}, "Bed": {"type": "object", "properties": {}}}
INT32 = {"minimum": -(2**31), "maximum": 2**31 - 1}


def node_of(schema: dict[str, Any], folder: Path) -> Node:
    (folder / "openapi.yaml").write_text(json.dumps({"property": schema, "schemas": SCHEMAS}))
    node = Document(folder).root().unresolved("property")
    assert node is not None
    return node


@for_each(
    "schema, expected",
    [
        ({"type": "string"}, Type(kind="string")),
        ({"type": "string", "format": "decimal"}, Type(kind="decimal")),
        ({"type": "number"}, Type(kind="decimal", wire=("number",), number=True)),
        ({"type": "number", "x-wire": ["nan"]}, Type(kind="decimal", wire=("nan", "number"), number=True)),
        ({"type": "string", "format": "date"}, Type(kind="date")),
        ({"type": "string", "format": "date-time"}, Type(kind="date-time")),
        ({"type": "string", "format": "password"}, Type(kind="string", secret=True)),
        ({"type": "boolean"}, Type(kind="boolean")),
        ({"type": "integer"}, Type(kind="integer")),
        ({"type": "integer", "minimum": 1, "maximum": 4}, Type(kind="integer", minimum=1, maximum=4)),
        ({"type": "integer", "format": "int32"}, Type(kind="integer", **INT32)),
        ({"type": ["integer", "string"]}, Type(kind="identifier")),
        ({"type": "object"}, Type(kind="object")),
        ({}, Type(kind="string")),
        ({"$ref": "#/schemas/Season"}, Type(kind="enum", name="Season")),
        ({"$ref": "#/schemas/Bed"}, Type(kind="model", name="Bed")),
        ({"$ref": "#/schemas/Season", "x-wire": ["empty"]}, Type(kind="enum", name="Season", wire=("empty",))),
        ({"type": "string", "x-wire": ["integer"]}, Type(kind="string", wire=("integer",))),
        ({"type": "array", "items": {"$ref": "#/schemas/Bed"}, "minItems": 1},
         Type(kind="model", name="Bed", array=True, min_items=1)),
        ({"type": "array", "items": {"type": "string", "x-wire": ["integer"]}, "x-wire": ["mapping"]},
         Type(kind="string", array=True, wire=("integer", "mapping"))),
    ],
)  # fmt: skip
def test_read_type_valid_schema_returns_the_type(schema: dict[str, Any], expected: Type, tmp_path: Path) -> None:
    node = node_of(schema, tmp_path)
    assert read_type(node) == expected
    assert node.document.problems == []


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


@pytest.fixture(scope="module")
def toy_spec() -> Spec:
    return load(TOY)


def test_request_of_a_path_drops_the_names_of_its_values() -> None:
    assert request_of("GET", "/accounts/{account_number}/orders/{id}") == "GET /accounts/{}/orders/{}"


def test_load_clients_gives_each_client_its_requests(written: Path, toy_spec: Spec) -> None:
    comparison = load_clients(written, toy_spec)
    assert [(each.name, each.version, each.requests) for each in comparison.clients] == [
        ("spade", "1.0.0", {"GET /beds", "GET /beds/{}/plants"}),
        ("@rake/api", "2.0.0", {"GET /beds/{}/plants", "POST /sheds"}),
    ]
    assert [(each.request, each.clients) for each in comparison.left_out] == [
        ("POST /sheds", ("@rake/api",)),
        ("GET /gnomes", ()),
    ]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("GET /beds:", "GET /seeds:", "GET /seeds: add the operation, or a reason to left_out"),
        ("GET /gnomes:", "GET /beds:", "GET /beds: remove it from left_out, the schema has it"),
        ("[spade]", "[hoe]", "GET /beds: client must be listed under clients, got 'hoe'"),
    ],
)
def test_load_clients_reports_what_does_not_agree(
    old: str, new: str, problem: str, written: Path, toy_spec: Spec
) -> None:
    edit(written, old, new)
    with pytest.raises(SchemaError) as caught:
        load_clients(written, toy_spec)
    assert caught.value.problems == [f"clients.yaml: {problem}"]


def test_requests_that_the_interop_run_saw_are_listed() -> None:
    spec = load(ROOT / "schema")
    requests = {operation.name: request_of(operation.method, operation.path) for operation in spec.operations}
    clients = {client.name: client for client in load_clients(CLIENTS, spec).clients}
    sections = re.split(
        r"^## (?:PyPI|npm) ",
        (ROOT / "docs" / "reference" / "reports" / "interop.md").read_text("utf-8"),
        flags=re.MULTILINE,
    )
    for section in sections[1:]:
        name, version = re.match(r"`([^`]+)` (\S+)", section).groups()  # type: ignore[union-attr]
        seen = {requests[word] for word in re.findall(r"`([a-z_]+\.[a-z_]+)`", section) if word in requests}
        assert len(seen) > 40
        assert seen <= clients[name].requests
        assert version == clients[name].version
