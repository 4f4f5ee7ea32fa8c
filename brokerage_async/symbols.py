"""Symbols of instruments, parsed and built. Only their form is checked, not whether the instrument exists.

Every kind has a class of parts, whose ``str()`` is the symbol, and functions that parse a symbol and a streamer symbol.
Prefer the streamer symbols of the service's answers to built ones: exchanges and venues cannot be derived.

An OCC symbol has 21 characters: the root padded to 6, the expiration as ``yymmdd``, ``C`` or ``P``, and the strike
times 1000 in 8 digits. Its streamer symbol has a dot in front, and neither padding nor trailing zeros::

    >>> occ_symbol("AAPL", date(2026, 6, 12), "C", 110)
    'AAPL  260612C00110000'
    >>> parse_occ("AAPL  260612C00110000").streamer_symbol
    '.AAPL260612C110'

The symbol of a future has the last digit of the year only. Which decade it means depends on the day it is read on::

    >>> parse_future("/ESZ6", on=date(2026, 6, 12))
    FutureSymbol(product='ES', month=12, year=2026)
    >>> parse_future("/ESZ6", on=date(2031, 6, 12)).year
    2036

The symbol of a future option names the future, the option root with its contract month (``EW3U6``), the expiration as
``yymmdd``, ``C`` or ``P``, and the strike: ``./ESZ6 EW3U6 260918P9100``. One or two blanks separate the parts, and the
service finds a symbol only as it wrote it: take symbols from its answers where you can. The streamer symbol,
``./EW3U26P9100:XCME``, lacks future and day, so it has different parts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, cast

import attrs

from ._decimals import exact
from .errors import ErrorDetail, InvalidRequestError

__all__ = [
    "CryptocurrencySymbol", "FutureOptionStreamer", "FutureOptionSymbol", "FutureSymbol", "OptionSymbol",
    "instrument_type_of", "occ_symbol", "parse_cryptocurrency", "parse_cryptocurrency_streamer", "parse_future",
    "parse_future_option", "parse_future_option_streamer", "parse_future_streamer", "parse_occ",
    "parse_option_streamer",
]  # fmt: skip

CENTURY = 2000
MONTH_CODES = "FGHJKMNQUVXZ"  # letters of the contract months, January to December
MONTHS_BACK = 12  # months that a contract month may lie before the day it is read on: history names expired contracts

THOUSAND = Decimal(1000)
DEFAULT_VENUE = "CXTALP"

_CODE, _ROOT, _LONG_CODE = r"[A-Z0-9]{1,6}", r"[A-Z0-9./]{1,6}", r"[A-Z0-9]{1,10}"
_MONTH, _DAY, _KIND = rf"(?P<month>[{MONTH_CODES}])", r"(?P<day>[0-9]{6})", r"(?P<kind>[CP])"
_STRIKE = r"(?P<strike>[0-9]{1,8}(?:\.[0-9]{1,8})?)"

OCC = re.compile(rf"(?P<root>{_ROOT}) *{_DAY}{_KIND}(?P<strike>[0-9]{{8}})")
OCC_STREAMER = re.compile(rf"\.(?P<root>{_ROOT}){_DAY}{_KIND}(?P<strike>[0-9]{{1,5}}(?:\.[0-9]{{1,3}})?)")
FUTURE = re.compile(rf"/(?P<product>{_CODE}){_MONTH}(?P<year>[0-9])")
FUTURE_STREAMER = re.compile(rf"/(?P<product>{_CODE}){_MONTH}(?P<year>[0-9]{{2}}):{_LONG_CODE}")
FUTURE_OPTION = re.compile(
    rf"\./(?P<product>{_CODE})(?P<letter>[{MONTH_CODES}])(?P<digit>[0-9])(?P<first> {{1,2}})"
    rf"(?P<root>{_CODE}){_MONTH}(?P<year>[0-9])(?P<second> {{1,2}}){_DAY}{_KIND}{_STRIKE}"
)
FUTURE_OPTION_STREAMER = re.compile(
    rf"\./(?P<root>{_CODE}){_MONTH}(?P<year>[0-9]{{2}}){_KIND}{_STRIKE}:(?P<exchange>{_LONG_CODE})"
)
CRYPTOCURRENCY = re.compile(rf"(?P<coin>{_LONG_CODE})/USD")
CRYPTOCURRENCY_STREAMER = re.compile(rf"(?P<coin>{_LONG_CODE})/USD:{_LONG_CODE}")

Rule = tuple[Callable[[Any], object], str]
"""What a part has to be: its test, and its words."""


def _form(pattern: str, said: str) -> Rule:
    return lambda part: isinstance(part, str) and re.fullmatch(pattern, part), said


def _whole(first: int, last: int, said: str) -> Rule:
    return lambda part: isinstance(part, int) and not isinstance(part, bool) and first <= part <= last, said


def _in_steps(step: Decimal, last: Decimal, said: str) -> Rule:
    def holds(part: Any) -> bool:
        return isinstance(part, Decimal) and part.is_finite() and step <= part <= last and part == part.quantize(step)

    return holds, said


def _is_day(part: Any) -> bool:
    return isinstance(part, date) and not isinstance(part, datetime) and 0 <= part.year - CENTURY < 100


RULES: dict[str, Rule] = {
    "coin": _form(_LONG_CODE, "1 to 10 capital letters or digits"),
    "product": _form(_CODE, "1 to 6 capital letters or digits"),
    "root": _form(_CODE, "1 to 6 capital letters or digits"),
    "month": _whole(1, 12, "from 1 to 12"),
    "year": _whole(CENTURY, CENTURY + 99, "in this century"),
    "expiration": (_is_day, "a datetime.date in this century"),
    "option_type": (lambda part: part in ("C", "P"), "C or P"),
    "strike": _in_steps(Decimal("0.00000001"), Decimal(99_999_999), "a number above 0 with at most 8 decimals"),
    "future": (lambda part: isinstance(part, FutureSymbol), "a FutureSymbol"),
    "blanks": (lambda part: part in ((1, 1), (1, 2), (2, 1), (2, 2)), "a pair of 1 or 2"),
}
OCC_RULES: dict[str, Rule] = RULES | {
    "root": _form(_ROOT, "1 to 6 capital letters or digits"),
    "strike": _in_steps(
        Decimal("0.001"), Decimal("99999.999"), "a Decimal, int or plain str from 0.001 to 99999.999 in steps of 0.001"
    ),
}
"""Rules of the parts of symbols, by their names."""


def check_parts(parts: Any, symbol: str, rules: dict[str, Rule] = RULES) -> None:
    """Raise InvalidRequestError for the parts of a symbol that break their rules, with all of them."""
    named = ((each.name, getattr(parts, each.name)) for each in attrs.fields(type(parts)))
    problems = tuple(
        ErrorDetail(name, f"must be {rules[name][1]}, got {part!r}", name)
        for name, part in named
        if name in rules and not rules[name][0](part)
    )
    if problems:
        raise InvalidRequestError(f"invalid parts of {symbol}", errors=problems)


def matched(form: re.Pattern[str], symbol: object, said: str) -> re.Match[str]:
    """Return the match of a symbol. Raise InvalidRequestError, with the form that was expected, if there is none."""
    match = form.fullmatch(checked(symbol))
    if match is None:
        raise InvalidRequestError(f"symbol must be {said}, got {symbol!r}")
    return match


def suffix_of(name: str, code: object, example: str) -> str:
    """Return the end of a streamer symbol, such as ``:XCME``. Raise for an invalid code."""
    if not isinstance(code, str) or not re.fullmatch(_LONG_CODE, code):
        raise InvalidRequestError(f"{name} must be a code such as {example!r}, got {code!r}")
    return f":{code}"


def _number(strike: Decimal | int | str) -> Decimal:
    """Return a strike as a Decimal. Leave an invalid one to be reported with all problems."""
    try:
        return exact("strike", strike)
    except InvalidRequestError:
        return cast("Decimal", strike)


def checked(symbol: object) -> str:
    if not isinstance(symbol, str):
        raise InvalidRequestError(f"symbol must be a str, got {type(symbol).__name__}")
    return symbol


def day_of(digits: str) -> date | None:
    """Return the day of ``yymmdd`` in this century, None if the calendar lacks it."""
    try:
        return date(CENTURY + int(digits[:2]), int(digits[2:4]), int(digits[4:]))
    except ValueError:
        return None


def contract_year(digit: int, month: int, day: date) -> int:
    """Return the year that ends in ``digit`` of a contract month, seen from ``day``.

    Of every ten years one fits: the earliest whose ``month`` is at most 12 months before ``day``'s.
    """
    earliest = day.year * 12 + day.month - MONTHS_BACK
    year = day.year - 1 + (digit - (day.year - 1)) % 10
    return year if year * 12 + month >= earliest else year + 10


def plain(strike: Decimal) -> str:
    """Return the digits of a strike without an exponent or trailing zeros."""
    digits = f"{strike:f}"
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def instrument_type_of(symbol: str) -> str:
    """Return the kind of instrument that the form of a symbol implies.

    ``AAPL`` and ``BRK/B`` are ``Equity``, ``AAPL  260612C00110000`` is ``Equity Option``, ``/ESZ6`` is ``Future``,
    ``./ESZ6 EW3U6 260918P9100`` is ``Future Option``, ``BTC/USD`` is ``Cryptocurrency``.

    Raises:
        InvalidRequestError: the symbol is not a str.
    """
    symbol = checked(symbol)
    if symbol.startswith("./"):
        return "Future Option"
    if symbol.startswith("/"):
        return "Future"
    if OCC.fullmatch(symbol):
        return "Equity Option"
    return "Cryptocurrency" if symbol.endswith("/USD") else "Equity"


@attrs.frozen
class CryptocurrencySymbol:
    """Cryptocurrency priced in US dollars; ``str()`` returns the symbol, such as ``BTC/USD``.

    Attributes:
        coin: code of the cryptocurrency, 1 to 10 capital letters or digits.

    Raises:
        InvalidRequestError: invalid code.
    """

    coin: str

    def __attrs_post_init__(self) -> None:
        check_parts(self, "a cryptocurrency symbol")

    def __str__(self) -> str:
        return f"{self.coin}/USD"

    def streamer_symbol(self, venue: str = DEFAULT_VENUE) -> str:
        """Return the symbol on the market-data stream, such as ``BTC/USD:CXTALP``.

        Raises:
            InvalidRequestError: invalid code of a venue.
        """
        return f"{self}{suffix_of('venue', venue, DEFAULT_VENUE)}"


def parse_cryptocurrency(symbol: str) -> CryptocurrencySymbol:
    """Return the parts of a cryptocurrency symbol such as ``BTC/USD``.

    Raises:
        InvalidRequestError: invalid symbol, or one that is priced in something other than US dollars.
    """
    return CryptocurrencySymbol(matched(CRYPTOCURRENCY, symbol, "a cryptocurrency such as 'BTC/USD'")["coin"])


def parse_cryptocurrency_streamer(symbol: str) -> CryptocurrencySymbol:
    """Return the parts of the streamer symbol of a cryptocurrency, without the venue.

    Raises:
        InvalidRequestError: invalid streamer symbol.
    """
    said = "a streamer symbol of a cryptocurrency such as 'BTC/USD:CXTALP'"
    return CryptocurrencySymbol(matched(CRYPTOCURRENCY_STREAMER, symbol, said)["coin"])


@attrs.frozen
class OptionSymbol:
    """Parts of the OCC symbol of an equity option; ``str()`` returns the symbol.

    Attributes:
        root: ticker, or a variant of it for adjusted contracts; 1 to 6 characters.
        expiration: day of expiration, in this century.
        option_type: ``C`` for a call, ``P`` for a put.
        strike: strike price in dollars, with at most three decimals.

    Raises:
        InvalidRequestError: parts are invalid. All problems are listed.
    """

    root: str
    expiration: date
    option_type: str
    strike: Decimal = attrs.field(converter=_number)

    def __attrs_post_init__(self) -> None:
        check_parts(self, "an OCC symbol", OCC_RULES)

    def __str__(self) -> str:
        thousandths = int(self.strike * THOUSAND)
        return f"{self.root:6}{self.expiration:%y%m%d}{self.option_type}{thousandths:08d}"

    @property
    def is_call(self) -> bool:
        """Whether it is a call."""
        return self.option_type == "C"

    @property
    def streamer_symbol(self) -> str:
        """Symbol on the market-data stream, such as ``.SPY260612C110``."""
        return f".{self.root}{self.expiration:%y%m%d}{self.option_type}{plain(self.strike)}"


def occ_symbol(root: str, expiration: date, option_type: str, strike: Decimal | int | str) -> str:
    """Return the OCC symbol of an equity option (section Symbols).

    Args:
        root: ticker or option root, such as ``AAPL``.
        expiration: day of expiration.
        option_type: ``C`` or ``P``.
        strike: strike price in dollars. A float is rejected, because it is rarely the intended number.

    Raises:
        InvalidRequestError: parts are invalid. All problems are listed.
    """
    return str(OptionSymbol(root, expiration, option_type, strike))


def parse_occ(symbol: str) -> OptionSymbol:
    """Return the parts of an OCC symbol. The padding after the root may be missing.

    Raises:
        InvalidRequestError: not an OCC symbol.
    """
    match = OCC.fullmatch(checked(symbol))
    if match is None or len(symbol) > 21:
        raise InvalidRequestError(f"symbol must be an OCC symbol such as 'AAPL  260612C00110000', got {symbol!r}")
    expiration, strike = day_of(match["day"]), Decimal(match["strike"]) / THOUSAND
    if expiration is None:
        raise InvalidRequestError(f"expiration of an OCC symbol must be a date, got {match['day']} in {symbol!r}")
    if not strike:
        raise InvalidRequestError(f"strike of an OCC symbol must be greater than zero, got {symbol!r}")
    return OptionSymbol(match["root"], expiration, match["kind"], strike)


def parse_option_streamer(symbol: str) -> OptionSymbol:
    """Return the parts of the streamer symbol of an equity option, such as ``.SPY260612C110``.

    Raises:
        InvalidRequestError: invalid streamer symbol.
    """
    match = OCC_STREAMER.fullmatch(checked(symbol))
    expiration = day_of(match["day"]) if match else None
    if match is None or expiration is None:
        raise InvalidRequestError(
            f"symbol must be a streamer symbol of an equity option such as '.SPY260612C110', got {symbol!r}"
        )
    return OptionSymbol(match["root"], expiration, match["kind"], Decimal(match["strike"]))


@attrs.frozen
class FutureSymbol:
    """Parts of the symbol of a future; ``str()`` returns the symbol.

    Attributes:
        product: product code without a slash, such as ``ES``; 1 to 6 characters.
        month: contract month, 1 to 12.
        year: contract year, in this century.

    Raises:
        InvalidRequestError: parts are invalid. All problems are listed.
    """

    product: str
    month: int
    year: int

    def __attrs_post_init__(self) -> None:
        check_parts(self, "a future's symbol")

    def __str__(self) -> str:
        return f"/{self.code}"

    @property
    def code(self) -> str:
        """Product, month and last digit of the year, such as ``ESZ6``."""
        return f"{self.product}{MONTH_CODES[self.month - 1]}{self.year % 10}"

    def streamer_symbol(self, exchange: str) -> str:
        """Return the symbol on the market-data stream, such as ``/ESZ26:XCME``.

        ``exchange`` is the code that the service gives as streamer-exchange-code, such as ``XCME``.

        Raises:
            InvalidRequestError: invalid code of an exchange.
        """
        suffix = suffix_of("exchange", exchange, "XCME")
        return f"/{self.product}{MONTH_CODES[self.month - 1]}{self.year % 100:02d}{suffix}"


def parse_future(symbol: str, *, on: date) -> FutureSymbol:
    """Return the parts of a future's symbol such as ``/ESZ6``.

    Args:
        symbol: symbol with its slash.
        on: day that decides the decade: the contract month is at most 12 months before it, and otherwise the next one
            that fits. Use the day of the order or transaction, or the service's day (``client.watch.now()``).

    Raises:
        InvalidRequestError: invalid symbol.
    """
    match = matched(FUTURE, symbol, "a future such as '/ESZ6'")
    if not isinstance(on, date):
        raise InvalidRequestError(f"on must be a datetime.date, got {on!r}")
    month = MONTH_CODES.index(match["month"]) + 1
    return FutureSymbol(match["product"], month, contract_year(int(match["year"]), month, on))


def parse_future_streamer(symbol: str) -> FutureSymbol:
    """Return the parts of a streamer symbol such as ``/ESZ26:XCME``, without the exchange.

    Raises:
        InvalidRequestError: invalid streamer symbol.
    """
    match = matched(FUTURE_STREAMER, symbol, "a streamer symbol of a future such as '/ESZ26:XCME'")
    return FutureSymbol(match["product"], MONTH_CODES.index(match["month"]) + 1, CENTURY + int(match["year"]))


@attrs.frozen
class FutureOptionStreamer:
    """Parts of the streamer symbol of a future option; ``str()`` returns it, such as ``./EW3U26P9100:XCME``.

    Attributes:
        root: option root, such as ``EW3``; 1 to 6 characters.
        month: contract month of the option, 1 to 12.
        year: contract year of the option, in this century.
        option_type: ``C`` for a call, ``P`` for a put.
        strike: strike as in the symbol, with at most eight decimals.
        exchange: code of the exchange on the stream, such as ``XCME``.

    Raises:
        InvalidRequestError: parts are invalid. All problems are listed.
    """

    root: str
    month: int
    year: int
    option_type: str
    strike: Decimal = attrs.field(converter=_number)
    exchange: str

    def __attrs_post_init__(self) -> None:
        check_parts(self, "a future option's streamer symbol")
        suffix_of("exchange", self.exchange, "XCME")

    def __str__(self) -> str:
        contract = f"{self.root}{MONTH_CODES[self.month - 1]}{self.year % 100:02d}"
        return f"./{contract}{self.option_type}{plain(self.strike)}:{self.exchange}"


@attrs.frozen
class FutureOptionSymbol:
    """Parts of the symbol of a future option; ``str()`` returns the symbol.

    Attributes:
        future: future that the option exercises into.
        root: option root, such as ``EW3``; 1 to 6 characters.
        month: contract month of the option, 1 to 12.
        year: contract year of the option, in this century.
        expiration: day of expiration, in this century.
        option_type: ``C`` for a call, ``P`` for a put.
        strike: strike as in the symbol, with at most eight decimals.
        blanks: number of blanks before the option root and before the expiration, 1 or 2 each.

    Raises:
        InvalidRequestError: parts are invalid. All problems are listed.
    """

    future: FutureSymbol
    root: str
    month: int
    year: int
    expiration: date
    option_type: str
    strike: Decimal = attrs.field(converter=_number)
    blanks: tuple[int, int] = (1, 1)

    def __attrs_post_init__(self) -> None:
        check_parts(self, "a future option's symbol")

    def __str__(self) -> str:
        first, second = (" " * count for count in self.blanks)
        day = f"{self.expiration:%y%m%d}"
        return f".{self.future}{first}{self.contract}{second}{day}{self.option_type}{plain(self.strike)}"

    @property
    def contract(self) -> str:
        """Option root, month and last digit of the year, such as ``EW3U6``."""
        return f"{self.root}{MONTH_CODES[self.month - 1]}{self.year % 10}"

    @property
    def is_call(self) -> bool:
        """Whether it is a call."""
        return self.option_type == "C"

    def streamer_symbol(self, exchange: str) -> str:
        """Return the symbol on the market-data stream, such as ``./EW3U26P9100:XCME``.

        Raises:
            InvalidRequestError: invalid code of an exchange.
        """
        return str(FutureOptionStreamer(self.root, self.month, self.year, self.option_type, self.strike, exchange))


def parse_future_option(symbol: str) -> FutureOptionSymbol:
    """Return the parts of a future option's symbol such as ``./ESZ6 EW3U6 260918P9100``.

    The expiration decides the decade of both contract years.

    Raises:
        InvalidRequestError: invalid symbol.
    """
    match = FUTURE_OPTION.fullmatch(checked(symbol))
    day = day_of(match["day"]) if match else None
    if match is None or day is None:
        raise InvalidRequestError(f"symbol must be a future option such as './ESZ6 EW3U6 260918P9100', got {symbol!r}")
    letter, month = (MONTH_CODES.index(match[part]) + 1 for part in ("letter", "month"))
    return FutureOptionSymbol(
        future=FutureSymbol(match["product"], letter, contract_year(int(match["digit"]), letter, day)),
        root=match["root"],
        month=month,
        year=contract_year(int(match["year"]), month, day),
        expiration=day,
        option_type=match["kind"],
        strike=Decimal(match["strike"]),
        blanks=(len(match["first"]), len(match["second"])),
    )


def parse_future_option_streamer(symbol: str) -> FutureOptionStreamer:
    """Return the parts of a streamer symbol such as ``./EW3U26P9100:XCME``.

    Raises:
        InvalidRequestError: invalid streamer symbol.
    """
    said = "a streamer symbol of a future option such as './EW3U26P9100:XCME'"
    match = matched(FUTURE_OPTION_STREAMER, symbol, said)
    return FutureOptionStreamer(
        root=match["root"],
        month=MONTH_CODES.index(match["month"]) + 1,
        year=CENTURY + int(match["year"]),
        option_type=match["kind"],
        strike=Decimal(match["strike"]),
        exchange=match["exchange"],
    )
