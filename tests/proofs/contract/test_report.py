"""Report of the contract: operations and statuses that were reached, and those that were not."""

from __future__ import annotations

from collections import Counter

from tests.proofs.contract import report
from tests.schema.bundle import OPERATIONS


def everything() -> dict[str, Counter[int]]:
    return {
        name: Counter(503 if status == "5XX" else int(status) for status in operation["responses"])
        for name, operation in OPERATIONS.items()
    }


def test_nothing_is_missing_once_every_status_was_reached() -> None:
    assert report.missing(everything()) == []
    assert f"{len(OPERATIONS)} of {len(OPERATIONS)} operations reached with 2xx," in report.lines(everything())


def test_status_that_was_not_reached_is_missing() -> None:
    reached = everything()
    del reached["orders.submit"][503]
    reached["orders.cancel"] = Counter({404: 1})
    assert ("orders.submit", "5XX") in report.missing(reached)
    assert ("orders.cancel", "200") in report.missing(reached)
    assert "not reached: orders.submit 5XX: NO REASON" in report.lines(reached)


def test_statuses_without_a_cause_are_documented_ones() -> None:
    assert all(status in OPERATIONS[name]["responses"] for name, status in report.NO_CAUSE)
