"""Printing and running of commands."""

from __future__ import annotations

import io
import json

import pytest
import typer
from rich.console import Console
from rich.table import Table

from brokerage_async.cli import console
from brokerage_async.cli.terminal import printable
from brokerage_async.errors import NotFoundError


def test_one_of_our_errors_is_one_message_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    async def fail() -> None:
        raise NotFoundError("no such order [bold]", operation="orders.cancel")

    with pytest.raises(typer.Exit) as caught:
        console.run(fail())
    assert caught.value.exit_code == 1
    assert capsys.readouterr().err.strip() == "NotFoundError: orders.cancel: no such order [bold]"


def test_an_error_of_the_system_is_one_message_too(capsys: pytest.CaptureFixture[str]) -> None:
    async def fail() -> None:
        raise PermissionError(13, "Permission denied", "/orders.journal")

    with pytest.raises(typer.Exit) as caught:
        console.run(fail())
    assert caught.value.exit_code == 1
    assert capsys.readouterr().err == "PermissionError: [Errno 13] Permission denied: '/orders.journal'\n"


def test_a_message_is_not_cut_into_lines(capsys: pytest.CaptureFixture[str]) -> None:
    console.complain(NotFoundError("word " * 100))
    assert capsys.readouterr().err.count("\n") == 1


class TestTables:
    TABLE = Table("heading")
    TABLE.add_row("word " * 60)

    def test_without_a_terminal_nothing_is_cut(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.delenv("COLUMNS", raising=False)
        console.show(self.TABLE)
        assert ("word " * 60).strip() in capsys.readouterr().out

    def test_columns_says_how_wide(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        monkeypatch.setenv("COLUMNS", "40")
        monkeypatch.setattr(console, "out", Console())
        assert console.columns() == 40
        console.show(self.TABLE)
        assert max(map(len, capsys.readouterr().out.splitlines())) <= 40


def test_a_reader_who_has_had_enough_is_no_error_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    async def fail() -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        console.run(fail())
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("encoding", "expected"), [("utf-8", '"\u2603\U0001f600"\n'), ("latin-1", '"\\u2603\\ud83d\\ude00"\n')]
)
def test_json_that_any_stdout_can_carry(monkeypatch: pytest.MonkeyPatch, encoding: str, expected: str) -> None:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr("sys.stdout", stdout)
    console.echo_json("\u2603\U0001f600")
    stdout.seek(0)
    text = stdout.read()
    assert text == expected
    assert json.loads(text) == "\u2603\U0001f600"


def test_any_other_exception_is_a_bug_and_shows_itself() -> None:
    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        console.run(fail())


def printed(thing: object, *, terminal: bool) -> str:
    file = io.StringIO()
    plain = console.PlainConsole(file=file, force_terminal=terminal, width=200, color_system=None)
    plain.print(thing)
    return file.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("hostile", ["\x1b[2J", "\x9b31m", "\u202eab", "\x1b]8;;x\x07"], ids=ascii)
def test_console_prints_strings_and_tables_without_control_sequences(hostile: str, terminal: bool) -> None:
    table = Table(hostile, title=hostile, caption=hostile)
    table.add_row(hostile)
    for thing in (hostile, table):
        output = printed(thing, terminal=terminal)
        assert printable(hostile) in output
    style_codes = ("\x1b[3m", "\x1b[1m", "\x1b[2;3m", "\x1b[2m", "\x1b[0m")  # those of the table itself
    for code in style_codes:
        output = output.replace(code, "")
    assert printable(output) == output


def test_console_takes_nothing_for_markup() -> None:
    table = Table("[b]heading[/b]", title="[red]title[/red]")
    table.add_row("[link=http://example.com]AAPL[/link] :smile:")
    output = printed(table, terminal=True) + printed("[bold]x[/bold]", terminal=True)
    for literal in ("[b]heading[/b]", "[red]title[/red]", "[link=http://example.com]AAPL[/link] :smile:", "[bold]x"):
        assert literal in output
