"""What stops an order after its dry-run."""

from typing import Any

from brokerage_async import models
from brokerage_async.errors import ErrorDetail
from brokerage_async.order_entry.decisions import DeliveryOutcome
from brokerage_async.order_entry.preflight import is_blank, rejection
from tests.tables import for_each

SOUND = {"order": {"order-type": "Limit"}}
NEW, OLD = models.PreflightCode.TIF_NEXT_VALID_SESSION, models.PreflightCode.TIF_NEXT_VALID_SESSSION
REFUSED, NOT_SENT = DeliveryOutcome.REFUSED, DeliveryOutcome.NOT_SENT
UNREADABLE: list[Any] = [{"code": "x"}, ["x"], "x", [None]]

# answer of the dry-run, warnings that are allowed, what stops the order and its code, or None
ROWS: list[tuple[dict[str, Any], Any, tuple[DeliveryOutcome, str | None] | None]] = [
    *(
        (SOUND | {"errors": each}, True, (REFUSED, "preflight_errors"))
        for each in [*UNREADABLE, [{"code": "x"}], [{}], 1]
    ),
    *((SOUND | {"warnings": each}, False, (REFUSED, "preflight_warnings")) for each in UNREADABLE),
    *((SOUND | {"warnings": each}, ("x",), (REFUSED, "preflight_warnings")) for each in UNREADABLE),
    *((SOUND | {"warnings": each}, True, None) for each in UNREADABLE),
    *((SOUND | {"errors": each, "warnings": each}, False, None) for each in (None, [], {}, "")),
    ({}, True, (NOT_SENT, None)),
    ({"something": "else"}, True, (NOT_SENT, None)),
    ({"errors": "x"}, False, (REFUSED, "preflight_errors")),  # nothing else, and yet not blank
    ({"warnings": "x"}, False, (REFUSED, "preflight_warnings")),
    *(
        ({"warnings": [{"code": sent}]}, allowed, None)  # one code is not its letters
        for sent in (NEW.value, OLD.value)
        for allowed in (NEW, OLD, NEW.value, [NEW.value], {OLD.value})
    ),
    ({"warnings": [{"code": NEW.value}]}, f"{NEW.value}_or_other", (REFUSED, "preflight_warnings")),
    ({"warnings": [{"code": NEW.value}]}, ["tif_next_valid_session"], (REFUSED, "preflight_warnings")),
]


def previewed(answer: dict[str, Any]) -> models.PlacedOrderResponse:
    shown: models.PlacedOrderResponse = models.converter.structure(answer, models.PlacedOrderResponse)
    return shown


@for_each("answer, allowed, stops", ROWS)
def test_rejection_of_each_answer(
    answer: dict[str, Any], allowed: Any, stops: tuple[DeliveryOutcome, str | None] | None
) -> None:
    preview = previewed(answer)
    stopped = rejection(preview, allowed, "complex_orders.dry_run")
    if stops is None:
        assert stopped is None
        return
    assert stopped is not None
    assert (stopped.outcome, stopped.error.operation) == (stops[0], "complex_orders.dry_run")
    assert stops[0] is NOT_SENT or stopped.error.code == stops[1]
    assert is_blank(preview) is (stops[0] is NOT_SENT)
    assert is_blank(preview) is ("the order was not submitted" in str(stopped.error))


@for_each("field", ["errors", "warnings"])
def test_rejection_lists_the_messages(field: str) -> None:
    stopped = rejection(previewed(SOUND | {field: [{"code": "c", "message": "m"}]}), False, "orders.dry_run")
    assert stopped.error.errors == (ErrorDetail("c", "m"),)
