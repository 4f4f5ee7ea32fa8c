"""Examples of components: suggested values, literals of descriptions, and types. `tests/schema` proves all valid."""

from typing import Any

from codegen.bundle.examples import parameter_examples, unknown_suggestions, with_examples
from tests.tables import for_each


def example(schema: dict[str, Any], suggested: dict[str, Any] | None = None) -> Any:
    """Return the example of property ``key`` of component ``Plant``."""
    schemas = {
        "Plant": {"type": "object", "properties": {"key": schema}},
        "Season": {"type": "string", "enum": ["Spring", "Autumn"]},
        "Bed": {"type": "object", "properties": {"width": {"type": "integer", "minimum": 5}}},
    }
    return with_examples(schemas, suggested or {})["Plant"]["examples"][0].get("key")


@for_each(
    "schema, invented, suggested",
    [
        ({"type": ["string", "null"], "description": "Name, such as `Rosa  canina`."}, "Rosa  canina", "new"),
        ({"anyOf": [{"$ref": "#/components/schemas/Season"}, {"type": "string"}]}, "Spring", "new"),
        ({"type": ["array", "null"], "items": {"type": "string"}}, ["example"], ["new"]),
        ({"type": "integer", "minimum": 0}, 1, 1),
        ({"$ref": "#/components/schemas/Bed"}, {"width": 5}, {"width": 5}),
        ({"anyOf": [{"$ref": "#/components/schemas/Plant"}, {"type": "null"}]}, None, None),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Plant"}}, [], []),
        ({"type": "string", "x-alias-of": "other"}, None, None),
    ],
)
def test_example_follows_the_type_and_a_suggestion_is_for_strings(
    schema: dict[str, Any], invented: Any, suggested: Any
) -> None:
    assert example(schema) == invented
    assert example(schema, {"key": "new"}) == suggested


def test_suggestions_come_before_invented_values() -> None:
    assert example({"type": "string"}, {"key": "general", "Plant.key": "own"}) == "own"
    schemas = {"Plant": {"properties": {"name": {}}}}
    assert unknown_suggestions(schemas, {"name": "", "Plant.name": "", "height": "", "Bed.name": ""}) == [
        "height",
        "Bed.name",
    ]
    schemas = {"Bed": {"type": "object", "properties": {"width": {"type": "integer"}}}}
    assert with_examples(schemas, {"Bed": {"width": 3}})["Bed"]["examples"] == [{"width": 3}]
    assert unknown_suggestions(schemas, {"Bed": {}}) == []
    number: dict[str, Any] = {"name": "bed_number", "in": "path", "schema": {"type": "integer"}}
    names: dict[str, Any] = {"name": "plants[]", "in": "query", "schema": {"type": "array", "items": {}}}
    name: dict[str, Any] = {"name": "name", "in": "query", "schema": {"type": "string"}}
    paths = {"/beds": {"get": {"operationId": "garden.list", "parameters": [names, name]}}}
    suggested = {"bed-number": 7, "garden.list.plants[]": "rose", "name": "Ada", "garden.dig.depth": 1}
    left = parameter_examples(paths, {"BedNumber": number}, suggested, ["garden.list.plants[]", "garden.dig.depth"])
    assert (number["example"], names["example"], name.get("example")) == (7, ["rose"], None)
    assert left == ["garden.dig.depth"]
