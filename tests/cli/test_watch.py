"""`brokerage-async watch` and `stream`: a table or lines of JSON, against a simulator."""

import asyncio
import io
import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import attrs
import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from brokerage_async import Client, Environment, StaticToken, models
from brokerage_async.cli import screen, stream
from brokerage_async.cli import watch as command
from brokerage_async.cli.console import ROWS, follow
from brokerage_async.models import Fill, NewOrder, NewOrderLeg, NewQuoteAlert, Order, OrderLeg, Position
from brokerage_async.simulator import Simulator
from brokerage_async.stream import AccountEvent, Gap, Snapshot, UnknownEvent
from brokerage_async.watch import Watch
from brokerage_async.watch.diff import Change
from tests.tables import lacks
from tests.trading import SMALL

from .conftest import ConnectTo, invoke

LEG = NewOrderLeg(instrument_type="Equity", symbol="AAPL", action="Buy to Open", quantity=Decimal(5))
ORDER = NewOrder(order_type="Market", time_in_force="Day", legs=(LEG,))


@pytest.fixture
def service(connect_to: ConnectTo) -> Simulator:
    """Connect commands to a simulator with an alert and an order that is filled once it was listed."""
    simulator = Simulator(**SMALL)

    async def prepare(client: Client) -> None:
        simulator.hold_order("*", "Routed")
        await client.orders.submit(simulator.account_numbers[0], ORDER)
        await client.quote_alerts.create(NewQuoteAlert(field="Last", operator=">", symbol="AAPL", threshold=9999))
        asyncio.get_running_loop().create_task(fill_once_seen(), name="market")

    async def fill_once_seen() -> None:
        looks = simulator.ledger.count
        while not looks("orders.live") and looks("balances.list") < 2:  # noqa: ASYNC110 - a ledger has no callbacks
            await asyncio.sleep(0.05)
        simulator.release_order()

    connect_to(simulator.client, prepare)
    return simulator


def run(*arguments: str) -> str:
    return invoke("watch", *arguments).stdout


def test_watch_json_is_a_line_for_each_change(service: Simulator) -> None:
    output = run("orders", "--account", service.account_numbers[0], "--json", "--count", "2", "--interval", "1")
    first, second = map(json.loads, output.splitlines())
    assert first["kind"] == "added"
    assert first["before"] is None
    assert first["after"]["legs"][0]["symbol"] == "AAPL"
    assert (second["kind"], second["key"]) == ("changed", first["key"])
    assert datetime.fromisoformat(second["at"]) >= datetime.fromisoformat(first["at"])
    assert "status" in second["fields"]
    assert second["before"] == first["after"]
    account = service.account_numbers[1]
    (line,) = run("positions", "--account", account, "--json", "--count", "1").splitlines()
    change = json.loads(line)
    assert (change["kind"], change["key"][0]) == ("added", account)
    assert change["after"]["quantity"]
    assert "mark" not in change["after"]


