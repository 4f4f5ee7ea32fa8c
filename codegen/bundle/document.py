"""The whole document: paths in place, references to components only, answers flat."""

from __future__ import annotations

import json
from typing import Any

from ..read.document import Document, Node, SchemaError
from ..read.load import ENVELOPES
from ..read.operations import METHODS, json_schema
from .answers import Answers
from .examples import parameter_examples, unknown_suggestions, with_examples
from .links import add_links
from .properties import property_schema

#: Envelopes that occur only with a type of their data, and then under another name.
_TYPED = tuple(name for name in ENVELOPES if name != "ErrorEnvelope")

#: Keys of the root that the bundle builds, or that serve the bundle only.
_BUILT = ("paths", "components", "x-examples", "x-every-response", "x-links")


def render(document: Document) -> str:
    """Return the bundled schema as JSON."""
    return json.dumps(bundle(document), ensure_ascii=False, indent=1) + "\n"


def bundle(document: Document) -> dict[str, Any]:
    """Return the bundled schema of a valid document.

    Raises:
        SchemaError: components clash, or an example has an unknown name.
    """
    root = document.root()
    answers = Answers(root)
    shared: dict[str, dict[str, Any]] = {"parameters": {}, "responses": {}}
    paths = root.get("paths")
    flat = {path: _path(item, answers, shared) for path, item in (paths.items() if paths else ())}
    add_links(flat, root)
    schemas = _schemas(root)
    for name in sorted(schemas.keys() & answers.components.keys()):
        root.problem(f"component {name!r} has the name of the component of an answer")
    named = {**schemas, **answers.components}
    suggested = root.members.get("x-examples", {})
    for name in parameter_examples(flat, shared["parameters"], suggested, unknown_suggestions(named, suggested)):
        root.problem(f"x-examples must list properties, components and parameters, got {name!r}")
    known = named.keys() | shared["parameters"].keys() | shared["responses"].keys()
    for name in sorted(set(_names([flat, shared, named])) - known):
        root.problem(f"components.schemas must list {name!r}, which the schema refers to")
    if document.problems:
        raise SchemaError(document.problems)
    components = {
        **_security(root),
        "schemas": with_examples(named, suggested),
        **{section: dict(sorted(parts.items())) for section, parts in shared.items() if parts},
    }
    head = {key: value for key, value in root.members.items() if key not in _BUILT}
    return {**head, "paths": flat, "components": components}


def _security(root: Node) -> dict[str, Any]:
    components = root.members.get("components") or {}
    return {key: value for key, value in components.items() if key == "securitySchemes"}


# -- components -------------------------------------------------------------------------------------------------------


def _schemas(root: Node) -> dict[str, dict[str, Any]]:
    components = root.get("components")
    listed = components.get("schemas") if components else None
    nodes = dict(listed.items()) if listed else {}
    sent = _sent(root, nodes)
    return {name: _schema(node, received=name not in sent) for name, node in nodes.items() if name not in _TYPED}


def _schema(node: Node, *, received: bool) -> dict[str, Any]:
    properties = node.unresolved("properties")
    if properties is None:
        return dict(node.members)
    flat: dict[str, Any] = {}
    for wire in properties.members:
        written = properties.unresolved(wire)
        if written is None:
            continue
        schema = flat[wire] = property_schema(written, received=received)
        for alias in written.members.get("x-aliases", ()):
            if alias.lower() == wire.lower():  # generators give both the same name
                continue
            notes = {key: value for key, value in schema.items() if key != "x-aliases"}
            flat[alias] = {**notes, "description": f"Another key of `{wire}`.", "x-alias-of": wire}
    return {**node.members, "properties": flat}


def _sent(root: Node, nodes: dict[str, Node]) -> set[str]:
    """Return the components of request bodies, nested ones included."""
    pending = []
    for _, item in paths.items() if (paths := root.get("paths")) else ():
        for method in item.members:
            operation = item.child(method, item.members[method])
            body = operation.get("requestBody")
            schema = json_schema(body) if body else None
            pending += [schema.component] if schema and schema.component else []
    sent: set[str] = set()
    while pending:
        name = pending.pop()
        if name not in sent:
            sent.add(name)
            pending += _names(nodes[name].members.get("properties"))
    return sent


def _names(value: Any) -> list[str]:
    """Return the names of all components that a value refers to."""
    if isinstance(value, list):
        return [name for item in value for name in _names(item)]
    if not isinstance(value, dict):
        return []
    own = [str(value["$ref"]).rpartition("/")[2]] if isinstance(value.get("$ref"), str) else []
    return [*own, *(name for item in value.values() for name in _names(item))]


# -- paths ------------------------------------------------------------------------------------------------------------


def _path(item: Node, answers: Answers, shared: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return {method: _operation(node, answers, shared) for method, node in item.items() if method in METHODS}


def _operation(node: Node, answers: Answers, shared: dict[str, dict[str, Any]]) -> dict[str, Any]:
    flat = {**node.members, **_servers(node)}
    if (parameters := node.unresolved("parameters")) is not None:
        written = [parameters.child(index, value) for index, value in enumerate(parameters.value)]
        flat["parameters"] = [_shared("parameters", each, _parameter(each.resolved()), shared) for each in written]
    if (body := node.get("requestBody")) is not None:
        flat["requestBody"] = _local(body.value)
    if (responses := node.unresolved("responses")) is not None:
        flat["responses"] = {}
        every = node.document.root().unresolved("x-every-response")
        for status, each in [*_children(responses), *_children(every)]:
            found = answers.response(each.resolved()) if status[:1] == "2" else _local(each.resolved().value)
            flat["responses"][status] = _shared("responses", each, found, shared)
    return flat


def _servers(node: Node) -> dict[str, Any]:
    """Return the servers of an operation on another host than the service's."""
    host = node.string("x-host")
    variable = {"default": f"https://{host}.invalid", "description": f"Base address of the host {host}."}
    server = {"url": "{base_url}", "description": f"Host {host}.", "variables": {"base_url": variable}}
    return {"servers": [server]} if host else {}


def _children(node: Node | None) -> list[tuple[str, Node]]:
    return [(key, node.child(key, value)) for key, value in node.members.items()] if node else []


def _parameter(node: Node) -> dict[str, Any]:
    schema = node.unresolved("schema")
    if schema is None:
        return dict(node.members)
    return {**node.members, "schema": property_schema(schema, received=False)}


def _shared(section: str, written: Node, flat: dict[str, Any], shared: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the value, or a reference to it where the file has one."""
    target = written.reference()
    if target is None:
        return flat
    name = target.rpartition("/")[2]
    if shared[section].setdefault(name, flat) != flat:
        written.problem(f"$ref {target!r}: another file has different {section} of that name")
    return {"$ref": f"#/components/{section}/{name}"}


def _local(value: Any) -> Any:
    """Return a value whose references lead to the components of the bundle."""
    if isinstance(value, list):
        return [_local(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _local_reference(item) if key == "$ref" else _local(item) for key, item in value.items()}


def _local_reference(written: str) -> str:
    """Convert ``common.yaml#/schemas/Order`` to ``#/components/schemas/Order``."""
    section, name = written.split("/")[-2:]
    return f"#/components/{section}/{name}"
