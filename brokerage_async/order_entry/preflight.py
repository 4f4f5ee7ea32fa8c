"""Judge the answer of a dry-run: whether the order may be submitted."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import attrs

from .._generated.models import PlacedOrderResponse, PreflightCode, PreflightMessage
from .._generated.operations import ORDERS_DRY_RUN
from ..errors import BrokerageError, ErrorDetail, PreflightError, ResponseDecodeError
from .results import Outcome

_MEANING: Mapping[str, str] = {PreflightCode.TIF_NEXT_VALID_SESSSION: PreflightCode.TIF_NEXT_VALID_SESSION}
"""Codes that the service once had for a warning that has another code today."""

_SHOWN = tuple(field.name for field in attrs.fields(PlacedOrderResponse) if field.name != "extra")

__all__ = ["Rejection", "is_blank", "listed_errors", "rejection"]


@attrs.frozen
class Rejection:
    """The reason why an order is not submitted after its dry-run: refused, or just not sent. And the error."""

    outcome: Outcome
    error: BrokerageError


def rejection(
    preview: PlacedOrderResponse, allow_warnings: bool | Collection[str], operation: str = ORDERS_DRY_RUN.name
) -> Rejection | None:
    """Return the reason that stops an order after this dry-run, or None: its errors, then warnings not allowed.

    ``allow_warnings`` is True for all warnings, or holds the codes of those that may pass. An old code stands for the
    new one. Errors and warnings in an unreadable form count as well: they cannot be shown to be harmless.
    """
    if is_blank(preview):
        reason = "the dry-run succeeded but its answer shows nothing: the order was not submitted"
        return Rejection(Outcome.NOT_SENT, ResponseDecodeError(reason, operation=operation))
    if (error := listed_errors(preview, "the dry-run found errors", operation)) is not None:
        return Rejection(Outcome.REFUSED, error)
    stopping = [warning for warning in preview.warnings or () if not _allowed(warning, allow_warnings)]
    if stopping:
        return _refusal("the dry-run warned, and these warnings are not allowed", stopping, operation)
    if preview.extra.get("warnings") and allow_warnings is not True:
        return _refusal("the dry-run warned, in an unreadable form", (), operation)
    return None


def is_blank(answer: PlacedOrderResponse) -> bool:
    """Return True if an answer shows no documented field."""
    return all(getattr(answer, name) is None for name in _SHOWN) and not _unread(answer)


def listed_errors(answer: PlacedOrderResponse, text: str, operation: str) -> PreflightError | None:
    """Return the errors that a successful answer lists, unreadable ones included. Or None."""
    if not answer.errors and not answer.extra.get("errors"):
        return None
    details = tuple(ErrorDetail(message.code, message.message) for message in answer.errors or ())
    unread = "" if details else ", in an unreadable form"
    return PreflightError(text + unread, operation=operation, code="preflight_errors", errors=details)


def _unread(preview: PlacedOrderResponse) -> bool:
    """Return True if errors or warnings came that no field could hold. Their raw JSON is in ``extra``."""
    return bool(preview.extra.get("errors") or preview.extra.get("warnings"))


def _allowed(warning: PreflightMessage, allow_warnings: bool | Collection[str]) -> bool:
    if isinstance(allow_warnings, bool):
        return allow_warnings
    allowed = {allow_warnings} if isinstance(allow_warnings, str) else allow_warnings  # one code, not its letters
    meant = {_MEANING.get(code, code) for code in allowed}
    return warning.code is not None and _MEANING.get(warning.code, warning.code) in meant


def _refusal(text: str, messages: Collection[PreflightMessage], operation: str) -> Rejection:
    details = tuple(ErrorDetail(message.code, message.message) for message in messages)
    error = PreflightError(text, operation=operation, code="preflight_warnings", errors=details)
    return Rejection(Outcome.REFUSED, error)
