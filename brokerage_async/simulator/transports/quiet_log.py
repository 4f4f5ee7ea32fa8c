"""Log of the HTTP servers, without the headers of malformed requests, which may hold tokens."""

from __future__ import annotations

import logging

from aiohttp.http_exceptions import HttpProcessingError

__all__ = ["server_log"]


def _without_request(record: logging.LogRecord) -> bool:
    """Drop the description of a malformed request, which quotes the line that is wrong."""
    if record.exc_info and isinstance(record.exc_info[1], HttpProcessingError):
        record.exc_info = None
    return True


server_log: logging.Logger = logging.getLogger("brokerage_async.simulator.http")
server_log.addFilter(_without_request)
