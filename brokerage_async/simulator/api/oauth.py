"""Handler of ``oauth``: tokens."""

from __future__ import annotations

from ...protocol.response import Response
from ..authorization_server import AuthorizationServer
from .parsed_request import ParsedRequest
from .wire import bare

__all__ = ["OAuth"]


class OAuth:
    """Handles the token endpoint; its bodies have no envelope."""

    def __init__(self, authorization_server: AuthorizationServer) -> None:
        self._authorization_server = authorization_server

    def token(self, request: ParsedRequest) -> Response:
        """Return an access token for a grant."""
        return bare(self._authorization_server.token(request.body, request.now))
