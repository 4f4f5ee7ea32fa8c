"""Nothing that comes from the service is obeyed by a terminal."""

from __future__ import annotations

import io
import json
import logging
import sys

import pytest
from rich.console import Console
from rich.table import Table

from brokerage_async.cli.terminal import PlainConsole, PlainFormatter, printable, printable_json

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


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
def test_printable_writes_out_what_a_terminal_would_obey(hostile: str) -> None:
    assert printable(hostile) == HOSTILE[hostile]
    assert printable(f"☃ {hostile}") == f"☃ {HOSTILE[hostile]}"


@pytest.mark.parametrize("harmless", HARMLESS)
def test_printable_leaves_the_rest_as_it_is(harmless: str) -> None:
    assert printable(harmless) == harmless


def test_every_character_of_unicode_is_shown_or_written_out() -> None:
    for code in range(sys.maxunicode + 1):
        shown = printable(chr(code))
        assert shown.isprintable() or chr(code) in "\t\n" or shown.isspace(), hex(code)
        assert "\x1b" not in shown
        assert not "\x7f" <= shown <= "\x9f"


@pytest.mark.parametrize("value", [*HOSTILE, *HARMLESS], ids=ascii)
def test_printable_json_is_the_same_json(value: str) -> None:
    written = printable_json(json.dumps({"key": [value]}, ensure_ascii=False, indent=2))
    assert json.loads(written) == {"key": [value]}
    assert printable(written) == written


def printed(thing: object, *, terminal: bool) -> str:
    file = io.StringIO()
    console = PlainConsole(file=file, force_terminal=terminal, width=200, color_system=None)
    console.print(thing)
    return file.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("hostile", ["\x1b[2J", "\x9b31m", "\u202eab", "\x1b]8;;x\x07"], ids=ascii)
def test_console_prints_strings_and_tables_without_control_sequences(hostile: str, terminal: bool) -> None:
    table = Table(hostile, title=hostile, caption=hostile)
    table.add_row(hostile)
    for thing in (hostile, table):
        output = printed(thing, terminal=terminal)
        assert HOSTILE.get(hostile, printable(hostile)) in output
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


def test_console_is_a_rich_console() -> None:
    assert isinstance(PlainConsole(), Console)


def test_log_records_are_printable() -> None:
    record = logging.LogRecord("x", logging.WARNING, "", 1, "status %s", ("\x1b[31m",), None)
    assert PlainFormatter("%(name)s %(message)s").format(record) == "x status \\x1b[31m"
