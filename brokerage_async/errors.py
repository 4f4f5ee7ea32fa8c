"""Exceptions of the library, in one tree.

Branch on the class for what happened to the request, and on ``code`` for what the service said about it::

    BrokerageError
    ├── ConfigurationError          nothing was sent: the client's configuration does not allow this call
    ├── InvalidRequestError         nothing was sent: the arguments break documented rules (all of them are listed)
    ├── TransportError
    │   ├── RequestNotSentError     provably never reached the service: safe to repeat
    │   ├── ResponseLostError       may have been processed: look before repeating
    │   └── DeadlineExceededError   the whole-operation deadline passed; ``maybe_processed`` says which of the two
    ├── ResponseDecodeError         a success whose body is not what the schema says
    ├── IncompleteFetchError        a file was not written, because some of its keys failed (``failed``)
    ├── StreamError                 a stream of events ended
    │   ├── StreamRefusedError          the service refused its token, an account or a subscription
    │   ├── MessageTooLargeError        the service sent a larger message than is read
    │   └── SlowConsumerError           its consumer was too slow; ``since`` says when events began to be lost
    ├── TokenError                  no access token could be had; ``transient`` says whether trying again can help
    ├── JournalError                of ``brokerage_async.journal``: the journal of orders cannot be read or written
    ├── WatchStateError             of ``brokerage_async.watch``: the state of a watcher cannot be read or written
    ├── APIError                    the service answered with an error
    │   ├── BadRequestError 400, AuthenticationError 401, PermissionDeniedError 403, NotFoundError 404,
    │   ├── VersionNotSupportedError 406, RateLimitError 429, ServerError 5xx
    │   └── UnprocessableError 422 (PreflightError, OrderNotCancellableError)
    └── OrderError                  what ``Placement.require()`` raises of an order
        ├── OrderRefusedError           the service refused it: no such order exists
        ├── OrderNotSentError           it was not sent: no such order exists, and it may be placed again
        └── OrderOutcomeUnknownError    it may or may not exist: reconcile by its external identifier

All of them pickle, and none carries a token or a secret.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Final

import attrs

__all__ = [
    "APIError", "AuthenticationError", "BadRequestError", "BrokerageError", "ConfigurationError",
    "DeadlineExceededError", "ErrorDetail", "IncompleteFetchError", "InvalidRequestError", "MessageTooLargeError",
    "NotFoundError", "OrderError", "OrderNotCancellableError", "OrderNotSentError", "OrderOutcomeUnknownError",
    "OrderRefusedError", "PermissionDeniedError", "PreflightError", "RateLimitError", "RequestNotSentError",
    "ResponseDecodeError", "ResponseLostError", "ServerError", "SlowConsumerError", "StreamError", "StreamRefusedError",
    "TokenError", "TransportError", "UnprocessableError", "VersionNotSupportedError",
]  # fmt: skip


@attrs.frozen
class ErrorDetail:
    """One of several problems: an entry of the service's ``error.errors``, or one broken rule of a request.

    ``code`` is machine-readable, ``message`` is for people, ``domain`` is the field or area concerned
    (for a request checked before sending: the path of the field, such as ``legs[0].quantity``).
    """

    code: str | None = None
    message: str | None = None
    domain: str | None = None

    def __str__(self) -> str:
        text = self.message or self.code or "unspecified"
        return f"{self.domain}: {text}" if self.domain else text


class BrokerageError(Exception):
    """Base of everything that the library raises on purpose.

    Attributes:
        operation: name of the operation, such as ``orders.submit``, or None outside of one.
        method, path: HTTP method and path template of the request, or None.
        attempts: how many times the request was sent or tried.
        code: machine-readable code. The service's own for an ``APIError``.
        status: HTTP status, when there was an answer.
        errors: every single problem, when several are known.
        retry_after: seconds until a repetition can help, as the service asked or the client knows, or None.
    """

    default_code: ClassVar[str | None] = None

    def __init__(
        self,
        message: str = "",
        *,
        operation: str | None = None,
        method: str | None = None,
        path: str | None = None,
        attempts: int = 0,
        code: str | None = None,
        status: int | None = None,
        errors: tuple[ErrorDetail, ...] = (),
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.operation = operation
        self.method = method
        self.path = path
        self.attempts = attempts
        self.code: str | None = code if code is not None else self.default_code
        self.status = status
        self.errors: tuple[ErrorDetail, ...] = tuple(errors)
        self.retry_after = retry_after

    @property
    def message(self) -> str:
        """Message without the list of single problems."""
        return str(self.args[0]) if self.args else ""

    def __str__(self) -> str:
        where = f"{self.operation}: " if self.operation else ""
        several = "".join(f"\n  - {problem}" for problem in self.errors)
        return f"{where}{self.message}{several}"


class ConfigurationError(BrokerageError):
    """The client's configuration does not allow this call. Raised before any I/O."""


