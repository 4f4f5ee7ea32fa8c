"""The whole document: paths in place, references to components only, answers flat."""

from __future__ import annotations

import json
import re
from typing import Any

from ..naming import pascal, snake
from ..read.document import Document, Node, SchemaError
from ..read.load import ENVELOPES
from ..read.operations import METHODS, json_schema, read_envelope
from .examples import add_parameter_examples, with_examples
from .properties import property_schema, reference

#: Envelopes that occur only with a type of their data, and then under another name.
_TYPED = tuple(name for name in ENVELOPES if name != "ErrorEnvelope")

#: Keys of the root that the bundle builds, or that serve the bundle only.
_BUILT = ("paths", "components", "x-examples", "x-every-response", "x-links")

_ENVELOPE_OF = {"one": "ItemEnvelope", "many": "ListEnvelope", "page": "PageEnvelope"}
_LINK_KEYS = {"from", "value", "parameter", "to"}


def render(document: Document) -> str:
    """Return the bundled schema as JSON."""
    return json.dumps(bundle(document), ensure_ascii=False, indent=1) + "\n"


def bundle(document: Document) -> dict[str, Any]:
    """Return the bundled schema of a valid document.

    Raises:
        SchemaError: components clash, or an example has an unknown name.
    """
    root = document.root()
    answers = _Answers(root)
    shared: dict[str, dict[str, Any]] = {"parameters": {}, "responses": {}}
    flat = {
        path: {method: _operation(node, answers, shared) for method, node in item.items() if method in METHODS}
        for path, item in root.items("paths")
    }
    _add_links(flat, root)
    schemas = _schemas(root)
    for name in sorted(schemas.keys() & answers.components.keys()):
        root.problem(f"component {name!r} has the name of the component of an answer")
    named = {**schemas, **answers.components}
    suggested = root.members.get("x-examples", {})
    keys = {f"{name}.{key}" for name, schema in named.items() for key in schema.get("properties", ())}
    takers = keys | {key.partition(".")[2] for key in keys} | named.keys()
    takers |= add_parameter_examples(flat, shared["parameters"], suggested)
    for name in (name for name in suggested if name not in takers):
        root.problem(f"x-examples must list properties, components and parameters, got {name!r}")
    known = named.keys() | shared["parameters"].keys() | shared["responses"].keys()
    for name in sorted(set(_names([flat, shared, named])) - known):
        root.problem(f"components.schemas must list {name!r}, which the schema refers to")
    if document.problems:
        raise SchemaError(document.problems)
    components = {
        **{key: value for key, value in (root.members.get("components") or {}).items() if key == "securitySchemes"},
        "schemas": with_examples(named, suggested),
        **{section: dict(sorted(parts.items())) for section, parts in shared.items() if parts},
    }
    head = {key: value for key, value in root.members.items() if key not in _BUILT}
    return {**head, "paths": flat, "components": components}


# -- components -------------------------------------------------------------------------------------------------------


def _schemas(root: Node) -> dict[str, dict[str, Any]]:
    nodes = dict(root.items("components", "schemas"))
    sent = _sent(root, nodes)
    flat = {name: _schema(node, received=name not in sent) for name, node in nodes.items() if name not in _TYPED}
    for name, schema in flat.items():
        for wire, written in schema.get("properties", {}).items():
            if "anyOf" in written and name + pascal(snake(wire)) in nodes:
                # Generators name the union by its place, and would take it for the component of that name.
                written["title"] = f"{name}{pascal(snake(wire))}OrOther"
    return flat


def _schema(node: Node, *, received: bool) -> dict[str, Any]:
    if "properties" not in node.members:
        return dict(node.members)
    flat: dict[str, Any] = {}
    for wire, written in node.children("properties"):
        schema = flat[wire] = property_schema(written, received=received)
        for alias in written.members.get("x-aliases", ()):
            if re.sub("[-_]", "", alias).lower() == re.sub("[-_]", "", wire).lower():  # generators name both the same
                continue
            notes = {key: value for key, value in schema.items() if key != "x-aliases"}
            flat[alias] = {**notes, "description": f"Another key of `{wire}`.", "x-alias-of": wire}
    return {**node.members, "properties": flat}


def _sent(root: Node, nodes: dict[str, Node]) -> set[str]:
    """Return the components of request bodies, nested ones included."""
    pending = []
    for _, item in root.items("paths"):
        for method in item.members:
            schema = item.get(method, "requestBody", "content", "application/json", "schema")
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


