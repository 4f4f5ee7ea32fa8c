"""Reasons of refusals: rules of the schema, and the few that schemas cannot state."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.proofs.contract.refusals import rules_of, unexplained
from tests.schema.bundle import BUNDLE

RULES = frozenset(rules_of(BUNDLE))


def error(code: str, *reasons: str) -> bytes:
    entries = [{"domain": "x", "reason": reason} for reason in reasons]
    return json.dumps({"error": {"code": code, "message": "Refused", "errors": entries}}).encode()


def test_rules_are_those_of_the_whole_schema() -> None:
    assert len(RULES) > 30
    assert "price and value must not both be set: keep the limit price or the amount of money." in RULES


@pytest.mark.parametrize(
    ("body", "expected"),
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
    assert unexplained(body, RULES) == expected
