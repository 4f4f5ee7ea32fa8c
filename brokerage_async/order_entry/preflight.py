"""Dry-run an order, and judge from the answer whether it may be submitted."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import attrs

from .._generated.models import PlacedOrderResponse, PreflightCode, PreflightMessage
from ..errors import (
    BrokerageError,
    ConfigurationError,
    ErrorDetail,
    InvalidRequestError,
    PreflightError,
    ResponseDecodeError,
)
from ..operation import BoundCall, Executor
from .decisions import Delivery, DeliveryOutcome, preflight_outcome

MEANING: Mapping[str, str] = {PreflightCode.TIF_NEXT_VALID_SESSSION: PreflightCode.TIF_NEXT_VALID_SESSION}
"""Codes that the service once had for a warning that has another code today."""

SHOWN = tuple(field.name for field in attrs.fields(PlacedOrderResponse) if field.name != "extra")


async def dry_run(
    executor: Executor, call: BoundCall[PlacedOrderResponse], allow_warnings: bool | Collection[str]
) -> tuple[PlacedOrderResponse | None, Delivery | None]:
    """Dry-run an order or an edit. Return the preview, and what stops it from being submitted."""
    try:
        preview = await executor.execute(call)
    except (ConfigurationError, InvalidRequestError):
        raise
    except BrokerageError as error:
        shown = getattr(error, "data", None)
        return (
            shown if isinstance(shown, PlacedOrderResponse) else None,
            Delivery(preflight_outcome(error), error=error),
        )
    return preview, rejection(preview, allow_warnings, call.operation.name)


def rejection(preview: PlacedOrderResponse, allow_warnings: bool | Collection[str], operation: str) -> Delivery | None:
    """Return what stops an order after this dry-run, or None: its errors, then warnings that are not allowed.

    ``allow_warnings`` is True for all warnings, or holds the codes of those that may pass. An old code stands for the
    new one. Errors and warnings in an unreadable form count as well: they cannot be shown to be harmless.
    """
    if is_blank(preview):
        reason = "the dry-run succeeded but its answer shows nothing: the order was not submitted"
        return Delivery(DeliveryOutcome.NOT_SENT, error=ResponseDecodeError(reason, operation=operation))
    if (error := listed_errors(preview, "the dry-run found errors", operation)) is not None:
        return Delivery(DeliveryOutcome.REFUSED, error=error)
    stopping = [warning for warning in preview.warnings or () if not _allowed(warning, allow_warnings)]
    if not stopping and (allow_warnings is True or not preview.extra.get("warnings")):
        return None
    text = "and these warnings are not allowed" if stopping else "in an unreadable form"
    error = PreflightError(
        f"the dry-run warned, {text}",
        operation=operation,
        code="preflight_warnings",
        errors=tuple(ErrorDetail(message.code, message.message) for message in stopping),
    )
    return Delivery(DeliveryOutcome.REFUSED, error=error)


def is_blank(answer: PlacedOrderResponse) -> bool:
    """Return True if an answer shows no documented field."""
    is_unread = answer.extra.get("errors") or answer.extra.get("warnings")
    return not is_unread and all(getattr(answer, name) is None for name in SHOWN)


def listed_errors(answer: PlacedOrderResponse, text: str, operation: str) -> PreflightError | None:
    """Return the errors that a successful answer lists, unreadable ones included. Or None."""
    if not answer.errors and not answer.extra.get("errors"):
        return None
    details = tuple(ErrorDetail(message.code, message.message) for message in answer.errors or ())
    unread = "" if details else ", in an unreadable form"
    return PreflightError(text + unread, operation=operation, code="preflight_errors", errors=details)


def _allowed(warning: PreflightMessage, allow_warnings: bool | Collection[str]) -> bool:
    if isinstance(allow_warnings, bool):
        return allow_warnings
    allowed = {allow_warnings} if isinstance(allow_warnings, str) else allow_warnings  # one code, not its letters
    meant = {MEANING.get(code, code) for code in allowed}
    return warning.code is not None and MEANING.get(warning.code, warning.code) in meant
