"""Failed sends that show http and https to be mistaken for each other, and what to do about it."""

from __future__ import annotations

import ssl
from typing import Final

import aiohttp

__all__ = ["mismatch_of"]

_NOT_TLS: Final = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST"})
"""Reasons of OpenSSL for an answer to its greeting that is not TLS."""

_TLS_ALERT: Final = r"b'\x15\x03"
"""How aiohttp quotes the alert with which a TLS server answers a plain request."""


def mismatch_of(error: BaseException, url: str) -> str | None:
    """Return why a send failed if the scheme of ``url`` is, or may be, the reason; else None.

    A TLS server that gets a plain request answers with an alert or hangs up. Hanging up has many other reasons too.
    """
    if url.startswith("https:"):
        cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
        if isinstance(cause, ssl.SSLError) and getattr(cause, "reason", None) in _NOT_TLS:
            return "the port does not speak https: check the port, or let base_url start with http://"
    elif isinstance(error, aiohttp.ClientResponseError) and _TLS_ALERT in error.message:
        return "the port expects https: base_url must start with https://"
    elif isinstance(error, aiohttp.ServerDisconnectedError):
        return f"{error} (if the port expects https, base_url must start with https://)"
    return None
