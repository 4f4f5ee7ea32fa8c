"""Printing and running of commands: nothing that comes from the service is obeyed by a terminal."""

import io
import itertools
import json
import logging
import sys

import pytest
import typer
from rich.console import Console
from rich.table import Table

from brokerage_async.cli import console, screen
from brokerage_async.cli.terminal import PlainFormatter, printable, printable_json
from brokerage_async.errors import NotFoundError

from .commands import printed


def test_run_errors_are_one_message_and_exit_code_1_and_others_pass(capsys: pytest.CaptureFixture[str]) -> None:
    errors: dict[Exception, str] = {
        NotFoundError("no such order [bold]", operation="orders.cancel"): (
            "NotFoundError: orders.cancel: no such order [bold]\n"
        ),
        PermissionError(13, "Permission denied", "/orders.journal"): (
            "PermissionError: [Errno 13] Permission denied: '/orders.journal'\n"
        ),
    }
    for error, said in errors.items():
        with pytest.raises(typer.Exit) as caught:
            console.run(failing(error))
        assert (caught.value.exit_code, capsys.readouterr().err) == (1, said)
    for other in (BrokenPipeError, ZeroDivisionError):  # a reader who has had enough, and a bug
        with pytest.raises(other):
            console.run(failing(other()))
        assert capsys.readouterr().err == ""
    console.complain(NotFoundError("word " * 100))
    assert capsys.readouterr().err.count("\n") == 1


async def failing(error: Exception) -> None:
    raise error


def test_show_is_as_wide_as_columns_says_or_cuts_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Table("heading")
    table.add_row("word " * 60)
    monkeypatch.delenv("COLUMNS", raising=False)
    console.show(table)
    assert ("word " * 60).strip() in capsys.readouterr().out
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr(screen, "out", Console())
    assert console.width() == 40
    console.show(table)
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 40


def test_echo_json_fits_any_stdout(monkeypatch: pytest.MonkeyPatch) -> None:
    for encoding, expected in (("utf-8", '"\u2603\U0001f600"\n'), ("latin-1", '"\\u2603\\ud83d\\ude00"\n')):
        stdout = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr("sys.stdout", stdout)
        console.echo_json("\u2603\U0001f600")
        stdout.seek(0)
        text = stdout.read()
        assert text == expected
        assert json.loads(text) == "\u2603\U0001f600"


def test_plain_console_prints_strings_and_tables_without_control_sequences() -> None:
    style_codes = ("\x1b[3m", "\x1b[1m", "\x1b[2;3m", "\x1b[2m", "\x1b[0m")  # the table's own styles
    for hostile in ("\x1b[2J", "\x9b31m", "\u202eab", "\x1b]8;;x\x07"):
        table = Table(hostile, title=hostile, caption=hostile)
        table.add_row(hostile)
        for thing, terminal in itertools.product((hostile, table), (False, True)):
            output = printed(thing, 200, terminal=terminal)
            assert printable(hostile) in output
            for code in style_codes:
                output = output.replace(code, "")
            assert printable(output) == output


def test_plain_console_takes_nothing_for_markup() -> None:
    table = Table("[b]heading[/b]", title="[red]title[/red]")
    table.add_row("[link=http://example.com]AAPL[/link] :smile:")
    output = printed(table, 200, terminal=True) + printed("[bold]x[/bold]", terminal=True)
    for literal in ("[b]heading[/b]", "[red]title[/red]", "[link=http://example.com]AAPL[/link] :smile:", "[bold]x"):
        assert literal in output


HOSTILE = {
    "\x1b[2J": "\\x1b[2J",
    "\x1b]8;;http://example.com\x1b\\AAPL\x1b]8;;\x1b\\": "\\x1b]8;;http://example.com\\x1b\\AAPL\\x1b]8;;\\x1b\\",
    "\x1b]0;title\x07": "\\x1b]0;title\\x07",
    "\x9b31m": "\\x9b31m",
    "a\rb\x08\x7f\x0b\x0c": "a\\rb\\x08\\x7f\\x0b\\x0c",
    "\x00": "\\x00",
    "\u202e0001\u202c \u2066x\u2069": "\\u202e0001\\u202c \\u2066x\\u2069",
    "a\u200bb\u2028c\u2029\ufeff": "a\\u200bb\\u2028c\\u2029\\ufeff",
    "\U000e0041": "\\U000e0041",
    "\ud800": "\\ud800",
}
HARMLESS = ["AAPL  260612C00110000", "naïve €5 ☃ 日本 😀", "a\nb\tc", "\u00a0", "[red]x[/red]", ":smile:"]


def test_printable_writes_out_what_a_terminal_would_obey_and_nothing_else() -> None:
    expected = HOSTILE | {harmless: harmless for harmless in HARMLESS}
    assert {value: printable(value) for value in expected} == expected
    assert {value: printable(f"☃ {value}")[2:] for value in expected} == expected
    for code in range(sys.maxunicode + 1):
        shown = printable(chr(code))
        assert shown.isprintable() or chr(code) in "\t\n" or shown.isspace(), hex(code)
        assert "\x1b" not in shown
        assert not "\x7f" <= shown <= "\x9f"


def test_printable_json_is_the_same_json_and_log_records_are_printable() -> None:
    for value in (*HOSTILE, *HARMLESS):
        written = printable_json(json.dumps({"key": [value]}, ensure_ascii=False, indent=2))
        assert json.loads(written) == {"key": [value]}
        assert printable(written) == written
    record = logging.LogRecord("x", logging.WARNING, "", 1, "status %s", ("\x1b[31m",), None)
    assert PlainFormatter("%(name)s %(message)s").format(record) == "x status \\x1b[31m"
