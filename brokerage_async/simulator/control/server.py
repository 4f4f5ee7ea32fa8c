"""Loopback server of the control API, of its page, and of an interactive reference of the brokerage's API.

The reference has a page of each operation in the bundled schema, with a form that sends the request. Nothing is loaded
from anywhere else, so that it works without a network.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache, reduce
from html import escape
from importlib.resources import files
from operator import getitem
from typing import Any

import attrs
from aiohttp import web

from ..._generated import openapi
from ..transports import WebServer
from .api import ControlApi, description

_FOLDER = files("brokerage_async.simulator.control")
_FRAME = (_FOLDER / "reference.html").read_text("utf-8")


def resolve(node: Mapping[str, Any]) -> Any:
    """Return the target of a reference within the document, or the node itself."""
    return reduce(getitem, node["$ref"].removeprefix("#/").split("/"), _document()) if "$ref" in node else node


def provenance(node: Mapping[str, Any], owner: Mapping[str, Any] | None = None) -> str:
    """Return the source of a fact: its own, else its owner's, else the service document."""
    return str(node.get("x-provenance", (owner or {}).get("x-provenance", "documented")))


def prose(description: str) -> str:
    """Return a description as HTML, with code for the parts between backticks."""
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
    words = {"string": str(schema.get("format", "string"))}
    if "items" in schema:
        words["array"] = f"array of {type_text(schema['items'])}"
    return " or ".join(words.get(each, each) for each in types)


def components_of(schemas: Iterable[Mapping[str, Any] | None]) -> list[str]:
    """Return the names of all components that the schemas use, directly or through others, in order of first use."""
    found: dict[str, None] = {}
    pending = _REFERRED.findall(json.dumps([*schemas]))
    while pending:
        name = pending.pop(0)
        if name not in found:
            found[name] = None
            pending += _REFERRED.findall(json.dumps(_document()["components"]["schemas"][name].get("properties")))
    return list(found)


_REFERRED = re.compile(r'"#/components/schemas/(\w+)"')

INVENTED_ACCOUNT: str = "5WT00001"
"""Account number in the examples of the schema."""


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(openapi())
    return document


@cache
def _operations() -> dict[str, tuple[str, str, dict[str, Any]]]:
    """Return method, path and description of each operation by name. Other hosts are the first segment."""
    return {
        each["operationId"]: (method.upper(), f"/{each['x-host']}{path}" if "x-host" in each else path, each)
        for path, item in _document()["paths"].items()
        for method, each in item.items()
    }


def reference_page(name: str, account: str) -> str | None:
    """Return the page of an operation by name, with the account in its examples, or the index. None if unknown."""
    if name and name not in _operations():
        return None
    content = _operation(name) if name else ""
    for tag in () if name else _document()["tags"]:
        rows = [
            f'<tr><td><code>{method}</code></td><td class="fill"><code>{escape(path)}</code></td>'
            f'<td><a href="/reference/{each}">{each}</a></td><td class="fill">{escape(operation["summary"])}</td></tr>'
            for each, (method, path, operation) in _operations().items()
            if tag["name"] in operation["tags"]
        ]
        if rows:
            about = escape(tag.get("description", ""))
            table = f'<div class="scroll whole" tabindex="0"><table>{"".join(rows)}</table></div>'
            content += f'<section class="wide"><h2>{tag["name"]} <small>{about}</small></h2>{table}</section>'
    return _FRAME.format(title=escape(name or "API reference"), content=content).replace(INVENTED_ACCOUNT, account)


def _operation(name: str) -> str:
    method, path, operation = _operations()[name]
    parameters = [resolve(each) for each in operation.get("parameters", ())]
    body = _schema_of(operation["requestBody"]) if "requestBody" in operation else None
    answers = [(status, resolve(each)) for status, each in operation["responses"].items()]
    schemas = [*(each["schema"] for each in parameters), body, *(_schema_of(answer) for _, answer in answers)]
    rows, area = "", ""
    for parameter in parameters:
        field, is_array = escape(parameter["name"]), "array" in parameter["schema"].get("type", ())
        example = parameter.get("example", "")
        value = ",".join(example) if isinstance(example, list) else str(example)
        marks = ' data-joined="1"' if is_array and parameter.get("explode") is False else ""
        marks += f"{' data-array=1' if is_array else ''}{' required' if parameter.get('required') else ''}"
        entry = f'name="{field}" data-in="{parameter["in"]}" value="{escape(value)}" aria-label="{field}"{marks}'
        rows += _row(parameter["name"], parameter, operation, parameter.get("required"), f"<td><input {entry}></td>")
    head = '<tr><th scope="col">Parameter</th><th>Value</th><th>Type</th><th>Provenance</th><th>Meaning</th></tr>'
    table = f'<div class="scroll whole" tabindex="0"><table>{head}{rows}</table></div>' if rows else ""
    if body is not None:
        example = json.dumps(resolve(body)["examples"][0], indent=2, ensure_ascii=False)
        lines = min(30, example.count("\n") + 2)
        area = f'<h3><label for="body">Body</label></h3><textarea id="body" rows="{lines}">{escape(example)}</textarea>'
    facts = [f"effect: {operation['x-effect']}", f"scope: {operation.get('x-scope', 'none')}", provenance(operation)]
    return "".join(
        [
            f'<section class="wide"><p><code>{method} {escape(path)}</code></p><p>{escape(operation["summary"])} ',
            f"{prose(operation['description'])}</p><p>",
            *(f'<span class="pill quiet">{escape(fact)}</span> ' for fact in facts),
            '</p></section><section class="wide"><h2>Request</h2>',
            f'<form id="request" data-method="{method}" data-path="{escape(path)}">',
            f"{table}{area}<button>Send to the simulator</button></form>",
            '<p id="answer-line" role="status"></p><pre id="answer" tabindex="0" hidden></pre></section>',
            '<section class="wide"><h2>Answers</h2><table><tr><th>Status</th><th>Body</th><th>Meaning</th></tr>',
            *(
                f"<tr><td>{status}</td><td>{'none' if schema is None else type_text(schema)}</td>"
                f'<td class="fill">{prose(answer["description"])}</td></tr>'
                for status, answer in answers
                for schema in [_schema_of(answer)]
            ),
            "</table></section>",
            *(_component(each) for each in components_of(schemas)),
        ]
    )


