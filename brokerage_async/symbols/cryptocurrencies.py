"""Symbols of cryptocurrencies: ``BTC/USD``, and ``BTC/USD:CXTALP`` on the market-data stream."""

from __future__ import annotations

import re

import attrs

from ..errors import ErrorDetail, InvalidRequestError
from .parts import checked

CODE = re.compile(r"[A-Z0-9]{1,10}")
PAIR = re.compile(r"(?P<coin>[A-Z0-9]{1,10})/USD")
STREAMER = re.compile(r"(?P<coin>[A-Z0-9]{1,10})/USD:(?P<venue>[A-Z0-9]{1,10})")
DEFAULT_VENUE = "CXTALP"


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
        if not isinstance(self.coin, str) or not CODE.fullmatch(self.coin):
            problem = f"must be 1 to 10 capital letters or digits, got {self.coin!r}"
            raise InvalidRequestError(
                "invalid part of a cryptocurrency symbol", errors=(ErrorDetail("coin", problem, "coin"),)
            )

    def __str__(self) -> str:
        return f"{self.coin}/USD"

    def streamer_symbol(self, venue: str = DEFAULT_VENUE) -> str:
        """Return the symbol on the market-data stream, such as ``BTC/USD:CXTALP``.

        Raises:
            InvalidRequestError: invalid code of a venue.
        """
        if not isinstance(venue, str) or not CODE.fullmatch(venue):
            raise InvalidRequestError(f"venue must be a code such as 'CXTALP', got {venue!r}")
        return f"{self}:{venue}"


def parse_cryptocurrency(symbol: str) -> CryptocurrencySymbol:
    """Return the parts of a cryptocurrency symbol such as ``BTC/USD``.

    Raises:
        InvalidRequestError: invalid symbol, or one that is priced in something other than US dollars.
    """
    match = PAIR.fullmatch(checked(symbol))
    if match is None:
        raise InvalidRequestError(f"symbol must be a cryptocurrency such as 'BTC/USD', got {symbol!r}")
    return CryptocurrencySymbol(match["coin"])


def parse_cryptocurrency_streamer(symbol: str) -> CryptocurrencySymbol:
    """Return the parts of the streamer symbol of a cryptocurrency, without the venue.

    Raises:
        InvalidRequestError: invalid streamer symbol.
    """
    match = STREAMER.fullmatch(checked(symbol))
    if match is None:
        raise InvalidRequestError(
            f"symbol must be a streamer symbol of a cryptocurrency such as 'BTC/USD:CXTALP', got {symbol!r}"
        )
    return CryptocurrencySymbol(match["coin"])
