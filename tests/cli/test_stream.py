"""`brokerage-async stream` and `watch --push`, against the embedded simulator."""

import io
import json
import re
from collections.abc import AsyncIterator

import pytest
from rich.console import Console
from typer.testing import CliRunner

from brokerage_async import models
from brokerage_async.cli import screen
from brokerage_async.cli import stream as command
from brokerage_async.cli.app import app
from brokerage_async.cli.console import follow
from brokerage_async.stream import AccountEvent, Gap, Snapshot, UnknownEvent


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments, "--simulator"])
    assert result.exit_code == 0, (result.output, result.exception)
    return result.stdout


def test_stream_quotes_json_is_a_line_for_each_event() -> None:
    lines = [json.loads(line) for line in run("stream", "quotes", "AAPL", "SPY", "--count", "2", "--json").splitlines()]
    assert [(line["type"], line["eventSymbol"]) for line in lines] == [("Quote", "AAPL"), ("Quote", "SPY")]


def test_stream_quotes_without_a_terminal_prints_lines() -> None:
    shown = run("stream", "quotes", "AAPL", "--event", "Trade", "--event", "Candle", "--count", "2")
    assert "Trade  AAPL  time 20" in shown
    assert "AAPL{=d}" in shown


def test_stream_account_count_must_be_positive() -> None:
    result = CliRunner().invoke(app, ["stream", "account", "--count", "0", "--simulator"])
    assert result.exit_code == 2


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


async def test_table_shows_the_latest_event_of_each_symbol_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    async def events() -> AsyncIterator[models.Quote]:
        for symbol, code in (("B", "Q"), ("A", "X"), ("B", "Z")):
            yield models.Quote(event_symbol=symbol, bid_exchange_code=code)
        file.truncate(0)

    file = io.StringIO()
    monkeypatch.setattr(screen, "out", Console(file=file, force_terminal=True, width=100))
    await follow("Market", events(), command.row_of, command.record_of, as_json=False, count=None, in_order=True)
    assert re.findall("bid_exchange_code (.)", file.getvalue())[-2:] == ["X", "Z"]
