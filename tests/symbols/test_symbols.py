"""Symbols of options, futures, their options and cryptocurrencies: written, parsed, and rejected by part."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async.errors import InvalidRequestError
from brokerage_async.symbols import (
    CryptocurrencySymbol,
    FutureOptionStreamer,
    FutureOptionSymbol,
    FutureSymbol,
    OptionSymbol,
    instrument_type_of,
    occ_symbol,
    parse_cryptocurrency,
    parse_cryptocurrency_streamer,
    parse_future,
    parse_future_option,
    parse_future_option_streamer,
    parse_future_streamer,
    parse_occ,
    parse_option_streamer,
)
from tests.protocol.values import raised
from tests.tables import for_each

JUNE = date(2026, 6, 12)
AAPL = ("AAPL", JUNE, "C")
ES_PUT = FutureOptionSymbol(FutureSymbol("ES", 12, 2026), "EW3", 9, 2026, date(2026, 9, 18), "P", Decimal(9100))


def parse_future_in_june(symbol: str) -> FutureSymbol:
    return parse_future(symbol, on=JUNE)


CODES = st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=1, max_size=6)
MONTHS, YEARS, KINDS = st.integers(1, 12), st.integers(2000, 2099), st.sampled_from("CP")
STRIKES = st.decimals(min_value=Decimal("0.00000001"), max_value=Decimal(99_999_999), places=8)
OPTIONS = st.builds(
    OptionSymbol,
    st.text("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./", min_size=1, max_size=6),
    st.dates(date(2000, 1, 1), date(2099, 12, 31)),
    KINDS,
    st.integers(1, 99_999_999).map(lambda thousandths: Decimal(thousandths) / 1000),
)


@st.composite
def future_options(draw: st.DrawFn) -> FutureOptionSymbol:
    day, years_ahead = draw(st.dates(date(2001, 1, 1), date(2090, 12, 31))), st.integers(0, 7)
    return FutureOptionSymbol(
        future=FutureSymbol(draw(CODES), draw(MONTHS), day.year + draw(years_ahead)),
        root=draw(CODES),
        month=draw(MONTHS),
        year=day.year + draw(years_ahead),
        expiration=day,
        option_type=draw(KINDS),
        strike=draw(STRIKES),
        blanks=draw(st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2)])),
    )


FORMS: dict[str, tuple[st.SearchStrategy[Any], Callable[[Any, str], str], Callable[[str], Any]]] = {
    "OCC": (OPTIONS, lambda parts, _: str(parts), parse_occ),
    "OCC without padding": (OPTIONS, lambda parts, _: str(parts).replace(" ", ""), parse_occ),
    "option of the streamer": (OPTIONS, lambda parts, _: parts.streamer_symbol, parse_option_streamer),
    "Future": (
        st.builds(FutureSymbol, CODES, MONTHS, st.integers(2026, 2034)),
        lambda parts, _: str(parts),
        parse_future_in_june,
    ),
    "future of the streamer": (
        st.builds(FutureSymbol, CODES, MONTHS, YEARS),
        lambda parts, exchange: parts.streamer_symbol(exchange),
        parse_future_streamer,
    ),
    "Future Option": (future_options(), lambda parts, _: str(parts), parse_future_option),
    "future option of the streamer": (
        st.builds(FutureOptionStreamer, CODES, MONTHS, YEARS, KINDS, STRIKES, CODES),
        lambda parts, _: str(parts),
        parse_future_option_streamer,
    ),
    "Cryptocurrency": (st.builds(CryptocurrencySymbol, CODES), lambda parts, _: str(parts), parse_cryptocurrency),
    "cryptocurrency of the streamer": (
        st.builds(CryptocurrencySymbol, CODES),
        lambda parts, venue: parts.streamer_symbol(venue),
        parse_cryptocurrency_streamer,
    ),
}
"""Parts, how they are written for an exchange, and how that is parsed, by the form or the type of the instrument."""


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_symbol_parsed_returns_its_parts(form: str, data: st.DataObject) -> None:
    strategy, write, parse = FORMS[form]
    parts = data.draw(strategy)
    symbol = write(parts, data.draw(CODES))
    assert parse(symbol) == parts
    if form in ("Future Option", "Cryptocurrency"):
        assert instrument_type_of(symbol) == form
    if form == "OCC":
        assert symbol == occ_symbol(parts.root, parts.expiration, parts.option_type, parts.strike)
        assert len(symbol) == 21


@given(st.text(max_size=24) | st.text("/ESZ60:XCM", max_size=9))
def test_any_string_is_parsed_to_what_it_says_or_rejected(symbol: str) -> None:
    for parse in (parse_occ, parse_future_in_june):
        try:
            parts = parse(symbol)
        except InvalidRequestError:
            continue
        assert str(parts).replace(" ", "") == symbol.replace(" ", "")


@for_each(
    "symbol, parse, streamer, parse_streamer, exchange",
    [
        ("SPY   260612C00110000", parse_occ, ".SPY260612C110", parse_option_streamer, None),
        ("QNTX  261218C00045000", parse_occ, ".QNTX261218C45", parse_option_streamer, None),
        ("ACME  270115C00052500", parse_occ, ".ACME270115C52.5", parse_option_streamer, None),
        ("AAPL1 260612P00110000", parse_occ, ".AAPL1260612P110", parse_option_streamer, None),
        ("/ESZ6", parse_future_in_june, "/ESZ26:XCME", parse_future_streamer, "XCME"),
        ("/ESH7", parse_future_in_june, "/ESH27:XCME", parse_future_streamer, "XCME"),
        ("/CLM8", parse_future_in_june, "/CLM28:XNYM", parse_future_streamer, "XNYM"),
        ("/6EU6", parse_future_in_june, "/6EU26:XCME", parse_future_streamer, "XCME"),
        ("/M2KZ6", parse_future_in_june, "/M2KZ26:XCME", parse_future_streamer, "XCME"),
        ("BTC/USD", parse_cryptocurrency, "BTC/USD:CXTALP", parse_cryptocurrency_streamer, "CXTALP"),
    ],
)
def test_symbol_of_the_service_leads_to_its_streamer_symbol_and_back(
    symbol: str, parse: Any, streamer: str, parse_streamer: Any, exchange: str | None
) -> None:
    parts = parse(symbol)
    assert str(parts) == symbol
    assert (parts.streamer_symbol if exchange is None else parts.streamer_symbol(exchange)) == streamer
    assert parse_streamer(streamer) == parts


def test_parts_and_instrument_types_of_symbols_of_the_service() -> None:
    option = parse_occ("AAPL  260612P00110500")
    assert option == OptionSymbol("AAPL", JUNE, "P", Decimal("110.5"))
    assert (option.is_call, parse_occ(occ_symbol("AAPL", JUNE, "C", 110)).is_call) == (False, True)
    future = parse_future_in_june("/M2KZ6")
    assert (future, f"/{future.code}") == (FutureSymbol("M2K", 12, 2026), "/M2KZ6")
    assert parse_future_in_june("/CLM8") == FutureSymbol("CL", 6, 2028)
    put = parse_future_option("./ESZ6 EW3U6 260918P9100")
    assert (put, put.contract, put.is_call) == (ES_PUT, "EW3U6", False)
    assert put.streamer_symbol("XCME") == "./EW3U26P9100:XCME"
    streamed = parse_future_option_streamer("./OGN26P2095:XCEC")
    assert streamed == FutureOptionStreamer("OG", 7, 2026, "P", Decimal(2095), "XCEC")
    coin = parse_cryptocurrency("BTC/USD")
    assert (coin.coin, coin.streamer_symbol()) == ("BTC", "BTC/USD:CXTALP")
    kinds = {"AAPL": "Equity", "BRK/B": "Equity", "AAPL  260612C00110000": "Equity Option", "/ESZ6": "Future",
             "./ESZ6 EW3U6 260918P9100": "Future Option", "./ESZ6  EW3U6 260918P9100": "Future Option",
             "BTC/USD": "Cryptocurrency"}  # fmt: skip
    assert {symbol: instrument_type_of(symbol) for symbol in kinds} == kinds


def test_strike_is_written_without_exponent_and_refused_between_steps() -> None:
    for strike, digits in (("110", "110"), ("110.50", "110.5"), ("1E+2", "100"), ("0.0085", "0.0085")):
        assert str(attrs.evolve(ES_PUT, strike=strike)) == f"./ESZ6 EW3U6 260918P{digits}"
    assert OptionSymbol("ACME", date(2027, 1, 15), "C", Decimal("52.50")).streamer_symbol == ".ACME270115C52.5"
    assert OptionSymbol("ACME", date(2027, 1, 15), "C", Decimal("1E+2")).streamer_symbol == ".ACME270115C100"
    assert occ_symbol(*AAPL, "110." + "0" * 40) == "AAPL  260612C00110000"
    assert str(attrs.evolve(parse_occ("AAPL  260612P00110500"), strike=111)) == "AAPL  260612P00111000"
    with pytest.raises(InvalidRequestError, match=r"in steps of 0\.001"):
        attrs.evolve(parse_occ("AAPL  260612P00110500"), strike=Decimal("110.5005"))
    with pytest.raises(InvalidRequestError, match=r"expiration: must be a datetime\.date"):
        OptionSymbol("AAPL", datetime(2026, 6, 12, 16, tzinfo=UTC), "C", Decimal(110))


@for_each(
    "symbol", ["./ESZ6 EW3U6  260918C9200", "./ESH7 EW3F7 270115C6900", "./6EZ6  6EV6 261009P1.0875",
               "./ESU6 ES2M6 260612C100"],
)  # fmt: skip
def test_future_option_is_written_with_the_blanks_that_it_had(symbol: str) -> None:
    assert str(parse_future_option(symbol)) == symbol


OTHER_FORMS: dict[tuple[Callable[[str], object], str], list[str]] = {
    (parse_occ, "OCC symbol"): [
        "", "AAPL", "AAPL  260612X00110000", "AAPL  260631C00110000", "AAPL  260612C0011000", "AAPL  260612C00000000",
        "aapl  260612C00110000", "AAPL      260612C00110000", "AAPL  260612C00110000\n", "AAPL  ٢٦٠٦١٢C00110000",
        "TOOLONG260612C00110000",
    ],
    (parse_option_streamer, "streamer symbol of an equity option"): [
        "", "SPY", "SPY260612C110", ".SPY260631C110", ".SPY260612C", ".SPY260612C110.", ".SPY260612X1", "./ESZ6",
    ],
    (parse_future_in_june, "must be a future such as"): [
        "", "ESZ6", "/ES", "/ESZ", "/ESA6", "/ESZ26", "/esz6", "/ESZ6 ", "./ESZ6", "/ESZ٦",
    ],
    (parse_future_streamer, "streamer symbol of a future such as"): [
        "", "/ESZ6", "/ESZ26", "/ESZ6:XCME", "/ESZ26:", "/ESZ26:xcme", "ESZ26:XCME",
    ],
    (parse_future_option, "must be a future option such as"): [
        "", "/ESZ6", "./ESZ6 EW3U6", "./ESZ6 EW3U6 260931P9100", "./ESZ6   EW3U6 260918P9100",
        "./ESZ6EW3U6 260918P9100", "./ESZ6 EW3U6 260918X9100", "./ESZ6 EW3U6 260918P", "./ESZ6 EW3U6 260918P1.",
        "./ESZ6 EW3U6 260918P٩", "ESZ6 EW3U6 260918P9100",
    ],
    (parse_future_option_streamer, "streamer symbol of a future option"): [
        "", "./ESZ6 EW3U6 260918P9100", "./EW3U26P9100", "./EW3U6P9100:XCME", "/ESZ26:XCME",
    ],
    (parse_cryptocurrency, "must be a cryptocurrency"): [
        "", "BTC", "BRK/B", "BTC/EUR", "btc/USD", "BTC/USD ", "BTC/USD:CXTALP", "/USD",
    ],
    (parse_cryptocurrency_streamer, "streamer symbol of a cryptocurrency"): [
        "", "BTC/USD", "BTC/USD:", "BTC:CXTALP", "BTC/USD:cxtalp",
    ],
}  # fmt: skip


@for_each("parse, reason, symbol", [(*form, symbol) for form, symbols in OTHER_FORMS.items() for symbol in symbols])
def test_symbol_of_another_form_is_rejected(parse: Callable[[str], object], reason: str, symbol: str) -> None:
    raised(InvalidRequestError, parse, symbol, match=f"{reason}.*{re.escape(repr(symbol))}")


@for_each("wrong", [None, 1, 1.5, b"AAPL", [], JUNE])
def test_symbol_of_another_type_is_rejected(wrong: Any) -> None:
    for parse in (parse_option_streamer, parse_occ, instrument_type_of):
        raised(InvalidRequestError, parse, wrong, match="symbol must be a str")
    with pytest.raises(InvalidRequestError, match="on must be a datetime"):
        parse_future("/ESZ6", on=None if wrong == JUNE else wrong)


ALL_PARTS = ["root", "expiration", "option_type", "strike"]


@for_each(
    "make, parts, domains",
    [
        *(
            (make, parts, domains)
            for make in (occ_symbol, OptionSymbol)
            for parts, domains in [
                (("TOOLONG", JUNE, "C", 110), ["root"]),
                (("AAPL", date(1999, 6, 12), "C", 110), ["expiration"]),
                (("AAPL", "2026-06-12", "C", 110), ["expiration"]),
                (("AAPL", datetime(2026, 6, 12, 16, tzinfo=UTC), "C", 110), ["expiration"]),
                (("AAPL", JUNE, "call", 110), ["option_type"]),
                *(
                    ((*AAPL, strike), ["strike"])
                    for strike in (0, "110.0005", "NaN", "dear", "1_10", "１１０", " 110", Decimal("sNaN"), 110.5, True,
                                   100_000, "1e999999", "110.0000000000000000000000000000000001",
                                   Decimal("0.00100000000000000000000000000000001"))
                ),
                (("", date(2126, 6, 12), "", -1), ALL_PARTS),
                ((None,) * 4, ALL_PARTS),
            ]
        ),
        (FutureSymbol, ("es", 13, "2026"), ["product", "month", "year"]),
        (FutureOptionStreamer, ("", 0, 0, "X", "-1", "XCME"), ["root", "month", "year", "option_type", "strike"]),
        *((CryptocurrencySymbol, (wrong,), ["coin"]) for wrong in (None, "", "btc", "A/B", 1)),
        *(
            (partial(attrs.evolve, ES_PUT, **{name: wrong}), (), [name])
            for name, wrong in (
                ("future", "/ESZ6"), ("root", ""), ("month", 0), ("year", 1999), ("expiration", "260918"),
                ("expiration", datetime(2026, 9, 18, tzinfo=UTC)), ("option_type", "call"), ("blanks", (0, 1)),
                *(("strike", strike) for strike in (0, 1.5, Decimal("NaN"), "0.000000001", Decimal("1E-99999999"),
                                                    "1E-99999999")),
            )
        ),
    ],
)  # fmt: skip
def test_invalid_parts_are_all_named(make: Any, parts: Any, domains: list[str]) -> None:
    error = raised(InvalidRequestError, make, *parts)
    assert [problem.domain for problem in error.errors] == domains


@for_each("exchange", [None, "", "xcme", "X:Y", "A/B", 1])
def test_streamer_symbol_of_an_invalid_exchange_is_rejected(exchange: Any) -> None:
    for parts, said in ((FutureSymbol("ES", 12, 2026), "exchange"), (ES_PUT, "exchange"),
                        (CryptocurrencySymbol("BTC"), "venue")):  # fmt: skip
        raised(InvalidRequestError, parts.streamer_symbol, exchange, match=f"{said} must be a code")


@given(st.integers(0, 9), MONTHS, st.dates(date(2010, 1, 1), date(2080, 12, 31)))
def test_year_of_a_future_lies_in_the_ten_years_from_twelve_months_back(digit: int, month: int, day: date) -> None:
    year = parse_future(f"/ES{'FGHJKMNQUVXZ'[month - 1]}{digit}", on=day).year
    assert year % 10 == digit
    assert -12 <= (year - day.year) * 12 + month - day.month < 108


def test_year_of_a_contract_follows_its_day() -> None:
    days = {date(2026, 6, 12): 2026, date(2026, 12, 31): 2026, date(2027, 12, 1): 2026, date(2028, 1, 1): 2036,
            date(2018, 1, 1): 2026, date(2017, 12, 31): 2016}  # fmt: skip
    assert {day: parse_future("/ESZ6", on=day).year for day in days} == days
    option = parse_future_option("./ESH0 EW3Z9 291221P9100")
    assert (option.future.year, option.year) == (2030, 2029)