def _operation(node: Node, answers: _Answers, shared: dict[str, dict[str, Any]]) -> dict[str, Any]:
    flat = dict(node.members)
    if host := node.string("x-host"):
        variable = {"default": f"https://{host}.invalid", "description": f"Base address of the host {host}."}
        server = {"url": "{base_url}", "description": f"Host {host}.", "variables": {"base_url": variable}}
        flat["servers"] = [server]
    if (parameters := node.unresolved("parameters")) is not None:
        written = [parameters.child(index, value) for index, value in enumerate(parameters.value)]
        flat["parameters"] = []
        for each in written:
            members, schema = each.resolved().members, each.resolved().unresolved("schema")
            typed = {} if schema is None else {"schema": property_schema(schema, received=False)}
            flat["parameters"].append(_shared("parameters", each, members | typed, shared))
    if (body := node.get("requestBody")) is not None:
        flat["requestBody"] = _local(body.value)
    if "responses" in node.members:
        flat["responses"] = {}
        every = node.document.root().children("x-every-response")
        for status, each in [*node.children("responses"), *every]:
            found = answers.response(each.resolved()) if status[:1] == "2" else _local(each.resolved().value)
            flat["responses"][status] = _shared("responses", each, found, shared)
    return flat


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
    return {  # from `common.yaml#/schemas/Order` to `#/components/schemas/Order`
        key: "/".join(["#/components", *item.split("/")[-2:]]) if key == "$ref" else _local(item)
        for key, item in value.items()
    }


# -- answers without ``allOf``: a component for each envelope around a component, and for each list of them


class _Answers:
    """Collector of the components that answers need beside the schema's."""

    def __init__(self, root: Node) -> None:
        self._root = root
        self._written = dict(root.items("components", "schemas"))
        self.components: dict[str, dict[str, Any]] = {}

    def response(self, node: Node) -> dict[str, Any]:
        """Return a success response. Its content is a component, or a union of the list and the item."""
        notes = {key: value for key, value in node.members.items() if key != "content"}
        schema = json_schema(node)
        if schema is None:
            return notes
        return {**notes, "content": {"application/json": {"schema": self._flat(schema)}}}

    def _flat(self, schema: Node) -> dict[str, Any]:
        if schema.component is not None:
            return reference(schema.component)
        if schema.string("type") == "array":
            return property_schema(schema, received=False)
        forms = [read_envelope(form) for form in [*schema.elements("oneOf")] or [schema]]
        # The list first: it requires items, while an item of optional fields would take any object.
        forms.sort(key=lambda form: form[0] == "one")
        names = [self._envelope(shape, str(component)) for shape, component in forms]
        return reference(names[0]) if len(names) == 1 else {"anyOf": [reference(name) for name in names]}

    def _envelope(self, shape: str, component: str) -> str:
        base = _ENVELOPE_OF[shape]
        data = component
        if shape != "one":
            rows = {"type": "array", "items": reference(component)}
            data = self._copy("ItemList", f"{component}List", "items", rows, component)
        return self._copy(base, f"{component}{base}", "data", reference(data), component)

    def _copy(self, base: str, name: str, key: str, schema: dict[str, Any], component: str) -> str:
        """Add a copy of an envelope whose property ``key`` is required and typed. Return its name."""
        if base not in self._written:
            self._root.problem(f"components.schemas must list {base!r}, used by answers with {component}")
        elif name not in self.components:
            node = self._written[base]
            copied = {
                wire: {**schema, "description": written.string("description")}
                if wire == key
                else property_schema(written, received=True)
                for wire, written in node.children("properties")
            }
            notes = {note: value for note, value in node.members.items() if note not in ("description", "properties")}
            description = f"{node.string('description').rstrip('.')}: `{component}`."
            self.components[name] = {**notes, "description": description, "required": [key], "properties": copied}
        return name


# -- links: values of an answer that are parameters of further operations


def _add_links(paths: dict[str, dict[str, Any]], root: Node) -> None:
    """Add the links of ``x-links`` to the success responses of the bundled operations.

    Parameters of the path that both operations have keep their value, as the account number does.
    """
    operations = {each["operationId"]: (path, each) for path, item in paths.items() for each in item.values()}
    for node in root.elements("x-links"):
        given = node.members
        names = [given.get("from"), *given.get("to", ())]
        if given.keys() != _LINK_KEYS:
            node.problem(f"must have the keys {', '.join(sorted(_LINK_KEYS))}, got {', '.join(sorted(given))}")
        elif unknown := [name for name in names if name not in operations]:
            node.problem(f"must name operations, got {', '.join(map(repr, unknown))}")
        else:
            path, operation = operations[given["from"]]
            parameter = node.string("parameter")
            kept = {*re.findall(r"\{(\w+)\}", path)} - {parameter}
            for name in given["to"]:
                variables = re.findall(r"\{(\w+)\}", operations[name][0])
                if parameter not in variables:
                    node.problem(f"{name} must have the path parameter {parameter!r}")
                    continue
                values = {each: f"$request.path.{each}" for each in variables if each in kept}
                values[parameter] = f"$response.body#{node.string('value')}"
                for status, response in operation["responses"].items():
                    if status[0] == "2":
                        response.setdefault("links", {})[name] = {"operationId": name, "parameters": values}
