"""Symbols of instruments: build and read the OCC symbols of equity options, and tell kinds of instruments apart.

An OCC symbol has 21 characters: the root padded to 6, the expiration as ``yymmdd``, ``C`` or ``P``, and the strike
times 1000 in 8 digits::

    >>> occ_symbol("AAPL", date(2026, 6, 12), "C", 110)
    'AAPL  260612C00110000'
    >>> parse_occ("AAPL  260612C00110000").strike
    Decimal('110')

Pure: nothing here asks whether such an instrument exists.
"""

from __future__ import annotations

import re
from datetime import date
from decimal import Decimal
from typing import cast

import attrs

from ._values import read_decimal
from .errors import ErrorDetail, InvalidRequestError

__all__ = ["OptionSymbol", "instrument_type_of", "occ_symbol", "parse_occ"]

ROOT = re.compile(r"[A-Z0-9./]{1,6}")
OCC = re.compile(r"(?P<root>[A-Z0-9./]{1,6}) *(?P<day>[0-9]{6})(?P<kind>[CP])(?P<strike>[0-9]{8})")
THOUSAND = Decimal(1000)
MOST = 99_999_999
"""The highest strike in thousandths."""
CENTURY = 2000


def _wrong_strike(strike: object) -> str | None:
    if isinstance(strike, bool) or not isinstance(strike, Decimal | int | str):
        return f"a Decimal, an integer or text, not {strike!r}"
    try:
        thousandths = (strike if isinstance(strike, Decimal) else read_decimal(strike)) * THOUSAND
    except (ArithmeticError, ValueError):
        return f"a plain number of dollars, not {strike!r}"
    if not thousandths.is_finite() or not 1 <= thousandths <= MOST or thousandths != int(thousandths):
        return f"from 0.001 to 99999.999 dollars in steps of 0.001, not {strike}"
    return None


def _dollars(strike: Decimal | int | str) -> Decimal:
    """A strike as a decimal; what is none is left to be refused with all the rest."""
    return Decimal(strike) if _wrong_strike(strike) is None else cast("Decimal", strike)


@attrs.frozen
class OptionSymbol:
    """An equity option by its parts. ``str()`` of it is the OCC symbol. Parts that make none are refused.

    Attributes:
        root: the option root: the ticker, or a variant of it for adjusted contracts; 1 to 6 characters.
        expiration: day of expiration, of this century.
        option_type: ``C`` for a call, ``P`` for a put.
        strike: strike price in dollars, with at most three decimals.

    Raises:
        InvalidRequestError: the parts make no OCC symbol; every problem is listed.
    """

    root: str
    expiration: date
    option_type: str
    strike: Decimal = attrs.field(converter=_dollars)

    def __attrs_post_init__(self) -> None:
        problems = _problems(self.root, self.expiration, self.option_type, self.strike)
        if problems:
            raise InvalidRequestError("these parts make no OCC symbol", errors=tuple(problems))

    def __str__(self) -> str:
        thousandths = int(self.strike * THOUSAND)
        return f"{self.root:6}{self.expiration:%y%m%d}{self.option_type}{thousandths:08d}"

    @property
    def is_call(self) -> bool:
        """Whether it is a call."""
        return self.option_type == "C"


def occ_symbol(root: str, expiration: date, option_type: str, strike: Decimal | int | str) -> str:
    """The OCC symbol of an equity option (section Symbols).

    Args:
        root: ticker or option root, such as ``AAPL``.
        expiration: day of expiration.
        option_type: ``C`` or ``P``.
        strike: strike price in dollars; a float is refused, because it is rarely the number that was meant.

    Raises:
        InvalidRequestError: the parts make no OCC symbol; every problem is listed.
    """
    return str(OptionSymbol(root, expiration, option_type, strike))


def parse_occ(symbol: str) -> OptionSymbol:
    """The parts of an OCC symbol; the padding after the root may be missing.

    Raises:
        InvalidRequestError: it is no OCC symbol.
    """
    match = OCC.fullmatch(_text(symbol))
    if match is None or len(symbol) > 21:
        raise InvalidRequestError(f"not an OCC symbol: {symbol!r} (such as 'AAPL  260612C00110000')")
    day = match["day"]
    try:
        expiration = date(CENTURY + int(day[:2]), int(day[2:4]), int(day[4:]))
    except ValueError:
        raise InvalidRequestError(f"not an OCC symbol: {symbol!r} has no such day as {day}") from None
    thousandths = int(match["strike"])
    if not thousandths:
        raise InvalidRequestError(f"not an OCC symbol: {symbol!r} has no strike")
    whole, rest = divmod(thousandths, 1000)
    strike = Decimal(thousandths) / THOUSAND if rest else Decimal(whole)
    return OptionSymbol(match["root"], expiration, match["kind"], strike)


def instrument_type_of(symbol: str) -> str:
    """The kind of instrument that a symbol names, as the service writes it, judged by its form alone.

    ``AAPL`` and ``BRK/B`` are ``Equity``, ``AAPL  260612C00110000`` is ``Equity Option``, ``/ESZ6`` is ``Future``,
    ``./ESZ6 EW3U6 260918P9100`` is ``Future Option``, ``BTC/USD`` is ``Cryptocurrency``.

    Raises:
        InvalidRequestError: it is no text.
    """
    symbol = _text(symbol)
    if symbol.startswith("./"):
        return "Future Option"
    if symbol.startswith("/"):
        return "Future"
    if OCC.fullmatch(symbol):
        return "Equity Option"
    return "Cryptocurrency" if symbol.endswith("/USD") else "Equity"


def _text(symbol: object) -> str:
    if not isinstance(symbol, str):
        raise InvalidRequestError(f"a symbol is a text, not {type(symbol).__name__}")
    return symbol


def _problems(root: str, expiration: object, option_type: str, strike: Decimal | int | str) -> list[ErrorDetail]:
    problems = []
    if not isinstance(root, str) or not ROOT.fullmatch(root):
        problems.append(ErrorDetail("root", f"1 to 6 capital letters or digits, not {root!r}", "root"))
    if not isinstance(expiration, date):
        problems.append(ErrorDetail("expiration", f"a datetime.date, not {expiration!r}", "expiration"))
    elif not CENTURY <= expiration.year < CENTURY + 100:
        problems.append(ErrorDetail("expiration", f"a day of this century, not {expiration}", "expiration"))
    if option_type not in ("C", "P"):
        problems.append(ErrorDetail("option_type", f"C or P, not {option_type!r}", "option_type"))
    if (wrong := _wrong_strike(strike)) is not None:
        problems.append(ErrorDetail("strike", wrong, "strike"))
    return problems
