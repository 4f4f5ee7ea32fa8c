"""JSON schemas of properties and parameters, with their wire forms as type unions.

A value that is received may be null, and an enumeration may hold a value that is not listed. A value that is sent has
the documented form only.
"""

from typing import Any

from ..read.document import Node
from ..read.types import read_type
from ..spec import Type

NULL: dict[str, Any] = {"type": "null"}

#: Patterns of values that are or may be strings, by kind.
_PATTERNS = {
    "decimal": r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$",
    "integer": r"^-?[0-9]+$",
    "boolean": r"^(true|false)$",
}

#: Strings that stand for a missing value, by wire form.
_WORDS = {"nan": ["NaN"], "non-finite": ["NaN", "Infinity", "-Infinity"], "empty": [""]}

#: Keys of the YAML that the type of the bundled schema replaces.
_REPLACED = ("$ref", "type", "format", "items", "pattern")

#: Types of the kinds that are not strings.
_TYPES = {
    "identifier": ["integer", "string"],
    "integer": ["integer"],
    "boolean": ["boolean"],
    "object": ["object"],
}


def property_schema(written: Node, *, received: bool) -> dict[str, Any]:
    """Return the schema of a property or parameter: its type, then its description and extensions."""
    target = written if written.reference() is not None else written.resolved()
    notes = {key: value for key, value in target.members.items() if key not in _REPLACED}
    if not written.members.keys() & {"$ref", "type"}:
        return notes  # any JSON
    type_ = read_type(written)
    holder = target.get("items") if type_.array else target
    schema = _single(type_, holder.members.get("format") if holder else None, received=received)
    if type_.array:
        schema = {"type": "array", "items": schema}
    if "mapping" in type_.wire:
        schema = {"anyOf": [schema, {"type": "object"}]}
    if received:
        if "anyOf" in schema:
            schema = {"anyOf": [*schema["anyOf"], NULL]}
        elif "$ref" in schema:
            schema = {"anyOf": [schema, NULL]}
        else:
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            schema = {**schema, "type": [*types, "null"]}
    return schema | notes


def _single(type_: Type, format_: str | None, *, received: bool) -> dict[str, Any]:
    """Return the schema of one value: one type or component, or a union with its further wire forms."""
    kind, forms = type_.kind, set(type_.wire)
    if kind in ("enum", "model"):
        may_be_other = received and (kind == "enum" or "string" in forms)
        return {"anyOf": [reference(type_.name), {"type": "string"}]} if may_be_other else reference(type_.name)
    if type_.number and not received:
        return {"type": "number"}
    types = list(_TYPES.get(kind, ["string"]))
    if forms & {"integer", "number"} and (kind == "decimal" or "number" in forms):
        types.append("number")  # a quantity that arrives as an integer has a fraction as soon as shares do
    elif forms & {"integer", "epoch-ms", "epoch-day", "zero", "minus-one"}:
        types.append("integer")
    elif "string" in forms:
        types.append("string")
    schema: dict[str, Any] = {"type": types[0] if len(types) == 1 else types}
    format_ = "decimal" if type_.number else format_
    if format_ is not None and not forms & {"loose", "date-text", "epoch-day"}:
        schema["format"] = format_
    if kind in _PATTERNS and "string" in types:
        schema["pattern"] = _PATTERNS[kind]
    words = [word for form, listed in _WORDS.items() if form in forms for word in listed]
    return {"anyOf": [schema, *({"type": "string", "enum": [word]} for word in words)]} if words else schema


def reference(component: str | None) -> dict[str, Any]:
    """Return the reference to a component."""
    return {"$ref": f"#/components/schemas/{component}"}
