"""Undecoded answers, which the caller decodes on demand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar, cast

import attrs

from ..errors import ResponseDecodeError
from ..operation import Operation, Shape
from .decoding import codec
from .decoding.lenient import parse
from .redaction import redact_headers
from .response import Response, parse_error_body, read_error

T = TypeVar("T")


@attrs.frozen(kw_only=True)
class RawResponse(Generic[T]):
    """A success as the service sent it.

    Attributes:
        status: HTTP status, always one of success (2xx): others are raised as errors.
        headers: headers by lower-case name, values that may be secret replaced by ``[redacted]``.
        body: the body, decompressed. Empty for none.
    """

    status: int
    headers: Mapping[str, str] = attrs.field(repr=False, hash=False)
    body: bytes = attrs.field(repr=lambda body: f"<{len(body)} bytes>")
    _operation: Operation[T] = attrs.field(alias="operation", repr=False)
    _strict: bool = attrs.field(alias="strict", default=False, repr=False)

    @classmethod
    def of(cls, operation: Operation[T], response: Response, *, strict: bool = False) -> RawResponse[T]:
        """Return the answer to a call of ``operation``."""
        headers = redact_headers(response.headers)
        return cls(status=response.status, headers=headers, body=response.body, operation=operation, strict=strict)

    def parse(self) -> T:
        """Return the result of the endpoint, decoded from the body. Of a list in pages, the rows of this page.

        The result of `Client.request` is the whole body as plain JSON values, numbers with a fraction as `Decimal`,
        and None for an empty body. Each call decodes again, and at once: with megabytes it holds up the event loop.

        Raises:
            ResponseDecodeError: the body is not what the schema says, or not JSON.
            APIError: the body holds an error beside its data.
        """
        operation = self._operation
        try:
            if operation.result is None:
                is_json = operation.shape is Shape.BARE and self.body.strip()
                return cast("T", parse(self.body) if is_json else None)
            found = codec.decode(operation, self.body, strict=self._strict)
        except ResponseDecodeError as error:
            error.status = self.status
            raise
        except ValueError as error:
            place = {"operation": operation.name, "method": operation.method, "path": operation.path}
            raise ResponseDecodeError(
                f"$: the body is not JSON: {error}", json_path="$", status=self.status, **place
            ) from None
        if found.error:
            raise read_error(
                operation, Response(status=self.status, headers=self.headers, body=self.body), decoded=found
            )
        return found.value


def holds_error(response: Response) -> bool:
    """Return whether a success holds the service's own error envelope.

    A body too large for an error is not looked at.
    """
    if b'"error"' not in response.body:
        return False
    parsed = parse_error_body(response.body, response.status)
    return parsed is not None and parsed.in_envelope
