"""Answers of the toy schema in the bundle."""

from __future__ import annotations

from typing import Any

import pytest

from codegen.bundle.document import bundle
from codegen.read.document import Document
from tests.codegen.support import TOY

GARDEN: dict[str, Any] = bundle(Document(TOY))
SCHEMAS: dict[str, Any] = GARDEN["components"]["schemas"]


def answer(path: str, method: str, status: str) -> dict[str, Any]:
    found: dict[str, Any] = GARDEN["paths"][path][method]["responses"][status]
    return found


@pytest.mark.parametrize(
    ("path", "method", "status", "names"),
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


def test_answer_without_a_body_has_no_content() -> None:
    assert answer("/beds/{bed_number}", "delete", "204") == {"description": "Bed removed."}


def test_item_envelope_requires_its_data() -> None:
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


def test_list_envelopes_share_the_list_of_a_component() -> None:
    page = SCHEMAS["PlantPageEnvelope"]["properties"]
    assert page["data"]["$ref"] == "#/components/schemas/PlantList"
    assert page["pagination"]["anyOf"] == [{"$ref": "#/components/schemas/Pagination"}, {"type": "null"}]
    assert SCHEMAS["PlantList"]["required"] == ["items"]
    assert SCHEMAS["PlantList"]["properties"]["items"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/Plant"},
        "description": "Resources.",
    }
