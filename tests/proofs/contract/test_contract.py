"""Reasons of refusals come from rules of the schema, and the report names operations and statuses not reached."""

import json
from collections import Counter
from typing import Any

from tests.proofs.contract import report
from tests.proofs.contract.refusals import rules_of, unexplained
from tests.schema.bundle import BUNDLE, OPERATIONS
from tests.tables import for_each

RULES = frozenset(rules_of(BUNDLE))


def error(code: str, *reasons: str) -> bytes:
    entries = [{"domain": "x", "reason": reason} for reason in reasons]
    return json.dumps({"error": {"code": code, "message": "Refused", "errors": entries}}).encode()


@for_each(
    "body, expected",
    [
        (error("validation_error", *sorted(RULES)[:2]), []),
        (error("validation_error", "price is out of range", "price is wrong"), ["price is wrong"]),
        (error("validation_error", "out of luck: price is out of range"), ["out of luck: price is out of range"]),
        (error("validation_error"), ["Refused"]),
        (error("cannot_update_order"), []),
        (b'{"error_code": "invalid_grant", "error_description": "Grant revoked"}', []),
        (b'{"error_code": "invalid_request", "error_description": "code is odd; x is out of range"}', ["code is odd"]),
    ],
)
def test_unexplained_reasons(body: Any, expected: list[str]) -> None:
    assert len(RULES) > 30
    assert "price and value must not both be set: keep the limit price or the amount of money." in RULES
    assert unexplained(body, RULES) == expected


def test_report_names_every_status_that_was_not_reached() -> None:
    reached = {
        name: Counter(503 if status == "5XX" else int(status) for status in operation["responses"])
        for name, operation in OPERATIONS.items()
    }
    assert report.missing(reached) == []
    assert f"{len(OPERATIONS)} of {len(OPERATIONS)} operations reached with 2xx," in report.lines(reached)
    del reached["orders.submit"][503]
    reached["orders.cancel"] = Counter({404: 1})
    assert {("orders.submit", "5XX"), ("orders.cancel", "200")} <= {*report.missing(reached)}
    assert "not reached: orders.submit 5XX: NO REASON" in report.lines(reached)
    assert all(status in OPERATIONS[name]["responses"] for name, status in report.NO_CAUSE)