def _row(name: str, fact: Mapping[str, Any], owner: Mapping[str, Any], required: object, entry: str = "") -> str:
    needed = " <small>required</small>" if required else ""
    return (
        f"<tr><td><code>{escape(name)}</code>{needed}</td>{entry}<td>{type_text(fact.get('schema', fact))}</td>"
        f'<td class="quiet">{provenance(fact, owner)}</td>'
        f'<td class="fill">{prose(fact.get("description", ""))}</td></tr>'
    )


def _component(name: str) -> str:
    schema = _document()["components"]["schemas"][name]
    about = f"<p>{prose(schema.get('description', ''))}</p>"
    if "enum" in schema:
        rows = " ".join(f"<code>{escape(str(value))}</code>" for value in schema["enum"])
    else:
        head = "<tr><th>Field</th><th>Type</th><th>Provenance</th><th>Meaning</th></tr>"
        fields = [
            _row(field, about_it, schema, field in schema.get("required", ()))
            for field, about_it in schema.get("properties", {}).items()
        ]
        rows = f'<div class="scroll whole" tabindex="0"><table>{head}{"".join(fields)}</table></div>'
    return f'<section class="wide" id="{name}"><h2>{name}</h2>{about}{rows}</section>'


def _schema_of(holder: Mapping[str, Any]) -> dict[str, Any] | None:
    schema: dict[str, Any] | None = holder.get("content", {}).get("application/json", {}).get("schema")
    return schema


PAGE: str = (_FOLDER / "page.html").read_text("utf-8")
SCRIPT: str = (_FOLDER / "page.js").read_text("utf-8")
REFERENCE_SCRIPT: str = (_FOLDER / "reference.js").read_text("utf-8")
STYLE: str = (_FOLDER / "page.css").read_text("utf-8")

POLICY: str = "default-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
"""Content security policy: nothing from elsewhere, and no inline scripts."""

MAX_BODY: int = 65_536
_ASSETS = {
    "/": (PAGE, "text/html"),
    "/page.js": (SCRIPT, "text/javascript"),
    "/page.css": (STYLE, "text/css"),
    "/reference.js": (REFERENCE_SCRIPT, "text/javascript"),
}
_REFERENCE = "/reference/"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@attrs.define(kw_only=True, eq=False, repr=False)
class ControlServer(WebServer):
    """HTTP server on the loopback interface. Every call needs the token, except for the page's own files."""

    api: ControlApi

    def _refuse(self, reason: str, http: web.BaseRequest) -> web.Response:
        return _json(403, b'{"error":{"code":"not_permitted","message":"web pages are not served"}}')

    async def _serve(self, http: web.BaseRequest) -> web.StreamResponse:
        if http.method == "GET" and http.path in _ASSETS:
            content, kind = _ASSETS[http.path]
            return web.Response(text=content, content_type=kind, headers=_HEADERS)
        if http.method == "GET" and http.path.startswith(_REFERENCE):
            page = reference_page(http.path.removeprefix(_REFERENCE), self.api.account)
            if page is not None:
                return web.Response(text=page, content_type="text/html", headers=_HEADERS)
        scheme, _, token = http.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not self.api.is_token(token.strip()):
            return _json(401, b'{"error":{"code":"unauthorized","message":"send the printed token as Bearer"}}')
        if http.method == "GET" and http.path == "/openapi.json":
            return _json(200, description())
        if (http.content_length or 0) > MAX_BODY or "Transfer-Encoding" in http.headers:
            return _json(413, b'{"error":{"code":"too_large","message":"the body is too large or has no length"}}')
        return _json(*self.api.handle(http.method, http.rel_url.raw_path, await http.read()))


def _json(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json", headers=_HEADERS)
