"""Symbols of futures: ``/ESZ6``, and ``/ESZ26:XCME`` on the market-data stream.

A symbol has the last digit of the year only. Which decade it means depends on the day it is read on::

    >>> parse_future("/ESZ6", on=date(2026, 6, 12))
    FutureSymbol(product='ES', month=12, year=2026)
    >>> parse_future("/ESZ6", on=date(2031, 6, 12)).year
    2036
"""

from __future__ import annotations

import re
from datetime import date

import attrs

from ..errors import ErrorDetail, InvalidRequestError
from .parts import CENTURY, MONTH_CODES, checked, contract_year

CODE = re.compile(r"[A-Z0-9]{1,6}")
FUTURE = re.compile(rf"/(?P<product>[A-Z0-9]{{1,6}})(?P<month>[{MONTH_CODES}])(?P<year>[0-9])")
STREAMER = re.compile(
    rf"/(?P<product>[A-Z0-9]{{1,6}})(?P<month>[{MONTH_CODES}])(?P<year>[0-9]{{2}}):(?P<exchange>[A-Z0-9]{{1,10}})"
)
EXCHANGE = re.compile(r"[A-Z0-9]{1,10}")


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
        if problems := contract_problems("product", self.product, self.month, self.year):
            raise InvalidRequestError("invalid parts of a future's symbol", errors=tuple(problems))

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
        return f"/{self.product}{MONTH_CODES[self.month - 1]}{self.year % 100:02d}{exchange_suffix(exchange)}"


def parse_future(symbol: str, *, on: date) -> FutureSymbol:
    """Return the parts of a future's symbol such as ``/ESZ6``.

    Args:
        symbol: symbol with its slash.
        on: day that decides the decade: the contract month is at most 12 months before it, and otherwise the next one
            that fits. Use the day of the order or transaction, or the service's day (``client.watch.now()``).

    Raises:
        InvalidRequestError: invalid symbol.
    """
    match = FUTURE.fullmatch(checked(symbol))
    if match is None:
        raise InvalidRequestError(f"symbol must be a future such as '/ESZ6', got {symbol!r}")
    if not isinstance(on, date):
        raise InvalidRequestError(f"on must be a datetime.date, got {on!r}")
    month = MONTH_CODES.index(match["month"]) + 1
    return FutureSymbol(match["product"], month, contract_year(int(match["year"]), month, on))


def parse_future_streamer(symbol: str) -> FutureSymbol:
    """Return the parts of a streamer symbol such as ``/ESZ26:XCME``, without the exchange.

    Raises:
        InvalidRequestError: invalid streamer symbol.
    """
    match = STREAMER.fullmatch(checked(symbol))
    if match is None:
        raise InvalidRequestError(f"symbol must be a streamer symbol of a future such as '/ESZ26:XCME', got {symbol!r}")
    return FutureSymbol(match["product"], MONTH_CODES.index(match["month"]) + 1, CENTURY + int(match["year"]))


def exchange_suffix(exchange: str) -> str:
    """Return the end of a streamer symbol, such as ``:XCME``. Raise for an invalid code."""
    if not isinstance(exchange, str) or not EXCHANGE.fullmatch(exchange):
        raise InvalidRequestError(f"exchange must be a code such as 'XCME', got {exchange!r}")
    return f":{exchange}"


def contract_problems(name: str, code: object, month: object, year: object) -> list[ErrorDetail]:
    """Return the problems of a product or option root, a contract month and a contract year."""
    problems = []
    if not isinstance(code, str) or not CODE.fullmatch(code):
        problems.append(ErrorDetail(name, f"must be 1 to 6 capital letters or digits, got {code!r}", name))
    if not isinstance(month, int) or isinstance(month, bool) or not 1 <= month <= 12:
        problems.append(ErrorDetail("month", f"must be from 1 to 12, got {month!r}", "month"))
    if not isinstance(year, int) or isinstance(year, bool) or not CENTURY <= year < CENTURY + 100:
        problems.append(ErrorDetail("year", f"must be in this century, got {year!r}", "year"))
    return problems
