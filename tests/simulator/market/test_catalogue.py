"""Catalogue of instruments: rows, symbols, the products behind them, and options on futures with their chains."""

import json
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import attrs
import msgspec
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async._generated.converters import WarrantWire
from brokerage_async._generated.models import OptionType
from brokerage_async.models import InstrumentType
from brokerage_async.simulator import Simulator
from brokerage_async.simulator.api.wire import dumps
from brokerage_async.simulator.keyed_random import KeyedRandom
from brokerage_async.simulator.market.calendar import holidays, local_epoch
from brokerage_async.simulator.market.equities import (
    CRYPTOCURRENCIES,
    equities,
    equity_options,
    equity_row,
    known_equities,
    monthly_expirations,
    option_row,
    warrants,
)
from brokerage_async.simulator.market.futures import (
    Expiration,
    FutureOptionChain,
    OptionProduct,
    contract_after,
    contracts,
    future_instrument,
    future_option_instrument,
    option_products,
    product_row,
)
from brokerage_async.simulator.market.instrument import (
    FUTURES,
    Instrument,
    RowTable,
    day_of,
    occ_symbol,
    parse_occ,
    product_of,
)
from tests.simulator.factories import START
from tests.simulator.harness import Harness
from tests.tables import for_each

TODAY = date(2026, 6, 10)


def test_default_sizes() -> None:
    harness = Harness(equities=10_000, equity_options=5_000, chain_rows=20_000).login()
    pagination = harness.get("/instruments/equities?per-page=1000")["pagination"]
    assert (pagination["total-items"], pagination["total-pages"]) == (10_000, 10)
    assert len(harness.rows("/instruments/equity-options?with-expired=true")) == 5_000
    chain = harness.ask("GET", "/futures-option-chains/ES").body
    assert len(msgspec.json.decode(chain)["data"]["items"]) == 20_000
    assert len(chain) > 20_000_000


def test_listed_options_can_be_traded_and_unknown_instruments_are_none(harness: Harness) -> None:
    for row in harness.rows("/instruments/equity-options") + harness.rows("/futures-option-chains/ES"):
        assert harness.instrument(row["symbol"]).underlying == row["underlying-symbol"]
    for kind, symbol in (
        *(("Equity", "NOTTHERE"), ("Equity", "SPX"), ("Equity Option", "AAPL"), ("Future", "/XXZ6")),
        *(("Equity Option", "AAPL  269999C00100000"), ("Future Option", "./ESZ6 EW3U6 269999P9100")),
        *(("Cryptocurrency", "DOGE"), ("Liquidity Pool", "AAPL")),
    ):
        assert harness.state.catalogue.instrument(kind, symbol) is None
    assert "equities" not in vars(Simulator().brokerage.state.catalogue)


def test_rows_are_rendered_once_and_found_by_symbol_and_filter() -> None:
    written: list[str] = []

    def render(symbol: str) -> WarrantWire:
        written.append(symbol)
        return WarrantWire(symbol=symbol)

    rows = RowTable(["b", "a", "c"], str, render)
    assert written == []
    assert [rows.row(1), rows.row(1)] == [b'{"symbol":"a"}'] * 2
    assert [*map(rows.row, range(3))][1] is rows.row(1)
    assert written == ["a", "b", "c"]
    assert (len(rows), rows.get("c"), rows.get("d")) == (3, "c", None)
    assert rows.positions(["c", "d", "b", "c"]) == [0, 2]
    assert rows.positions([]) == []
    assert rows.select(range(3), lambda symbol: symbol > "a") == [0, 2]
    assert rows.select([1], lambda symbol: symbol > "a") == []


@given(
    st.from_regex(r"[A-Z]{1,6}", fullmatch=True),
    st.dates(date(2000, 1, 1), date(2099, 12, 31)),
    st.sampled_from(OptionType),
    st.decimals(0, 99999, places=3),
)
def test_occ_symbol_examples(root: str, day: date, kind: OptionType, strike: Decimal) -> None:
    assert parse_occ(occ_symbol(root, day, kind, strike)) == (root, day, kind, strike)


