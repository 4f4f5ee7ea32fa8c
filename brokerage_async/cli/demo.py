"""``brokerage-async demo``: the main job from a token to a filled order, with tables of its steps."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .command import connect
from .console import say, show
from .lazy import clients, journals, simulators, tickets
from .tables import STYLES, preview_table, table_of

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.table import Table

    from ..observers import Attempt


PAGE_SIZE = 1_000
PREFETCH = 4
CHAIN_PRODUCT = "ES"
BULK_SYMBOLS = 500
POLL_EVERY = 1.0  # seconds: as often as the library polls this list at all


async def demo() -> None:
    """Get a token, page through all equities, fetch a 20,000-row chain, place an order and watch it fill.

    Runs on an embedded simulator. With BROKERAGE_BASE_URL set, the reading parts run against that service and no
    order is sent.
    """
    from rich import progress

    from .screen import err

    columns = (
        progress.SpinnerColumn(), progress.TextColumn("{task.description}"), progress.BarColumn(),
        progress.TextColumn("{task.completed:,.0f}"), progress.TimeElapsedColumn(),
    )  # fmt: skip
    with progress.Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        report = Report(bar)
        simulated = not os.environ.get("BROKERAGE_BASE_URL")
        async with connect(simulated=simulated, observers=[report.attempts.append]) as service:
            client, simulator = service.client, service.simulator
            if simulator is not None:
                say(f"Account {simulator.account_numbers[0]}")
            with report.step("token, market time") as row:
                (session, *_) = await client.market_time.current_sessions(["Equity"])
                row.update(what=f"equity market is {session.state or 'in an unnamed state'}", items=1)
            symbols: list[str] = []
            with report.step("all equities") as row:
                pages = 0
                async for page in client.instruments.equities(per_page=PAGE_SIZE).prefetch(PREFETCH).pages():
                    pages += 1
                    symbols += [equity.symbol for equity in page.items if equity.symbol]
                    total = page.pagination.total_items if page.pagination else None
                    bar.update(row["task"], completed=len(symbols), total=total)
                row.update(what=f"{pages} pages of {PAGE_SIZE:,}, {PREFETCH} in flight", items=len(symbols))
            with report.step("bulk by symbol") as row:  # one of them is unknown
                asked = [*symbols[:BULK_SYMBOLS], "NO.SUCH"]
                result = await client.bulk.equities(asked, concurrency=8, batch_size=50)
                row.update(what=f"{len(result.missing)} missing, {len(result.failed)} failed", items=len(result.found))
            with report.step("futures option chain") as row:
                chain = await client.instruments.futures_option_chain(CHAIN_PRODUCT)
                expirations = {option.expiration_date for option in chain}
                row.update(what=f"{CHAIN_PRODUCT}, {len(expirations)} expirations, one body", items=len(chain))
            if simulator is not None:
                await trade(client, simulator, report)
    show(report.table())
    if simulator is None:
        say("No order was sent: orders are shown on the simulator only (unset BROKERAGE_BASE_URL).")


@dataclass
class Report:
    """The steps of the demo, a row each, and every request that they took."""

    progress: Progress
    attempts: list[Attempt] = field(default_factory=list)
    steps: list[dict[str, str]] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        """Time a step, show that it runs, and count its requests. The body fills in ``what`` and ``items``."""
        row: dict[str, Any] = {"what": "", "items": 0, "task": self.progress.add_task(name, total=None)}
        started, sent = time.perf_counter(), len(self.attempts)
        yield row
        elapsed = time.perf_counter() - started
        self.progress.remove_task(row["task"])
        requests = f"{len(self.attempts) - sent:,}"
        figures = {"items": f"{row['items']:,}", "requests": requests, "seconds": f"{elapsed:.3f}"}
        self.steps.append({"step": name, "what": row["what"], **figures})

    def table(self) -> Table:
        repeated = sum(attempt.number > 1 for attempt in self.attempts)
        received = sum(attempt.response_bytes for attempt in self.attempts) / 1e6
        said = f"{len(self.attempts)} requests, {repeated} of them repetitions; {received:.1f} MB of JSON"
        return table_of(self.steps, "Steps", numbers=("items", "requests", "seconds"), whole=("step",), caption=said)


async def trade(client: clients.Client, simulator: simulators.Simulator, report: Report) -> None:
    """Preview an order, place it once under an external identifier, and watch it to its end."""
    account = simulator.account_numbers[0]
    ticket = tickets.market(tickets.buy_to_open("AAPL", 100))
    with report.step("order dry-run") as row:
        preview = await client.orders.dry_run(account, ticket)
        row.update(what=f"{len(preview.warnings or ())} warnings", items=1)
    show(preview_table(preview))
    for warning in preview.warnings or ():
        say(f"warning: {warning.message or warning.code}", style="yellow")
    with report.step("order placed") as row:
        entry = client.order_entry(journals.MemoryJournal())  # on the simulator nothing is worth recovering
        placement = await entry.place(account, ticket, allow_warnings=True)
        row.update(what=f"{placement.outcome}", items=1)
    if placement.order is None or placement.order.id is None:
        return
    say(f"Placed as order {placement.order.id}, external identifier {placement.external_identifier}")
    with report.step("order watched") as row:
        order, statuses = placement.order, list[str]()
        async with aclosing(client.watch.orders(simulator.customer_id, [account], interval=POLL_EVERY)) as changes:
            async for change in changes:
                if change.key == order.id and change.after is not None:
                    order = change.after
                    statuses += [str(order.status)] if str(order.status) not in statuses else []
                    if order.terminal_at is not None:
                        break
        row.update(what=" → ".join(statuses), items=len(statuses))
    rows = (
        {
            "leg": f"{leg.action} {leg.symbol}",
            "quantity": str(fill.quantity),
            "price": str(fill.fill_price),
            "venue": str(fill.destination_venue),
            "filled at (UTC)": f"{fill.filled_at:%H:%M:%S.%f}"[:-3] if fill.filled_at else "",
        }
        for leg in order.legs or ()
        for fill in leg.fills or ()
    )
    show(table_of(rows, f"Order {order.id}: {order.status}", title_style=STYLES.get(str(order.status), "")))
