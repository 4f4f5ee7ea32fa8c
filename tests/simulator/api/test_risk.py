"""Position limits and SPAN files."""

from typing import Any

from tests.simulator.harness import Harness
from tests.tables import for_each


def span(harness: Harness, query: str) -> Any:
    return harness.decoded("risk.span_rows", f"/span/rows?{query}")


def test_limits_of_an_account_and_span_file_of_each_future(harness: Harness) -> None:
    limits = harness.decoded("risk.position_limit", f"/accounts/{harness.account}/position-limit")
    assert limits.account_number == harness.account
    assert limits.equity_order_size < limits.equity_position_size
    header, *rows = span(harness, "date=2026-06-09&exchange=CFE")
    assert header.row_data.startswith("0 CFE   20260609")
    futures = [row for row in harness.rows("/instruments/futures") if row["exchange"] == "CFE"]
    assert len(rows) == len(futures) == 14
    assert [row.row_index for row in (header, *rows)] == list(range(15))
    assert {len(row.row_data) for row in (header, *rows)} == {80}
    close = harness.state.prices.underlying_price("/VXM6", harness.now - 17.75 * 3600)  # 16:15 of the day before.
    assert f"FUT202606{close:>20f}" in rows[0].row_data
    body = harness.get("/span/rows?date=2026-06-09&exchange=CME&per-page=100&page-offset=1")
    assert body["pagination"]["total-items"] == 1 + 7 * 80
    assert [row["row-index"] for row in body["data"]["items"]] == list(range(100, 200))


@for_each("day", ["2026-06-07", "2026-06-10", "2030-01-02", "1900-01-01"])
def test_day_without_a_finished_session_has_no_file(harness: Harness, day: str) -> None:
    assert span(harness, f"date={day}&exchange=CME") == []


@for_each("query", ["date=2026-06-09", "exchange=CME", "date=2026-06-09&exchange=SMALLS"])
def test_missing_or_unknown_parameter_is_refused(harness: Harness, query: str) -> None:
    assert harness.ask("GET", f"/span/rows?{query}").status == 422
