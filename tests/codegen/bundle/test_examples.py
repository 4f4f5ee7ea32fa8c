"""Examples of components in forms that the schema does not have; `tests/schema` proves all others valid."""

from typing import Any

from codegen.bundle.examples import with_examples


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
