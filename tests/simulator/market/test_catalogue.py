"""Catalogue of instruments: rows, symbols, the products behind them, and options on futures with their chains."""

import json
from datetime import date
from decimal import Decimal
from typing import Any

from brokerage_async.simulator import Simulator
from brokerage_async.simulator.market import catalogue
from brokerage_async.simulator.market.catalogue import FutureOptionChain, contracts, future_instrument
from brokerage_async.simulator.market.instrument import FUTURES
from tests.simulator.harness import Harness
from tests.tables import for_each

TODAY = date(2026, 6, 10)


def test_listed_options_can_be_traded_and_unknown_instruments_are_none(harness: Harness) -> None:
    for row in harness.rows("/instruments/equity-options") + harness.rows("/futures-option-chains/ES"):
        assert harness.instrument(row["symbol"]).underlying == row["underlying-symbol"]
    strikes = ("", ".", "1.", ".5", "1.2.3", "-1", "1e3", "9" * 9, "1." + "0" * 9, "1\n", "١")
    unknown = {
        "Equity": ("NOTTHERE", "SPX"),
        "Equity Option": (
            *("", "AAPL", "AAPL  269999C00100000", "AAPL  260231C00110000", "260612C00110000"),
            *("AAPL  260612X00110000", "AAPL  260612C0011000", "AAPL  260612C00110000\n", "AAPL  ٢٦٠٦١٢C00110000"),
            *("aapl  260612C00110000", "TOOLONG260612C00110000"),
        ),
        "Future": ("", "/", "/ES", "ESZ6", "/ESZ", "/ESA6", "/XXZ6", "/ESZ66", "/ESZ6\n", "/ESZ٦"),
        "Future Option": (
            *("./ESZ6 EW3U6 269999P9100", "./ESZ6 EW3U6 260231P1", "./XXZ6 EW3U6 260918P1", "./ESZ6 260918P1"),
            *("/ESZ6 EW3U6 260918P1", "./", *(f"./ESZ6 EW3U6 260918P{strike}" for strike in strikes)),
        ),
        "Cryptocurrency": ("DOGE",),
        "Liquidity Pool": ("AAPL",),
    }
    find = harness.state.catalogue.instrument
    assert [(kind, each) for kind, symbols in unknown.items() for each in symbols if find(kind, each)] == []
    assert "equities" not in vars(Simulator().brokerage.state.catalogue)
    sizes = catalogue.Sizes()
    assert (sizes.equities, sizes.equity_options, sizes.chain_rows) == (10_000, 5_000, 20_000)


def test_year_of_a_future_is_at_most_one_before_today() -> None:
    expirations = {  # The third Friday of June is a holiday.
        "/ESM6": "2026-06-18",
        "/ESH6": "2026-03-20",
        "/ESU5": "2025-09-19",
        "/ESH5": "2035-03-16",
        "/CLN6": "2026-07-17",
    }
    assert {symbol: str(future_instrument(symbol, TODAY).expires) for symbol in expirations} == expirations


def test_contracts_are_the_last_expired_one_and_seven_quarters() -> None:
    listed = [contract.code for contract in contracts(FUTURES["ES"], TODAY)]
    assert listed == ["ESH6", "ESM6", "ESU6", "ESZ6", "ESH7", "ESM7", "ESU7", "ESZ7"]
    assert [contract.code for contract in contracts(FUTURES["NQ"], date(2026, 1, 2))][:2] == ["NQZ5", "NQH6"]
    [expired, front, following, *_] = contracts(FUTURES["CL"], TODAY)
    rows = [contract.row(TODAY, front) for contract in (expired, front, following)]
    states = [(row.active, row.active_month, row.next_active_month) for row in rows]
    assert states == [(False, False, False), (True, True, False), (True, False, True)]
    assert (rows[1].symbol, rows[1].streamer_symbol, rows[1].roll_target_symbol) == ("/CLM6", "/CLM26:XCME", "/CLU6")
    assert rows[1].future_product.option_products is None


def test_products_are_complete_and_the_large_chain_comes_first() -> None:
    assert len(FUTURES) == 83
    assert next(iter(FUTURES)) == "ES"
    for code, product in FUTURES.items():
        instrument = future_instrument(f"/{code}Z6", TODAY)
        assert (product.code, instrument.underlying, instrument.multiplier) == (code, f"/{code}Z6", product.multiplier)
        assert 0 < product.tick < product.price
        assert min(product.multiplier, product.margin) > 0
        assert 0 < product.strike_step < product.price / 5
        assert (product.price / product.strike_step) % 1 == 0, "strikes must lie on the price level"
    assert (FUTURES["CL"].is_physical, FUTURES["ES"].is_physical) == (True, False)
    small = {code for code, product in FUTURES.items() if catalogue.product_row(product).small_notional}
    assert small & {"MES", "SM75", "ES"} == {"MES", "SM75"}
    assert [FUTURES[code].streamer_exchange for code in ("ES", "VX", "SM75")] == ["XCME", "XCBF", "SMFE"]


