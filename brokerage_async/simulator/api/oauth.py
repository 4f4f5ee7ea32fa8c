"""``oauth``: tokens."""

from __future__ import annotations

from ...protocol.response import Response
from ..authorization_server import TokenOffice
from .call import Call
from .wire import bare

__all__ = ["OAuth"]


class OAuth:
    """Answers the token endpoint; its bodies have no envelope."""

    def __init__(self, office: TokenOffice) -> None:
        self._office = office

    def token(self, call: Call) -> Response:
        """An access token for a grant."""
        return bare(self._office.token(call.body, call.now))
