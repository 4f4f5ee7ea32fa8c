"""Failed sends as errors of the library, without anything that leads to a secret."""

from __future__ import annotations

from typing import Any

import aiohttp
from yarl import URL

from ..errors import (
    PROXY_AUTHENTICATION,
    BrokerageError,
    RequestNotSentError,
    ResponseDecodeError,
    ResponseLostError,
)
from ..protocol.request import Request
from .delivery import Delivery, classify
from .mismatch import mismatch_of
from .network import Proxy, describe_refusal

__all__ = ["ConnectionDroppedError", "TooLargeError", "failure_of", "harmless"]


class ConnectionDroppedError(Exception):
    """Carries an exception past aiohttp's resending. Trace callbacks see it, callers never do."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


class TooLargeError(Exception):
    """The body is larger than the transport reads."""


def failure_of(
    request: Request, error: Exception, written: bool, status: int | None = None, proxy: Proxy | None = None
) -> BrokerageError:
    """Return ``error`` as an error of the library."""
    if isinstance(error, BrokerageError):
        return error
    if isinstance(error, ConnectionDroppedError):
        error = error.error
    operation = request.operation
    context: dict[str, Any] = {
        "operation": operation.name if operation else None,
        "method": request.method,
        "path": operation.path if operation else None,
    }
    if isinstance(error, TooLargeError):
        return ResponseDecodeError(f"the body is larger than {error} bytes", status=status, **context)
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return _refused_tunnel(error, proxy, context)
    reason = mismatch_of(error, request.url) or _describe(error, request)
    delivery = classify(error, written=written)
    if delivery is Delivery.NEVER_SENT:
        return RequestNotSentError(f"could not reach {URL(request.url).origin()}: {reason}", **context)
    context["status"] = status
    if delivery is Delivery.ANSWERED:
        return ResponseLostError(f"the response is incomplete or not HTTP: {reason}", **context)
    return ResponseLostError(f"sent, but no complete response arrived: {reason}", **context)


def _refused_tunnel(
    error: aiohttp.ClientHttpProxyError, proxy: Proxy | None, context: dict[str, Any]
) -> RequestNotSentError:
    """Return the error of a proxy that refused to connect: nothing of the request has left."""
    offered = ", ".join(error.headers.getall("Proxy-Authenticate", ())) if error.headers else ""
    code = PROXY_AUTHENTICATION if error.status == 407 else None
    reason = describe_refusal(proxy, error.status, offered)
    return RequestNotSentError(f"not sent: {reason}", code=code, status=error.status, **context)


def harmless(error: Exception) -> Exception | None:
    """Return ``error`` as a cause without what leads to the headers of the request, the access token among them."""
    if isinstance(error, ConnectionDroppedError):
        error = error.error
    if isinstance(error, aiohttp.ClientResponseError | BrokerageError):
        return None
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


def _describe(error: Exception, request: Request) -> str:
    if isinstance(error, aiohttp.ClientResponseError):
        return type(error).__name__
    if isinstance(error, TimeoutError):
        return f"timeout after {request.timeout:g} s" if request.timeout else "timeout"
    if isinstance(error, aiohttp.ClientProxyConnectionError):
        return f"no connection to the proxy {error.host}:{error.port}: {error.os_error}"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = getattr(error.certificate_error, "verify_message", "") or error.certificate_error
        return (
            f"the certificate of {error.host} is not trusted ({reason}): "
            "to trust its authority, pass ssl=ssl.create_default_context(cafile=...)"
        )
    return str(error) or type(error).__name__