def test_symbols_and_days_of_another_form_are_none() -> None:
    for symbol in (
        *("", "AAPL", "260612C00110000", "AAPL  260612X00110000", "AAPL  260612C0011000", "AAPL  260231C00110000"),
        *("AAPL  260612C00110000\n", "AAPL  ٢٦٠٦١٢C00110000", "aapl  260612C00110000", "TOOLONG260612C00110000"),
    ):
        assert parse_occ(symbol) is None
    days = {"260612": date(2026, 6, 12), "991231": date(2099, 12, 31), "260231": None, "261301": None}
    assert {code: day_of(code) for code in days} == days
    for symbol in ("", "/", "/ES", "ESZ6", "/ESZ", "/ESA6", "/XXZ6", "/ESZ66", "/ESZ6\n", "/ESZ٦"):
        assert future_instrument(symbol, TODAY) is None
    codes = {"/ESZ6": "ES", "/M2KU6": "M2K", "ESZ6": None, "/XXZ6": None, "/": None, "": None}
    assert {symbol: product_of(symbol) for symbol in codes} == {
        symbol: code and FUTURES[code] for symbol, code in codes.items()
    }


@for_each(
    "kind, symbol, collection, underlying",
    [
        ("Equity", "X", "Equity", "Equity"),
        ("Equity Option", "X", "Equity", "Equity"),
        ("Future", "/ESU6", "CME", "Future"),
        ("Future", "/VXU6", "CFE", "Future"),
        ("Future Option", "/ESU6", "CME", "Future"),
        ("Cryptocurrency", "BTC/USD", None, "Cryptocurrency"),
    ],
)
def test_collection_and_underlying_type(kind: str, symbol: str, collection: str | None, underlying: str) -> None:
    one = Instrument(symbol="X", instrument_type=InstrumentType(kind), underlying=symbol)
    found = one.collection, one.underlying_type, one.is_future, one.is_option
    assert found == (collection, underlying, kind == "Future", False)


def test_expiration_is_at_the_hour_of_its_instrument() -> None:
    day = date(2026, 9, 18)
    option = Instrument(symbol="X", instrument_type=InstrumentType.EQUITY_OPTION, underlying="X", expires=day)
    assert option.expires_at == local_epoch(day, 16)
    assert attrs.evolve(option, expiration_hour=9.5).expires_at == local_epoch(day, 9.5)
    assert attrs.evolve(option, expires=None).expires_at is None


def test_longer_list_begins_with_the_shorter_one() -> None:
    made = equities(600, KeyedRandom(3))
    for count in (0, 1, 20, 500):
        assert equities(count, KeyedRandom(3)) == made[:count]
    assert [one.number for one in made] == list(range(1, 601))
    assert len({one.symbol for one in made}) == 600
    assert all(one.price > 0 for one in made)


def test_few_equities_are_restricted_and_rows_show_it() -> None:
    traded = {symbol: definition.instrument() for symbol, definition in known_equities().items()}
    assert [symbol for symbol, one in traded.items() if one.halted] == ["HALT"]
    assert [symbol for symbol, one in traded.items() if one.closing_only] == ["GONE"]
    assert not any(one.hard_to_borrow for one in traded.values())
    assert any(one.instrument().hard_to_borrow for one in equities(200, KeyedRandom(0)))
    halted, gone, plain = (equity_row(known_equities()[symbol], START) for symbol in ("HALT", "GONE", "AAPL"))
    assert (halted.halted_at is None, gone.stops_trading_at is None) == (False, False)
    assert (plain.halted_at, plain.stops_trading_at, plain.is_closing_only) == (None, None, False)
    first, second = equities(200, KeyedRandom(1)), equities(200, KeyedRandom(2))
    known = len(known_equities())
    assert first[:known] == second[:known]
    assert first[known:] != second[known:]
    assert [one.symbol for one in first] == [one.symbol for one in second]


@given(st.dates(date(2000, 1, 1), date(2150, 12, 31)), st.integers(1, 30))
def test_expirations_are_third_fridays(today: date, count: int) -> None:
    days = monthly_expirations(today, count)
    assert len(days) == count
    assert days[0] < today
    assert all(day >= today for day in days[1:])
    for day in days:
        friday = day + timedelta(days=(4 - day.weekday()) % 7)
        assert 15 <= friday.day <= 21
        assert day == friday or friday in holidays(friday.year)


def test_equity_options_has_the_requested_count() -> None:
    for count in (0, 1, 100, 5000, 6001):
        made = equity_options(count, equities(10, KeyedRandom(0)), TODAY)
        assert len(made) == len({one.symbol for one in made}) == count
        assert all(one.strike > 0 for one in made)


