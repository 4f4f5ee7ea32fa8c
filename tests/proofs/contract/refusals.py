"""Reasons why the service refuses requests that the schema allows: JSON schemas cannot state them.

A refusal with 400 or 422 is part of the contract only if each of its reasons is a rule of the schema (``x-rules`` or
``x-service-rules``) or one of those below.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

STATES: frozenset[str] = frozenset(
    {"cannot_update_order", "preflight_check_failure", "invalid_client", "invalid_grant", "invalid_scope"}
)
"""Codes of refusals that depend on orders, buying power, market hours and credentials."""

VALUES: dict[str, str] = {
    r"\S+ is out of range": "amounts are exact with nine digits on each side of the point; calendars have an end",
    r"\S+ must be at (least|most) -?\d+": "the backtester documents no bounds, and has some",
    r"\S+ is wrongly cased, the field is \S+": "the service documents that such keys lead to 422",
    r"\S+ must be (from \S+ to|one of the available) .*": "the history of prices has a first and a last day",
    r"\S+ must be (32 hexadecimal digits|that of a pending or running backtest)": "the service assigns identifiers",
    r"\S+ must be an integer": "JSON schemas take 5.0 for one; the service documents that wrong types lead to 422",
    r"\S+ must name at least one day for this frequency": "conditions of the backtester are published in prose",
    r"\S+ must be the underlying or an option on it": "the legs of a trade share an underlying",
    r"to-date is before from-date": "a range has an order",
    r"time-of-day is required with snapshot-date": "published in prose",
    r"exchange must be CME or CFE": "other exchanges may come, so the schema names none",
    r"account-number differs from the path": "the number occurs twice in the request",
    r"A watchlist of this name exists": "names are unique",
    r"name must not be empty or dots": "a path must be able to name a watchlist",
    r"startTime must be before now, endTime and the first expiration": "a range has an order",
}
"""Reasons that depend on several values, or on what exists: their patterns, each with its ground."""


def unexplained(body: bytes, rules: Iterable[str]) -> list[str]:
    """Return the reasons in the body of a refusal that are neither rules of the schema nor listed here."""
    known = set(rules)
    return [
        reason
        for code, reason in reasons(json.loads(body))
        if code not in STATES and reason not in known and not any(re.fullmatch(one, reason) for one in VALUES)
    ]


def reasons(body: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if "error_code" in body:
        yield from ((body["error_code"], reason) for reason in body["error_description"].split("; "))
        return
    error = body["error"]
    entries = error.get("errors") or [{"message": error["message"]}]
    for entry in entries:
        yield error["code"], entry.get("reason") or entry["message"]


def rules_of(document: Any) -> Iterator[str]:
    if isinstance(document, list):
        for item in document:
            yield from rules_of(item)
    elif isinstance(document, dict):
        for listed in (*document.get("x-rules", ()), *document.get("x-service-rules", ())):
            yield from (rule["message"] for rule in (listed if isinstance(listed, list) else [listed]))
        for value in document.values():
            yield from rules_of(value)
