"""Loopback server of the control API, of its page, and of an interactive reference of the brokerage's API.

The reference has a page of each operation, generated from the schema, with a form that sends the request. Nothing is
loaded from anywhere else, so that it works without a network.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import attrs
from aiohttp import web

from ... import _generated
from ..transports import WebServer
from .api import ControlApi, description

_FOLDER = files("brokerage_async.simulator.control")
_FRAME = (_FOLDER / "reference.html").read_text("utf-8")

INVENTED_ACCOUNT: str = "5WT00001"
"""Account number in the examples of the schema."""


@cache
def _reference() -> dict[str, Any]:
    """Return the content of the pages with the names of their components, and the components."""
    reference: dict[str, Any] = json.loads(gzip.decompress((files(_generated) / "reference.json.gz").read_bytes()))
    return reference


def reference_page(name: str, account: str) -> str | None:
    """Return the page of an operation by name, with the account in its examples, or the index. None if unknown."""
    if name not in _reference()["pages"]:
        return None
    content, components = _reference()["pages"][name]
    content = "".join([content, *(_reference()["components"][each] for each in components)])
    return _FRAME.format(title=escape(name or "API reference"), content=content).replace(INVENTED_ACCOUNT, account)


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
