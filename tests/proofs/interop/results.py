"""Outcome of each call of a client, and the page that lists them, ``docs/reference/reports/interop.md``."""

import enum
import re
from collections import Counter
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


INTRODUCTION = """\
# Other people's clients against the simulator

`nox -s interop` wrote this page. It installs clients that others wrote for the same interface, unchanged and in their
current releases, and makes their calls one by one against a simulator in each environment. A call passes if the client
accepts the answer and it is not empty. The session fails if a call that the schema covers does not pass.

How they are pointed at the simulator, as any program with them can be:

- The PyPI SDK takes its addresses from constants: `tastytrade.session.API_URL` and `CERT_URL` are set to `base_url` of
  the simulator before `Session(client_secret, refresh_token, is_test=...)`. In production it sends `Accept-Version`.
- The JavaScript client takes `baseUrl` in its configuration. It is run with `targetApiVersion`, and with a global
  `window`, as its own documentation has it for Node: without one it sends `User-Agent: tastytrade-sdk-js`, which the
  interface refuses for its missing version. `getLiveOrdersForCustomer` has no parameter for the accounts, which the
  interface requires; they are given as part of the customer. The session skips it where there is no Node. Its
  `sessionService` logs in with a password, which the interface gave up for OAuth, and is left out.

The simulator is at its default time, within trading hours. The PyPI SDK knows the market states `Open`, `Closed`,
`Pre-market` and `Extended` only, and fails on the `Pre-Market` and `After-Hours` of other hours.

The session runs the streamers of both clients as well, and fails unless an event of each type comes. They are pointed
at the simulator like this:

- PyPI: `AlertStreamer(session)` gets `streamer.base_url = simulator.streamer_url` before it is entered; `NO_PROXY`
  names 127.0.0.1. `DXLinkStreamer(session)` takes its address from the quote token.
- JavaScript: the configuration key `accountStreamerUrl` is `simulator.streamer_url`. `quoteStreamer` takes its address
  from the quote token. Both need the `WebSocket` of `ws` as a global and in `window`, as the client's README has it.
"""


REASONS = {
    "POST /sessions/validate": "whose answer was never published or recorded; clients look at its status only",
    "POST /accounts/…/orders/…/reconfirm": "which only this client has, and whose answer was never recorded",
    "GET /accounts/…/net-liq": "which only this client has, and whose answer was never recorded",
}
"""Why requests of these clients are not in the schema."""

UNEXPLAINED = "which is not in the schema"


def page(clients: Iterable[Sequence[ClientRun]]) -> str:
    return "\n".join([INTRODUCTION, *(f"{_table(runs)}\n" for runs in clients)])


def _table(runs: Sequence[ClientRun]) -> str:
    """Return the Markdown tables of one client: its runs side by side, then the calls that are not covered."""
    first = runs[0]
    lines = [f"## {first.client} {first.version}", ""]
    for run in runs:
        count = Counter(result.outcome for result in run.results)
        tried = count[Outcome.PASSED] + count[Outcome.FAILED]
        lines.append(f"- {run.environment}: {count[Outcome.PASSED]} of {tried} covered calls pass")
    heads = ["call", "requests", *(run.environment for run in runs)]
    lines += ["", _row(heads), _row(["---"] * len(heads))]
    rows = list(zip(*(run.results for run in runs), strict=True))
    covered = [row for row in rows if row[0].outcome is not Outcome.NOT_COVERED]
    lines += [_row([f"`{row[0].name}`", _code(row[0].requests), *(cell(one) for one in row)]) for row in covered]
    uncovered = [row[0] for row in rows if row[0].outcome is Outcome.NOT_COVERED]
    if uncovered:
        lines += ["", "Left out:", ""]
        for one in uncovered:
            reason = next((REASONS[name] for name in one.requests if name in REASONS), UNEXPLAINED)
            lines.append(f"- `{one.name}`: {_code(one.requests)}, {reason}")
    return "\n".join(lines)


def cell(result: CallResult) -> str:
    return f"{result.outcome}: {result.error}".replace("|", "\\|") if result.error else result.outcome


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
