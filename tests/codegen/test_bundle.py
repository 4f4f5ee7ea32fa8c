"""The bundle of the toy schema, in forms that the schema does not have; `tests/schema` tries the real one."""

import json
from typing import Any

from codegen.bundle.document import bundle, render
from codegen.bundle.examples import with_examples
from codegen.read.document import Document
from tests.codegen.support import TOY


def test_bundle_shares_what_operations_refer_to_and_types_what_stands_for_a_missing_value() -> None:
    garden = bundle(Document(TOY))
    assert json.loads(render(Document(TOY))) == garden
    assert list(garden) == ["openapi", "info", "tags", "paths", "components"]
    bed, schemas = garden["paths"]["/beds/{bed_number}"], garden["components"]["schemas"]
    assert bed["patch"]["parameters"] == bed["delete"]["parameters"] == [{"$ref": "#/components/parameters/BedNumber"}]
    assert bed["patch"]["responses"]["404"] == {"$ref": "#/components/responses/NotFound"}
    assert bed["delete"]["responses"]["204"] == {"description": "Bed removed."}
    assert {"ItemEnvelope", "ListEnvelope", "PageEnvelope", "ItemList"} & schemas.keys() == set()
    crop, plant = schemas["Bed"]["properties"]["crop"], schemas["Plant"]["properties"]
    assert (crop["x-alias-of"], crop["description"]) == ("plants", "Another key of `plants`.")
    words = [{"type": "string", "enum": [word]} for word in ("NaN", "")]
    assert plant["sown"]["anyOf"] == [{"type": "string"}, words[1], {"type": "null"}]
    assert plant["price"]["anyOf"][1:] == [*words, {"type": "null"}]


def test_examples_end_where_a_component_is_within_itself_and_integers_are_positive() -> None:
    plant, nothing = {"$ref": "#/components/schemas/Plant"}, {"type": "null"}
    properties: dict[str, dict[str, Any]] = {
        "parent": {"anyOf": [plant, nothing]},
        "children": {"type": "array", "items": plant},
        "rows": {"type": "integer", "minimum": 0},
        "width": {"type": "integer", "minimum": 5},
    }
    made = with_examples({"Plant": {"type": "object", "properties": properties}}, {})
    assert made["Plant"]["examples"] == [{"children": [], "rows": 1, "width": 5}]