class InvalidRequestError(BrokerageError):
    """The arguments break documented rules. Raised before any I/O, ``errors`` lists every broken rule."""


class TransportError(BrokerageError):
    """No complete answer arrived.

    ``maybe_processed`` is False only when the request provably never reached the service.
    """

    default_maybe_processed: ClassVar[bool] = True

    def __init__(self, message: str = "", *, maybe_processed: bool | None = None, **context: Any) -> None:
        super().__init__(message, **context)
        self.maybe_processed: bool = self.default_maybe_processed if maybe_processed is None else maybe_processed


WITHHELD = "withheld"
"""Code of a `RequestNotSentError` of a request that its caller held back at the last moment."""

PROXY_AUTHENTICATION = "proxy_authentication_required"
"""Code of a `RequestNotSentError` of a request for which a proxy demands other credentials (status 407)."""


LIST_CHANGED = "list_changed"
"""Code of a `ResponseDecodeError` of a list that changed each time while its pages were read."""


class RequestNotSentError(TransportError):
    """The request provably never reached the service (refused connection, unknown host, failed handshake)."""

    default_maybe_processed = False


class ResponseLostError(TransportError):
    """The request was, or may have been, sent and no complete answer came back: it may have been processed."""


class DeadlineExceededError(TransportError):
    """The deadline of the whole operation passed; ``maybe_processed`` says whether anything may have been done."""


class ResponseDecodeError(BrokerageError):
    """A success answer whose body is not what the schema says; ``json_path`` points at the first difference."""

    def __init__(self, message: str = "", *, json_path: str | None = None, **context: Any) -> None:
        super().__init__(message, **context)
        self.json_path = json_path


class IncompleteFetchError(BrokerageError):
    """A fetch did not write its file, because the keys in ``failed`` failed, each with its error.

    The rows of all other keys are kept. The same call requests only the failed ones.
    """

    def __init__(self, message: str = "", *, failed: Mapping[str, Exception] | None = None, **context: Any) -> None:
        super().__init__(message, **context)
        self.failed: dict[str, Exception] = dict(failed or {})


class TokenError(BrokerageError):
    """No access token could be obtained.

    ``transient`` is True when trying again later can help (network, 5xx), False when the grant or the client
    credentials have to be renewed.
    """

    def __init__(self, message: str = "", *, transient: bool = False, **context: Any) -> None:
        super().__init__(message, **context)
        self.transient = transient


class StreamError(BrokerageError):
    """A stream of events ended."""


class StreamRefusedError(StreamError):
    """The service refused the connection of a stream: its token, one of the accounts, or a subscription.

    ``code`` is the service's word for it.
    """


class MessageTooLargeError(StreamError):
    """The service sent a message that is larger than a stream reads.

    The connection is reopened, with a gap. A second such message ends the streams.
    """


class SlowConsumerError(StreamError):
    """The consumer of a stream was too slow, its buffer is full, and further events are lost.

    Read the lists to see the present state; ``since`` is when the first event was lost.
    """

    def __init__(self, message: str = "", *, since: datetime | None = None, **context: Any) -> None:
        super().__init__(message, **context)
        self.since = since


