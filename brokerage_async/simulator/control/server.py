"""Loopback server of the control API and its page."""

from __future__ import annotations

import asyncio
import logging

from aiohttp import web

from ..transports.guard import page_behind
from .api import ControlApi
from .openapi import description
from .page import PAGE, POLICY, REFERENCE_SCRIPT, SCRIPT, STYLE
from .reference import reference_page

__all__ = ["ControlServer"]

logger: logging.Logger = logging.getLogger("brokerage_async.simulator")

HOST: str = "127.0.0.1"
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


class ControlServer:
    """HTTP server on the loopback interface. Every call but those of the page's own files needs the token."""

    def __init__(self, api: ControlApi, port: int) -> None:
        self._api = api
        self._port = port
        self._runner: web.ServerRunner | None = None

    @property
    def url(self) -> str:
        """Address of the server."""
        return f"http://{HOST}:{self._port}"

    async def start(self) -> None:
        """Listen."""
        runner = web.ServerRunner(web.Server(self._serve, access_log=None), handle_signals=False, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, HOST, self._port, reuse_address=True).start()
        except BaseException:
            await runner.cleanup()
            raise
        self._port = runner.addresses[0][1]
        self._runner = runner

    async def stop(self) -> None:
        """Stop listening."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()
            await asyncio.sleep(0)  # aiohttp's own tasks end in the next iteration

    async def _serve(self, http: web.BaseRequest) -> web.Response:
        foreign = page_behind(http.headers.get("Host"), http.headers.get("Origin"), HOST)
        if foreign:
            logger.warning("refused control request %s %s: %s", http.method, http.path, foreign)
            return _json(403, b'{"error":{"code":"not_permitted","message":"web pages are not served"}}')
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
