"""Checks before an order is sent: its arguments and terms, its names, and the answer of its dry-run."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias, TypeGuard

import attrs

from .. import errors
from .._generated import models
from .._generated.operations import COMPLEX_ORDERS_SUBMIT, ORDERS_EDIT_DRY_RUN, ORDERS_SUBMIT
from ..operation import BoundCall, Executor, Operation
from ..protocol.request import encode_body
from ..protocol.validation import requests as validation
from .context import logger
from .decisions import Delivery, DeliveryOutcome, ReconcilePolicy, preflight_outcome
from .orders import AskedOrder, asked_components

MAX_IDENTIFIER = 64
"""Characters of an external identifier. The service documents no bound; a UUID has 36."""

MEANING: Mapping[str, str] = {models.PreflightCode.TIF_NEXT_VALID_SESSSION: models.PreflightCode.TIF_NEXT_VALID_SESSION}
"""Codes that the service once had for a warning that has another code today."""

SHOWN = tuple(field.name for field in attrs.fields(models.PlacedOrderResponse) if field.name != "extra")

Allowed: TypeAlias = bool | Collection[str]


@attrs.frozen(kw_only=True)
class SendOptions:
    """How one order is sent: the checked options of a call of `OrderEntry`."""

    policy: ReconcilePolicy
    allow_warnings: Allowed = False
    resubmit: int = 0
    label: str = ""


def checked_policy(reconcile: ReconcilePolicy) -> ReconcilePolicy:
    if not isinstance(reconcile, ReconcilePolicy):
        raise errors.ConfigurationError(f"reconcile must be a ReconcilePolicy, got {type(reconcile).__name__}")
    return reconcile


def checked_label(label: str | None) -> str:
    if label is not None and not _is_identifier(label):
        raise errors.InvalidRequestError(
            f"label must be a printable string of at most {MAX_IDENTIFIER} characters without surrounding whitespace, "
            f"got {label!r}"
        )
    return label or ""


def check_options(allow_warnings: object, resubmit: object = 0) -> None:
    """Reject options that would otherwise be used only when the order is under way."""
    if not isinstance(resubmit, int) or resubmit < 0:
        raise errors.InvalidRequestError(f"resubmit must be a number of times of at least 0, got {resubmit!r}")
    if isinstance(allow_warnings, bool):
        return
    codes = (allow_warnings,) if isinstance(allow_warnings, str) else allow_warnings
    if not validation.is_array(codes):
        kind = type(allow_warnings).__name__
        raise errors.InvalidRequestError(f"allow_warnings must be True, False or codes, got {kind}")
    for code in codes:
        if not isinstance(code, str) or not models.PreflightCode(code).is_known:
            known = ", ".join(models.PreflightCode)
            logger.warning(
                "allow_warnings names %r, which the service was never seen to send; known are %s", code, known
            )


def checked_bytes(operation: Operation[Any], path: dict[str, str], model: object) -> bytes:
    """Return the bytes of a request body that keeps the documented rules."""
    validation.check(operation, path, None, model)
    return encode_body(operation, model)


def edit_bodies(operation: Operation[Any], path: dict[str, str], edit: models.OrderEdit) -> tuple[bytes, bytes]:
    dry_run = attrs.evolve(models.OrderEditDryRun.of(edit), extra=edit.extra)
    return checked_bytes(operation, path, edit), checked_bytes(ORDERS_EDIT_DRY_RUN, path, dry_run)


def named_order(account_number: str, order: models.NewOrder, identifiers: Callable[[], str]) -> AskedOrder:
    if not isinstance(order, models.NewOrder):
        raise errors.InvalidRequestError(f"order must be a NewOrder, got {type(order).__name__}")
    was_named = _is_named(order)
    if not was_named:
        order = attrs.evolve(order, external_identifier=identifiers())
    name = _checked_identifier(order.external_identifier)
    body = checked_bytes(ORDERS_SUBMIT, {"account_number": account_number}, order)
    return AskedOrder(name, body, is_complex=False, was_named=was_named)


def named_complex_order(
    account_number: str, order: models.NewComplexOrder, identifiers: Callable[[], str]
) -> AskedOrder:
    """Check a complex order, and name all its components.

    It has the name of its first component: the trigger order, or the first of ``orders``. The others are ``name.1``
    and so on unless they have names: the same order has the same bytes each time.
    """
    if not isinstance(order, models.NewComplexOrder):
        raise errors.InvalidRequestError(f"complex_order must be a NewComplexOrder, got {type(order).__name__}")
    validation.check(COMPLEX_ORDERS_SUBMIT, {"account_number": account_number}, None, order)
    trigger = order.trigger_order
    first, *rest = asked_components(order)
    was_named = _is_named(first)
    if not was_named and any(map(_is_named, rest)):
        place = "orders[0]" if trigger is None else "trigger_order"
        raise errors.InvalidRequestError(
            f"external_identifier of {place} must be set, because another component has one: it names the complex order"
        )
    name = _checked_identifier(first.external_identifier if was_named else identifiers())
    named = [attrs.evolve(first, external_identifier=name)]
    for number, each in enumerate(rest, start=1):
        own = each.external_identifier if _is_named(each) else f"{name}.{number}"
        named.append(attrs.evolve(each, external_identifier=_checked_identifier(own)))
    names = [each.external_identifier for each in named]
    for identifier in names:  # each component is found by its own
        if names.count(identifier) > 1:
            raise errors.InvalidRequestError(
                f"external_identifier must differ between the components of a complex order, got {identifier!r} twice"
            )
    if trigger is not None:
        order = attrs.evolve(order, trigger_order=named.pop(0))
    body = encode_body(COMPLEX_ORDERS_SUBMIT, attrs.evolve(order, orders=tuple(named)))
    return AskedOrder(name, body, is_complex=True, was_named=was_named)


def _is_named(order: models.NewOrder) -> bool:
    return order.external_identifier not in (None, "")


def _checked_identifier(name: object) -> str:
    if not _is_identifier(name):
        raise errors.InvalidRequestError(
            "external_identifier must be a printable string of at most "
            f"{MAX_IDENTIFIER} characters in Unicode form NFC without surrounding whitespace, got {name!r}"
        )
    return name


def _is_identifier(name: object) -> TypeGuard[str]:
    """Return True if every service keeps this string unchanged."""
    if not isinstance(name, str) or not 0 < len(name) <= MAX_IDENTIFIER:
        return False
    return name.isprintable() and name == name.strip() and unicodedata.is_normalized("NFC", name)


async def dry_run(
    executor: Executor, call: BoundCall[models.PlacedOrderResponse], allow_warnings: Allowed
) -> tuple[models.PlacedOrderResponse | None, Delivery | None]:
    """Dry-run an order or an edit. Return the preview, and what stops it from being submitted."""
    try:
        preview = await executor.execute(call)
    except (errors.ConfigurationError, errors.InvalidRequestError):
        raise
    except errors.BrokerageError as error:
        data = getattr(error, "data", None)
        shown = data if isinstance(data, models.PlacedOrderResponse) else None
        return shown, Delivery(preflight_outcome(error), error=error)
    return preview, rejection(preview, allow_warnings, call.operation.name)


def rejection(preview: models.PlacedOrderResponse, allow_warnings: Allowed, operation: str) -> Delivery | None:
    """Return what stops an order after this dry-run, or None: its errors, then warnings that are not allowed.

    ``allow_warnings`` is True for all warnings, or holds the codes of those that may pass. An old code stands for the
    new one. Errors and warnings in an unreadable form count as well: they cannot be shown to be harmless.
    """
    if is_blank(preview):
        reason = "the dry-run succeeded but its answer shows nothing: the order was not submitted"
        return Delivery(DeliveryOutcome.NOT_SENT, error=errors.ResponseDecodeError(reason, operation=operation))
    if (error := listed_errors(preview, "the dry-run found errors", operation)) is not None:
        return Delivery(DeliveryOutcome.REFUSED, error=error)
    stopping = [] if allow_warnings is True else list(preview.warnings or ())
    if not isinstance(allow_warnings, bool):
        allowed = {allow_warnings} if isinstance(allow_warnings, str) else allow_warnings  # one code, not its letters
        meant = {MEANING.get(code, code) for code in allowed}
        stopping = [each for each in stopping if each.code is None or MEANING.get(each.code, each.code) not in meant]
    if not stopping and (allow_warnings is True or not preview.extra.get("warnings")):
        return None
    text = "and these warnings are not allowed" if stopping else "in an unreadable form"
    error = errors.PreflightError(
        f"the dry-run warned, {text}",
        operation=operation,
        code="preflight_warnings",
        errors=tuple(errors.ErrorDetail(message.code, message.message) for message in stopping),
    )
    return Delivery(DeliveryOutcome.REFUSED, error=error)


def is_blank(answer: models.PlacedOrderResponse) -> bool:
    """Return True if an answer shows no documented field."""
    is_unread = answer.extra.get("errors") or answer.extra.get("warnings")
    return not is_unread and all(getattr(answer, name) is None for name in SHOWN)


def listed_errors(answer: models.PlacedOrderResponse, text: str, operation: str) -> errors.PreflightError | None:
    """Return the errors that a successful answer lists, unreadable ones included. Or None."""
    if not answer.errors and not answer.extra.get("errors"):
        return None
    details = tuple(errors.ErrorDetail(message.code, message.message) for message in answer.errors or ())
    unread = "" if details else ", in an unreadable form"
    return errors.PreflightError(text + unread, operation=operation, code="preflight_errors", errors=details)
