"""Reads ``x-rules``: small declarative rules over the fields of a body or the parameters of a query."""

from __future__ import annotations

from typing import Any

from ..spec import Rule
from .document import Node

_DEMANDS = (
    "require",
    "forbid",
    "require-value",
    "exclusive",
    "distinct",
    "max-items",
    "span",
    "positive",
    "not-negative",
)
_KEYS = {*_DEMANDS, "when", "unless", "message", "x-provenance"}


def read_rules(owner: Node, known: set[str]) -> tuple[Rule, ...]:
    """The rules of an operation or request schema; ``known`` are the fields that they may name."""
    listed = owner.get("x-rules")
    if listed is None:
        return ()
    return tuple(rule for node in listed.elements() if (rule := _read_rule(node, known)) is not None)


def _read_rule(node: Node, known: set[str]) -> Rule | None:
    if not isinstance(node.value, dict):
        node.problem(f"expected a rule, found {node.value!r}")
        return None
    demands = [key for key in _DEMANDS if key in node.members]
    if len(demands) != 1:
        node.problem(f"needs exactly one of {', '.join(_DEMANDS)}; found {', '.join(demands) or 'none'}")
    for key in node.members:
        if key not in _KEYS:
            node.problem(f"unknown key {key!r}; a rule has {', '.join(sorted(_KEYS))}")
    if not node.text("message"):
        node.problem("has no message")
    for field in sorted(_fields_named(node.value)):
        if field.partition("[]")[0] not in known and field not in known:
            node.problem(f"names {field!r}, which is not there")
    arguments: list[tuple[str, object]] = [
        (key.replace("-", "_"), _argument(node, key, node.value[key]))
        for key in ("when", "unless", *demands)
        if key in node.members
    ]
    if node.members.get("x-provenance") == "library":
        arguments.append(("library", True))
    return Rule(arguments=(*arguments, ("message", node.text("message"))))


def _argument(node: Node, key: str, value: Any) -> object:
    try:
        if key in ("when", "unless", "require-value"):
            return {str(name): tuple(map(str, values)) for name, values in value.items()}
        if key == "distinct":
            return str(value)
        if key == "max-items":
            [(name, most)] = value.items()
            return (str(name), int(most))
        if key == "span":
            return (str(value["from"]), str(value["to"]), int(value["months"]))
        return tuple(map(str, value))
    except (AttributeError, KeyError, TypeError, ValueError):
        node.problem(f"{key} is not written as it should be: {value!r}")
        return None


def _fields_named(rule: dict[str, Any]) -> set[str]:
    named: set[str] = set()
    for key, value in rule.items():
        if key in (
            "when",
            "unless",
            "require-value",
            "max-items",
            "require",
            "forbid",
            "exclusive",
            "positive",
            "not-negative",
        ):
            named.update(map(str, value) if isinstance(value, (dict, list)) else ())
        elif key == "distinct":
            named.add(str(value))
        elif key == "span" and isinstance(value, dict):
            named.update(str(value[end]) for end in ("from", "to") if end in value)
    return named
