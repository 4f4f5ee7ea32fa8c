"""``brokerage-async demo``: the main job from a token to a filled order, with what happened as tables.

Runs on the embedded simulator. With ``BROKERAGE_BASE_URL`` set, the reading parts run against that service and no
order is sent.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from decimal import Decimal
from typing import Any

import attrs
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from .. import models
from ..client import Client
from ..journal import MemoryJournal
from ..observers import Attempt
from ..simulator import Simulator
from ..tickets import buy_to_open, market
from .console import err, on_real_service, out, run, say, show

__all__ = ["register"]

PAGE_SIZE = 1_000
PREFETCH = 4
CHAIN_PRODUCT = "ES"
BULK_SYMBOLS = 500
LOOK_EVERY = 0.05  # seconds; the simulator suspends nobody for polling so hard


@attrs.define
class Report:
    """What the demo did, a row per step, and every request that it took."""

    attempts: list[Attempt] = attrs.Factory(list)
    steps: list[tuple[str, str, int, int, float]] = attrs.Factory(list)

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        """Time a step and count its requests; the body fills in ``what`` and ``items``."""
        row: dict[str, Any] = {"what": "", "items": 0}
        started, sent = time.perf_counter(), len(self.attempts)
        yield row
        elapsed = time.perf_counter() - started
        self.steps.append((name, row["what"], row["items"], len(self.attempts) - sent, elapsed))

    def table(self) -> Table:
        """The steps, with the whole below them."""
        repeated = sum(attempt.number > 1 for attempt in self.attempts)
        received = sum(attempt.response_bytes for attempt in self.attempts) / 1e6
        table = Table(
            title="What happened",
            title_justify="left",
            caption=f"{len(self.attempts)} requests, {repeated} of them repetitions; {received:.1f} MB of JSON",
        )
        for heading in ("step", "what"):
            table.add_column(heading)
        for heading in ("items", "requests", "seconds"):
            table.add_column(heading, justify="right")
        for name, what, items, requests, seconds in self.steps:
            table.add_row(name, what, f"{items:,}", f"{requests:,}", f"{seconds:.3f}")
        return table


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", short_help="Show the main job, from a token to a filled order.")(demo)


def demo() -> None:
    """Get a token, page through all equities, fetch a 20,000-row chain, place an order and watch it fill.

    Orders are placed on the embedded simulator only.
    """
    run(perform())


async def perform() -> None:
    report = Report()
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
    """The client of the real service, or one on an embedded simulator together with it."""
    if on_real_service():
        async with Client.from_env(observers=[report.attempts.append]) as client:
            yield client, None
    else:
        async with Simulator() as simulator, simulator.client(observers=[report.attempts.append]) as client:
            out.print(f"Simulated brokerage at {simulator.base_url}, account {simulator.account_numbers[0]}")
            yield client, simulator


async def read_market(client: Client, report: Report) -> None:
    with report.step("token, market time") as row:
        (session, *_) = await client.market_time.current_sessions([models.InstrumentCollection.EQUITY])
        row.update(what=f"equity market is {session.state or 'in an unnamed state'}", items=1)


async def page_equities(client: Client, report: Report) -> list[str]:
    """Every equity, page by page with some pages in flight ahead; returns their symbols."""
    symbols: list[str] = []
    pages = 0
    with report.step("all equities") as row, progress_bar() as bar:
        task = bar.add_task("equities", total=None)
        async for page in client.instruments.equities(per_page=PAGE_SIZE).prefetch(PREFETCH).pages():
            pages += 1
            symbols += [equity.symbol for equity in page.items if equity.symbol]
            total = page.pagination.total_items if page.pagination else None
            bar.update(task, completed=len(symbols), total=total)
        row.update(what=f"{pages} pages of {PAGE_SIZE:,}, {PREFETCH} in flight", items=len(symbols))
    return symbols


def progress_bar() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=err, transient=True)


async def fetch_in_bulk(client: Client, report: Report, symbols: list[str]) -> None:
    with report.step("bulk by symbol") as row:
        result = await client.bulk.equities([*symbols, "NO.SUCH"], concurrency=8, batch_size=50)
        row.update(what=f"{len(result.missing)} missing, {len(result.failed)} failed", items=len(result.found))


async def fetch_chain(client: Client, report: Report) -> None:
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
        row.update(what=f"{placement.outcome}, {placement.external_identifier}", items=1)
    if placement.order is None or placement.order.id is None:
        return
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
    """Follow the order through the live list until it is terminal."""
    statuses: list[str] = []
    async with aclosing(
        client.watch.orders(simulator.customer_id, [account], interval=LOOK_EVERY, min_interval=LOOK_EVERY)
    ) as changes:
        async for change in changes:
            if change.key == order_id and change.after is not None:
                statuses.append(str(change.after.status))
                if change.after.terminal_at is not None:
                    return History(change.after, list(dict.fromkeys(statuses)))
    raise AssertionError("a watcher does not end by itself")


def preview_table(preview: models.PlacedOrderResponse) -> Table:
    table = Table(title="Dry-run: what the order would do", title_justify="left")
    table.add_column("figure")
    table.add_column("amount", justify="right")
    effect, fees = preview.buying_power_effect, preview.fee_calculation
    if effect is not None:
        table.add_row("buying power now", money(effect.current_buying_power))
        table.add_row("change", money(effect.change_in_buying_power, effect.change_in_buying_power_effect))
        table.add_row("buying power after", money(effect.new_buying_power))
    if fees is not None:
        table.add_row("fees", money(fees.total_fees, fees.total_fees_effect))
    for warning in preview.warnings or ():
        table.add_row("warning", warning.message or warning.code or "")
    return table


def fills_table(order: models.Order) -> Table:
    table = Table(title=f"Order {order.id}: {order.status}", title_justify="left")
    for heading in ("leg", "quantity", "price", "venue", "filled at (UTC)"):
        table.add_column(heading)
    for leg in order.legs or ():
        for fill in leg.fills or ():
            at = f"{fill.filled_at:%H:%M:%S.%f}"[:-3] if fill.filled_at else None
            row = (f"{leg.action} {leg.symbol}", fill.quantity, fill.fill_price, fill.destination_venue, at)
            table.add_row(*(str(value) for value in row))
    return table


def money(amount: Decimal | None, effect: object | None = None) -> str:
    if amount is None:
        return "not told"
    return f"{amount:,.2f} {effect or ''}".rstrip()
