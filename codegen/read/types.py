"""Reader of the types of properties and parameters."""

import attrs

from ..spec import Type
from .document import Node

_FORMATS = {None: "string", "decimal": "decimal", "date": "date", "date-time": "date-time", "password": "string"}

#: Forms that ``x-wire`` may declare, by kind.
_WIRE_FORMS = {
    "string": {"integer", "number"},
    "integer": {"string"},
    "boolean": {"string"},
    "decimal": {"integer", "number", "nan", "non-finite", "empty"},
    "date": {"empty", "date-text", "epoch-day", "zero"},
    "date-time": {"epoch-ms", "zero", "empty", "loose", "minus-one"},
    "enum": {"empty"},
    "model": {"string"},
    "object": set[str](),
}


_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_INT32 = {"minimum": -(2**31), "maximum": 2**31 - 1}


def read_type(written: Node) -> Type:
    """Return the type of a property or parameter. Record an invalid one as a string."""
    node = written.resolved()
    declared = node.members.get("type")
    wire = tuple(written.members.get("x-wire", ()))
    if declared == "array":
        items = node.unresolved("items")
        if items is None:
            node.problem("items is missing")
            return Type(kind="string", array=True)
        item = read_type(items)
        if item.array:
            node.problem("nested arrays are unsupported: make the inner one a component")
        if item.number:
            node.problem("arrays of numbers are unsupported")
        forms = tuple(dict.fromkeys((*item.wire, *wire)))
        if set(wire) - {"mapping"} or (wire and item.kind in ("model", "object")):
            node.problem(f"unsupported x-wire {list(wire)} for an array of kind {item.kind}")
        return attrs.evolve(item, array=True, wire=forms, min_items=node.members.get("minItems"))
    kind, name = _scalar(node, declared)
    if unsupported := set(wire) - _WIRE_FORMS.get(kind, set()):
        written.problem(f"unsupported x-wire {sorted(unsupported)} for kind {kind}")
    number = declared == "number"
    minimum, maximum = _read_bounds(node, kind)
    return Type(
        kind=kind,
        name=name,
        wire=tuple(dict.fromkeys((*wire, "number"))) if number else wire,
        number=number,
        secret=node.members.get("format") == "password",
        minimum=minimum,
        maximum=maximum,
    )


def _read_bounds(node: Node, kind: str) -> tuple[int | None, int | None]:
    """Return minimum and maximum of an integer, None where unbounded."""
    written = {key: node.members[key] for key in _BOUNDS if key in node.members}
    for key, bound in written.items():
        if kind != "integer" or key not in ("minimum", "maximum") or type(bound) is not int:
            node.problem(f"unsupported bound {key}: {bound!r}; only integers have bounds, integral minimum and maximum")
            return None, None
    bounds = {**(_INT32 if node.members.get("format") == "int32" else {}), **written}
    return bounds.get("minimum"), bounds.get("maximum")


def _scalar(node: Node, declared: object) -> tuple[str, str | None]:
    if node.component is not None:
        return ("enum" if "enum" in node.members else "model"), node.component
    if "enum" in node.members:
        node.problem("inline enumerations are unsupported: make it a component")
    elif declared == "object" or "properties" in node.members:
        if "properties" in node.members:
            node.problem("inline objects are unsupported: make it a component")
        return "object", None
    elif declared in ("integer", "boolean"):
        return str(declared), None
    elif isinstance(declared, list) and sorted(map(str, declared)) == ["integer", "string"]:
        return "identifier", None
    elif declared == "number":
        return "decimal", None
    elif declared == "string" and node.members.get("format") in _FORMATS:
        return _FORMATS[node.members.get("format")], None
    elif declared == "string":
        node.problem(f"format must be one of {', '.join(filter(None, _FORMATS))}, got {node.members.get('format')!r}")
    elif node.value:
        node.problem(f"type must be one of string, integer, number, boolean, array, object, got {declared!r}")
    return "string", None
