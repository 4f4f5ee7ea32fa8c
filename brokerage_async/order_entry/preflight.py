"""What a dry-run says against an order."""

from __future__ import annotations

from collections.abc import Collection

import attrs

from .._generated.models import PlacedOrderResponse, PreflightMessage
from ..errors import BrokerageError, ErrorDetail, PreflightError, ResponseDecodeError
from .decisions import Fate

__all__ = ["Objection", "errors_told", "is_blank", "objection"]


@attrs.frozen
class Objection:
    """Why an order is not submitted after its dry-run, as an error and as a fate: refused, or just not sent."""

    fate: Fate
    error: BrokerageError


def objection(preview: PlacedOrderResponse, allow_warnings: bool | Collection[str]) -> Objection | None:
    """What stops an order after this dry-run: its errors, then its warnings that are not allowed; None: nothing.

    ``allow_warnings`` is True for all warnings, or holds the codes of those that may pass. What the service said in a
    form that cannot be read counts as well: nobody can tell that it was harmless.
    """
    if is_blank(preview):
        reason = "the dry-run succeeded but its answer shows nothing: the order was not submitted"
        return Objection(Fate.NOT_SENT, ResponseDecodeError(reason, operation="orders.dry_run"))
    if (error := errors_told(preview, "the dry-run found errors", "orders.dry_run")) is not None:
        return Objection(Fate.REFUSED, error)
    stopping = [warning for warning in preview.warnings or () if not _allowed(warning, allow_warnings)]
    if stopping:
        return _refusal("the dry-run warned, and these warnings are not allowed", stopping, "preflight_warnings")
    if preview.extra.get("warnings") and allow_warnings is not True:
        return _refusal("the dry-run warned, in a form that cannot be read", (), "preflight_warnings")
    return None


def is_blank(answer: PlacedOrderResponse) -> bool:
    """Whether an answer shows nothing that is documented."""
    return attrs.evolve(answer, extra={}) == PlacedOrderResponse(extra={}) and not _unread(answer)


def errors_told(answer: PlacedOrderResponse, text: str, operation: str) -> PreflightError | None:
    """The errors that an answer lists in spite of its success, also those in a form that cannot be read; or None."""
    if not answer.errors and not answer.extra.get("errors"):
        return None
    details = tuple(ErrorDetail(message.code, message.message) for message in answer.errors or ())
    unread = "" if details else ", in a form that cannot be read"
    return PreflightError(text + unread, operation=operation, code="preflight_errors", errors=details)


def _unread(preview: PlacedOrderResponse) -> bool:
    """Whether errors or warnings came that no field could take; their raw JSON is in ``extra``."""
    return bool(preview.extra.get("errors") or preview.extra.get("warnings"))


def _allowed(warning: PreflightMessage, allow_warnings: bool | Collection[str]) -> bool:
    if isinstance(allow_warnings, bool):
        return allow_warnings
    if isinstance(allow_warnings, str):  # one code, not a collection of letters
        return warning.code == allow_warnings
    return warning.code is not None and warning.code in allow_warnings


def _refusal(text: str, messages: Collection[PreflightMessage], code: str) -> Objection:
    details = tuple(ErrorDetail(message.code, message.message) for message in messages)
    return Objection(Fate.REFUSED, PreflightError(text, operation="orders.dry_run", code=code, errors=details))
