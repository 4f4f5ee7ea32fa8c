"""Examples of components and parameters, from their types and the values that the schema suggests by key."""

import re
from collections.abc import Mapping
from typing import Any

#: Values by format, and by type without one.
_FORMATS = {
    "date": "2026-06-12",
    "date-time": "2026-06-12T14:30:00.000+00:00",
    "decimal": "1.25",
    "password": "example",
}
_TYPES: dict[str, Any] = {"string": "example", "boolean": True, "number": 1.25, "object": {}}

#: A literal that a description gives as an example.
_LITERAL = re.compile(r"such as `([^`]+)`")


def add_parameter_examples(
    paths: Mapping[str, Mapping[str, Any]], shared: Mapping[str, dict[str, Any]], suggested: Mapping[str, Any]
) -> set[str]:
    """Add examples to the parameters of paths, and to those that several operations share.

    Values are suggested by ``operationId.parameter`` or by ``parameter``. Return the names of which one may be.
    """
    found = {each["name"]: each for each in shared.values()}
    for item in paths.values():
        for operation in item.values():
            own = [each for each in operation.get("parameters", ()) if "$ref" not in each]
            found |= {f"{operation['operationId']}.{each['name']}": each for each in own}
    for name, parameter in found.items():
        key = name if name in suggested or parameter["in"] != "path" else name.rpartition(".")[2].replace("_", "-")
        if key in suggested:
            is_array = parameter["schema"].get("type") == "array"
            parameter["example"] = [suggested[key]] if is_array else suggested[key]
    return set(found)


def with_examples(schemas: dict[str, dict[str, Any]], suggested: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the components, each with an example.

    Values are suggested for components by name, and for properties by ``Component.property`` or by ``property``.
    """
    examples = _Examples(schemas, suggested)
    return {name: {**schema, "examples": [examples.of(name)]} for name, schema in schemas.items()}


class _Examples:
    """Examples of components and of everything within them."""

    def __init__(self, schemas: dict[str, dict[str, Any]], suggested: Mapping[str, Any]) -> None:
        self._schemas = schemas
        self._suggested = suggested
        self._open: list[str] = []

    def of(self, name: str) -> Any:
        """Return the example of a component. A component within itself is left out."""
        schema = self._schemas[name]
        if name in self._suggested:
            return self._suggested[name]
        if "properties" not in schema:
            return self._value(schema, "")
        self._open.append(name)
        values = {
            key: value
            for key, each in schema["properties"].items()
            if "x-alias-of" not in each and (value := self._property(name, key, each)) is not None
        }
        self._open.pop()
        return values

    def _property(self, owner: str, key: str, schema: dict[str, Any]) -> Any:
        for name in (f"{owner}.{key}", key):
            if name in self._suggested and self._takes_strings(schema):
                value = self._suggested[name]
                return [value] if "array" in _first(schema).get("type", ()) else value
        return self._value(schema, str(schema.get("description", "")))

    def _takes_strings(self, schema: dict[str, Any]) -> bool:
        first = _first(schema)
        if "$ref" in first:
            return "enum" in self._schemas[first["$ref"].rpartition("/")[2]]
        if "array" in first.get("type", ()):
            return self._takes_strings(first["items"])
        return "string" in first.get("type", ())

    def _value(self, schema: dict[str, Any], description: str) -> Any:
        """Return a value of the first type that the schema takes, None for a component within itself."""
        if "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            return None if name in self._open else self.of(name)
        if "anyOf" in schema:
            return self._value(_first(schema), description)
        if "enum" in schema:
            return schema["enum"][0]
        first = schema.get("type", "object")
        first = first if isinstance(first, str) else first[0]
        if first == "array":
            item = self._value(schema["items"], description)
            return [] if item is None else [item]
        if first == "integer":
            return max(1, schema.get("minimum", 1))
        literal = _LITERAL.search(description)
        if literal and first == "string" and "format" not in schema:
            return literal[1]
        return _FORMATS.get(schema.get("format", ""), _TYPES[first])


def _first(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the first alternative of a union, or the schema itself. Null and words come later."""
    found: dict[str, Any] = schema.get("anyOf", [schema])[0]
    return found
