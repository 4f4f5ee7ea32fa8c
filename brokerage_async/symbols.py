"""Symbols of instruments: OCC symbols of equity options, and the kinds of instruments.

An OCC symbol has 21 characters: the root padded to 6, the expiration as ``yymmdd``, ``C`` or ``P``, and the strike
times 1000 in 8 digits::

    >>> occ_symbol("AAPL", date(2026, 6, 12), "C", 110)
    'AAPL  260612C00110000'
    >>> parse_occ("AAPL  260612C00110000").strike
    Decimal('110')

Only the form of a symbol is checked, not whether the instrument exists.
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
MAX_THOUSANDTHS = 99_999_999
"""The highest strike in thousandths."""
CENTURY = 2000


def _wrong_strike(strike: object) -> str | None:
    if isinstance(strike, bool) or not isinstance(strike, Decimal | int | str):
        return f"must be a Decimal, an int or a str, got {strike!r}"
    try:
        thousandths = (strike if isinstance(strike, Decimal) else read_decimal(strike)) * THOUSAND
    except (ArithmeticError, ValueError):
        return f"must be a plain number of dollars, got {strike!r}"
    if not thousandths.is_finite() or not 1 <= thousandths <= MAX_THOUSANDTHS or thousandths != int(thousandths):
        return f"must be from 0.001 to 99999.999 in steps of 0.001, got {strike}"
    return None


def _dollars(strike: Decimal | int | str) -> Decimal:
    """Return a strike as a Decimal; leave an invalid one to be reported with all problems."""
    return Decimal(strike) if _wrong_strike(strike) is None else cast("Decimal", strike)


@attrs.frozen
class OptionSymbol:
    """Parts of the OCC symbol of an equity option; ``str()`` returns the symbol.

    Attributes:
        root: ticker, or a variant of it for adjusted contracts; 1 to 6 characters.
        expiration: day of expiration, in this century.
        option_type: ``C`` for a call, ``P`` for a put.
        strike: strike price in dollars, with at most three decimals.

    Raises:
        InvalidRequestError: parts are invalid; all problems are listed.
    """

    root: str
    expiration: date
    option_type: str
    strike: Decimal = attrs.field(converter=_dollars)

    def __attrs_post_init__(self) -> None:
        problems = _problems(self.root, self.expiration, self.option_type, self.strike)
        if problems:
            raise InvalidRequestError("invalid parts of an OCC symbol", errors=tuple(problems))

    def __str__(self) -> str:
        thousandths = int(self.strike * THOUSAND)
        return f"{self.root:6}{self.expiration:%y%m%d}{self.option_type}{thousandths:08d}"

    @property
    def is_call(self) -> bool:
        """Whether it is a call."""
        return self.option_type == "C"


def occ_symbol(root: str, expiration: date, option_type: str, strike: Decimal | int | str) -> str:
    """Return the OCC symbol of an equity option (section Symbols).

    Args:
        root: ticker or option root, such as ``AAPL``.
        expiration: day of expiration.
        option_type: ``C`` or ``P``.
        strike: strike price in dollars; a float is rejected, because it is rarely the intended number.

    Raises:
        InvalidRequestError: parts are invalid; all problems are listed.
    """
    return str(OptionSymbol(root, expiration, option_type, strike))


def parse_occ(symbol: str) -> OptionSymbol:
    """Return the parts of an OCC symbol; the padding after the root may be missing.

    Raises:
        InvalidRequestError: not an OCC symbol.
    """
    match = OCC.fullmatch(_checked(symbol))
    if match is None or len(symbol) > 21:
        raise InvalidRequestError(f"symbol must be an OCC symbol such as 'AAPL  260612C00110000', got {symbol!r}")
    day = match["day"]
    try:
        expiration = date(CENTURY + int(day[:2]), int(day[2:4]), int(day[4:]))
    except ValueError:
        raise InvalidRequestError(f"expiration of an OCC symbol must be a date, got {day} in {symbol!r}") from None
    thousandths = int(match["strike"])
    if not thousandths:
        raise InvalidRequestError(f"strike of an OCC symbol must be greater than zero, got {symbol!r}")
    whole, rest = divmod(thousandths, 1000)
    strike = Decimal(thousandths) / THOUSAND if rest else Decimal(whole)
    return OptionSymbol(match["root"], expiration, match["kind"], strike)


def instrument_type_of(symbol: str) -> str:
    """Return the kind of instrument that the form of a symbol implies.

    ``AAPL`` and ``BRK/B`` are ``Equity``, ``AAPL  260612C00110000`` is ``Equity Option``, ``/ESZ6`` is ``Future``,
    ``./ESZ6 EW3U6 260918P9100`` is ``Future Option``, ``BTC/USD`` is ``Cryptocurrency``.

    Raises:
        InvalidRequestError: the symbol is not a str.
    """
    symbol = _checked(symbol)
    if symbol.startswith("./"):
        return "Future Option"
    if symbol.startswith("/"):
        return "Future"
    if OCC.fullmatch(symbol):
        return "Equity Option"
    return "Cryptocurrency" if symbol.endswith("/USD") else "Equity"


def _checked(symbol: object) -> str:
    if not isinstance(symbol, str):
        raise InvalidRequestError(f"symbol must be a str, got {type(symbol).__name__}")
    return symbol


def _problems(root: str, expiration: object, option_type: str, strike: Decimal | int | str) -> list[ErrorDetail]:
    problems = []
    if not isinstance(root, str) or not ROOT.fullmatch(root):
        problems.append(ErrorDetail("root", f"must be 1 to 6 capital letters or digits, got {root!r}", "root"))
    if not isinstance(expiration, date):
        problems.append(ErrorDetail("expiration", f"must be a datetime.date, got {expiration!r}", "expiration"))
    elif not CENTURY <= expiration.year < CENTURY + 100:
        problems.append(ErrorDetail("expiration", f"must be in this century, got {expiration}", "expiration"))
    if option_type not in ("C", "P"):
        problems.append(ErrorDetail("option_type", f"must be C or P, got {option_type!r}", "option_type"))
    if (wrong := _wrong_strike(strike)) is not None:
        problems.append(ErrorDetail("strike", wrong, "strike"))
    return problems
