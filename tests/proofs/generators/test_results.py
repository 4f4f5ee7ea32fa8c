"""The report of all tools and its exit code."""

from __future__ import annotations

import pytest

from tests.proofs.generators.results import LISTS, Result, report


def test_report_counts_and_names_problems(capsys: pytest.CaptureFixture[str]) -> None:
    good = Result(tool="tool", check="typed rows", total=2)
    bad = Result(tool="tool", check="bodies", total=3, problems=("orders.list",))
    assert report([good, bad]) == 1
    assert capsys.readouterr().out == "tool: typed rows: 2 of 2\ntool: bodies: 2 of 3\n  orders.list\n"
    assert report([good]) == 0


def test_report_of_nothing_checked_is_a_failure() -> None:
    assert report([Result(tool="tool", check="typed rows", total=0)]) == 1


def test_lists_are_all_answers_that_may_be_lists() -> None:
    assert LISTS["orders.list"] == "Order"
    assert LISTS["market_time.equity_holidays"] == "HolidayCalendar"
    assert "orders.get" not in LISTS
    assert len(LISTS) > 40
