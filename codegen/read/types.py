"""Reads the type of a property or parameter."""

from __future__ import annotations

import attrs

from ..spec import Type
from .document import Node

_FORMATS = {None: "string", "decimal": "decimal", "date": "date", "date-time": "date-time", "password": "string"}

#: The other JSON forms that a field of each kind can be declared to arrive in.
_WIRE_FORMS = {
    "string": {"integer", "number"},
    "integer": {"string"},
    "boolean": {"string"},
    "decimal": {"integer", "number", "nan", "empty"},
    "date": {"empty", "date-text"},
    "date-time": {"epoch-ms", "empty"},
    "enum": {"empty"},
    "model": set[str](),
    "object": set[str](),
}


_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_INT32 = {"minimum": -(2**31), "maximum": 2**31 - 1}


def read_type(written: Node) -> Type:
    """The type of a property or parameter; an unusable one is noted and read as text."""
    node = written.resolved()
    declared = node.members.get("type")
    wire = tuple(written.members.get("x-wire", ()))
    if declared == "array":
        items = node.raw("items")
        if items is None:
            node.problem("is an array without items")
            return Type(kind="string", array=True)
        item = read_type(items)
        if item.array:
            node.problem("is an array of arrays; name the inner one as a component")
        forms = tuple(dict.fromkeys((*item.wire, *wire)))
        if set(wire) - {"mapping"} or (wire and item.kind in ("model", "object")):
            node.problem(f"x-wire {list(wire)} does not go with an array of {item.kind}")
        return attrs.evolve(item, array=True, wire=forms, min_items=node.members.get("minItems"))
    kind, name = _scalar(node, declared)
    if extra := set(wire) - _WIRE_FORMS.get(kind, set()):
        written.problem(f"x-wire {sorted(extra)} does not go with a field of kind {kind}")
    least, most = _read_bounds(node, kind)
    secret = node.members.get("format") == "password"
    return Type(kind=kind, name=name, wire=wire, secret=secret, minimum=least, maximum=most)


def _read_bounds(node: Node, kind: str) -> tuple[int | None, int | None]:
    """The least and the greatest value of an integer, where the schema says."""
    written = {key: node.members[key] for key in _BOUNDS if key in node.members}
    for key, bound in written.items():
        if kind != "integer" or key not in ("minimum", "maximum") or type(bound) is not int:
            node.problem(f"{key}: {bound!r}: only integers have bounds, minimum and maximum, and these are integers")
            return None, None
    bounds = {**(_INT32 if node.members.get("format") == "int32" else {}), **written}
    return bounds.get("minimum"), bounds.get("maximum")


def _scalar(node: Node, declared: object) -> tuple[str, str | None]:
    if node.component is not None:
        return ("enum" if "enum" in node.members else "model"), node.component
    if "enum" in node.members:
        node.problem("lists its values in place; make the enumeration a component of its own")
    elif declared == "object" or "properties" in node.members:
        if "properties" in node.members:
            node.problem("describes an object in place; make it a component of its own")
        return "object", None
    elif declared in ("integer", "boolean"):
        return str(declared), None
    elif isinstance(declared, list) and sorted(map(str, declared)) == ["integer", "string"]:
        return "identifier", None
    elif declared == "string" and node.members.get("format") in _FORMATS:
        return _FORMATS[node.members.get("format")], None
    elif declared == "string":
        node.problem(f"format {node.members.get('format')!r} is not one of {', '.join(filter(None, _FORMATS))}")
    elif node.value:
        node.problem(f"type {declared!r} is not one of string, integer, boolean, array, object")
    return "string", None