def test_watch_orders_is_a_table_on_a_terminal_and_lines_elsewhere(
    service: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROKERAGE_ACCOUNT", service.account_numbers[0])
    (line,) = run("orders", "--count", "1").splitlines()
    assert lacks(line, "Buy to Open 5 AAPL", "added") == []
    monkeypatch.setattr(screen, "out", Console(force_terminal=True, width=100))
    output = run("orders", "--account", service.account_numbers[0], "--count", "1")
    assert lacks(output, "Orders", "Buy to Open 5 AAPL", "added") == []


def test_watch_several_accounts_are_tables_that_fit(service: Simulator, monkeypatch: pytest.MonkeyPatch) -> None:
    accounts = [part for number in service.account_numbers[1:] for part in ("--account", number)]
    for width in (80, 110):
        monkeypatch.setattr(screen, "out", Console(force_terminal=True, width=width))
        output = run("positions", *accounts, "--marks", "--count", "1")
        assert lacks(output, "Positions", service.account_numbers[1], "gain") == []
        output = run("balances", *accounts, "--count", "2")
        assert lacks(output, "Balances", *service.account_numbers[1:], "net liq", "equity BP") == []
        assert max(map(cell_len, Text.from_ansi(output).plain.splitlines())) <= width


def test_watch_denied_account_is_named_and_ends_it_if_there_is_no_other(service: Simulator) -> None:
    accounts = ["--account", service.foreign_account_number, "--account", service.account_numbers[0]]
    result = invoke("watch", "balances", *accounts, "--interval", "1", "--count", "2")
    assert "PermissionDeniedError: balances.list" in result.stderr
    assert service.account_numbers[0] in result.stdout
    service.faults.add("GET", "/orders/live", "status(403)")
    assert "PermissionDeniedError" in invoke("watch", "orders", "--account", "X", code=1).stderr


def test_watch_alerts_and_market_begin_with_the_present_state(service: Simulator) -> None:
    assert "Last > 9999" in run("alerts", "--count", "1")
    (line,) = run("alerts", "--count", "1", "--json").splitlines()
    assert json.loads(line)["kind"] == "created"
    for collection in ("Equity", "CME"):
        assert run("market", collection, "--count", "1").split()[-1] in ("opened", "closed")
        (line,) = run("market", collection, "--json", "--count", "1").splitlines()
        assert json.loads(line)["kind"] in ("opened", "closed")


SPREAD = Order(
    id="400869569", status="Cancel Requested", price=Decimal("1.85"), price_effect="Debit",
    legs=tuple(
        OrderLeg(action=action, quantity=Decimal(1), symbol=f"AAPL  260612C{strike}000",
                 fills=(Fill(quantity=Decimal(1), fill_price=Decimal(price)),))
        for action, strike, price in (("Buy to Open", "00110", "5.00"), ("Sell to Open", "00115", "3.20"))
    ),
)  # fmt: skip
BUY = OrderLeg(action="Buy to Open", quantity=Decimal(10), symbol="AAPL")
SHARE = Order(id="400869570", status="Live", price=Decimal("150.25"), legs=(BUY,))


def change(before: Any, after: Any, key: str = "x") -> Change[Any]:
    return Change(kind="changed", key=key, before=before, after=after, at=datetime(2026, 6, 1, tzinfo=UTC))


async def drawn(width: int, show: Any, changes: list[Any]) -> str:
    """Return the last table that a terminal shows of the changes."""
    file = io.StringIO()

    async def watcher() -> AsyncIterator[Any]:
        for each in changes:
            yield each
        file.seek(0)
        file.truncate()

    with pytest.MonkeyPatch.context() as patched:
        terminal = screen.PlainConsole(file=file, force_terminal=True, width=width, color_system=None)
        patched.setattr(screen, "out", terminal)
        await show(watcher())
    return file.getvalue()


async def drawn_orders(width: int, *orders: Order) -> str:
    received: dict[str, Any] = {"status": "Received", "updated_at": None, "cancellable": True, "editable": True}
    changes = [change(attrs.evolve(each, **received), each, key=each.id) for each in orders]
    show = partial(command.show, title="Orders", cells=command.order_cells, lines=command.Watching())
    return await drawn(width, show, changes)


async def test_table_keeps_the_items_that_changed_last() -> None:
    many = [attrs.evolve(SHARE, id=str(1000 + number)) for number in range(40)]
    output = await drawn_orders(100, *many, many[0])
    shown = re.findall(r"10\d\d", output)
    assert shown[-ROWS:] == [*(order.id for order in many[-ROWS + 1 :]), "1000"]


async def test_table_of_orders_is_readable_at_any_usual_width() -> None:
    order = ("400869569", "400869570", "Cancel Requested", "1.80 Debit", "150.25", "Buy to Open 10 AAPL")
    for width in (80, 110, 200):
        output = await drawn_orders(width, SPREAD, SHARE)
        assert max(map(cell_len, Text.from_ansi(output).plain.splitlines())) <= width
        assert lacks(output, *order, "260612C00110000", "260612C00115000") == []
        assert [part for part in ("…", "3.20") if part in output] == []
    assert "No room for: change" in await drawn_orders(80, SPREAD)
    assert "No room for" not in output
    assert "changed cancellable, editable, status" in output


async def test_positions_with_marks_keep_numbers_whole(connect_to: ConnectTo) -> None:
    position = Position(
        account_number="5WT45811", symbol="AAPL  260612C00110000", quantity=Decimal(12), multiplier=Decimal(100),
        mark_price=Decimal("1234.55"), average_open_price=Decimal("1034.25"),
    )  # fmt: skip
    connect_to(lambda: Client(Environment.sandbox(), StaticToken("t")))

    async def show(watcher: Any) -> None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(Watch, "positions", lambda *_, **__: watcher)
            await command.positions(["5WT45811"], marks=True, watching=command.Watching())

    output = await drawn(80, show, [change(position, position)])
    whole = ("AAPL  260612C00110000", "1,481,460.00", "240,360.00", "1234.55")
    assert lacks(output, *whole, "No room for: change, at, opened at") == []


def streamed(*arguments: str) -> str:
    return invoke(*arguments, "--simulator", width=1_000).stdout


def test_stream_prints_a_line_for_each_event() -> None:
    lines = [
        json.loads(line) for line in streamed("stream", "quotes", "AAPL", "SPY", "--count", "2", "--json").splitlines()
    ]
    assert [(line["type"], line["eventSymbol"]) for line in lines] == [("Quote", "AAPL"), ("Quote", "SPY")]
    shown = streamed("stream", "quotes", "AAPL", "--event", "Trade", "--event", "Candle", "--count", "2")
    assert lacks(shown, "Trade  AAPL  time 20", "AAPL{=d}") == []
    assert streamed("watch", "balances", "--push", "--count", "1", "--json").count("\n") == 1
    invoke("stream", "account", "--count", "0", "--simulator", code=2)


def test_row_of_and_record_of_take_every_event() -> None:
    live = models.Order(id="7", status=models.OrderStatus.LIVE)
    table: list[tuple[object, tuple[str, str, str]]] = [
        (Gap(since=None, reason="lost"), ("Gap", "", "lost; events may be missing")),
        (Snapshot(type=models.Candle, symbol="A{=m}", events=(1, 2)), ("Candle", "A{=m}", "2 rows")),
        (AccountEvent(type="Order", data=live), ("Order", "7", "Live")),
        (AccountEvent(type="News", data={"account-number": "A"}), ("News", "A", "")),
        (UnknownEvent(type="Mood", fields={"level": 3}), ("Mood", "", "")),
        (models.Quote(event_symbol="A", bid_exchange_code="Q"), ("Quote", "A", "bid_exchange_code Q")),
    ]
    for event, row in table:
        key, cells, _ = stream.row_of(event)
        assert (key, tuple(cells.values())) == (row[:2], row)
        assert json.loads(json.dumps(stream.record_of(event)))["type"]


async def test_table_has_a_row_for_each_symbol_in_order_with_its_latest_numbers() -> None:
    bids = [("B", 1), ("A", 2), ("B", 3)]
    quotes = [
        models.Quote(event_symbol=each, bid_price=Decimal(bid), ask_price=Decimal("1234.50")) for each, bid in bids
    ]
    trade = models.Trade(event_symbol="B", price=Decimal("1.5"), day_volume=Decimal(10_000))
    events = [*quotes, trade, models.Greeks(event_symbol="C", price=Decimal(7)), Gap(since=None, reason="lost")]
    names: dict[str, str] = {}
    table = partial(follow, "Market", as_json=False, count=None, in_order=True, numbers=names, whole=("symbol",))
    show = partial(table, row=partial(stream.figures_of, names), record=stream.record_of)
    lines = [line.split() for line in Text.from_ansi(await drawn(100, show, events)).plain.splitlines()]
    assert ["symbol", "bid", "ask", "price", "day", "volume", "Greeks", "price", "note"] in lines
    assert lines[-5:-1] == [
        ["A", "2.00", "1,234.50"],
        ["B", "3.00", "1,234.50", "1.50", "10,000"],
        ["C", "7.00"],
        ["Gap", "lost;", "events", "may", "be", "missing"],
    ]
