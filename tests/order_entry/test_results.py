"""The answers of order entry as values."""

from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

from brokerage_async import errors
from brokerage_async._generated.models import ComplexOrder, Order
from brokerage_async.journal import EntryKey, JournalEntry
from brokerage_async.order_entry.results import ChangeOutcome, OrderChange, Outcome, Placement, placement_of
from tests.protocol.values import raised
from tests.tables import for_each

PLACEMENT = Placement(outcome=Outcome.PLACED, account_number="A1", external_identifier="x", body=b'{"price":"1"}')


def test_outcomes_are_words() -> None:
    assert [str(each) for each in Outcome] == ["placed", "refused", "not_sent", "unknown"]
    assert [str(each) for each in ChangeOutcome] == ["applied", "filled", "refused", "not_sent", "unknown"]


def test_nothing_is_claimed_that_was_not_told() -> None:
    assert (PLACEMENT.order, PLACEMENT.preview, PLACEMENT.error, PLACEMENT.opened_at) == (None,) * 4
    assert (PLACEMENT.attempts, PLACEMENT.warnings, PLACEMENT.note) == (0, (), "")
    assert (PLACEMENT.code, PLACEMENT.order_id, PLACEMENT.complex_order) == (None, "", None)
    change = OrderChange(outcome=ChangeOutcome.UNKNOWN)
    assert (change.order, change.complex_order, change.preview, change.error, change.warnings) == (*(None,) * 4, ())
    assert change.order_id == ""
    assert PLACEMENT.body == b'{"price":"1"}'
    assert "price" not in repr(PLACEMENT)
    for answer in (PLACEMENT, change):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            answer.outcome = answer.outcome  # type: ignore[misc]


NO_CASH = errors.PreflightError("no cash", code="funds", status=422, errors=(errors.ErrorDetail("funds", "no cash"),))
DOWN = errors.ServerError("down", status=503)
REFUSAL = {"code": "funds", "status": 422, "errors": NO_CASH.errors, "attempts": 2, "__cause__": NO_CASH}
UNKNOWN = {"code": "absent", "operation": "orders.submit", "attempts": 1, "__cause__": DOWN}
REQUIRED: list[tuple[Outcome, dict[str, Any], Any, str, dict[str, Any]]] = [
    (Outcome.REFUSED, {"error": NO_CASH, "attempts": 2}, errors.OrderRefusedError, "was .*: no cash", REFUSAL),
    (Outcome.NOT_SENT, {"error": NO_CASH, "attempts": 2}, errors.OrderNotSentError, "was .*: no cash", REFUSAL),
    (Outcome.REFUSED, {"note": "journaled before"}, errors.OrderRefusedError, "was refused: journaled before",
     {"code": None, "status": None, "errors": ()}),
    (Outcome.UNKNOWN, {"error": DOWN, "code": "absent", "note": "lost", "attempts": 1}, errors.OrderOutcomeUnknownError,
     "may or may not have been placed: lost", UNKNOWN),
]  # fmt: skip


@for_each("outcome, known, error, words, facts", REQUIRED)
def test_require_raises_all_that_is_known(outcome: Outcome, known: Any, error: Any, words: str, facts: Any) -> None:
    placement = attrs.evolve(PLACEMENT, outcome=outcome, **known)
    caught = raised(error, placement.require, match=f"order x of account A1 {words}")
    facts = {"account_number": "A1", "external_identifier": "x", **facts}
    assert {name: getattr(caught, name) for name in facts} == facts


def test_placement_of_an_entry_carries_what_was_journaled() -> None:
    entry = JournalEntry(
        key=EntryKey("", "sandbox", "A1", "x"), body=b"{}", attempts=2, opened_at=datetime(2026, 6, 10, tzinfo=UTC),
        order_id="5",
    )  # fmt: skip
    seen, whole = Order(id="7"), ComplexOrder(id="8")
    placed = placement_of(entry, Outcome.PLACED, order=seen, note="n")
    assert (placed.order_id, placed.order, placed.complex_order, placed.note.startswith("n")) == ("7", seen, None, True)
    assert (placed.account_number, placed.external_identifier) == ("A1", "x")
    assert (placed.attempts, placed.body, placed.opened_at) == (2, b"{}", entry.opened_at)
    placed = placement_of(entry, Outcome.PLACED, order=whole)
    assert (placed.order_id, placed.order, placed.complex_order) == ("8", None, whole)
    assert placement_of(entry, Outcome.PLACED).order_id == "5"
    assert placement_of(attrs.evolve(entry, order_id=None), Outcome.PLACED).order_id == ""
    assert placement_of(entry, Outcome.UNKNOWN, order=seen).order_id == ""
