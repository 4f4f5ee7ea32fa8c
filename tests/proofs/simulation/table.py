"""Effect of one fault on one call, by kind of call: the table in ``docs/reference/reports/faults.md``.

``python -m tests.proofs.simulation.table`` prints the page, ``--write`` writes it. A test compares the two.
"""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from brokerage_async import RetryPolicy, tickets
from brokerage_async.errors import BrokerageError
from brokerage_async.simulator import Simulator
from tests.loops import on_virtual_time
from tests.trading import SMALL

ORDER = tickets.limit(tickets.buy_to_open("AAPL", 1), price="5")
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "reports" / "faults.md"

FAULTS = {
    "refuse": "connection refused",
    "drop_before": "connection drops, nothing done",
    "drop_after": "done, connection drops",
    "hang": "no answer, nothing done",
    "hang_after": "done, no answer",
    "truncate": "done, answer breaks off",
    "garbage": "done, success that is not JSON",
    "status(503)": "503, nothing done",
    "after_status(500)": "done, 500",
    "html(502)": "502 page of a proxy, nothing done",
    "after_html(502)": "done, 502 page of a proxy",
    "rate_limited": "429 without headers",
    "unauthorized": "401",
}

HEAD = """\
# What a fault does to a call

Written by `python -m tests.proofs.simulation.table --write` from runs against the simulator, with the default
`RetryPolicy`. Each cell has the number of sends, how often the service processed the request, and the result for the
caller.

- *read*: `watchlists.list`; *preflight*: `orders.dry_run`; *mutate*: `orders.submit`.
- No mutation is ever done twice. One that may have been done is not sent again; `client.order_entry()` finds out.
- `ResponseLostError` has `maybe_processed` True, `RequestNotSentError` has it False. After a `ServerError` a mutation
  may have been done; after `RateLimitError` or `AuthenticationError` it has not.
"""


@on_virtual_time
async def cell(effect: str, fault: str, times: int | None) -> str:
    sim = Simulator(**SMALL)
    account = sim.account_numbers[0]
    async with sim.client(retry=RetryPolicy(jitter=lambda: 0.5), timeout=5) as client:
        calls: dict[str, tuple[str, str, Callable[[], Awaitable[Any]]]] = {
            "read": ("GET", "watchlists.list", client.watchlists.list),
            "preflight": ("POST", "orders.dry_run", lambda: client.orders.dry_run(account, ORDER)),
            "mutate": ("POST", "orders.submit", lambda: client.orders.submit(account, ORDER)),
        }
        method, operation, call = calls[effect]
        await client.quote_alerts.list()  # get a token first
        sim.faults.add(method, "/watchlists|/orders", fault, times)
        try:
            await call()
        except BrokerageError as error:
            result = f"`{type(error).__name__}`"
        else:
            result = "**success**"
    done = sum(entry.operation == operation for entry in sim.ledger.processed())
    return f"{sim.ledger.count(operation)} sent, {done} done: {result}"


def page() -> str:
    parts = [HEAD]
    for title, times in (("The fault happens once", 1), ("The fault happens every time", None)):
        parts.append(f"\n## {title}\n\n| Fault | read | preflight | mutate |\n|---|---|---|---|\n")
        for fault, meaning in FAULTS.items():
            cells = " | ".join(cell(effect, fault, times) for effect in ("read", "preflight", "mutate"))
            parts.append(f"| {meaning} | {cells} |\n")
    return "".join(parts)


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page(), "utf-8")
    else:
        sys.stdout.write(page())
