"""Index of messages: literals of errors, with values left out."""

from __future__ import annotations

from pathlib import Path

from codegen.site.messages import Message, messages, render
from codegen.site.pages import ERRORS, ROOT

SOURCE = """
def work(name, count):
    raise ConfigurationError(f"{name} must be at least {count}, got " + str(count))
    raise errors.ConfigurationError("the client is closed")
    raise ConfigurationError(f"{name}: {count}")
    raise ValueError("of Python")
    yield ErrorDetail("missing", "is required", name)
"""


def test_messages_of_a_package_are_read_from_its_code(tmp_path: Path) -> None:
    for folder in ("http", "cli"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").write_text(SOURCE)
    (tmp_path / "top.py").write_text('ConfigurationError("the client is closed")')
    assert messages(tmp_path, frozenset({"ConfigurationError", "ErrorDetail"})) == [
        Message("is required", "ErrorDetail", ("http",)),
        Message("… must be at least …, got …", "ConfigurationError", ("http",)),
        Message("the client is closed", "ConfigurationError", ("http", "top")),
    ]
    page = render(ROOT / "brokerage_async", ERRORS)
    assert "| the client is closed | {py:obj}`~brokerage_async.errors.ConfigurationError` |" in page
    assert "{py:obj}`~brokerage_async.journal.JournalError`" in page
    assert page.count("\n|") > 150
