"""Renderer of the reference that the simulator serves: a page of each operation, with a form that sends its request."""

import json
import re
from collections.abc import Iterable, Mapping
from functools import reduce
from html import escape
from operator import getitem
from typing import Any

from ..template import from_template

_REFERRED = re.compile(r'"#/components/schemas/(\w+)"')

Node = Mapping[str, Any]


def render(bundle: str) -> str:
    """Return the parts of the pages as JSON, from the bundled OpenAPI document.

    ``pages`` has the content of each operation by name, and of the index without one, with the names of the
    ``components`` that follow it.
    """
    document: dict[str, Any] = json.loads(bundle)
    schemas = document["components"]["schemas"]
    operations = {
        each["operationId"]: (method.upper(), f"/{each['x-host']}{path}" if "x-host" in each else path, each)
        for path, item in document["paths"].items()
        for method, each in item.items()
    }
    tags = [
        {**tag, "operations": {name: one for name, one in operations.items() if tag["name"] in one[2]["tags"]}}
        for tag in document["tags"]
    ]

    def resolved(node: Node) -> Any:
        path = node.get("$ref", "").removeprefix("#/")
        return reduce(getitem, path.split("/"), document) if path else node

    def components_of(used: Iterable[Node | None]) -> list[str]:
        """Return the names of all components that schemas use, directly or through others, in order of first use."""
        found: dict[str, None] = {}
        pending = _REFERRED.findall(json.dumps([*used]))
        while pending:
            if (name := pending.pop(0)) not in found:
                found[name] = None
                pending += _REFERRED.findall(json.dumps(schemas[name].get("properties")))
        return [*found]

    pages: dict[str, tuple[str, list[str]]] = {"": (_part("index", tags=tags), [])}
    for name, (method, path, operation) in operations.items():
        parameters = [resolved(each) for each in operation.get("parameters", ())]
        body = _schema_of(operation.get("requestBody", {}))
        resolutions = [(status, resolved(each)) for status, each in operation["responses"].items()]
        answers = [(status, answer, _schema_of(answer)) for status, answer in resolutions]
        scope = operation.get("x-scope", "none")
        content = _part(
            "operation",
            method=method,
            path=path,
            operation=operation,
            facts=[f"effect: {operation['x-effect']}", f"scope: {scope}", _provenance(operation)],
            parameters=parameters,
            body=None if body is None else json.dumps(resolved(body)["examples"][0], indent=2, ensure_ascii=False),
            answers=answers,
        )
        used = components_of([*(each["schema"] for each in parameters), body, *(schema for *_, schema in answers)])
        pages[name] = content, used
    components = {name: _part("component", name=name, schema=schema) for name, schema in schemas.items()}
    return json.dumps({"pages": pages, "components": components}, ensure_ascii=False)


def _part(part: str, **values: Any) -> str:
    functions = {"html": escape, "prose": _prose, "type": _type_text, "provenance": _provenance}
    return from_template("reference.html", {"part": part, **functions, **values})


def _schema_of(holder: Node) -> Node | None:
    schema: Node | None = holder.get("content", {}).get("application/json", {}).get("schema")
    return schema


def _provenance(node: Node, owner: Node | None = None) -> str:
    """Return the source of a fact: its own, else its owner's, else the service document."""
    return str(node.get("x-provenance", (owner or {}).get("x-provenance", "documented")))


def _prose(description: str) -> str:
    """Return a description as HTML, with code for the parts between backticks."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(description))


def _type_text(schema: Node) -> str:
    """Return a type in words, as HTML with links to its components."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_type_text, schema["anyOf"])))
    if "enum" in schema:
        return " or ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    types = schema.get("type", "any JSON")
    words = {"string": str(schema.get("format", "string"))}
    if "items" in schema:
        words["array"] = f"array of {_type_text(schema['items'])}"
    return " or ".join(words.get(each, each) for each in ([types] if isinstance(types, str) else types))
