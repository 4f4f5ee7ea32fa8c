"""Components of the bundled schema: references, types in words, and what an operation uses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

__all__ = ["components_of", "prose", "provenance", "resolve", "type_text"]


def resolve(document: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the target of a reference within the document, or the node itself."""
    reference = node.get("$ref")
    if reference is None:
        return node
    target: Any = document
    for part in reference.removeprefix("#/").split("/"):
        target = target[part]
    found: Mapping[str, Any] = target
    return found


def provenance(node: Mapping[str, Any], owner: Mapping[str, Any] | None = None) -> str:
    """Return the source of a fact: its own, else that of its owner, else the service document."""
    return str(node.get("x-provenance", (owner or {}).get("x-provenance", "documented")))


def prose(description: str) -> str:
    """Return a description as HTML, with what stands between backticks as code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(description))


def type_text(schema: Mapping[str, Any]) -> str:
    """Return a type in words, as HTML with links to its components."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(type_text(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    types = schema.get("type", "any JSON")
    types = [types] if isinstance(types, str) else types
    return " or ".join(_single(each, schema) for each in types)


def _single(name: str, schema: Mapping[str, Any]) -> str:
    if name == "array":
        return f"array of {type_text(schema['items'])}"
    return str(schema.get("format", name)) if name == "string" else name


def components_of(document: Mapping[str, Any], schemas: Iterable[Mapping[str, Any] | None]) -> list[str]:
    """Return the names of all components that the schemas use, directly or through others, in order of first use."""
    found: dict[str, None] = {}
    pending = [name for schema in schemas for name in _names(schema)]
    while pending:
        name = pending.pop(0)
        if name not in found:
            found[name] = None
            component = document["components"]["schemas"][name]
            pending += _names(component.get("properties"))
    return list(found)


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _names(item)
    elif isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"].rpartition("/")[2]
        for item in value.values():
            yield from _names(item)
