"""Listed futures and their symbols."""

from __future__ import annotations

from datetime import date

from brokerage_async.simulator.market.future_products import FUTURES
from brokerage_async.simulator.market.futures import contract_after, contracts, future_instrument
from tests.tables import for_each

TODAY = date(2026, 6, 10)


@for_each("code", FUTURES)
def test_future_of_every_product(code: str) -> None:
    instrument = future_instrument(f"/{code}Z6", TODAY)
    assert (instrument.underlying, instrument.multiplier) == (f"/{code}Z6", FUTURES[code].multiplier)


@for_each("symbol", ["", "/", "/ES", "ESZ6", "/ESZ", "/ESA6", "/XXZ6", "/ESZ66", "/ESZ6\n", "/ESZ٦"])
def test_invalid_future_symbol_is_none(symbol: str) -> None:
    assert future_instrument(symbol, TODAY) is None


@for_each(
    "symbol, expires",
    [
        ("/ESM6", date(2026, 6, 18)),  # The third Friday is a holiday.
        ("/ESH6", date(2026, 3, 20)),
        ("/ESU5", date(2025, 9, 19)),
        ("/ESH5", date(2035, 3, 16)),
        ("/CLN6", date(2026, 7, 17)),
    ],
)
def test_year_of_a_future_is_at_most_one_before_today(symbol: str, expires: date) -> None:
    instrument = future_instrument(symbol, TODAY)
    assert instrument.expires == expires


def test_contracts_are_the_last_expired_one_and_seven_quarters() -> None:
    listed = [contract.code for contract in contracts(FUTURES["ES"], TODAY)]
    assert listed == ["ESH6", "ESM6", "ESU6", "ESZ6", "ESH7", "ESM7", "ESU7", "ESZ7"]
    assert [contract.code for contract in contracts(FUTURES["NQ"], date(2026, 1, 2))][:2] == ["NQZ5", "NQH6"]
    [expired, front, following, *_] = contracts(FUTURES["CL"], TODAY)
    rows = [contract.row(TODAY, front) for contract in (expired, front, following)]
    assert [(row.active, row.active_month, row.next_active_month) for row in rows] == [
        (False, False, False), (True, True, False), (True, False, True),
    ]  # fmt: skip
    assert (rows[1].symbol, rows[1].streamer_symbol, rows[1].roll_target_symbol) == ("/CLM6", "/CLM26:XCME", "/CLU6")
    assert rows[1].future_product.option_products is None


@for_each("day, code", [(date(2026, 6, 18), "ESM6"), (date(2026, 6, 19), "ESU6"), (date(2026, 12, 31), "ESH7")])
def test_contract_after_a_day(day: date, code: str) -> None:
    assert contract_after(FUTURES["ES"], day).code == code
