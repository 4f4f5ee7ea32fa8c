"""OCC symbols of equity options, and their streamer symbols.

An OCC symbol has 21 characters: the root padded to 6, the expiration as ``yymmdd``, ``C`` or ``P``, and the strike
times 1000 in 8 digits::

    >>> occ_symbol("AAPL", date(2026, 6, 12), "C", 110)
    'AAPL  260612C00110000'
    >>> parse_occ("AAPL  260612C00110000").strike
    Decimal('110')

The streamer symbol has a dot in front, and neither padding nor trailing zeros: ``.AAPL260612C110``.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from decimal import Decimal
from typing import cast

import attrs

from .._decimals import read_decimal
from ..errors import ErrorDetail, InvalidRequestError
from .parts import CENTURY, OCC, checked, day_of, plain

ROOT = re.compile(r"[A-Z0-9./]{1,6}")
STREAMER = re.compile(
    r"\.(?P<root>[A-Z0-9./]{1,6})(?P<day>[0-9]{6})(?P<kind>[CP])(?P<strike>[0-9]{1,5}(?:\.[0-9]{1,3})?)"
)
THOUSAND = Decimal(1000)
STEP = Decimal("0.001")
MAX_THOUSANDTHS = 99_999_999
"""The highest strike in thousandths."""


def _wrong_strike(strike: object) -> str | None:
    if isinstance(strike, bool) or not isinstance(strike, Decimal | int | str):
        return f"must be a Decimal, an int or a str, got {strike!r}"
    try:
        thousandths = (strike if isinstance(strike, Decimal) else read_decimal(strike)) * THOUSAND
    except (ArithmeticError, ValueError):
        return f"must be a plain number of dollars, got {strike!r}"
    if (
        not thousandths.is_finite()
        or not 1 <= thousandths <= MAX_THOUSANDTHS
        or Decimal(strike) != Decimal(strike).quantize(STEP)  # more than three decimals
    ):
        return f"must be from 0.001 to 99999.999 in steps of 0.001, got {strike}"
    return None


def _dollars(strike: Decimal | int | str) -> Decimal:
    """Return a strike as a Decimal. Leave an invalid one to be reported with all problems."""
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
        InvalidRequestError: parts are invalid. All problems are listed.
    """

    root: str
    expiration: date
    option_type: str
    strike: Decimal = attrs.field(converter=_dollars)

    def __attrs_post_init__(self) -> None:
        problems = []
        root, expiration, option_type, strike = self.root, self.expiration, self.option_type, self.strike
        if not isinstance(root, str) or not ROOT.fullmatch(root):
            problems.append(ErrorDetail("root", f"must be 1 to 6 capital letters or digits, got {root!r}", "root"))
        if not isinstance(expiration, date) or isinstance(expiration, datetime):
            problems.append(ErrorDetail("expiration", f"must be a datetime.date, got {expiration!r}", "expiration"))
        elif not CENTURY <= expiration.year < CENTURY + 100:
            problems.append(ErrorDetail("expiration", f"must be in this century, got {expiration}", "expiration"))
        if option_type not in ("C", "P"):
            problems.append(ErrorDetail("option_type", f"must be C or P, got {option_type!r}", "option_type"))
        if (wrong := _wrong_strike(strike)) is not None:
            problems.append(ErrorDetail("strike", wrong, "strike"))
        if problems:
            raise InvalidRequestError("invalid parts of an OCC symbol", errors=tuple(problems))

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
    day = match["day"]
    expiration = day_of(day)
    if expiration is None:
        raise InvalidRequestError(f"expiration of an OCC symbol must be a date, got {day} in {symbol!r}")
    thousandths = int(match["strike"])
    if not thousandths:
        raise InvalidRequestError(f"strike of an OCC symbol must be greater than zero, got {symbol!r}")
    whole, rest = divmod(thousandths, 1000)
    strike = Decimal(thousandths) / THOUSAND if rest else Decimal(whole)
    return OptionSymbol(match["root"], expiration, match["kind"], strike)


def parse_option_streamer(symbol: str) -> OptionSymbol:
    """Return the parts of the streamer symbol of an equity option, such as ``.SPY260612C110``.

    Raises:
        InvalidRequestError: invalid streamer symbol.
    """
    match = STREAMER.fullmatch(checked(symbol))
    expiration = day_of(match["day"]) if match else None
    if match is None or expiration is None:
        raise InvalidRequestError(
            f"symbol must be a streamer symbol of an equity option such as '.SPY260612C110', got {symbol!r}"
        )
    return OptionSymbol(match["root"], expiration, match["kind"], Decimal(match["strike"]))
