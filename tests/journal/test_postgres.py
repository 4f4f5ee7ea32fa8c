"""Arguments and secrets of the PostgreSQL journal, without a server.

The suite of all journals is in `test_journals.py`. Connections are in `test_connections.py`, tables in
`test_schema.py`.
"""

import io
import sys
import traceback
from importlib.util import find_spec
from urllib.parse import quote

import pytest
from rich.console import Console
from rich.traceback import Traceback

from brokerage_async.errors import ConfigurationError
from brokerage_async.journal import EntryKey, JournalError, PostgresJournal
from tests.http.calls import raised_by
from tests.loops import on_real_time
from tests.protocol.values import raised
from tests.tables import for_each

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(find_spec("psycopg") is None, reason="psycopg is not installed (extra [postgres])"),
]

KEY = EntryKey("https://api.example.com", "sandbox", "A1", "one")
PASSWORD = "hunter2 with/odd'signs"
DSN = f"postgresql://someone:{quote(PASSWORD, safe='')}@127.0.0.1:1/none?application_name={'x' * 80}"


def shown_in(error: BaseException) -> str:
    """Return everything that tools show of an error: message, chain and, as rich prints them, locals of frames.

    The frame of the test is left out, because it holds the password itself.
    """
    error = error.with_traceback(error.__traceback__ and error.__traceback__.tb_next)
    output = io.StringIO()
    for length in (None, 80, 30):  # a truncated value may show part of a secret
        trace = Traceback.from_exception(
            type(error), error, error.__traceback__, show_locals=True, locals_max_string=length
        )
        Console(file=output, width=300).print(trace)
    chain = [error, error.__cause__, error.__context__]
    return "\n".join(
        [output.getvalue(), *traceback.format_exception(error), *map(repr, chain), *map(str, chain), str(vars(error))]
    )


def check_hidden(shown: str) -> None:
    for part in ("hunter2", PASSWORD, quote(PASSWORD, safe=""), "odd%27signs"):
        assert part not in shown


@for_each("table", ["", "Orders", "a b", "a;b", "1a", "a" * 60, 'a"', "schema.table", 'x"; DROP y; --'])
def test_a_table_has_a_plain_name(table: str) -> None:
    error = raised(ConfigurationError, PostgresJournal, DSN, table=table, match="table must be a plain lower-case name")
    check_hidden(shown_in(error))


def test_what_it_cannot_work_with_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Options with which it would never end or never begin, and the lack of the extra."""
    for name, value in (("timeout", None), ("timeout", 0), ("connections", 0), ("connections", 1.5)):
        raised(ConfigurationError, PostgresJournal, DSN, match=name, **{name: value})
    monkeypatch.setitem(sys.modules, "psycopg", None)
    raised(ConfigurationError, PostgresJournal, DSN, match=r"brokerage-async\[postgres\]")


@for_each("dsn", ["host=x password=hunter2 hunter3", "postgresql://u:hunter2@h/d?x%ZZ", "hunter2", "passwrd=hunter2"])
def test_an_invalid_connection_string_is_refused_without_showing_it(dsn: str) -> None:
    """libpq quotes the part that it cannot read."""
    error = raised(ConfigurationError, PostgresJournal, dsn, match="dsn must be a libpq connection string or URL")
    assert "hunter" not in shown_in(error)


@for_each("dsn", [DSN, f"host=/nowhere user=u password='{PASSWORD.replace(chr(39), chr(92) + chr(39))}'"])
@on_real_time
async def test_the_password_is_in_no_error_frame_or_variable(dsn: str) -> None:
    async with PostgresJournal(dsn, timeout=5) as journal:
        check_hidden(f"{journal!r} {journal} {vars(journal)} {[str(value) for value in vars(journal).values()]}")
        with pytest.raises(JournalError, match="brokerage_journal cannot be used") as caught:
            await journal.open(KEY, b"", owner="a", lease=30)
    error = caught.value
    frames = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    assert not any("psycopg" in name for name in frames), "the driver's frames hold the connection string"
    assert (error.__cause__, error.__context__) == (None, None)
    check_hidden(shown_in(error))
    await raised_by(journal.find(KEY), JournalError, "is closed")


@on_real_time
async def test_a_message_that_quotes_the_password_is_redacted() -> None:
    journal = PostgresJournal(DSN)
    for secret in (PASSWORD, quote(PASSWORD)):
        reason = journal._reason_of(OSError(f"cannot use {secret!s} here"))
        assert reason == "the journal table brokerage_journal cannot be used: cannot use <secret> here"
    for _ in range(2):  # closing an unused journal is harmless
        await journal.aclose()
