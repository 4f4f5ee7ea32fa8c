"""Options on futures and their chains."""

import json
from datetime import date
from decimal import Decimal
from typing import Any

from brokerage_async.simulator.market.future_options import Expiration, FutureOptionChain, future_option_instrument
from brokerage_async.simulator.market.futures import future_instrument, option_products
from brokerage_async.simulator.market.instrument import FUTURES
from tests.tables import for_each

TODAY = date(2026, 6, 10)


def rows_of(chain: FutureOptionChain) -> list[Any]:
    return [json.loads(row) for row in chain.table.rows(range(len(chain.table)))]


@for_each(
    "day, future, contract",
    [
        (date(2026, 6, 12), "ESM6", "ES2M6"),
        (date(2026, 6, 18), "ESM6", "ESM6"),
        (date(2026, 6, 26), "ESU6", "ES4M6"),
        (date(2026, 7, 31), "ESU6", "ES5N6"),
        (date(2026, 12, 4), "ESZ6", "ES1Z6"),
        (date(2030, 1, 4), "ESH0", "ES1F0"),
    ],
)
def test_codes_of_an_expiration(day: date, future: str, contract: str) -> None:
    expiration = Expiration(day, FUTURES["ES"])
    assert (expiration.contract.code, expiration.option_contract) == (future, contract)
    assert expiration.date_code == f"{day:%y%m%d}"


@for_each("code", ["ES", "CL", "6E", "6J", "M2K", "10Y", "VX", "SM75"])
def test_chain_rows_are_complete_and_tradable(code: str) -> None:
    chain = FutureOptionChain(FUTURES[code], 801, TODAY)
    rows = rows_of(chain)
    assert len({row["symbol"] for row in rows}) == len(rows) == 801
    assert len({tuple(row) for row in rows}) == 1
    for row in rows[::50]:
        instrument = future_option_instrument(row["symbol"])
        assert instrument.underlying == row["underlying-symbol"]
        assert instrument.strike == Decimal(row["strike-price"])
        assert str(instrument.expires) == row["expiration-date"]
        assert option_products()[row["option-root-symbol"]].row().root_symbol == row["option-root-symbol"]
    assert [row["option-type"] for row in rows[:2]] == ["C", "P"]
    # 2026-06-19 is a holiday.
    assert [row["expiration-date"] for row in rows[399::400]] == ["2026-06-12", "2026-06-18"]


def test_options_of_every_product_are_tradable_and_end_before_their_future() -> None:
    for code, product in FUTURES.items():
        [option] = FutureOptionChain(product, 1, TODAY).table.definitions
        instrument = future_option_instrument(option.symbol)
        assert instrument.underlying == f"/{code}M6"
    for expiration in FutureOptionChain(FUTURES["ES"], 20_000, TODAY).expirations:
        future = future_instrument(expiration.contract.symbol, TODAY)
        assert future.expires is not None
        assert expiration.day <= future.expires
    assert len(option_products()) == 6 * len(FUTURES)


def test_nested_chain_has_the_options_of_the_flat_one() -> None:
    chain = FutureOptionChain(FUTURES["NQ"], 801, TODAY)
    nested = json.loads(chain.nested)
    [expirations] = [one["expirations"] for one in nested["option-chains"]]
    strikes = [strike for expiration in expirations for strike in expiration["strikes"]]
    symbols = [symbol for strike in strikes for symbol in (strike["call"], strike["put"])]
    rows = rows_of(chain)
    assert symbols == [row["symbol"] for row in rows[:800]]  # The last one has no put.
    streamed = [strike["call-streamer-symbol"] for strike in strikes]
    assert streamed == [row["streamer-symbol"] for row in rows[:800:2]]
    assert {one["underlying-symbol"] for one in expirations} <= {future["symbol"] for future in nested["futures"]}
    kinds = [(one["expiration-type"], one["settlement-type"]) for one in expirations[:2]]
    assert kinds == [("Weekly", "PM"), ("Regular", "AM")]
    chain = FutureOptionChain(FUTURES["ES"], 0, TODAY)
    assert rows_of(chain) == []
    assert json.loads(chain.nested)["option-chains"] == [
        {"underlying-symbol": "/ES", "root-symbol": "/ES", "exercise-style": "European", "expirations": []}
    ]


def test_symbol_of_another_form_is_none() -> None:
    strikes = ("", ".", "1.", ".5", "1.2.3", "-1", "1e3", "9" * 9, "1." + "0" * 9, "1\n", "١")
    symbols = ("./ESZ6 EW3U6 260231P1", "./XXZ6 EW3U6 260918P1", "./ESZ6 260918P1", "/ESZ6 EW3U6 260918P1", "./")
    for symbol in (*(f"./ESZ6 EW3U6 260918P{strike}" for strike in strikes), *symbols):
        assert future_option_instrument(symbol) is None
