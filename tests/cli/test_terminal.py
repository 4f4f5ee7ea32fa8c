"""Nothing that comes from the service is obeyed by a terminal."""

import json
import logging
import sys

from brokerage_async.cli.terminal import PlainFormatter, printable, printable_json

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


def test_printable_every_character_is_shown_or_written_out() -> None:
    for code in range(sys.maxunicode + 1):
        shown = printable(chr(code))
        assert shown.isprintable() or chr(code) in "\t\n" or shown.isspace(), hex(code)
        assert "\x1b" not in shown
        assert not "\x7f" <= shown <= "\x9f"


def test_printable_json_is_the_same_json() -> None:
    for value in (*HOSTILE, *HARMLESS):
        written = printable_json(json.dumps({"key": [value]}, ensure_ascii=False, indent=2))
        assert json.loads(written) == {"key": [value]}
        assert printable(written) == written


def test_plain_formatter_log_records_are_printable() -> None:
    record = logging.LogRecord("x", logging.WARNING, "", 1, "status %s", ("\x1b[31m",), None)
    assert PlainFormatter("%(name)s %(message)s").format(record) == "x status \\x1b[31m"
