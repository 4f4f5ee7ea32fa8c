"""Requests that the control API sends to the brokerage for its caller, with a token of the owner."""

from __future__ import annotations

import json

from ..._generated.operations import OAUTH_TOKEN
from ...protocol.request import Request
from ...protocol.response import Response
from ..api.brokerage import Brokerage

__all__ = ["Sender"]

_AGENT = {"User-Agent": "control-api/1", "Content-Type": "application/json", "Accept": "application/json"}


class Sender:
    """Client of the brokerage that scripted faults do not meet."""

    def __init__(self, brokerage: Brokerage) -> None:
        self._brokerage = brokerage
        self._token: str | None = None

    def send(self, method: str, target: str, body: str | None, now: float) -> Response:
        """Return the response to a request; a token that is not valid any more is renewed once.

        Raises:
            ValueError: ``target`` is not a path with an optional query.
        """
        if not target.startswith("/") or not target.isascii() or not target.isprintable() or " " in target:
            raise ValueError(f"target must be an encoded path such as /watchlists, got {target!r}")
        content = None if body is None else body.encode()
        if self._token is None:
            self._renew(now)
        response = self._ask(method, target, content, now)
        if response.status == 401:
            self._renew(now)
            response = self._ask(method, target, content, now)
        return response

    def _ask(self, method: str, target: str, body: bytes | None, now: float) -> Response:
        authorization = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        request = Request(method=method.upper(), url=target, headers={**_AGENT, **authorization}, body=body)
        return self._brokerage.handle(request, now)

    def _renew(self, now: float) -> None:
        server = self._brokerage.state.authorization_server
        asked = {
            "grant_type": "refresh_token",
            "refresh_token": server.personal.refresh_token,
            "client_secret": server.application.client_secret,
        }
        self._token = None
        response = self._ask(OAUTH_TOKEN.method, OAUTH_TOKEN.path, json.dumps(asked).encode(), now)
        self._token = json.loads(response.body).get("access_token") if response.status == 200 else None
