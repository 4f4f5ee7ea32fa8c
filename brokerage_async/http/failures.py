"""Failed sends as errors of the library, without anything that leads to a secret.

How far a request came is one table over aiohttp's exceptions. It decides about money: only what provably never left
may be repeated freely.
"""

from __future__ import annotations

import ssl
from typing import Any

import aiohttp
from yarl import URL

from ..errors import PROXY_AUTHENTICATION, BrokerageError, RequestNotSentError, ResponseDecodeError, ResponseLostError
from ..protocol.request import Request
from ..protocol.retry import Processed
from .network import Proxy, describe_refusal

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


def classify(error: BaseException, *, written: bool) -> Processed:
    """Return what ``error`` proves about its request; ``written``: whether a socket got any of it."""
    if isinstance(error, NEVER_SENT) or not written:
        return Processed.NO
    return Processed.YES if isinstance(error, ANSWERED) else Processed.MAYBE


class TooLargeError(Exception):
    """The body is larger than the transport reads."""


def failure_of(
    request: Request, error: Exception, written: bool, status: int | None = None, proxy: Proxy | None = None
) -> BrokerageError:
    """Return ``error`` as an error of the library."""
    if isinstance(error, BrokerageError):
        return error
    operation = request.operation
    context: dict[str, Any] = {
        "operation": operation.name if operation else None,
        "method": request.method,
        "path": operation.path if operation else None,
    }
    if isinstance(error, TooLargeError):
        return ResponseDecodeError(f"the body is larger than {error} bytes", status=status, **context)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        offered = ", ".join(error.headers.getall("Proxy-Authenticate", ())) if error.headers else ""
        code = PROXY_AUTHENTICATION if error.status == 407 else None
        refusal = describe_refusal(proxy, error.status, offered)
        return RequestNotSentError(f"not sent: {refusal}", code=code, status=error.status, **context)
    reason = mismatch_of(error, request.url) or describe(error, request.timeout)
    processed = classify(error, written=written)
    if processed is Processed.NO:
        return RequestNotSentError(f"could not reach {URL(request.url).origin()}: {reason}", **context)
    context["status"] = status
    if processed is Processed.YES:
        return ResponseLostError(f"the response is incomplete or not HTTP: {reason}", **context)
    return ResponseLostError(f"sent, but no complete response arrived: {reason}", **context)


def harmless(error: Exception) -> Exception | None:
    """Return ``error`` as a cause without what leads to the headers of the request, the access token among them."""
    if isinstance(error, aiohttp.ClientResponseError | BrokerageError):
        return None
    if isinstance(error, aiohttp.ServerDisconnectedError):  # its own message may be the headers of half an answer
        return aiohttp.ServerDisconnectedError()
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def describe(error: Exception, timeout: float | None = None) -> str:
    """Return why a send failed, without foreign words that may hold a secret."""
    if isinstance(error, aiohttp.ClientResponseError):
        return type(error).__name__
    if isinstance(error, TimeoutError):
        return f"timeout after {timeout:g} s" if timeout else "timeout"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"no connection to the proxy {error.host}:{error.port}: {error.os_error}"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = getattr(error.certificate_error, "verify_message", "") or error.certificate_error
        return (
            f"the certificate of {error.host} is not trusted ({reason}): "
            "to trust its authority, pass ssl=ssl.create_default_context(cafile=...)"
        )
    if isinstance(error, aiohttp.ClientConnectorError):  # its own words call every connection ssl:default
        reason = error.os_error.strerror or str(error.os_error) or type(error.os_error).__name__
        return f"no connection to {error.host}:{error.port}: {reason}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return _DISCONNECTED
    return str(error) or type(error).__name__


_NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "HTTP_REQUEST"})
"""Reasons of OpenSSL for an answer to its greeting that is not TLS."""

_DISCONNECTED = "Server disconnected"

_TLS_ALERT = r"b'\x15\x03"
"""How aiohttp quotes the alert with which a TLS server answers a plain request."""


def mismatch_of(error: BaseException, url: str) -> str | None:
    """Return why a send failed if the scheme of ``url`` is, or may be, the reason. Else None.

    A TLS server that gets a plain request answers with an alert or hangs up. Hanging up has many other reasons too.
    """
    if url.startswith("https:"):
        cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
        if isinstance(cause, ssl.SSLError) and getattr(cause, "reason", None) in _NOT_TLS:
            return "the port does not speak https: check the port, or let base_url start with http://"
    elif isinstance(error, aiohttp.ClientResponseError) and _TLS_ALERT in error.message:
        return "the port expects https: base_url must start with https://"
    elif isinstance(error, aiohttp.ServerDisconnectedError):
        return f"{_DISCONNECTED} (if the port expects https, base_url must start with https://)"
    return None
