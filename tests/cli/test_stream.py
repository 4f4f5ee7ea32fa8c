"""`brokerage-async stream` and `watch --push`, against the embedded simulator."""

import io
import json
import re
from collections.abc import AsyncIterator
from decimal import Decimal
from functools import partial

import pytest
from rich.console import Console

from brokerage_async import models
from brokerage_async.cli import screen
from brokerage_async.cli import stream as command
from brokerage_async.cli.console import follow
from brokerage_async.stream import AccountEvent, Gap, Snapshot, UnknownEvent

from .commands import invoke


def run(*arguments: str) -> str:
    return invoke(*arguments, "--simulator", width=1_000).stdout


def test_stream_quotes_json_is_a_line_for_each_event() -> None:
    lines = [json.loads(line) for line in run("stream", "quotes", "AAPL", "SPY", "--count", "2", "--json").splitlines()]
    assert [(line["type"], line["eventSymbol"]) for line in lines] == [("Quote", "AAPL"), ("Quote", "SPY")]


def test_stream_quotes_without_a_terminal_prints_lines() -> None:
    shown = run("stream", "quotes", "AAPL", "--event", "Trade", "--event", "Candle", "--count", "2")
    assert "Trade  AAPL  time 20" in shown
    assert "AAPL{=d}" in shown


def test_stream_account_count_must_be_positive() -> None:
    invoke("stream", "account", "--count", "0", "--simulator", code=2)


def test_watch_push_follows_the_stream() -> None:
    assert run("watch", "balances", "--push", "--count", "1", "--json").count("\n") == 1


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
        key, cells, _ = command.row_of(event)
        assert (key, tuple(cells.values())) == (row[:2], row)
        assert json.loads(json.dumps(command.record_of(event)))["type"]


async def test_table_has_a_row_for_each_symbol_in_order_with_its_latest_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def events() -> AsyncIterator[object]:
        for symbol, bid in (("B", 1), ("A", 2), ("B", 3)):
            yield models.Quote(event_symbol=symbol, bid_price=Decimal(bid), ask_price=Decimal("1234.50"))
        yield models.Trade(event_symbol="B", price=Decimal("1.5"), day_volume=Decimal(10_000))
        yield models.Greeks(event_symbol="C", price=Decimal(7))
        yield Gap(since=None, reason="lost")
        file.truncate(0)

    file = io.StringIO()
    monkeypatch.setattr(screen, "out", Console(file=file, force_terminal=True, width=100))
    names: dict[str, str] = {}
    await follow(
        "Market", events(), partial(command.figures_of, names), command.record_of, as_json=False, count=None,
        in_order=True, numbers=names, whole=("symbol",),
    )  # fmt: skip
    lines = [line.split() for line in re.sub(r"\x1b\[[0-9;?]*\w", "", file.getvalue()).splitlines()]
    last = lines[len(lines) - lines[::-1].index(next(line for line in lines if line[:1] == ["symbol"])) - 1 :]
    assert last[0] == ["symbol", "bid", "ask", "price", "day", "volume", "Greeks", "price", "note"]
    assert last[2:6] == [
        ["A", "2.00", "1,234.50"],
        ["B", "3.00", "1,234.50", "1.50", "10,000"],
        ["C", "7.00"],
        ["Gap", "lost;", "events", "may", "be", "missing"],
    ]
