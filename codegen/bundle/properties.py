"""JSON schemas of properties and parameters, with their wire forms as type unions.

A value that is received may be null, and an enumeration may hold a value that is not listed. A value that is sent has
the documented form only.
"""

from __future__ import annotations

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
    if type_.array:
        schema = _array(type_, target.unresolved("items"), received=received)
    else:
        schema = _single(type_, target.members.get("format"), received=received)
    return {**(_nullable(schema) if received else schema), **notes}


def _array(type_: Type, items: Node | None, *, received: bool) -> dict[str, Any]:
    format_ = items.resolved().members.get("format") if items is not None else None
    array = {"type": "array", "items": _single(type_, format_, received=received)}
    return {"anyOf": [array, {"type": "object"}]} if "mapping" in type_.wire else array


def _single(type_: Type, format_: str | None, *, received: bool) -> dict[str, Any]:
    if type_.kind == "enum":
        return {"anyOf": [reference(type_.name), {"type": "string"}]} if received else reference(type_.name)
    if type_.kind == "model":
        text = received and "string" in type_.wire
        return {"anyOf": [reference(type_.name), {"type": "string"}]} if text else reference(type_.name)
    if type_.number and not received:
        return {"type": "number"}
    return _scalar(type_.kind, set(type_.wire), "decimal" if type_.number else format_)


def _scalar(kind: str, forms: set[str], format_: str | None) -> dict[str, Any]:
    """Return the schema of a scalar: one type, or a union with its further wire forms."""
    types = [*_TYPES.get(kind, ["string"]), *_further_types(kind, forms)]
    schema: dict[str, Any] = {"type": types[0] if len(types) == 1 else types}
    if format_ is not None and not forms & {"loose", "date-text", "epoch-day"}:
        schema["format"] = format_
    if kind in _PATTERNS and "string" in types:
        schema["pattern"] = _PATTERNS[kind]
    words = [word for form, listed in _WORDS.items() if form in forms for word in listed]
    return {"anyOf": [schema, *({"type": "string", "enum": [word]} for word in words)]} if words else schema


def _further_types(kind: str, forms: set[str]) -> list[str]:
    if forms & {"integer", "number"} and (kind == "decimal" or "number" in forms):
        return ["number"]  # a quantity that arrives as an integer has a fraction as soon as shares do
    if forms & {"integer", "epoch-ms", "epoch-day", "zero", "minus-one"}:
        return ["integer"]
    return ["string"] if "string" in forms else []


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if "anyOf" in schema:
        return {"anyOf": [*schema["anyOf"], NULL]}
    if "$ref" in schema:
        return {"anyOf": [schema, NULL]}
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {**schema, "type": [*types, "null"]}


def reference(component: str | None) -> dict[str, Any]:
    """Return the reference to a component."""
    return {"$ref": f"#/components/schemas/{component}"}
