"""Outcome of each call of a client."""

import enum
import re
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.operation import Operation
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.ledger import RequestRecord

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

    def count(self, outcome: Outcome) -> int:
        return sum(result.outcome is outcome for result in self.results)


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
