"""The answers of order entry as values."""

from __future__ import annotations

import attrs
import pytest

from brokerage_async._generated.models import Order
from brokerage_async.order_entry.results import ChangeOutcome, OrderChange, Outcome, Placement

PLACEMENT = Placement(outcome=Outcome.PLACED, account_number="A1", external_identifier="x", body=b'{"price":"1"}')


def test_outcomes_are_words() -> None:
    assert [str(each) for each in Outcome] == ["placed", "refused", "not_sent", "unknown"]
    assert [str(each) for each in ChangeOutcome] == ["applied", "refused", "not_sent", "unknown"]
    assert Outcome("unknown") is Outcome.UNKNOWN


def test_nothing_is_claimed_that_was_not_told() -> None:
    assert (PLACEMENT.order, PLACEMENT.preview, PLACEMENT.error, PLACEMENT.opened_at) == (None,) * 4
    assert (PLACEMENT.attempts, PLACEMENT.warnings, PLACEMENT.note) == (0, (), "")
    change = OrderChange(outcome=ChangeOutcome.UNKNOWN)
    assert (change.order, change.complex_order, change.preview, change.error, change.warnings) == (*(None,) * 4, ())


def test_the_body_is_kept_to_the_byte_and_not_shown() -> None:
    assert PLACEMENT.body == b'{"price":"1"}'
    assert "price" not in repr(PLACEMENT)


def test_answers_stay_as_they_are() -> None:
    for answer in (PLACEMENT, OrderChange(outcome=ChangeOutcome.APPLIED, order=Order(id="1"))):
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            answer.outcome = answer.outcome  # type: ignore[misc]
        assert attrs.evolve(answer) == answer
