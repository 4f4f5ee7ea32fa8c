"""Symbols of future options: ``./ESZ6 EW3U6 260918P9100``, and ``./EW3U26P9100:XCME`` on the market-data stream.

A symbol names the future, the option root with its contract month (``EW3U6``), the expiration as ``yymmdd``, ``C`` or
``P``, and the strike. One or two blanks separate the parts, and the service finds a symbol only as it wrote it: take
symbols from its answers where you can. The streamer symbol lacks future and day, so it has different parts.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import cast

import attrs

from .._terms import exact
from ..errors import ErrorDetail, InvalidRequestError
from .futures import FutureSymbol, contract_problems, exchange_suffix
from .parts import CENTURY, MONTH_CODES, checked, contract_year, day_of, plain

STRIKE = r"(?P<strike>[0-9]{1,8}(?:\.[0-9]{1,8})?)"
CONTRACT = rf"(?P<root>[A-Z0-9]{{1,6}})(?P<month>[{MONTH_CODES}])"
OPTION = re.compile(
    rf"\./(?P<product>[A-Z0-9]{{1,6}})(?P<letter>[{MONTH_CODES}])(?P<digit>[0-9])(?P<first> {{1,2}})"
    rf"{CONTRACT}(?P<year>[0-9])(?P<second> {{1,2}})(?P<day>[0-9]{{6}})(?P<kind>[CP]){STRIKE}"
)
STREAMER = re.compile(rf"\./{CONTRACT}(?P<year>[0-9]{{2}})(?P<kind>[CP]){STRIKE}:(?P<exchange>[A-Z0-9]{{1,10}})")
MAX_STRIKE, STRIKE_STEP = Decimal(99_999_999), Decimal("0.00000001")


def _points(strike: Decimal | int | str) -> Decimal:
    """Return a strike as a Decimal. Leave an invalid one to be reported with all problems."""
    try:
        return exact("strike", strike)
    except InvalidRequestError:
        return cast("Decimal", strike)


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
    strike: Decimal = attrs.field(converter=_points)
    exchange: str

    def __attrs_post_init__(self) -> None:
        problems = contract_problems("root", self.root, self.month, self.year)
        problems += _option_problems(self.option_type, self.strike)
        if problems:
            raise InvalidRequestError("invalid parts of a future option's streamer symbol", errors=tuple(problems))
        exchange_suffix(self.exchange)

    def __str__(self) -> str:
        contract = f"{self.root}{MONTH_CODES[self.month - 1]}{self.year % 100:02d}"
        return f"./{contract}{self.option_type}{plain(self.strike)}{exchange_suffix(self.exchange)}"


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
    strike: Decimal = attrs.field(converter=_points)
    blanks: tuple[int, int] = (1, 1)

    def __attrs_post_init__(self) -> None:
        problems = _frame_problems(self.future, self.expiration, self.blanks)
        problems += contract_problems("root", self.root, self.month, self.year)
        problems += _option_problems(self.option_type, self.strike)
        if problems:
            raise InvalidRequestError("invalid parts of a future option's symbol", errors=tuple(problems))

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
    match = OPTION.fullmatch(checked(symbol))
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
    match = STREAMER.fullmatch(checked(symbol))
    if match is None:
        raise InvalidRequestError(
            f"symbol must be a streamer symbol of a future option such as './EW3U26P9100:XCME', got {symbol!r}"
        )
    return FutureOptionStreamer(
        root=match["root"],
        month=MONTH_CODES.index(match["month"]) + 1,
        year=CENTURY + int(match["year"]),
        option_type=match["kind"],
        strike=Decimal(match["strike"]),
        exchange=match["exchange"],
    )


def _option_problems(option_type: object, strike: object) -> list[ErrorDetail]:
    problems = []
    if option_type not in ("C", "P"):
        problems.append(ErrorDetail("option_type", f"must be C or P, got {option_type!r}", "option_type"))
    valid = (
        isinstance(strike, Decimal)
        and strike.is_finite()
        and 0 < strike <= MAX_STRIKE
        and strike == strike.quantize(STRIKE_STEP)
    )
    if not valid:
        message = f"must be a number above 0 with at most 8 decimals, got {strike!r}"
        problems.append(ErrorDetail("strike", message, "strike"))
    return problems


def _frame_problems(future: object, expiration: object, blanks: object) -> list[ErrorDetail]:
    problems = []
    if not isinstance(future, FutureSymbol):
        problems.append(ErrorDetail("future", f"must be a FutureSymbol, got {future!r}", "future"))
    if (
        not isinstance(expiration, date)
        or isinstance(expiration, datetime)
        or not CENTURY <= expiration.year < CENTURY + 100
    ):
        message = f"must be a datetime.date in this century, got {expiration!r}"
        problems.append(ErrorDetail("expiration", message, "expiration"))
    if blanks not in ((1, 1), (1, 2), (2, 1), (2, 2)):
        problems.append(ErrorDetail("blanks", f"must be a pair of 1 or 2, got {blanks!r}", "blanks"))
    return problems