REFUSAL_STATUSES: Final = frozenset({400, 401, 403, 404, 406, 422})
"""Statuses of the service document with which the service rejects a request before it changes anything."""


class APIError(BrokerageError):
    """An answer with an error status. ``code`` is the service's code. Clients branch on it.

    The notes of a 403, 404 or 422 name the arguments of the call.

    Attributes:
        from_service: True only if the body is the documented error envelope, ``{"error": {"code": ...}}`` in JSON.
            Anything else may come from a proxy, and a proxy may answer after the service has processed the request.
        body: the beginning of the body, at most 4,096 characters, without secrets.
        headers: the headers of the answer by lower-case name, without secrets.
    """

    def __init__(
        self,
        message: str = "",
        *,
        from_service: bool = False,
        body: str = "",
        headers: Mapping[str, str] | None = None,
        **context: Any,
    ) -> None:
        super().__init__(message, **context)
        self.from_service = from_service
        self.body = body
        self.headers: Mapping[str, str] = dict(headers or {})

    def __repr__(self) -> str:
        fields = f"status={self.status}, code={self.code!r}, from_service={self.from_service}"
        return f"{type(self).__name__}({self.message!r}, {fields})"

    @property
    def maybe_processed(self) -> bool:
        """False only if the answer proves that nothing was changed.

        Two answers prove it: the service's own envelope with a documented refusal status, and a 429, which any
        sender sends instead of processing.
        """
        return self.status != 429 and not (self.from_service and self.status in REFUSAL_STATUSES)


class BadRequestError(APIError):
    """400: a malformed page or filter value."""


class AuthenticationError(APIError):
    """401: the access token or the User-Agent was missing, malformed or expired, also after one fresh token."""


class PermissionDeniedError(APIError):
    """403: a valid token without the scope, or without authority over the account."""


class NotFoundError(APIError):
    """404: no such order, complex order, customer, account, symbol or chain."""


class VersionNotSupportedError(APIError):
    """406: the ``Accept-Version`` sent does not exist any more."""


class UnprocessableError(APIError):
    """422: well-formed but refused in context.

    ``data`` holds the decoded ``data`` of the same body where the service sent one beside the error, else None.
    """

    def __init__(self, message: str = "", *, data: Any = None, **context: Any) -> None:
        super().__init__(message, **context)
        self.data = data


class PreflightError(UnprocessableError):
    """422 ``preflight_check_failure``: the order failed its checks; ``errors`` names each, ``data`` the preview."""


class OrderNotCancellableError(UnprocessableError):
    """422 ``cannot_update_order``: the order cannot be changed or cancelled now. Nothing was changed.

    It has ended, or it is not `Live` yet: Received, Routed or In Flight. The service has one code for both. Its status
    shows which, and an order that is not terminal still works. ``OrderEntry`` reads it, and repeats the request.
    """


class RateLimitError(APIError):
    """429: refused before processing because of the request rate; ``retry_after`` may be None."""


class ServerError(APIError):
    """5xx, from the service or from a proxy before it. A mutation may have been processed."""

    @property
    def maybe_processed(self) -> bool:
        """Always True, also where the code says so under another status."""
        return True


class OrderError(BrokerageError):
    """An order was not placed, or may not have been; ``account_number`` and ``external_identifier`` name it."""

    def __init__(
        self,
        message: str = "",
        *,
        account_number: str | None = None,
        external_identifier: str | None = None,
        **context: Any,
    ) -> None:
        super().__init__(message, **context)
        self.account_number = account_number
        self.external_identifier = external_identifier


class OrderRefusedError(OrderError):
    """The service refused the order, in its dry-run or when it was submitted: no such order exists."""


class OrderNotSentError(OrderError):
    """The order was not sent, or was rejected before processing: no such order exists, and it may be placed again."""


class OrderOutcomeUnknownError(OrderError):
    """An order may or may not have been placed.

    Search for ``external_identifier`` among the orders of ``account_number`` before placing it again.
    """
