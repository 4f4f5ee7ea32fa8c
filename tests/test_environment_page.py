"""The page of environment variables lists those that the console knows."""

import re

from brokerage_async.cli.service import KNOWN

from .documents import ROOT


def test_page_lists_every_variable_once() -> None:
    page = (ROOT / "docs" / "reference" / "environment.md").read_text("utf-8")
    assert sorted(re.findall(r"^\| `(BROKERAGE_\w+)`", page, re.MULTILINE)) == sorted(KNOWN)
