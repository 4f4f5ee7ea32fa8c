"""Classification of failed sends: whether the request left, was processed, or was answered.

One table over aiohttp's exceptions. The answer decides about money: only what provably never left may be repeated
freely.
"""

from __future__ import annotations

import enum

import aiohttp

__all__ = ["Delivery", "classify"]


class Delivery(enum.StrEnum):
    """How far a request provably came."""

    NEVER_SENT = "never-sent"
    MAYBE_PROCESSED = "maybe-processed"
    ANSWERED = "answered"


NEVER_SENT: tuple[type[BaseException], ...] = (
    aiohttp.ClientConnectorError,  # refused, unreachable, unknown host, failed TLS handshake, proxy not reached
    aiohttp.ClientHttpProxyError,  # the proxy refused to open the tunnel
    aiohttp.ConnectionTimeoutError,
    aiohttp.ServerFingerprintMismatch,
    aiohttp.InvalidURL,
    aiohttp.NonHttpUrlClientError,
)
"""Raised only before the first byte of the request is written."""

ANSWERED: tuple[type[BaseException], ...] = (
    aiohttp.ClientResponseError,  # an answer that is not HTTP, or one that aiohttp rejects
    aiohttp.ClientPayloadError,  # a body that ended early or does not decompress
)
"""Raised only once an answer has begun: the request was received."""


def classify(error: BaseException, *, written: bool) -> Delivery:
    """Return how far a request came that ended with ``error``; ``written``: whether a socket got any of it."""
    if isinstance(error, NEVER_SENT) or not written:
        return Delivery.NEVER_SENT
    if isinstance(error, ANSWERED):
        return Delivery.ANSWERED
    return Delivery.MAYBE_PROCESSED
