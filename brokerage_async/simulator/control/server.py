"""Loopback server of the control API and its page: a document, a style sheet and two scripts."""

from __future__ import annotations

from importlib.resources import files

import attrs
from aiohttp import web

from ..transports import WebServer
from .api import ControlApi, description
from .reference import reference_page

_FOLDER = files("brokerage_async.simulator.control")

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

    _api: ControlApi

    def _refuse(self, reason: str, http: web.BaseRequest) -> web.Response:
        return _json(403, b'{"error":{"code":"not_permitted","message":"web pages are not served"}}')

    async def _serve(self, http: web.BaseRequest) -> web.StreamResponse:
        if http.method == "GET" and http.path in _ASSETS:
            content, kind = _ASSETS[http.path]
            return web.Response(text=content, content_type=kind, headers=_HEADERS)
        if http.method == "GET" and http.path.startswith(_REFERENCE):
            page = reference_page(http.path.removeprefix(_REFERENCE), self._api.account)
            if page is not None:
                return web.Response(text=page, content_type="text/html", headers=_HEADERS)
        scheme, _, token = http.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not self._api.is_token(token.strip()):
            return _json(401, b'{"error":{"code":"unauthorized","message":"send the printed token as Bearer"}}')
        if http.method == "GET" and http.path == "/openapi.json":
            return _json(200, description())
        if (http.content_length or 0) > MAX_BODY or "Transfer-Encoding" in http.headers:
            return _json(413, b'{"error":{"code":"too_large","message":"the body is too large or has no length"}}')
        return _json(*self._api.handle(http.method, http.rel_url.raw_path, await http.read()))


def _json(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, content_type="application/json", headers=_HEADERS)
