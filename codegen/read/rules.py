"""Reader of ``x-rules``: declarative rules over the fields of a body or the parameters of a query."""

from __future__ import annotations

from typing import Any

from ..spec import Rule
from .document import Node

_DEMANDS = (
    "require", "forbid", "require-value", "require-any", "exclusive", "distinct", "max-items", "min-items", "max-total",
    "span", "positive", "not-negative",
)  # fmt: skip
_NAMING_FIELDS = {
    "when", "unless", "require-value", "max-items", "min-items", "require", "require-any", "forbid", "exclusive",
    "positive", "not-negative",
}  # fmt: skip
_KEYS = {*_DEMANDS, "when", "unless", "message", "code", "behaviour", "x-provenance"}


def read_rules(owner: Node, known: set[str], key: str = "x-rules") -> tuple[Rule, ...]:
    """Return the rules of an operation or request schema over ``known`` fields."""
    # A list among the rules is one that another schema names with an anchor.
    nodes = (
        each for node in owner.elements(key) for each in (node.elements() if isinstance(node.value, list) else [node])
    )
    return tuple(rule for node in nodes if (rule := _read_rule(node, known)) is not None)


def _read_rule(node: Node, known: set[str]) -> Rule | None:
    if not isinstance(node.value, dict):
        node.problem(f"must be a rule, got {node.value!r}")
        return None
    demands = [key for key in _DEMANDS if key in node.members]
    if len(demands) != 1:
        node.problem(f"must have exactly one of {', '.join(_DEMANDS)}, got {', '.join(demands) or 'none'}")
    for key in node.members:
        if key not in _KEYS:
            node.problem(f"unknown key {key!r}: the keys of a rule are {', '.join(sorted(_KEYS))}")
    if not node.string("message"):
        node.problem("message is missing")
    for field in sorted(_referenced_fields(node.value)):
        if field.partition("[]")[0] not in known and field not in known:
            node.problem(f"unknown field {field!r}")
    arguments: list[tuple[str, object]] = [
        (key.replace("-", "_"), _argument(node, key, node.value[key]))
        for key in ("when", "unless", *demands)
        if key in node.members
    ]
    if node.members.get("x-provenance") == "library":
        arguments.append(("library", True))
    arguments += [(key, node.string(key)) for key in ("code", "behaviour") if key in node.members]
    return Rule(arguments=(*arguments, ("message", node.string("message"))))


def _argument(node: Node, key: str, value: Any) -> object:
    try:
        if key in ("when", "unless", "require-value"):
            return {str(name): tuple(map(str, values)) for name, values in value.items()}
        if key == "distinct":
            return str(value)
        if key in ("max-items", "min-items"):
            [(name, number)] = value.items()
            return (str(name), int(number))
        if key == "max-total":
            return (tuple(map(str, value["of"])), int(value["at-most"]))
        if key == "span":
            return (str(value["from"]), str(value["to"]), int(value["months"]))
        return tuple(map(str, value))
    except (AttributeError, KeyError, TypeError, ValueError):
        node.problem(f"invalid {key}: {value!r}")
        return None


def _referenced_fields(rule: dict[str, Any]) -> set[str]:
    fields: set[str] = set()
    for key, value in rule.items():
        if key in _NAMING_FIELDS:
            fields.update(map(str, value) if isinstance(value, (dict, list)) else ())
        elif key == "distinct":
            fields.add(str(value))
        elif key == "max-total" and isinstance(value, dict):
            fields.update(map(str, value.get("of", ())))
        elif key == "span" and isinstance(value, dict):
            fields.update(str(value[end]) for end in ("from", "to") if end in value)
    return fields
