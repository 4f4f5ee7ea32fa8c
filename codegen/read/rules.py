"""Reader of ``x-rules``: declarative rules over the fields of a body or the parameters of a query."""

from collections.abc import Callable, Iterable
from typing import Any

from ..spec import Rule
from .document import Node


def read_rules(owner: Node, known: set[str], key: str = "x-rules") -> tuple[Rule, ...]:
    """Return the rules of an operation or request schema over ``known`` fields."""
    # A list among the rules is one that another schema names with an anchor.
    nodes = (
        each for node in owner.elements(key) for each in (node.elements() if isinstance(node.value, list) else [node])
    )
    return tuple(rule for node in nodes if (rule := _read_rule(node, known)) is not None)


def _names(value: Any) -> tuple[object, Iterable[str]]:
    names = tuple(map(str, value))
    return names, names


def _values(value: Any) -> tuple[object, Iterable[str]]:
    found = {str(name): tuple(map(str, values)) for name, values in value.items()}
    return found, found


def _number(value: Any) -> tuple[object, Iterable[str]]:
    [(name, number)] = value.items()
    return (str(name), int(number)), [str(name)]


def _total(value: Any) -> tuple[object, Iterable[str]]:
    names = tuple(map(str, value["of"]))
    return (names, int(value["at-most"])), names


def _span(value: Any) -> tuple[object, Iterable[str]]:
    ends = str(value["from"]), str(value["to"])
    return (*ends, int(value["months"])), ends


_CONDITIONS = {"when": _values, "unless": _values}

#: Readers of the demands: what the rule gets, and the fields that it names.
_DEMANDS: dict[str, Callable[[Any], tuple[object, Iterable[str]]]] = {
    "require": _names,
    "forbid": _names,
    "require-value": _values,
    "require-any": _names,
    "exclusive": _names,
    "distinct": lambda value: (str(value), [str(value)]),
    "max-items": _number,
    "min-items": _number,
    "max-total": _total,
    "span": _span,
    "positive": _names,
    "not-negative": _names,
}
_KEYS = {*_CONDITIONS, *_DEMANDS, "message", "code", "behaviour", "x-provenance"}


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
    rule: Rule = {}
    for key, reader in (_CONDITIONS | _DEMANDS).items():
        if key in node.members:
            try:
                rule[key.replace("-", "_")], fields = reader(node.value[key])
            except (AttributeError, KeyError, TypeError, ValueError):
                node.problem(f"invalid {key}: {node.value[key]!r}")
                continue
            for field in sorted(fields):
                if field.partition("[]")[0] not in known and field not in known:
                    node.problem(f"unknown field {field!r}")
    if node.members.get("x-provenance") == "library":
        rule["library"] = True
    return rule | {key: node.string(key) for key in ("code", "behaviour", "message") if key in node.members}
