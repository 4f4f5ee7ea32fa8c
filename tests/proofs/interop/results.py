"""Outcome of each call of a client, and the page that lists them, ``docs/reference/reports/interop.md``."""

import enum
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.operation import Operation
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.ledger import RequestRecord
from codegen.template import from_template

PRIVATE = re.compile(r"(?<=/)(5WT\d+|\d+)(?=/|$)")


class Outcome(enum.StrEnum):
    """Outcome of a call. Only ``FAILED`` is an obstacle."""

    PASSED = "passed"
    FAILED = "FAILED"
    PRODUCTION_ONLY = "production only"
    NOT_COVERED = "not covered"


@attrs.frozen(kw_only=True)
class CallResult:
    """One call of a client: the requests that it sent, by operation or as ``GET /path``, and its error if any."""

    name: str
    outcome: Outcome
    requests: tuple[str, ...]
    error: str = ""


@attrs.frozen(kw_only=True)
class ClientRun:
    client: str
    version: str
    environment: str
    results: tuple[CallResult, ...]


def first_future_option(simulator: Simulator) -> str:
    chain = simulator.brokerage.state.catalogue.chain("ES")
    return chain.table.definitions[0].symbol


def judge(name: str, environment: str, requests: Sequence[RequestRecord], error: str | None) -> CallResult:
    """Return the outcome of a call.

    A call that sends a request outside of the schema is not covered. A call that sends nothing has failed.
    """
    sent = [one for one in requests if one.operation != "oauth.token"] or list(requests)
    operations = [_operation(one) for one in sent]
    if not sent:
        outcome, error = Outcome.FAILED, error or "sent nothing"
    elif None in operations:
        outcome = Outcome.NOT_COVERED
    elif environment != "production" and any(one.production_only for one in operations if one is not None):
        outcome = Outcome.PRODUCTION_ONLY
    else:
        outcome = Outcome.PASSED if error is None else Outcome.FAILED
    named = dict.fromkeys(
        f"{one.method} {PRIVATE.sub('…', one.target.partition('?')[0])}" if operation is None else operation.name
        for one, operation in zip(sent, operations, strict=True)
    )
    return CallResult(
        name=name, outcome=outcome, requests=tuple(named), error=error or "" if outcome is Outcome.FAILED else ""
    )


def _operation(record: RequestRecord) -> Operation[Any] | None:
    operation = None if record.operation is None else OPERATIONS[record.operation]
    path = record.target.partition("?")[0]
    if operation is not None and operation.path.endswith("{id}") and not path[-1].isdigit():
        return None  # a different list, such as `/complex-orders/live`
    return operation


def failures(runs: Iterable[ClientRun]) -> list[str]:
    return [
        f"{run.client} ({run.environment}): {result.name}: {result.error}"
        for run in runs
        for result in run.results
        if result.outcome is Outcome.FAILED
    ]


REASONS = {
    "POST /sessions/validate": "whose answer was never published or recorded; clients look at its status only",
    "POST /accounts/…/orders/…/reconfirm": "which only this client has, and whose answer was never recorded",
    "GET /accounts/…/net-liq": "which only this client has, and whose answer was never recorded",
}
"""Why requests of these clients are not in the schema."""

UNEXPLAINED = "which is not in the schema"


def page(clients: Iterable[Sequence[ClientRun]]) -> str:
    """Return the page: the runs of each client side by side, then the calls that are not covered."""

    def reason(result: CallResult) -> str:
        return next((REASONS[name] for name in result.requests if name in REASONS), UNEXPLAINED)

    def rows(runs: Sequence[ClientRun]) -> list[tuple[CallResult, ...]]:
        return list(zip(*(run.results for run in runs), strict=True))

    values = {"clients": clients, "rows": rows, "reason": reason}
    return from_template("interop.md", values, Path(__file__).with_name("templates"))
