"""OpenAPI links: values of an answer that are parameters of further operations."""

from __future__ import annotations

import re
from typing import Any

from ..read.document import Node

_KEYS = {"from", "value", "parameter", "to"}


def add_links(paths: dict[str, dict[str, Any]], root: Node) -> None:
    """Add the links of ``x-links`` to the success responses of the bundled operations.

    Parameters of the path that both operations have keep their value, as the account number does.
    """
    operations = {each["operationId"]: (path, each) for path, item in paths.items() for each in item.values()}
    listed = root.get("x-links")
    for node in listed.elements() if listed else ():
        given = node.members
        names = [given.get("from"), *given.get("to", ())]
        if given.keys() != _KEYS:
            node.problem(f"must have the keys {', '.join(sorted(_KEYS))}, got {', '.join(sorted(given))}")
        elif unknown := [name for name in names if name not in operations]:
            node.problem(f"must name operations, got {', '.join(map(repr, unknown))}")
        else:
            _link(node, *operations[given["from"]], [(name, operations[name][0]) for name in given["to"]])


def _link(node: Node, path: str, operation: dict[str, Any], targets: list[tuple[str, str]]) -> None:
    """Add links from one operation to others, each with its path."""
    parameter, value = node.string("parameter"), node.string("value")
    kept = set(_variables(path)) - {parameter}
    for name, target in targets:
        if parameter not in _variables(target):
            node.problem(f"{name} must have the path parameter {parameter!r}")
            continue
        link = {
            "operationId": name,
            "parameters": {
                **{each: f"$request.path.{each}" for each in _variables(target) if each in kept},
                parameter: f"$response.body#{value}",
            },
        }
        for status, response in operation["responses"].items():
            if status[0] == "2":
                response.setdefault("links", {})[name] = link


def _variables(path: str) -> list[str]:
    return re.findall(r"\{(\w+)\}", path)
