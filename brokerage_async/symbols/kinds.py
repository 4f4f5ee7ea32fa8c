"""Kinds of instruments by the form of their symbols."""

from __future__ import annotations

from .options import OCC
from .parts import checked


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
