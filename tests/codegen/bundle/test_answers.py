"""Answers of the toy schema in the bundle."""

from pathlib import Path
from typing import Any

import pytest

from codegen.bundle.document import bundle
from codegen.read.document import Document, SchemaError
from tests.codegen.support import TOY, edit
from tests.tables import for_each

GARDEN: dict[str, Any] = bundle(Document(TOY))
SCHEMAS: dict[str, Any] = GARDEN["components"]["schemas"]


def answer(path: str, method: str, status: str) -> dict[str, Any]:
    found: dict[str, Any] = GARDEN["paths"][path][method]["responses"][status]
    return found


@for_each(
    "path, method, status, names",
    [
        ("/beds/{bed_number}", "patch", "200", ["BedItemEnvelope"]),
        ("/beds/{bed_number}/plants", "get", "200", ["PlantPageEnvelope"]),
        ("/beds/{bed_number}/plants", "post", "201", ["Plant"]),
        ("/beds", "get", "200", ["BedListEnvelope", "BedItemEnvelope"]),
    ],
)
def test_answer_refers_to_components(path: str, method: str, status: str, names: list[str]) -> None:
    schema = answer(path, method, status)["content"]["application/json"]["schema"]
    assert [each["$ref"].rpartition("/")[2] for each in schema.get("anyOf", [schema])] == names


def test_envelopes_require_their_data_and_share_lists() -> None:
    assert answer("/beds/{bed_number}", "delete", "204") == {"description": "Bed removed."}
    assert {key: value for key, value in SCHEMAS["BedItemEnvelope"].items() if key != "examples"} == {
        "type": "object",
        "x-section": "Conventions",
        "description": "Success body with one resource: `Bed`.",
        "required": ["data"],
        "properties": {
            "data": {"$ref": "#/components/schemas/Bed", "description": "The resource."},
            "context": {"type": ["string", "null"], "description": "Shape of the request path."},
        },
    }
    page = SCHEMAS["PlantPageEnvelope"]["properties"]
    assert page["data"]["$ref"] == "#/components/schemas/PlantList"
    assert page["pagination"]["anyOf"] == [{"$ref": "#/components/schemas/Pagination"}, {"type": "null"}]
    assert SCHEMAS["PlantList"]["required"] == ["items"]
    assert SCHEMAS["PlantList"]["properties"]["items"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/Plant"},
        "description": "Resources.",
    }


def test_bare_list_is_an_array_of_its_items(toy: Path) -> None:
    answer = '{type: array, items: {$ref: "#/schemas/Plant"}}'
    edit(
        toy / "garden.yaml",
        'content: {application/json: {schema: {$ref: "#/schemas/Plant"}}}',
        f"content: {{application/json: {{schema: {answer}}}}}",
    )
    flat = bundle(Document(toy))["paths"]["/beds/{bed_number}/plants"]["post"]["responses"]["201"]
    assert flat["content"]["application/json"]["schema"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/Plant"},
    }


def test_envelope_that_is_not_listed_is_a_problem(toy: Path) -> None:
    edit(toy / "openapi.yaml", '    PageEnvelope: {$ref: "common.yaml#/schemas/PageEnvelope"}\n', "")
    with pytest.raises(SchemaError, match=r"components.schemas must list 'PageEnvelope', used by answers with Plant"):
        bundle(Document(toy))