def rows_of(chain: FutureOptionChain) -> list[Any]:
    return [json.loads(row) for row in map(chain.table.row, chain.table.definitions)]


def test_codes_of_an_expiration() -> None:
    codes = {
        date(2026, 6, 12): ("ESM6", "ES2M6", "260612"),
        date(2026, 6, 18): ("ESM6", "ESM6", "260618"),
        date(2026, 6, 26): ("ESU6", "ES4M6", "260626"),
        date(2026, 7, 31): ("ESU6", "ES5N6", "260731"),
        date(2026, 12, 4): ("ESZ6", "ES1Z6", "261204"),
        date(2030, 1, 4): ("ESH0", "ES1F0", "300104"),
    }
    found = {day: catalogue.Expiration(day, FUTURES["ES"]) for day in codes}
    assert {day: (one.contract.code, one.option_contract, one.date_code) for day, one in found.items()} == codes


@for_each("code", ["ES", "CL", "6E", "6J", "M2K", "10Y", "VX", "SM75"])
def test_chain_rows_are_complete_and_tradable(code: str) -> None:
    chain = FutureOptionChain(FUTURES[code], 801, TODAY)
    rows = rows_of(chain)
    assert len({row["symbol"] for row in rows}) == len(rows) == 801
    assert len({tuple(row) for row in rows}) == 1
    for row in rows[::50]:
        instrument = catalogue.future_option_instrument(row["symbol"])
        assert instrument.underlying == row["underlying-symbol"]
        assert instrument.strike == Decimal(row["strike-price"])
        assert str(instrument.expires) == row["expiration-date"]
        assert catalogue.option_products()[row["option-root-symbol"]].root_symbol == row["option-root-symbol"]
    assert [row["option-type"] for row in rows[:2]] == ["C", "P"]
    # 2026-06-19 is a holiday.
    assert [row["expiration-date"] for row in rows[399::400]] == ["2026-06-12", "2026-06-18"]


def test_options_of_every_product_are_tradable_and_end_before_their_future() -> None:
    for code, product in FUTURES.items():
        [option] = FutureOptionChain(product, 1, TODAY).table.definitions
        instrument = catalogue.future_option_instrument(option.symbol)
        assert instrument.underlying == f"/{code}M6"
    for expiration in FutureOptionChain(FUTURES["ES"], 20_000, TODAY).expirations:
        future = future_instrument(expiration.contract.symbol, TODAY)
        assert future.expires is not None
        assert expiration.day <= future.expires
    assert len(catalogue.option_products()) == 6 * len(FUTURES)


def test_nested_chain_has_the_options_of_the_flat_one() -> None:
    chain = FutureOptionChain(FUTURES["NQ"], 801, TODAY)
    nested, rows = json.loads(chain.nested), rows_of(chain)
    [expirations] = [one["expirations"] for one in nested["option-chains"]]
    strikes = [strike for expiration in expirations for strike in expiration["strikes"]]
    symbols = [symbol for strike in strikes for symbol in (strike["call"], strike["put"])]
    assert symbols == [row["symbol"] for row in rows[:800]]  # The last one has no put.
    streamed = [strike["call-streamer-symbol"] for strike in strikes]
    assert streamed == [row["streamer-symbol"] for row in rows[:800:2]]
    listed = {contract.symbol: str(contract.expires) for contract in contracts(FUTURES["NQ"], TODAY)}
    expiring = {future["symbol"]: future["expiration-date"] for future in nested["futures"]}
    assert [*expiring.items()] == [*listed.items()][1:]  # without the one that has expired
    assert {one["underlying-symbol"] for one in expirations} <= expiring.keys()
    kinds = [(one["expiration-type"], one["settlement-type"]) for one in expirations[:2]]
    assert kinds == [("Weekly", "PM"), ("Regular", "AM")]
    chain = FutureOptionChain(FUTURES["ES"], 0, TODAY)
    assert rows_of(chain) == []
    assert json.loads(chain.nested)["option-chains"] == [
        {"underlying-symbol": "/ES", "root-symbol": "/ES", "exercise-style": "European", "expirations": []}
    ]
