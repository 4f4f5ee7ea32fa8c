import pytest

from brokerage_async import models
from brokerage_async.errors import ErrorDetail
from brokerage_async.order_entry.decisions import DeliveryOutcome as Outcome
from brokerage_async.order_entry.preflight import is_blank, rejection

SOUND = {"order": {"order-type": "Limit"}}
NEW, OLD = models.PreflightCode.TIF_NEXT_VALID_SESSION, models.PreflightCode.TIF_NEXT_VALID_SESSSION
WARNED = models.PlacedOrderResponse(warnings=(models.PreflightMessage(code=NEW),))


def previewed(**fields: object) -> models.PlacedOrderResponse:
    shown: models.PlacedOrderResponse = models.converter.structure({**SOUND, **fields}, models.PlacedOrderResponse)
    return shown


@pytest.mark.parametrize("errors", [{"code": "x"}, ["x"], "x", [None], [{"code": "x"}], [{}], 1])
def test_errors_stop_an_order_also_when_they_cannot_be_read(errors: object) -> None:
    stopped = rejection(previewed(errors=errors), True, "orders.dry_run")
    assert (stopped.outcome, stopped.error.code) == (Outcome.REFUSED, "preflight_errors")


@pytest.mark.parametrize("warnings", [{"code": "x"}, ["x"], "x", [None]])
def test_warnings_that_cannot_be_read_stop_an_order_unless_all_are_allowed(warnings: object) -> None:
    preview = previewed(warnings=warnings)
    for allowed in (False, ("x",)):
        stopped = rejection(preview, allowed, "orders.dry_run")
        assert stopped.error.code == "preflight_warnings"
    assert rejection(preview, True, "orders.dry_run") is None


@pytest.mark.parametrize("nothing", [None, [], {}, ""])
def test_nothing_is_no_error(nothing: object) -> None:
    assert rejection(previewed(errors=nothing, warnings=nothing), False, "orders.dry_run") is None


def test_a_preview_that_shows_nothing_known_stops_an_order() -> None:
    for answer in ({}, {"something": "else"}):
        stopped = rejection(models.converter.structure(answer, models.PlacedOrderResponse), True, "orders.dry_run")
        assert stopped.outcome is Outcome.NOT_SENT


def test_one_code_as_text_is_that_code_and_no_other() -> None:
    assert rejection(WARNED, "tif.next_valid_session", "orders.dry_run") is None
    assert rejection(WARNED, "tif.next_valid_session_or_other", "orders.dry_run") is not None


@pytest.mark.parametrize(
    ("field", "allowed", "code"), [("errors", True, "preflight_errors"), ("warnings", False, "preflight_warnings")]
)
def test_rejection_names_its_operation_and_lists_the_messages(field: str, allowed: bool, code: str) -> None:
    stopped = rejection(previewed(**{field: [{"code": "c", "message": "m"}]}), allowed, "complex_orders.dry_run")
    assert (stopped.outcome, stopped.error.operation) == (Outcome.REFUSED, "complex_orders.dry_run")
    assert (stopped.error.code, stopped.error.errors) == (code, (ErrorDetail("c", "m"),))


def test_rejection_of_a_blank_preview_names_its_operation_and_says_that_nothing_was_submitted() -> None:
    stopped = rejection(models.converter.structure({}, models.PlacedOrderResponse), True, "complex_orders.dry_run")
    assert stopped.error.operation == "complex_orders.dry_run"
    assert "the order was not submitted" in str(stopped.error)


@pytest.mark.parametrize("field", ["errors", "warnings"])
def test_answer_with_nothing_but_an_unreadable_list_is_not_blank(field: str) -> None:
    answer = models.converter.structure({field: "x"}, models.PlacedOrderResponse)
    assert not is_blank(answer)
    stopped = rejection(answer, False, "orders.dry_run")
    assert (stopped.outcome, stopped.error.code) == (Outcome.REFUSED, f"preflight_{field}")


def test_rejection_allowed_code_takes_either_spelling_of_a_warning() -> None:
    for sent in (NEW, OLD):
        preview = models.PlacedOrderResponse(warnings=(models.PreflightMessage(code=sent),))
        for allowed in (NEW, OLD, [NEW.value], {OLD.value}):
            assert rejection(preview, allowed, "orders.dry_run") is None, (sent, allowed)
        assert rejection(preview, ["tif_next_valid_session"], "orders.dry_run") is not None
