"""Demo command: the main job from a token to a filled order, with tables of its steps."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from decimal import Decimal
from typing import Any

import attrs
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from .. import models
from ..client import Client
from ..journal import MemoryJournal
from ..observers import Attempt
from ..simulator import Simulator
from ..tickets import buy_to_open, market
from .console import err, say, show
from .order_tables import order_style
from .service import connect, serve_simulated

__all__ = ["perform"]

PAGE_SIZE = 1_000
PREFETCH = 4
CHAIN_PRODUCT = "ES"
BULK_SYMBOLS = 500
POLL_EVERY = 1.0  # seconds: as often as the library polls this list at all


@attrs.define
class Report:
    """The steps of the demo, a row each, and every request that they took."""

    progress: Progress
    attempts: list[Attempt] = attrs.Factory(list)
    steps: list[tuple[str, str, int, int, float]] = attrs.Factory(list)

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        """Time a step, show that it runs, and count its requests; the body fills in ``what`` and ``items``."""
        row: dict[str, Any] = {"what": "", "items": 0, "task": self.progress.add_task(name, total=None)}
        started, sent = time.perf_counter(), len(self.attempts)
        yield row
        elapsed = time.perf_counter() - started
        self.progress.remove_task(row["task"])
        self.steps.append((name, row["what"], row["items"], len(self.attempts) - sent, elapsed))

    def table(self) -> Table:
        """Build a table of the steps, with the totals below them."""
        repeated = sum(attempt.number > 1 for attempt in self.attempts)
        received = sum(attempt.response_bytes for attempt in self.attempts) / 1e6
        table = Table(
            title="Steps",
            title_justify="left",
            caption=f"{len(self.attempts)} requests, {repeated} of them repetitions; {received:.1f} MB of JSON",
        )
        table.add_column("step", style="cyan", no_wrap=True)
        table.add_column("what", overflow="fold")
        for heading in ("items", "requests", "seconds"):
            table.add_column(heading, justify="right", no_wrap=True)
        for name, what, items, requests, seconds in self.steps:
            table.add_row(name, what, f"{items:,}", f"{requests:,}", f"{seconds:.3f}")
        return table


async def perform() -> None:
    """Run the steps: on a simulator, or the reading ones on the service that the environment names."""
    with progress_bar() as progress:
        report = Report(progress)
        async with stage(report) as (client, simulator):
            await read_market(client, report)
            symbols = await page_equities(client, report)
            await fetch_in_bulk(client, report, symbols[:BULK_SYMBOLS])
            await fetch_chain(client, report)
            if simulator is not None:
                await trade(client, simulator, report)
    show(report.table())
    if simulator is None:
        say("No order was sent: orders are shown on the simulator only (unset BROKERAGE_BASE_URL).")


@asynccontextmanager
async def stage(report: Report) -> AsyncIterator[tuple[Client, Simulator | None]]:
    """Connect to the service that the environment names, or start a simulator."""
    observers = [report.attempts.append]
    on_service = bool(os.environ.get("BROKERAGE_BASE_URL"))
    async with (
        connect(simulated=False, observers=observers) if on_service else serve_simulated(observers=observers)
    ) as service:
        if service.simulator is not None:
            say(f"Account {service.simulator.account_numbers[0]}")
        yield service.client, service.simulator


def progress_bar() -> Progress:
    """Return a display of the running step, on a terminal only."""
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,.0f}"),
        TimeElapsedColumn(),
    )  # fmt: skip
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)


async def read_market(client: Client, report: Report) -> None:
    """Read the state of the equity market."""
    with report.step("token, market time") as row:
        (session, *_) = await client.market_time.current_sessions([models.InstrumentCollection.EQUITY])
        row.update(what=f"equity market is {session.state or 'in an unnamed state'}", items=1)


async def page_equities(client: Client, report: Report) -> list[str]:
    """Read every equity, page by page with some pages in flight ahead, and return their symbols."""
    symbols: list[str] = []
    pages = 0
    with report.step("all equities") as row:
        async for page in client.instruments.equities(per_page=PAGE_SIZE).prefetch(PREFETCH).pages():
            pages += 1
            symbols += [equity.symbol for equity in page.items if equity.symbol]
            total = page.pagination.total_items if page.pagination else None
            report.progress.update(row["task"], completed=len(symbols), total=total)
        row.update(what=f"{pages} pages of {PAGE_SIZE:,}, {PREFETCH} in flight", items=len(symbols))
    return symbols


async def fetch_in_bulk(client: Client, report: Report, symbols: list[str]) -> None:
    """Fetch many equities by symbol, one of them unknown."""
    with report.step("bulk by symbol") as row:
        result = await client.bulk.equities([*symbols, "NO.SUCH"], concurrency=8, batch_size=50)
        row.update(what=f"{len(result.missing)} missing, {len(result.failed)} failed", items=len(result.found))


async def fetch_chain(client: Client, report: Report) -> None:
    """Fetch a whole chain of options on futures."""
    with report.step("futures option chain") as row:
        chain = await client.instruments.futures_option_chain(CHAIN_PRODUCT)
        expirations = {option.expiration_date for option in chain}
        row.update(what=f"{CHAIN_PRODUCT}, {len(expirations)} expirations, one body", items=len(chain))


async def trade(client: Client, simulator: Simulator, report: Report) -> None:
    """Preview an order, place it once under an external identifier, and watch it to its end."""
    account = simulator.account_numbers[0]
    order = market(buy_to_open("AAPL", 100))
    with report.step("order dry-run") as row:
        preview = await client.orders.dry_run(account, order)
        row.update(what=f"{len(preview.warnings or ())} warnings", items=1)
    show(preview_table(preview))
    with report.step("order placed") as row:
        entry = client.order_entry(MemoryJournal())  # on the simulator nothing is worth recovering
        placement = await entry.place(account, order, allow_warnings=True)
        row.update(what=f"{placement.outcome}", items=1)
    if placement.order is None or placement.order.id is None:
        return
    say(f"Placed as order {placement.order.id}, external identifier {placement.external_identifier}")
    with report.step("order watched") as row:
        history = await watch_to_the_end(client, simulator, account, placement.order.id)
        row.update(what=" → ".join(history.statuses), items=len(history.statuses))
    show(fills_table(history.order))


@attrs.define
class History:
    """An order and the statuses that it was seen in."""

    order: models.Order
    statuses: list[str]


async def watch_to_the_end(client: Client, simulator: Simulator, account: str, order_id: str) -> History:
    """Follow the order through the live list until it is terminal, as often as the library polls at most."""
    statuses: list[str] = []
    async with aclosing(client.watch.orders(simulator.customer_id, [account], interval=POLL_EVERY)) as changes:
        async for change in changes:
            if change.key == order_id and change.after is not None:
                statuses.append(str(change.after.status))
                if change.after.terminal_at is not None:
                    return History(change.after, list(dict.fromkeys(statuses)))
    raise AssertionError("a watcher does not end by itself")


def preview_table(preview: models.PlacedOrderResponse) -> Table:
    """Build a table of buying power, fees and warnings."""
    table = Table(title="Dry-run", title_justify="left")
    table.add_column("figure", style="cyan")
    table.add_column("amount", justify="right")
    effect, fees = preview.buying_power_effect, preview.fee_calculation
    if effect is not None:
        table.add_row("buying power now", money(effect.current_buying_power))
        table.add_row("change", money(effect.change_in_buying_power, effect.change_in_buying_power_effect))
        table.add_row("buying power after", money(effect.new_buying_power))
    if fees is not None:
        table.add_row("fees", money(fees.total_fees, fees.total_fees_effect))
    for warning in preview.warnings or ():
        table.add_row("warning", warning.message or warning.code or "", style="yellow")
    return table


def fills_table(order: models.Order) -> Table:
    """Build a table of the fills of an order."""
    table = Table(title=f"Order {order.id}: {order.status}", title_justify="left", title_style=order_style(order))
    for heading in ("leg", "quantity", "price", "venue", "filled at (UTC)"):
        table.add_column(heading)
    for leg in order.legs or ():
        for fill in leg.fills or ():
            at = f"{fill.filled_at:%H:%M:%S.%f}"[:-3] if fill.filled_at else None
            row = (f"{leg.action} {leg.symbol}", fill.quantity, fill.fill_price, fill.destination_venue, at)
            table.add_row(*(str(value) for value in row))
    return table


def money(amount: Decimal | None, effect: object | None = None) -> str:
    """Return an amount in dollars with its effect."""
    if amount is None:
        return "unknown"
    return f"{amount:,.2f} {effect or ''}".rstrip()