def test_warrants_and_options_are_rows_with_their_terms() -> None:
    definitions = equity_options(60, equities(1, KeyedRandom(0)), TODAY)
    rows = [option_row(definition, TODAY) for definition in definitions]
    assert rows[0].days_to_expiration == (definitions[0].expires - TODAY).days < 0
    assert rows[0].strike_price == format(definitions[0].strike, ".1f")
    assert (definitions[0].multiplier, definitions[0].instrument_type) == (100, "Equity Option")
    assert equity_options(10, [], TODAY) == []
    made = warrants(12, equities(20, KeyedRandom(0)))
    assert [one.symbol for one in made][9:] == ["AMDW", "IWMW", "GLDW"]
    assert b'"symbol":"AAPLW"' in dumps(made[0])
    assert len(warrants(100, equities(20, KeyedRandom(0)))) == 16


def test_pairs_have_numbers_prices_rows_and_precisions() -> None:
    assert len(CRYPTOCURRENCIES) == 39
    assert [one.number for one in CRYPTOCURRENCIES.values()] == list(range(1, 40))
    assert CRYPTOCURRENCIES["BTC/USD"].price == Decimal(105_000)
    assert all(one.price > 0 and one.symbol == symbol for symbol, one in CRYPTOCURRENCIES.items())
    sol = CRYPTOCURRENCIES["SOL/USD"]
    row = sol.row()
    assert (row.symbol, row.streamer_symbol, row.description) == ("SOL/USD", "SOL/USD:CXTALP", "Solana to USD")
    assert row.destination_venue_symbols[0].max_quantity_precision == 8
    assert sol.instrument().collection is None


def test_year_of_a_future_is_at_most_one_before_today() -> None:
    expirations = {
        "/ESM6": date(2026, 6, 18),  # The third Friday is a holiday.
        "/ESH6": date(2026, 3, 20),
        "/ESU5": date(2025, 9, 19),
        "/ESH5": date(2035, 3, 16),
        "/CLN6": date(2026, 7, 17),
    }
    found = {symbol: future_instrument(symbol, TODAY).expires for symbol in expirations}
    assert found == expirations


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


def test_contract_after_a_day() -> None:
    days = {date(2026, 6, 18): "ESM6", date(2026, 6, 19): "ESU6", date(2026, 12, 31): "ESH7"}
    assert {day: contract_after(FUTURES["ES"], day).code for day in days} == days


def test_products_are_complete_and_the_large_chain_comes_first() -> None:
    assert len(FUTURES) == 83
    assert next(iter(FUTURES)) == "ES"
    for code, product in FUTURES.items():
        assert product.code == code
        instrument = future_instrument(f"/{code}Z6", TODAY)
        assert (instrument.underlying, instrument.multiplier) == (f"/{code}Z6", product.multiplier)
        assert 0 < product.tick < product.price
        assert product.multiplier > 0
        assert product.margin > 0
        assert 0 < product.strike_step < product.price / 5
        assert (product.price / product.strike_step) % 1 == 0, "strikes must lie on the price level"
    assert (FUTURES["CL"].is_physical, FUTURES["ES"].is_physical) == (True, False)
    assert (FUTURES["MES"].is_small, FUTURES["SM75"].is_small, FUTURES["ES"].is_small) == (True, True, False)
    assert [FUTURES[code].streamer_exchange for code in ("ES", "VX", "SM75")] == ["XCME", "XCBF", "SMFE"]


def test_rows_of_products_and_option_products_embed_each_other() -> None:
    options = [OptionProduct(FUTURES["CL"]).row()]
    assert product_row(FUTURES["CL"]).option_products is None
    assert product_row(FUTURES["CL"], options).option_products == options
    assert product_row(FUTURES["CL"]).product_type == "Physical"
    assert option_products()["ES"].expiration_type == "Regular"
    assert option_products()["ES2"] == OptionProduct(FUTURES["ES"], 2)
    for root, product in option_products().items():
        assert product.root == product.row().root_symbol == root
    product = OptionProduct(FUTURES["ES"], 3)
    row, details = product.row(), product.details()
    assert row.futures_trading_cutoff_times is None
    assert details.futures_trading_cutoff_times is not None
    assert details.future_product == product_row(FUTURES["ES"])
    for name in ("root_symbol", "cash_settled", "expiration_type", "is_am_settled", "market_sector"):
        assert getattr(details, name) == getattr(row, name) is not None


def rows_of(chain: FutureOptionChain) -> list[Any]:
    return [json.loads(row) for row in map(chain.table.row, range(len(chain.table)))]


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
    listed = {contract.symbol: str(contract.expires) for contract in contracts(FUTURES["NQ"], TODAY)}
    futures = {future["symbol"]: future["expiration-date"] for future in nested["futures"]}
    assert [*futures.items()] == [*listed.items()][1:]  # without the one that has expired
    assert {one["underlying-symbol"] for one in expirations} <= futures.keys()
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
