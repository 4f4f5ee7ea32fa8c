"""Properties of the toy schema in the bundle: types, unions, notes."""

from typing import Any

from codegen.bundle.properties import property_schema
from codegen.read.document import Document, Node
from tests.codegen.support import TOY
from tests.tables import for_each

GARDEN = Document(TOY)
DECIMAL = {"format": "decimal", "pattern": r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"}


def written(component: str, key: str) -> Node:
    schemas = GARDEN.root("garden.yaml").get("schemas")
    schema = schemas.get(component)
    properties = schema.unresolved("properties") if schema else None
    found = properties.unresolved(key) if properties else None
    assert found is not None
    return found


def types(schema: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in schema.items() if key != "description" and not key.startswith("x-")}


@for_each(
    "component, key, expected",
    [
        ("Bed", "number", {"type": ["string", "integer", "null"]}),
        ("Bed", "width", {"anyOf": [{"type": ["string", "number"], **DECIMAL}, {"type": "string", "enum": ["NaN"]}]}),
        ("Bed", "labels", {"type": ["object", "null"]}),
        ("Bed", "notes", {"type": ["array", "null"], "items": {"type": "object"}}),
        ("Bed", "gardener", {"anyOf": [{"$ref": "#/components/schemas/Gardener"}]}),
        ("Plant", "season", {"anyOf": [{"$ref": "#/components/schemas/Season"}, {"type": "string"}]}),
        ("Plant", "height", {"type": ["string", "number", "null"], **DECIMAL}),
        ("Plant", "weight", {"type": ["string", "null"], **DECIMAL}),
        ("Plant", "rows", {"type": ["integer", "string", "null"], "pattern": "^-?[0-9]+$"}),
        ("Plant", "perennial", {"type": ["boolean", "string", "null"], "pattern": "^(true|false)$"}),
        ("Plant", "sown", {"anyOf": [{"type": "string"}, {"type": "string", "enum": [""]}]}),
        ("Plant", "watered-at", {"type": ["string", "integer", "null"], "format": "date-time"}),
        ("Plant", "pruned-at", {"type": ["string", "null"]}),
        ("Plant", "neighbours", {"type": ["array", "null"], "items": {"type": ["string", "integer"]}}),
        (
            "Plant",
            "frost-days",
            {"anyOf": [{"type": "array", "items": {"type": "string", "format": "date"}}, {"type": "object"}]},
        ),
    ],
)
def test_received_property_is_a_union_of_its_forms(component: str, key: str, expected: dict[str, Any]) -> None:
    if "anyOf" in expected:
        expected = {"anyOf": [*expected["anyOf"], {"type": "null"}]}
    assert types(property_schema(written(component, key), received=True)) == expected


@for_each(
    "component, key, expected",
    [
        ("NewPlant", "season", {"$ref": "#/components/schemas/Season"}),
        ("NewPlant", "sown", {"type": "string", "format": "date"}),
        ("NewPlant", "weight", {"type": "string", **DECIMAL}),
        (
            "NewPlant",
            "labels",
            {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/NewLabel"}},
        ),
    ],
)
def test_sent_property_has_its_documented_form_only(component: str, key: str, expected: dict[str, Any]) -> None:
    assert types(property_schema(written(component, key), received=False)) == expected


def test_property_keeps_its_description_and_extensions() -> None:
    schema = property_schema(written("Bed", "gardener"), received=True)
    assert schema["description"] == "Owner of the bed."
    assert schema["x-provenance"] == "client"
    assert property_schema(written("Plant", "secret-recipe"), received=True)["format"] == "password"
