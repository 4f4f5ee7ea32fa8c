"""Adapters from endpoints to batches, and ranges of dates, without any I/O."""

import asyncio
import itertools
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import models
from brokerage_async.bulk import over_range, split_range
from brokerage_async.bulk.by_symbol import by_requested, by_type
from brokerage_async.errors import ConfigurationError, InvalidRequestError
from brokerage_async.protocol.validation.rules import add_months

SYMBOL = st.text("aB/. 1", min_size=1, max_size=4)


@given(st.lists(SYMBOL, unique=True), st.data())
def test_by_requested_keys_are_requested_symbols(asked: Any, data: st.DataObject) -> None:
    rows = {symbol: models.Equity(symbol=symbol) for symbol in data.draw(st.lists(SYMBOL, unique=True))}
    found = by_requested(asked, rows.values())
    for symbol in asked:
        if symbol in rows:
            assert found[symbol] is rows[symbol]
    assert set(found) <= set(asked)


def test_by_requested_other_spelling_keeps_the_requested_key() -> None:
    rows = [models.Equity(symbol=symbol) for symbol in ("AAPL", "./ESZ6 EW3U6  260918P9100", "BRK/B", "UNASKED")]
    asked = ["aapl", "./ESZ6 EW3U6 260918P9100", "BRK/B", "MSFT"]
    found = by_requested(asked, [*rows, models.Equity()])
    assert {key: equity.symbol for key, equity in found.items()} == {
        "aapl": "AAPL",
        "./ESZ6 EW3U6 260918P9100": "./ESZ6 EW3U6  260918P9100",
        "BRK/B": "BRK/B",
    }
    found = by_requested(["ESZ6", "/CLZ6"], [models.Future(symbol="/ESZ6"), models.Future(symbol="/CLZ6")])
    assert {key: future.symbol for key, future in found.items()} == {"ESZ6": "/ESZ6", "/CLZ6": "/CLZ6"}


def test_by_type_groups_by_parameter_and_given_types_win() -> None:
    symbols = ["AAPL", "SPX", "/ESZ6", "BTC/USD", "ES"]
    assert by_type(symbols, {"SPX": "Index"}) == {
        "equity": ["AAPL", "ES"],
        "index": ["SPX"],
        "future": ["/ESZ6"],
        "cryptocurrency": ["BTC/USD"],
    }


def test_split_range_gives_the_fewest_parts_of_a_valid_range() -> None:
    assert split_range(date(2026, 1, 1), date(2026, 9, 30)) == [(date(2026, 1, 1), date(2026, 9, 30))]
    assert split_range(date(2025, 1, 1), date(2026, 12, 31)) == [
        (date(2025, 1, 1), date(2025, 9, 30)),
        (date(2025, 10, 1), date(2026, 6, 30)),
        (date(2026, 7, 1), date(2026, 12, 31)),
    ]
    for end, months in ((date(2025, 12, 31), 9), (date(2026, 1, 2), 0)):
        with pytest.raises((InvalidRequestError, ConfigurationError), match=r"must not be before|at least 1"):
            split_range(date(2026, 1, 1), end, months=months)


@given(st.dates(), st.integers(0, 20_000), st.integers(1, 24))
def test_split_range_covers_every_day_once_within_the_span(start: date, days: int, months: int) -> None:
    end = start + timedelta(days=min(days, (date.max - start).days))
    parts = split_range(start, end, months=months)

    assert parts[0][0] == start
    assert parts[-1][1] == end
    for (_, before), (after, _) in itertools.pairwise(parts):
        assert after == before + timedelta(days=1)
    assert all(first <= last < add_months(first, months) or last == date.max for first, last in parts)


@pytest.mark.virtual_time
async def test_over_range_fetches_concurrently_and_joins_in_order() -> None:
    asked = []

    async def fetch(start: Any, end: Any) -> Any:
        asked.append((start, end))
        await asyncio.sleep(10 - start.month % 7)  # later parts may answer first
        return [start, end]

    days = await over_range(fetch, date(2020, 1, 1), date(2023, 12, 31), concurrency=8)

    assert days == [day for part in split_range(date(2020, 1, 1), date(2023, 12, 31)) for day in part] == sorted(days)
    assert len(asked) == 6
    assert asyncio.get_running_loop().time() <= 10


async def test_over_range_failing_part_cancels_the_others() -> None:
    cancelled = []

    async def fetch(start: Any, end: Any) -> None:
        if start.year == 2022:
            raise LookupError(start)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(start)
            raise

    with pytest.raises(LookupError):
        await over_range(fetch, date(2020, 1, 1), date(2023, 12, 31))
    assert len(cancelled) == 5
    assert len(asyncio.all_tasks()) == 1
