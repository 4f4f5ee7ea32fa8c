"""`brokerage-async stream` and `watch --push`, against the embedded simulator."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console
from typer.testing import CliRunner

from brokerage_async import models
from brokerage_async.cli import screen
from brokerage_async.cli import stream as command
from brokerage_async.cli.app import app
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


def test_row_of_and_print_line_take_every_event(capsys: pytest.CaptureFixture[str]) -> None:
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
        assert command.row_of(event) == row
        command.print_line(event)
        assert json.loads(capsys.readouterr().out)["type"]


def test_board_shows_the_latest_event_of_each_symbol(monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.StringIO()
    monkeypatch.setattr(screen, "out", Console(file=file, force_terminal=True, width=100))
    with command.board("Market") as add:
        for code in ("Q", "Z"):
            add(models.Quote(event_symbol="ACME", bid_exchange_code=code))
    assert "bid_exchange_code Z" in file.getvalue()
